//! What is left of a damaged index comes into a new one, nothing else does, and what is lost is told.

#[path = "common/history.rs"]
mod history;

#[path = "common/blocks.rs"]
mod blocks;
mod common;

use blocks::{blocks, golden_indexes};
use common::Folder;
use common::sentences;
use history::{difference, steps, write};
use plica::format::block::BlockKind;
use plica::format::limits::FIRST_BLOCK_OFFSET;
use plica::{Index, Limits, MemoryScope, NewChunk, Options, Salvaged, Writer, salvage};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn export(index: &Index) -> String {
    let mut lines = Vec::new();
    plica::interchange::export(&index.snapshot(), &mut lines).unwrap();
    String::from_utf8(lines).unwrap()
}

fn export_of(bytes: &[u8]) -> String {
    export(&Index::from_bytes(bytes.to_vec()).unwrap())
}

/// Salvages bytes; the new index is sound.
fn salvaged(bytes: &[u8]) -> (Salvaged, String) {
    let folder = Folder::new();
    let (damaged, new) = (folder.path("damaged.plica"), folder.path("new.plica"));
    std::fs::write(&damaged, bytes).unwrap();
    let report = salvage(&damaged, &new, &Limits::default()).unwrap();
    let index = Index::open(&new).unwrap();
    let checked = index.snapshot().check(&Limits::default()).unwrap();
    assert_eq!(checked.findings, [], "{report:?}");
    assert_eq!(std::fs::read(&damaged).unwrap(), bytes, "the damaged file is only read");
    (report, export(&index))
}

/// The texts of all chunk lines that are not empty.
fn texts(lines: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for line in lines.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line["type"] == "chunk" && line["text"] != "" {
            texts.push(line["text"].as_str().unwrap().to_owned());
        }
    }
    texts.sort();
    texts
}

/// Whether a history appends this very text.
fn is_of_a_history(text: &str) -> bool {
    let seed = text.rsplit_once('x').and_then(|(_, seed)| seed.parse().ok());
    let mark = text.rsplit_once(" unique").map_or("", |(_, mark)| mark);
    seed.is_some_and(|seed| text == format!("{} unique{mark}", sentences(seed, 3)))
}

