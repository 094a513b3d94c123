//! Outlines hold what a plain map of subjects holds, whatever was added, changed, removed, committed and merged before.

mod common;

use common::{Folder, assert_sound, sentences};
use plica::ingest::Category;
use plica::interchange::{ImportOptions, export, import, stated};
use plica::outline::{EntryKind, Field, PageInput, PageSummarizer, Subject, Value, Walker, write_folder};
use plica::{Error, Index, MemoryScope, NewChunk, Options, Result, Snapshot, Writer};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn names(path: &[&str]) -> Vec<String> {
    path.iter().map(|&name| name.to_owned()).collect()
}

fn field(name: &str, text: &str, span: Option<(u64, u64)>) -> Field {
    Field { name: name.into(), values: vec![Value { text: text.into(), span }] }
}

fn subject(name: &str, fields: Vec<Field>) -> Subject {
    Subject { name: name.into(), summary: format!("{name} is here."), fields, links: Vec::new() }
}

/// An index of one published document of a few chunks.
fn index(path: &Path, options: &Options) -> Writer {
    let mut writer = Writer::create(path, options).unwrap();
    writer.add_document("d", "A document", "").unwrap();
    let mut start = 0;
    for seed in 0..6 {
        let text = sentences(seed, 12);
        let span = Some((start, start + text.len() as u64));
        start += text.len() as u64;
        writer.append_chunk("d", &NewChunk { span, ..NewChunk::text(&text) }).unwrap();
    }
    writer.publish("d").unwrap();
    writer.commit().unwrap();
    writer
}

fn lines(snapshot: &Snapshot) -> String {
    let mut out = Vec::new();
    export(snapshot, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// All subjects of a document, by category path and name, read page by page from the root.
fn all(snapshot: &Snapshot) -> BTreeMap<Vec<String>, Subject> {
    let mut found = BTreeMap::new();
    if !snapshot.has_outline("d").unwrap() {
        return found;
    }
    let budget = 512;
    let mut waiting = vec![Vec::new()];
    while let Some(path) = waiting.pop() {
        let page = snapshot.outline("d", &path).unwrap();
        assert!(plica::text::tokens(&page.text()).len() <= budget, "a page over its budget at {path:?}");
        assert!(page.entries.len() <= 64);
        if page.is_subject {
            let names: Vec<String> = path.iter().filter(|step| !is_range(step)).cloned().collect();
            let known = found.entry(names).or_insert_with(|| Subject {
                name: page.title.clone(),
                summary: page.summary.clone(),
                ..Subject::default()
            });
            for field in page.fields {
                match known.fields.iter_mut().find(|before| before.name == field.name) {
                    Some(before) => before.values.extend(field.values),
                    None => known.fields.push(field),
                }
            }
            known.links.extend(page.links);
        }
        waiting.extend(page.entries.into_iter().rev().map(|entry| entry.path));
    }
    found
}

fn is_range(step: &str) -> bool {
    step.starts_with('~')
}

/// What is done to an outline and to its model.
#[derive(Debug, Clone)]
enum Step {
    Add { category: u8, name: u8, field: u8, words: u16 },
    Remove { category: u8, name: u8 },
    Correct { category: u8, name: u8, to: u8 },
    Category { category: u8 },
    Commit,
    Rollback,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..4u8, 0..40u8, 0..6u8, 0..60u16).prop_map(|(category, name, field, words)| Step::Add { category, name, field, words }),
        1 => (0..4u8, 0..3u8, 0..6u8, Just(120u16)).prop_map(|(category, name, field, words)| Step::Add { category, name, field, words }),
        3 => (0..4u8, 0..40u8).prop_map(|(category, name)| Step::Remove { category, name }),
        2 => (0..4u8, 0..40u8, 0..40u8).prop_map(|(category, name, to)| Step::Correct { category, name, to }),
        1 => (0..4u8).prop_map(|category| Step::Category { category }),
        2 => Just(Step::Commit),
        1 => Just(Step::Rollback),
        1 => Just(Step::Reopen),
    ]
}

fn category(number: u8) -> Vec<String> {
    [names(&["People"]), names(&["People", "Officers"]), names(&["Places"]), names(&["People", "Officers", "Majors"])]
        [usize::from(number)]
    .clone()
}

