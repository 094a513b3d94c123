//! A check names each damaged block, and what depends on it: all that then cannot be read, and nothing that can.

#[path = "common/blocks.rs"]
mod blocks;
mod common;

use blocks::golden_indexes;
use common::Folder;
use plica::format::block::{BlockKind, HEADER_BYTES};
use plica::format::limits::FIRST_BLOCK_OFFSET;
use plica::{CheckOptions, Error, Index, Limits, NewChunk, Options, Snapshot, Writer, check};
use std::sync::atomic::{AtomicBool, Ordering};

/// Kind and place of every block but padding.
fn blocks(bytes: &[u8]) -> Vec<(&'static str, std::ops::Range<usize>)> {
    let blocks = blocks::blocks(bytes).into_iter().filter(|(kind, _)| *kind != BlockKind::Padding);
    blocks.map(|(kind, place)| (kind.name(), place)).collect()
}

/// Reads all of every document, and gives the damage that was met.
fn read_all(snapshot: &Snapshot) -> Option<u64> {
    let met = |result: plica::Result<()>| match result {
        Ok(()) => None,
        Err(Error::Damaged { offset, .. }) => Some(offset),
        Err(other) => panic!("{other}"),
    };
    let exported = met(plica::interchange::export(snapshot, &mut std::io::sink()));
    let question = plica::Query::new("Anna keeper lamp mill garden harbour");
    exported.or_else(|| met(snapshot.search(&question).map(|_| ())))
}

#[test]
fn each_damaged_block_is_named_with_what_needs_it() {
    for (name, bytes) in golden_indexes() {
        let mut named = 0;
        for (kind, place) in blocks(&bytes) {
            let mut bad = bytes.clone();
            bad[place.start + HEADER_BYTES] ^= 1;
            let Ok(index) = Index::from_bytes(bad) else { continue };
            let snapshot = index.snapshot();
            let context = format!("{name}, {kind} block at {}", place.start);
            let quick = snapshot.check_quick(&Limits::default()).unwrap();
            let report = snapshot.check(&Limits::default()).unwrap();
            for findings in [&quick.findings, &report.findings] {
                let finding = findings.iter().find(|finding| finding.offset == place.start as u64);
                let finding = finding.unwrap_or_else(|| panic!("{context}: {findings:#?}"));
                assert_eq!((finding.what.as_str(), finding.bytes), (&*format!("{kind} block"), place.len() as u64));
                if let Some(offset) = read_all(&snapshot) {
                    assert_eq!(offset, place.start as u64, "{context}");
                    assert!(!finding.depends.is_empty(), "{context}: nothing is said to need it: {finding:?}");
                    named += 1;
                }
            }
            assert_eq!(quick.findings.len(), 1, "{context}: {quick:#?}");
        }
        assert!(named > 0, "{name}");
    }
}

#[test]
fn dependents_are_told_in_words() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, &Options::new().fanout(2)).unwrap();
    writer.add_document("letters", &"A long title. ".repeat(40), r#"{"lang":"en"}"#).unwrap();
    for at in 0..5 {
        writer.append_chunk("letters", &NewChunk::text(&common::sentences(at, 400))).unwrap();
    }
    writer.set_summary("letters", 1, 0, "What the letters tell.", plica::Origin::Given).unwrap();
    writer.publish("letters").unwrap();
    writer.commit().unwrap();
    drop(writer);
    let bytes = std::fs::read(&path).unwrap();
    let mut told = Vec::new();
    for (kind, place) in blocks(&bytes) {
        let mut bad = bytes.clone();
        bad[place.start + HEADER_BYTES] ^= 1;
        std::fs::write(&path, bad).unwrap();
        let report = check(&path, &CheckOptions::new().quick(true), &Limits::default()).unwrap();
        told.extend(report.findings.iter().flat_map(|finding| &finding.depends).map(|what| format!("{kind}: {what}")));
    }
    let all = told.join("\n");
    for expected in [
        "text: texts of chunks 0 of document \"letters\"",
        "metadata: title and metadata of document \"letters\"",
        "fold: the fold tree of document \"letters\": level 1, chunks 0 to 1",
        "leaf: a whole segment",
    ] {
        assert!(all.contains(expected), "{expected:?} is not in\n{all}");
    }
}

#[test]
fn an_index_that_does_not_open_is_looked_through() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    for (name, bytes) in golden_indexes() {
        let places = blocks(&bytes);
        let (_, last) = places.last().unwrap();
        let (_, first) = places.iter().find(|(kind, _)| *kind == "text").unwrap();
        let mut bad = bytes.clone();
        bad[100] ^= 1;
        bad[last.start + 40] ^= 1;
        bad[first.start + 40] ^= 1;
        std::fs::write(&path, bad).unwrap();
        let report = check(&path, &CheckOptions::new(), &Limits::default()).unwrap();
        assert!(!report.opens, "{name}");
        let offsets: Vec<u64> = report.findings.iter().map(|finding| finding.offset).collect();
        assert_eq!(offsets, [0, first.start as u64, last.start as u64], "{name}: {report:#?}");
    }
}

#[test]
fn an_index_without_page_and_slots_is_looked_through() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    for (name, mut bytes) in golden_indexes() {
        bytes[..FIRST_BLOCK_OFFSET as usize].fill(0);
        std::fs::write(&path, bytes).unwrap();
        let report = check(&path, &CheckOptions::new(), &Limits::default()).unwrap();
        assert!(!report.opens && report.findings.len() == 5, "{name}: {report:?}");
        assert!(report.findings.iter().all(|finding| !finding.detail.contains("ends")), "{name}: {report:?}");
    }
    for bytes in [&b"a letter"[..], &[0; 50_000]] {
        std::fs::write(&path, bytes).unwrap();
        let error = check(&path, &CheckOptions::new(), &Limits::default()).unwrap_err();
        assert!(matches!(error, Error::NotAnIndex { .. }), "{error}");
    }
}

#[test]
fn a_check_beside_a_writer_finds_nothing() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, &Options::new()).unwrap();
    writer.add_document("notes", "", "").unwrap();
    writer.publish("notes").unwrap();
    writer.commit().unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut checks = 0;
            while !is_done.load(Ordering::Relaxed) || checks == 0 {
                let quick = CheckOptions::new().quick(checks % 2 == 0);
                let report = check(&path, &quick, &Limits::default()).unwrap();
                assert_eq!(report.findings, [], "check {checks}");
                checks += 1;
            }
            checks
        });
        for at in 0..300 {
            writer.append_chunk("notes", &NewChunk::text(&common::sentences(at, 3))).unwrap();
            writer.commit().unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
}
