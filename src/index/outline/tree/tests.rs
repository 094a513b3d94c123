//! The pages of a node against the plain model: a sorted map of subjects, laid out from nothing.

use super::*;
use crate::index::outline::render::LEAST_BUDGET;
use plica_format::block::BlockKind;
use plica_format::outline::{Field, Subject, Value};

/// Pages in memory.
#[derive(Default)]
struct Memory {
    pages: HashMap<u64, OutlinePage>,
    end: u64,
    read: u64,
    read_bytes: u64,
    written: u64,
    written_bytes: u64,
}

impl Pages for Memory {
    fn read(&mut self, page: &Reference, expected: Expected) -> Result<OutlinePage> {
        let bytes = self.pages[&page.offset].encode();
        self.read += 1;
        self.read_bytes += bytes.len() as u64;
        // Decoding holds the page against what is expected.
        Ok(OutlinePage::decode(&bytes, page.offset, expected).unwrap())
    }

    fn write(&mut self, page: &OutlinePage) -> Result<Reference> {
        let bytes = page.encode();
        self.end += bytes.len().next_multiple_of(16) as u64 + 64;
        let offset = 20_480 + self.end;
        self.pages.insert(offset, page.clone());
        self.written += 1;
        self.written_bytes += bytes.len() as u64;
        let stored_bytes = 1;
        Ok(Reference { offset, stored_bytes, kind: BlockKind::Outline, checksum: 0 })
    }