type Model = BTreeMap<(u8, String), Subject>;

/// Whether a value is the same as one that a field has.
fn has(fields: &[Field], name: &str, text: &str) -> bool {
    fields.iter().any(|field| field.name == name && field.values.iter().any(|value| value.text == text))
}

fn run(steps: &[Step], options: &Options) {
    let folder = Folder::new();
    let path = folder.path("o.plica");
    let mut writer = index(&path, options);
    writer.set_outline_budget("d", 512).unwrap();
    let mut model = Model::new();
    let mut committed = model.clone();
    for step in steps {
        match step {
            Step::Add { category: at, name, field: of, words } => {
                let name = format!("name {name}");
                let text = format!("{} {}", vec!["word"; usize::from(*words)].join(" "), words % 7);
                let given = subject(&name, vec![field(&format!("field {of}"), &text, Some((3, 9)))]);
                let known = model.entry((*at, name.clone()));
                let before = match &known {
                    std::collections::btree_map::Entry::Occupied(known) => Some(known.get().clone()),
                    std::collections::btree_map::Entry::Vacant(_) => None,
                };
                let known = known.or_insert_with(|| Subject { fields: Vec::new(), ..given.clone() });
                if !has(&known.fields, &given.fields[0].name, &text) {
                    match known.fields.iter_mut().find(|field| field.name == given.fields[0].name) {
                        Some(field) => field.values.extend(given.fields[0].values.clone()),
                        None => known.fields.push(given.fields[0].clone()),
                    }
                }
                let is_new = before.as_ref() != Some(known);
                assert_eq!(writer.add_subject("d", &category(*at), &given).unwrap(), is_new);
            }
            Step::Remove { category: at, name } => {
                let name = format!("name {name}");
                let there = model.remove(&(*at, name.clone())).is_some();
                assert_eq!(writer.remove_subject("d", &category(*at), &name).unwrap(), there);
            }
            Step::Correct { category: at, name, to } => {
                let (name, to) = (format!("name {name}"), format!("name {to}"));
                let new = Subject { links: vec![names(&["Places", "name 1"])], ..subject(&to, Vec::new()) };
                let result = writer.correct_subject("d", &category(*at), &name, &new);
                let taken = name != to && model.contains_key(&(*at, to.clone()));
                match model.contains_key(&(*at, name.clone())) {
                    false => assert!(matches!(result, Err(Error::NotFound { .. }))),
                    true if taken => assert!(matches!(result, Err(Error::Invalid { .. }))),
                    true => {
                        result.unwrap();
                        model.remove(&(*at, name));
                        model.insert((*at, to), new);
                    }
                }
            }
            Step::Category { category: at } => {
                let row = Category { path: category(*at), summary: "What belongs here.".into(), fields: Vec::new() };
                writer.add_category("d", &row, "").unwrap();
            }
            Step::Commit => {
                writer.commit().unwrap();
                committed = model.clone();
            }
            Step::Rollback => {
                writer.rollback().unwrap();
                model = committed.clone();
                writer.set_outline_budget("d", 512).unwrap();
            }
            Step::Reopen => {
                writer.commit().unwrap();
                committed = model.clone();
                drop(writer);
                writer = Writer::open_with(&path, options).unwrap();
            }
        }
    }
    writer.commit().unwrap();
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_sound(&snapshot);
    let found = all(&snapshot);
    let expected: BTreeMap<Vec<String>, Subject> = model
        .into_iter()
        .map(|((at, name), subject)| {
            let mut path = category(at);
            path.push(name);
            (path, subject)
        })
        .collect();
    assert_eq!(found.len(), expected.len());
    assert!(found == expected, "other subjects than those of the model");
    let stat = snapshot.stat().unwrap();
    assert_eq!(stat.subjects, expected.len() as u64);
    assert_eq!(
        stat.values,
        expected.values().map(|subject| subject.fields.iter().map(|f| f.values.len() as u64).sum::<u64>()).sum::<u64>()
    );
    // Into another index and out again.
    let exported = lines(&snapshot);
    let copy = folder.path("copy.plica");
    let (stated, again) = stated(exported.as_bytes()).unwrap();
    let mut other = Writer::create(&copy, &stated.options(Options::new())).unwrap();
    import(&mut other, again, ImportOptions::new()).unwrap();
    let other = Index::open(&copy).unwrap().snapshot();
    assert_sound(&other);
    assert!(all(&other) == expected);
    assert_eq!(lines(&other), exported);
    // An outline that came all at once has the pages of one that came step by step.
    assert_eq!(pages(&other), pages(&snapshot));
}

