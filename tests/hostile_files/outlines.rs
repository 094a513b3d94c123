//! Outlines: pages and nodes that are met twice, counts beyond all bounds, categories without end.

use crate::forge::Forge;
use crate::trial::{Trial, golden};
use plica::format::block::{BlockKind, Reference};
use plica::format::key;
use plica::format::outline::{Entries, Item, OutlinePage, Range, Subject, Top};
use plica::format::outline_head::OutlineHead;

/// The hash that names the node of a category.
fn node(path: &[&str]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for name in path {
        let name = plica::text::key(name);
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
    }
    *hasher.finalize().as_bytes().first_chunk().unwrap()
}

fn subject(name: &str) -> Item {
    Item::Subject(Subject { name: name.into(), ..Subject::default() })
}

/// Key of the subject `sN`.
fn subject_key(n: usize) -> Vec<u8> {
    let number = n.to_string();
    [&[1, b's'][..], format!("{}{number}", number.len()).as_bytes()].concat()
}

/// Puts a page behind all that was put there before.
fn put(forge: &mut Forge, page: &OutlinePage) -> Reference {
    let head = forge.head();
    forge.add(head, BlockKind::Outline, page.encode())
}

/// The golden file with these pages as the outline of its document.
fn with_root(mut forge: Forge, top: Top) -> Trial {
    forge.value_anew(
        |key| key[0] == key::OUTLINE,
        |value| {
            let mut head = OutlineHead::decode(value).unwrap();
            head.root = Some(top);
            value.clear();
            head.encode(value);
        },
    );
    Trial::of(&forge)
}

fn page_of(node: [u8; 16], level: u8, entries: Entries) -> OutlinePage {
    OutlinePage { document: 0, node, level, entries }
}

fn range(first: usize, count: u32, page: Reference) -> Range {
    let name = format!("s{first}");
    Range { first_key: subject_key(first), first: name.clone(), last: name, summary: String::new(), count, page }
}

#[test]
fn an_outline_that_is_made_by_hand_is_sound_where_nothing_is_wrong() {
    let mut forge = golden(1);
    let page = put(&mut forge, &page_of(node(&[]), 0, Entries::Items(vec![subject("s1"), subject("s2")])));
    let ranges = vec![range(1, 2, page)];
    let page = put(&mut forge, &page_of(node(&[]), 1, Entries::Ranges(ranges)));
    let trial = with_root(forge, Top { page, level: 1, count: 2 });
    assert!(trial.errors.is_empty(), "{trial:#?}");
    // The names of the subjects that were there before are still listed, and their values counted.
    assert!(
        trial
            .findings
            .iter()
            .all(|found| ["names have no subject", "values", "other ends"].iter().any(|words| found.contains(words))),
        "{trial:#?}"
    );
}

/// Five pages that say of themselves to be 2^30: all 64 entries of each are the page below.
#[test]
fn pages_that_list_the_same_page_over_and_over() {
    let mut forge = golden(1);
    let items = (0..64).map(|n| subject(&format!("s{n}"))).collect();
    let mut page = put(&mut forge, &page_of(node(&[]), 0, Entries::Items(items)));
    let mut count = 64u32;
    for level in 1..5 {
        let ranges = (0..64).map(|n| range(n, count, page)).collect();
        page = put(&mut forge, &page_of(node(&[]), level, Entries::Ranges(ranges)));
        count *= 64;
    }
    with_root(forge, Top { page, level: 4, count }).is_found("within the range that the page above says");
}

/// Each page lists two, and two pages of a level list the same two: a page has one first key, but many parents.
#[test]
fn pages_that_share_the_pages_below_them() {
    let mut forge = golden(1);
    let mut pages = [0, 2].map(|n| {
        let items = vec![subject(&format!("s{n}")), subject(&format!("s{}", n + 1))];
        put(&mut forge, &page_of(node(&[]), 0, Entries::Items(items)))
    });
    let mut count = 2;
    for level in 1..29 {
        let both = [range(0, count, pages[0]), range(2, count, pages[1])];
        // The second page has another first key only by leaving the first entry out, so it counts half as much.
        let upper = put(&mut forge, &page_of(node(&[]), level, Entries::Ranges(both.to_vec())));
        pages = [upper, upper];
        count *= 2;
    }
    with_root(forge, Top { page: pages[0], level: 28, count }).is_found("within the range that the page above says");
}