    fn summary(&mut self, level: u8, slots: &[Slot]) -> Result<String> {
        // Any function of the content will do; it must fit its share.
        Ok(format!("of {}", content_hash(level, false, slots).map(|byte| format!("{byte:02x}")).concat()))
    }
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn subject(name: &str, words: usize) -> Subject {
    let text = vec!["word"; words].join(" ");
    let fields = vec![Field { name: "says".into(), values: vec![Value { text, span: Some((1, 2)) }] }];
    Subject { name: name.into(), summary: "It is here.".into(), fields, links: Vec::new() }
}

fn node(top: Option<Top>, budget: u32) -> Node {
    Node { document: 1, hash: [1; 16], is_subject: false, shares: Shares::new(budget), top }
}

fn change(subject: Subject, budget: u32) -> (Vec<u8>, Option<Slot>) {
    let slot = Slot::item(Item::Subject(subject), Shares::new(budget));
    (slot.key.clone(), Some(slot))
}

/// The tree without where its pages lie: levels, entries, summaries.
fn shape(memory: &mut Memory, top: &Top, budget: u32) -> (Vec<String>, Vec<Subject>, u8) {
    fn below(
        memory: &mut Memory,
        page: &Reference,
        expected: Expected,
        budget: u32,
        is_last: bool,
        out: &mut (Vec<String>, Vec<Subject>),
    ) {
        let read = memory.read(page, expected).unwrap();
        let shares = Shares::new(budget);
        let mut text = format!("{}:", expected.level);
        let count = read.entries.len();
        assert!(count <= OUTLINE_ENTRIES && (count >= 2 || is_last), "{count} entries");
        let mut used = 0;
        match read.entries {
            Entries::Items(items) => {
                for item in items {
                    used += tokens(&item_text(&item));
                    text.push_str(&item_name(&item));
                    text.push(',');
                    let Item::Subject(subject) = item else { panic!("another item") };
                    out.1.push(subject);
                }
                out.0.push(text);
            }
            Entries::Ranges(ranges) => {
                let last = ranges.len() - 1;
                for range in &ranges {
                    used += tokens(&range_text(range));
                    text.push_str(&format!("{}-{} {};", range.first, range.last, range.summary));
                }
                out.0.push(text);
                for (at, range) in ranges.into_iter().enumerate() {
                    let expected = Expected { level: expected.level - 1, count: range.count, ..expected };
                    below(memory, &range.page, expected, budget, is_last && at == last, out);
                }
            }
        }
        assert!(used <= shares.entries(), "{used} tokens of {}", shares.entries());
    }
    let mut out = (Vec::new(), Vec::new());
    let expected = Expected { document: 1, node: [1; 16], is_subject: false, level: top.level, count: top.count };
    below(memory, &top.page, expected, budget, true, &mut out);
    (out.0, out.1, top.level)
}

/// Builds a tree from nothing.
fn fresh(model: &BTreeMap<Vec<u8>, Subject>, budget: u32) -> (Memory, Option<Top>) {
    let mut memory = Memory::default();
    let changes = model.values().map(|subject| change(subject.clone(), budget)).collect();
    let top = apply(&mut memory, node(None, budget), changes).unwrap().map(|(top, _)| top);
    (memory, top)
}

/// Holds a tree against its model: everything reachable in order, every page within its bounds, the height logarithmic,
/// and the pages those of a tree that is built from nothing.
fn hold(memory: &mut Memory, top: Option<&Top>, model: &BTreeMap<Vec<u8>, Subject>, budget: u32) {
    let Some(top) = top else { return assert!(model.is_empty()) };
    let (pages, subjects, level) = shape(memory, top, budget);
    assert!(subjects.iter().eq(model.values()), "other subjects");
    assert_eq!(top.count as usize, model.len());
    assert!(u32::from(level) <= model.len().ilog2() + 1, "{level} levels over {} subjects", model.len());
    let (mut other, other_top) = fresh(model, budget);
    let (other_pages, _, _) = shape(&mut other, &other_top.unwrap(), budget);
    assert!(pages == other_pages, "other pages than a tree that is built from nothing");
}

/// Inserts, changes and removes subjects in rounds, with names from `name`.
fn history(seed: u64, insertions: usize, budget: u32, name: impl Fn(&mut u64) -> String) {
    let mut state = seed;
    let (mut memory, mut top) = (Memory::default(), None);
    let mut model: BTreeMap<Vec<u8>, Subject> = BTreeMap::new();
    let mut inserted = 0;
    let mut next_look = 50;
    while inserted < insertions {
        let round = 1 + random(&mut state) as usize % if inserted < 2000 { 3 } else { 5000 };
        let mut changes = Changes::new();
        for _ in 0..round {
            // Mostly short ones, and some that fill half a page.
            let words = random(&mut state) as usize
                % if random(&mut state).is_multiple_of(20) { budget as usize / 4 } else { 12 };
            let subject = subject(&name(&mut state), words);
            let (key, slot) = change(subject.clone(), budget);
            model.insert(key.clone(), subject);
            changes.insert(key, slot);
            inserted += 1;
        }
        if random(&mut state).is_multiple_of(4) {
            let gone: Vec<Vec<u8>> =
                model.keys().skip(random(&mut state) as usize % model.len()).take(5).cloned().collect();
            for key in gone {
                model.remove(&key);
                changes.insert(key, None);
            }
        }
        top = apply(&mut memory, node(top, budget), changes).unwrap().map(|(top, _)| top);
        if inserted >= next_look {
            hold(&mut memory, top.as_ref(), &model, budget);
            next_look = inserted * 3;
        }
    }
    hold(&mut memory, top.as_ref(), &model, budget);
    // Down to nothing again.
    while !model.is_empty() {
        let gone: Vec<Vec<u8>> = model.keys().step_by(2).cloned().collect();
        let mut changes = Changes::new();
        for key in gone {
            model.remove(&key);
            changes.insert(key, None);
        }
        top = apply(&mut memory, node(top, budget), changes).unwrap().map(|(top, _)| top);
        hold(&mut memory, top.as_ref(), &model, budget);
    }
    assert!(top.is_none());
}

#[test]
fn a_hundred_thousand_insertions_give_the_pages_of_a_tree_built_from_nothing() {
    history(7, 100_000, LEAST_BUDGET, |state| format!("subject {}", random(state) % 1_000_000));
}

#[test]
fn many_small_histories_do_too() {
    for seed in 1..40 {
        history(seed, 300, LEAST_BUDGET, |state| format!("s{}", random(state) % 200));
    }
}

#[test]
fn names_chosen_to_defeat_the_hash_break_no_bound() {
    // No name of these ends a page by its hash, at the two lowest levels: all cuts there are forced.
    let budget = LEAST_BUDGET;
    let stubborn = |state: &mut u64| loop {
        let name = format!("n{}", random(state) % 10_000_000);
        let key = super::super::order::subject_key(&name);
        let never = (0..2u8).all(|level| {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&[level]);
            hasher.update(&key);
            hasher.finalize().as_bytes()[7] > 200
        });
        if never {
            return name;
        }
    };
    history(3, 3000, budget, stubborn);
    // And names that all end one.
    let eager = |state: &mut u64| loop {
        let name = format!("n{}", random(state) % 10_000_000);
        let key = super::super::order::subject_key(&name);
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[0]);
        hasher.update(&key);
        if hasher.finalize().as_bytes()[7] < 8 {
            return name;
        }
    };
    history(4, 3000, budget, eager);
}

#[test]
fn one_insertion_writes_a_path() {
    let budget = 2000;
    let mut model = BTreeMap::new();
    let mut state = 9;
    for _ in 0..20_000 {
        let subject = subject(&format!("subject {}", random(&mut state) % 10_000_000), 30);
        model.insert(super::super::order::subject_key(&subject.name), subject);
    }
    let (mut memory, mut top) = fresh(&model, budget);
    let levels = u64::from(top.unwrap().level) + 1;
    let mut worst = 0;
    let mut total = 0;
    for _ in 0..300 {
        let subject = subject(&format!("subject {}", random(&mut state) % 10_000_000), 30);
        memory.written = 0;
        let changes = [change(subject, budget)].into_iter().collect();
        top = apply(&mut memory, node(top, budget), changes).unwrap().map(|(top, _)| top);
        worst = worst.max(memory.written);
        total += memory.written;
    }
    assert!(total <= 300 * (levels + 3), "{total} pages for 300 insertions over {levels} levels");
    assert!(worst <= 12 * levels, "{worst} pages for one insertion");
}