/// Every page as text, in the order of a walk.
fn pages(snapshot: &Snapshot) -> Vec<(Vec<String>, String)> {
    let mut out = Vec::new();
    let mut waiting = if snapshot.has_outline("d").unwrap() { vec![Vec::new()] } else { Vec::new() };
    while let Some(path) = waiting.pop() {
        let page = snapshot.outline("d", &path).unwrap();
        waiting.extend(page.entries.iter().rev().map(|entry| entry.path.clone()));
        out.push((path, page.text()));
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_history_gives_the_subjects_of_the_model(steps in prop::collection::vec(step(), 1..160), small: bool, shared: bool) {
        // A small memory budget writes pages in the midst of work.
        let budget = if small { 4096 } else { 64 << 20 };
        let memory = if shared { MemoryScope::Index } else { MemoryScope::Document };
        run(&steps, &Options::new().memory_budget_bytes(budget).memory(memory));
    }
}

#[test]
fn a_subject_over_the_budget_has_pages_of_its_own_and_a_long_value_is_kept_as_its_span() {
    let folder = Folder::new();
    let path = folder.path("o.plica");
    let mut writer = index(&path, &Options::new());
    writer.set_outline_budget("d", 512).unwrap();
    let category = names(&["People"]);
    let mut large = subject("Anna", Vec::new());
    for at in 0..300u64 {
        large.fields.push(field(
            &format!("day {}", at % 40),
            &format!("she went to place number {at} by boat"),
            Some((at, at + 5)),
        ));
    }
    large.links = (0..50).map(|at| names(&["People", &format!("Friend {at}")])).collect();
    writer.add_subject("d", &category, &large).unwrap();
    let long = vec!["word"; 200].join(" ");
    let kept = subject("Bruno", vec![field("speech", &long, Some((10, 1000)))]);
    writer.add_subject("d", &category, &kept).unwrap();
    let lost = subject("Clara", vec![field("speech", &long, None)]);
    let behind = subject("Dorian", vec![field("speech", "x", Some((10, 1 << 40)))]);
    assert!(matches!(writer.add_subject("d", &category, &behind), Err(Error::Invalid { .. })));
    match writer.add_subject("d", &category, &lost) {
        Err(Error::Limit { limit: 128, got: 200, .. }) => {}
        other => panic!("{other:?}"),
    }
    writer.commit().unwrap();
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_sound(&snapshot);
    let found = all(&snapshot);
    let anna = &found[&names(&["People", "Anna"])];
    assert_eq!(anna.fields.iter().map(|field| field.values.len()).sum::<usize>(), 300);
    assert_eq!(anna.links.len(), 50);
    let bruno = &found[&names(&["People", "Bruno"])];
    assert_eq!(bruno.fields[0].values, [Value { text: String::new(), span: Some((10, 1000)) }]);
    // One value more rewrites a few pages of hers, not all.
    let before = snapshot.stat().unwrap().bytes.total;
    let more = Subject { summary: String::new(), ..subject("Anna", vec![field("day 3", "she stayed at home", None)]) };
    writer.add_subject("d", &category, &more).unwrap();
    writer.commit().unwrap();
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_sound(&snapshot);
    let grown = snapshot.stat().unwrap().bytes.total - before;
    assert!(grown < 12_000, "{grown} bytes for one value");
}

#[test]
fn the_first_value_stays_and_any_other_stands_beside_it() {
    let folder = Folder::new();
    let path = folder.path("o.plica");
    let mut writer = index(&path, &Options::new());
    let category = names(&["People"]);
    let values = [("port", Some((1, 2))), ("PORT ", Some((5, 6))), ("mill", None), ("", Some((7, 9))), ("port", None)];
    for (text, span) in values {
        let given = Subject { summary: text.into(), ..subject("Ánna  B", vec![field("Home", text, span)]) };
        writer.add_subject("d", &category, &given).unwrap();
    }
    let again = subject("ÁNNA B", vec![field("home", "port", Some((1, 2)))]);
    assert!(!writer.add_subject("d", &names(&["PEOPLE"]), &again).unwrap());
    let found = writer.subject("d", &category, "ánna b").unwrap().unwrap();
    assert_eq!((found.name.as_str(), found.summary.as_str()), ("Ánna  B", "port"));
    let home: Vec<(&str, Option<(u64, u64)>)> =
        found.fields[0].values.iter().map(|value| (value.text.as_str(), value.span)).collect();
    assert_eq!(home, [("port", Some((1, 2))), ("mill", None), ("", Some((7, 9)))]);
}

#[test]
fn categories_stand_as_they_were_named_and_walks_reach_everything() {
    let folder = Folder::new();
    let path = folder.path("o.plica");
    let mut writer = index(&path, &Options::new());
    let named = |path: &[&str]| Category { path: names(path), summary: "Named.".into(), fields: names(&["rank"]) };
    for category in [named(&["Zebras"]), named(&["People"]), named(&["People", "Staff"])] {
        writer.add_category("d", &category, "").unwrap();
    }
    writer.add_category("d", &Category { summary: "An overview.".into(), ..Category::default() }, "The title").unwrap();
    for (category, name) in [
        (&["People", "Staff"][..], "~odd/name"),
        (&["Zebras"], "Chapter 10"),
        (&["Zebras"], "Chapter 9"),
        (&["Late"], "x"),
    ] {
        writer.add_subject("d", &names(category), &subject(name, Vec::new())).unwrap();
    }
    let linked = Subject {
        links: vec![names(&["Late", "X"]), names(&["~odd/name"]), names(&["nobody"])],
        ..subject("Chapter 11", Vec::new())
    };
    writer.add_subject("d", &names(&["zebras"]), &linked).unwrap();
    writer.commit().unwrap();
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_sound(&snapshot);
    let root = snapshot.outline("d", &[]).unwrap();
    assert_eq!((root.title.as_str(), root.summary.as_str()), ("The title", "An overview."));
    let titles: Vec<&str> = root.entries.iter().map(|entry| entry.title.as_str()).collect();
    assert_eq!(titles, ["Zebras", "People", "Late"]);
    assert!(root.entries.iter().all(|entry| entry.kind == EntryKind::Category));
    let mut walker = Walker::new(snapshot.clone(), "d").unwrap();
    walker.open(0).unwrap();
    let chapters: Vec<&str> = walker.page().entries.iter().map(|entry| entry.title.as_str()).collect();
    assert_eq!(chapters, ["Chapter 9", "Chapter 10", "Chapter 11"]);
    walker.open(2).unwrap();
    walker.follow(0).unwrap();
    assert_eq!(walker.page().path, names(&["Late", "x"]));
    walker.up().unwrap();
    assert_eq!(walker.follow(1).unwrap().title, "~odd/name");
    assert_eq!(walker.page().path, names(&["People", "Staff", "~~odd/name"]));
    walker.up().unwrap();
    assert!(matches!(walker.follow(2), Err(Error::NotFound { .. })));
    assert!(matches!(walker.follow(9), Err(Error::NotFound { .. })));
    assert!(matches!(walker.open(0), Err(Error::NotFound { .. })));
    for missing in [&["Nobody"][..], &["~0"], &["~"], &["Zebras", "Chapter 9", "x"]] {
        assert!(matches!(snapshot.outline("d", &names(missing)), Err(Error::NotFound { .. })), "{missing:?}");
    }
    let out = folder.path("written");
    let written = write_folder(&snapshot, "d", &out).unwrap();
    assert_eq!((written.subjects, written.categories), (5, 4));
    let overview = std::fs::read_to_string(out.join("index.txt")).unwrap();
    assert!(overview.starts_with("The title\n") && overview.contains("Chapter 10"));
    assert!(std::fs::read_to_string(out.join("People/Staff/_odd_name.txt")).unwrap().starts_with("~odd/name\n"));
    assert!(matches!(write_folder(&snapshot, "d", &out), Err(Error::Invalid { .. })));
}

/// Counts the pages it is asked for.
#[derive(Default)]
struct Counting(AtomicU64);

impl PageSummarizer for Counting {
    fn summarize(&self, page: &PageInput<'_>) -> Result<String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(format!("{} entries from {}", page.entries.len(), page.entries[0].lines().next().unwrap_or("")))
    }
}

#[test]
fn summaries_of_pages_are_made_once_and_survive_an_export() {
    let folder = Folder::new();
    let path = folder.path("o.plica");
    let mut writer = index(&path, &Options::new());
    writer.set_outline_budget("d", 512).unwrap();
    let counting = Arc::new(Counting::default());
    writer.summarize_pages_with(counting.clone());
    for at in 0..400 {
        writer.add_subject("d", &names(&["People"]), &subject(&format!("name {at}"), Vec::new())).unwrap();
    }
    writer.commit().unwrap();
    let made = counting.0.load(Ordering::Relaxed);
    assert!(made > 5);
    writer.add_subject("d", &names(&["People"]), &subject("name 9999", Vec::new())).unwrap();
    writer.commit().unwrap();
    let more = counting.0.load(Ordering::Relaxed) - made;
    assert!((1..12).contains(&more), "{more} pages summarised for one subject more");
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_eq!(snapshot.stat().unwrap().compile_calls[2], made + more);
    let exported = lines(&snapshot);
    assert!(exported.contains("\"page_summary\"") && exported.contains("\"budget\":512"));
    let copy = folder.path("copy.plica");
    let mut other = Writer::create(&copy, &Options::new()).unwrap();
    import(&mut other, exported.as_bytes(), ImportOptions::new()).unwrap();
    let other = Index::open(&copy).unwrap().snapshot();
    assert_eq!(pages(&other), pages(&snapshot));
    assert_eq!(lines(&other), exported);
    assert_sound(&other);
}

#[test]
fn an_outline_of_a_document_in_the_making_is_not_seen() {
    let folder = Folder::new();
    let path = folder.path("o.plica");
    let mut writer = Writer::create(&path, &Options::new()).unwrap();
    writer.add_document("d", "", "").unwrap();
    writer.add_subject("d", &names(&["People"]), &subject("Anna", Vec::new())).unwrap();
    writer.commit().unwrap();
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert!(matches!(snapshot.outline("d", &[]), Err(Error::NotFound { what: "document", .. })));
    assert_eq!(snapshot.stat().unwrap().subjects, 0);
    writer.publish("d").unwrap();
    writer.commit().unwrap();
    assert_eq!(all(&Index::open(&path).unwrap().snapshot()).len(), 1);
}

#[test]
fn outline_lines_are_refused_by_number_with_the_reason() {
    let folder = Folder::new();
    let start = r#"{"type":"document","doc":"d"}
{"type":"chunk","doc":"d","text":"Anna went home."}
"#;
    for (at, (line, says)) in [
        (r#"{"type":"outline","doc":"d","path":["Anna"]}"#, "category"),
        (r#"{"type":"outline","doc":"d","path":["People","Anna"],"budget":900}"#, "root"),
        (r#"{"type":"outline","doc":"d","path":["People","Anna"],"fields":[{"name":"a"}]}"#, "neither"),
        (r#"{"type":"outline","doc":"d","path":["People","Anna"],"fields":[{"name":"a","start":1}]}"#, "together"),
        (
            r#"{"type":"outline","doc":"d","path":["People","Anna"],"fields":[{"name":"a","start":9,"end":2}]}"#,
            "behind",
        ),
        (r#"{"type":"outline","doc":"d","path":["People","Anna"],"fields":[{"name":"a","start":1,"end":99}]}"#, "99"),
        (r#"{"type":"outline","doc":"d","path":["People"," "]}"#, "empty"),
        (r#"{"type":"outline","doc":"d","path":[],"category":true,"budget":5}"#, "512"),
        (r#"{"type":"outline","doc":"d","path":[],"compiled":500}"#, "500"),
        (r#"{"type":"outline","doc":"d","path":["People"],"category":true,"links":[]}"#, "links"),
        (r#"{"type":"outline","doc":"d","path":["People","Anna"],"colour":1}"#, "colour"),
        (r#"{"type":"outline","doc":"x","path":["People","Anna"]}"#, "document"),
        (r#"{"type":"page_summary","doc":"d","hash":"12","summary":"s"}"#, "hash"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut writer = Writer::create(folder.path(&format!("{at}.plica")), &Options::new()).unwrap();
        let input = format!("{start}{line}\n");
        match import(&mut writer, input.as_bytes(), ImportOptions::new()) {
            Err(Error::Line { line: 3, source }) => assert!(source.to_string().contains(says), "{line}: {source}"),
            other => panic!("{line}: {other:?}"),
        }
        assert!(!writer.has_changes());
    }
}

#[test]
fn a_subject_and_a_category_of_one_name_are_told_apart() {
    let folder = Folder::new();
    let path = folder.path("o.plica");
    let mut writer = index(&path, &Options::new());
    writer.add_subject("d", &names(&["A"]), &subject("B", vec![field("says", "the subject", None)])).unwrap();
    writer.add_subject("d", &names(&["a", "b"]), &subject("C", Vec::new())).unwrap();
    assert!(matches!(
        writer.add_subject("d", &names(&["A"]), &subject("x\0y", Vec::new())),
        Err(Error::Invalid { .. })
    ));
    writer.commit().unwrap();
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_sound(&snapshot);
    let page = snapshot.outline("d", &names(&["A"])).unwrap();
    let paths: Vec<Vec<String>> = page.entries.iter().map(|entry| entry.path.clone()).collect();
    assert_eq!(paths, [names(&["A", "b"]), names(&["A", "~=B"])]);
    assert_eq!(snapshot.outline("d", &names(&["A", "B"])).unwrap().entries[0].title, "C");
    let told = snapshot.outline("d", &paths[1]).unwrap();
    assert_eq!((told.fields[0].values[0].text.as_str(), told.path), ("the subject", paths[1].clone()));
    let linked = snapshot.resolve_link("d", &names(&["B"])).unwrap();
    assert_eq!(linked, Some(paths[1].clone()));
    write_folder(&snapshot, "d", &folder.path("written")).unwrap();
    assert!(std::fs::read_to_string(folder.path("written/A/B.txt")).unwrap().contains("the subject"));
}

#[test]
fn many_values_and_many_categories_are_taken_in_time() {
    let folder = Folder::new();
    let mut writer = index(&folder.path("o.plica"), &Options::new());
    let values = (0..65_536u32).map(|at| Value { text: format!("value {at}"), span: None }).collect();
    let mut large = subject("Anna", vec![Field { name: "says".into(), values }]);
    assert!(writer.add_subject("d", &names(&["People"]), &large).unwrap());
    large.fields[0].values.push(Value { text: "one more".into(), span: None });
    assert!(matches!(
        writer.add_subject("d", &names(&["People"]), &large),
        Err(Error::Limit { limit: 65_536, got: 65_537, .. })
    ));
    for at in 0..5_000 {
        let category = Category { path: names(&[&format!("category {at}")]), ..Category::default() };
        writer.add_category("d", &category, "").unwrap();
    }
    assert_eq!(writer.categories("d").unwrap().len(), 5_001);
}

#[test]
fn lines_that_speak_of_text_to_come_wait_for_it_and_never_damage_an_index() {
    let folder = Folder::new();
    let document = r#"{"type":"document","doc":"d"}"#;
    let subject = r#"{"type":"outline","doc":"d","path":["People","Anna"],"fields":[{"name":"a","value":"x","start":8,"end":12}]}"#;
    let chunks = [r#"{"type":"chunk","doc":"d","text":"Anna we"}"#, r#"{"type":"chunk","doc":"d","text":"nt home."}"#];
    let late = format!("{document}\n{}\n{subject}\n{}\n", chunks[0], chunks[1]);
    let never = format!("{document}\n{subject}\n{}\n", chunks[0]);
    let path = folder.path("late.plica");
    let mut writer = Writer::create(&path, &Options::new()).unwrap();
    import(&mut writer, late.as_bytes(), ImportOptions::new().commit_every(1)).unwrap();
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_sound(&snapshot);
    assert_eq!(snapshot.stat().unwrap().subjects, 1);
    let path = folder.path("never.plica");
    let mut writer = Writer::create(&path, &Options::new()).unwrap();
    let refused = import(&mut writer, never.as_bytes(), ImportOptions::new().commit_every(1));
    assert!(matches!(refused, Err(Error::Line { line: 2, .. })), "{refused:?}");
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_sound(&snapshot);
    assert_eq!(snapshot.stat().unwrap().subjects, 0);
}