#[test]
fn counts_that_are_none_or_too_much() {
    let mut forge = golden(1);
    let page = put(&mut forge, &page_of(node(&[]), 0, Entries::Items(vec![subject("s1")])));
    let root = |forge: &mut Forge, counts: [u32; 2]| {
        let ranges = counts.iter().zip(1..).map(|(&count, n)| range(n, count, page)).collect();
        put(forge, &page_of(node(&[]), 1, Entries::Ranges(ranges)))
    };
    let zero = root(&mut forge, [0, 1]);
    let much = root(&mut forge, [u32::MAX, u32::MAX]);
    with_root(forge.clone(), Top { page: zero, level: 1, count: 1 }).is_found("ranges of at least one item");
    with_root(forge.clone(), Top { page: much, level: 1, count: u32::MAX })
        .is_found("entries that sum up to the count");
    with_root(forge.clone(), Top { page, level: 0, count: 7 }).is_found("the document, node, level and count");
    with_root(forge, Top { page, level: 0, count: 0 }).is_found("a count from 1");
}

fn category(name: &str, position: u32, top: Top) -> Item {
    Item::Category { name: name.into(), position, summary: String::new(), overview: String::new(), top }
}

/// 64 categories of one name, at 64 places: one node each, and below it the same again.
#[test]
fn one_category_in_many_places() {
    let mut forge = golden(1);
    let names = ["c"; 5];
    let mut count = 1;
    let mut page = put(&mut forge, &page_of(node(&names), 0, Entries::Items(vec![subject("s1")])));
    for depth in (0..5).rev() {
        let top = Top { page, level: 0, count };
        let items = (0..64).map(|place| category("c", place, top)).collect();
        page = put(&mut forge, &page_of(node(&names[..depth]), 0, Entries::Items(items)));
        count *= 64;
    }
    with_root(forge, Top { page, level: 0, count }).is_found("lies in two places");
}

#[test]
fn categories_without_end() {
    let mut forge = golden(1);
    let names = ["c"; 400];
    let mut page = put(&mut forge, &page_of(node(&names), 0, Entries::Items(vec![subject("s1")])));
    for depth in (0..400).rev() {
        let items = vec![category("c", 0, Top { page, level: 0, count: 1 })];
        page = put(&mut forge, &page_of(node(&names[..depth]), 0, Entries::Items(items)));
    }
    with_root(forge, Top { page, level: 0, count: 1 }).is_found("lies below more than 16");
}

#[test]
fn a_page_of_another_node_or_document() {
    let items = || Entries::Items(vec![subject("s1")]);
    for page in [page_of(node(&["x"]), 0, items()), OutlinePage { document: 1, ..page_of(node(&[]), 0, items()) }] {
        let mut forge = golden(1);
        let page = put(&mut forge, &page);
        with_root(forge, Top { page, level: 0, count: 1 }).is_found("the document, node, level and count");
    }
}

#[test]
fn items_out_of_order_and_twice() {
    for names in [["s2", "s1"], ["s1", "S1"], ["s10", "s9"]] {
        let mut forge = golden(1);
        let items = names.map(subject).to_vec();
        let page = put(&mut forge, &page_of(node(&[]), 0, Entries::Items(items)));
        with_root(forge, Top { page, level: 0, count: 2 }).is_found("items in the order of their keys");
    }
}

#[test]
fn a_page_that_lies_behind_the_one_that_refers_to_it() {
    let mut forge = golden(1);
    let below = put(&mut forge, &page_of(node(&[]), 0, Entries::Items(vec![subject("s1")])));
    let page = put(&mut forge, &page_of(node(&[]), 1, Entries::Ranges(vec![range(1, 1, below)])));
    let (a, b) = (forge.find(&below), forge.find(&page));
    forge.blocks.swap(a, b);
    with_root(forge, Top { page, level: 1, count: 1 }).is_found("a page that lies before the one that refers to it");
}