/// All text of the document for what nothing names any more.
fn lost_texts(lines: &str) -> String {
    let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let chunks = lines.filter(|line| line["type"] == "chunk" && line["doc"] == "lost-texts");
    chunks.map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

/// Lines without the document for what nothing names any more.
fn named(lines: &str) -> String {
    let is_named = |line: &&str| !line.contains(r#""doc":"lost-texts""#);
    lines.lines().filter(is_named).map(|line| format!("{line}\n")).collect()
}

/// Lines of chunks and records that were not there before. Other lines may be shorter than they were.
fn invented(before: &str, after: &str) -> Vec<String> {
    let known: BTreeSet<&str> = before.lines().collect();
    let texts: BTreeSet<String> = texts(before).into_iter().collect();
    after
        .lines()
        .filter(|line| !known.contains(line))
        .filter(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            match line["type"].as_str().unwrap() {
                "chunk" => line["text"] != "" && !texts.contains(line["text"].as_str().unwrap()),
                "summary" => !line["text"].as_str().unwrap().contains("[…]"),
                _ => false,
            }
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_sound_index_comes_whole() {
    for (name, bytes) in golden_indexes() {
        let (report, lines) = salvaged(&bytes);
        assert_eq!(difference(&export_of(&bytes), &lines), None, "{name}");
        assert!(report.is_whole() && report.damage.is_empty(), "{name}: {report:?}");
    }
}

#[test]
fn an_index_without_page_and_slots_comes_whole() {
    for (name, mut bytes) in golden_indexes() {
        let before = export_of(&bytes);
        bytes[..FIRST_BLOCK_OFFSET as usize].fill(0x5a);
        let (report, lines) = salvaged(&bytes);
        assert_eq!(difference(&before, &lines), None, "{name}");
        assert!(report.is_whole() && report.commit.is_some(), "{name}: {report:?}");
        assert_eq!(report.damage.len(), 5, "{name}: {report:?}");
    }
}

#[test]
fn without_a_commit_all_texts_come_and_nothing_is_vouched_for() {
    for (name, mut bytes) in golden_indexes() {
        let before = export_of(&bytes);
        for (_, place) in blocks(&bytes).into_iter().filter(|(kind, _)| *kind == BlockKind::Commit) {
            bytes[place].fill(0);
        }
        bytes[..FIRST_BLOCK_OFFSET as usize].fill(0);
        let (report, lines) = salvaged(&bytes);
        assert_eq!(texts(&before), texts(&lines), "{name}");
        assert_eq!(report.commit, None, "{name}");
        assert!(!report.unvouched.is_empty(), "{name}");
        assert!(lines.contains("unvouched_document"), "{name}");
    }
}

#[test]
fn a_lost_block_costs_what_hangs_from_it_and_no_more() {
    for (name, bytes) in golden_indexes() {
        let before = export_of(&bytes);
        let total = texts(&before).len();
        for (kind, place) in blocks(&bytes).into_iter().filter(|(kind, _)| *kind != BlockKind::Padding) {
            for at in [place.start + 40, place.start + 2] {
                let mut bad = bytes.clone();
                bad[at] ^= 0x20;
                let (report, lines) = salvaged(&bad);
                let context = format!("{name}, byte {at} of a {} block: {report:#?}", kind.name());
                assert_eq!(report.damage.len(), 1, "{context}");
                assert_eq!(report.damage[0].offset, place.start as u64, "{context}");
                assert_eq!(invented(&before, &named(&lines)), Vec::<String>::new(), "{context}");
                // A text is lost with its own block alone, or with the dictionary that it is compressed with.
                let (nameless, left) = (lost_texts(&lines), texts(&named(&lines)));
                let all_there = texts(&before).iter().all(|text| left.contains(text) || nameless.contains(text));
                assert!(all_there || matches!(kind, BlockKind::Text | BlockKind::Dictionary), "{context}");
                let changed = difference(&before, &lines).is_some();
                assert!(!(changed && report.is_whole()), "{context}");
                let lost: u32 = report
                    .lost
                    .iter()
                    .filter(|loss| loss.what == "chunk")
                    .flat_map(|loss| &loss.chunks)
                    .map(|(first, last)| last - first + 1)
                    .sum();
                let left = left.len();
                match kind {
                    BlockKind::Text => assert!(lost > 0 && left + lost as usize == total, "{context}"),
                    // Postings are made anew, and an older commit block leads to no less than the blocks of a newer one.
                    BlockKind::Postings => assert_eq!(difference(&before, &lines), None, "{context}"),
                    BlockKind::Fold | BlockKind::Outline | BlockKind::Metadata | BlockKind::Commit => {
                        assert_eq!((left, lost), (total, 0), "{context}");
                    }
                    BlockKind::Dictionary => {}
                    _ => assert!(left + lost as usize <= total, "{context}"),
                }
            }
        }
    }
}

#[test]
fn what_the_lost_newest_commit_wrote_comes_and_is_marked() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, &Options::new()).unwrap();
    writer.add_document("notes", "", "").unwrap();
    for at in 0..4 {
        writer.append_chunk("notes", &NewChunk::text(&format!("The keeper wrote letter {at}."))).unwrap();
        if at == 0 {
            writer.publish("notes").unwrap();
        }
        writer.commit().unwrap();
    }
    drop(writer);
    let mut bytes = std::fs::read(&path).unwrap();
    let (_, last) = blocks(&bytes).into_iter().rfind(|(kind, _)| *kind == BlockKind::Commit).unwrap();
    bytes[last.start + 50] ^= 1;
    assert!(Index::from_bytes(bytes.clone()).is_err());
    let (report, lines) = salvaged(&bytes);
    assert_eq!((report.commit, report.chunks), (Some(4), 4));
    let marked: Vec<_> = report.unvouched.iter().filter(|loss| loss.what == "chunk").collect();
    assert_eq!(marked[0].chunks, [(3, 3)], "{report:?}");
    assert!(lines.contains(r#""salvage":{"lost_chunks":[],"unvouched_chunks":[[3,3]]"#), "{lines}");
}

#[test]
fn a_cut_file_gives_what_is_before_the_cut() {
    for (name, bytes) in golden_indexes() {
        let before = export_of(&bytes);
        let mut most = 0;
        for (_, place) in blocks(&bytes).into_iter().rev().step_by(3) {
            let (report, lines) = salvaged(&bytes[..place.start]);
            assert_eq!(
                invented(&before, &named(&lines)),
                Vec::<String>::new(),
                "{name} cut at {}: {report:?}",
                place.start
            );
            most = most.max(texts(&lines).len());
        }
        assert!(most > 0, "{name}");
    }
}

#[test]
fn what_is_no_index_is_refused_and_leaves_nothing() {
    let folder = Folder::new();
    let (damaged, new) = (folder.path("damaged"), folder.path("new.plica"));
    for bytes in [&[][..], b"a letter", &[0; 50_000]] {
        std::fs::write(&damaged, bytes).unwrap();
        let error = salvage(&damaged, &new, &Limits::default()).unwrap_err();
        assert!(matches!(error, plica::Error::NotAnIndex { .. }), "{error}");
        assert!(!new.exists());
    }
    std::fs::write(&damaged, &golden_indexes()[0].1).unwrap();
    std::fs::write(&new, b"mine").unwrap();
    let error = salvage(&damaged, &new, &Limits::default()).unwrap_err();
    assert!(matches!(error, plica::Error::Io { .. }), "{error}");
    assert_eq!(std::fs::read(&new).unwrap(), b"mine");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_comes_whole_without_page_and_slots(
        steps in steps(),
        small in any::<bool>(),
        shared in any::<bool>(),
    ) {
        let memory = if shared { MemoryScope::Index } else { MemoryScope::Document };
        let options = Options::new().fanout(2).memory(memory).memory_budget_bytes(if small { 3_000 } else { 1 << 20 });
        let (folder, path, snapshot) = write(&options, &steps);
        let mut before = Vec::new();
        plica::interchange::export(&snapshot, &mut before).unwrap();
        let before = String::from_utf8(before).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[..FIRST_BLOCK_OFFSET as usize].fill(0);
        let (report, lines) = salvaged(&bytes);
        prop_assert_eq!(difference(&before, &lines), None, "{:?}", report);
        prop_assert!(report.lost.is_empty(), "{:?}", report);
        drop(folder);
    }

    #[test]
    fn whatever_is_damaged_nothing_is_made_up(
        steps in steps(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 1usize..2_000, any::<u8>()), 1..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let options = Options::new().fanout(2).memory_budget_bytes(3_000);
        let (folder, path, _) = write(&options, &steps);
        let mut bytes = std::fs::read(&path).unwrap();
        drop(folder);
        for (at, length, value) in damage {
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            bytes[at..end].fill(value);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let folder = Folder::new();
        let (damaged, new) = (folder.path("damaged.plica"), folder.path("new.plica"));
        std::fs::write(&damaged, &bytes).unwrap();
        match salvage(&damaged, &new, &Limits::default()) {
            Ok(report) => {
                let index = Index::open(&new).unwrap();
                prop_assert_eq!(index.snapshot().check(&Limits::default()).unwrap().findings, []);
                for text in texts(&named(&export(&index))) {
                    prop_assert!(is_of_a_history(&text), "{}: {:?}", text, report);
                }
            }
            Err(plica::Error::NotAnIndex { .. }) => prop_assert!(!new.exists()),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}
