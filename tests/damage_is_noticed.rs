//! A flipped bit or a cut file gives a typed error or the right answer, never a wrong one, and never a panic.

mod common;

use common::{everything, everything_compiled, navigations};
use plica::{Index, Limits};
use std::path::Path;

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("format/golden").join(name)).unwrap()
}

fn sound() -> Vec<u8> {
    golden("v1.plica")
}

/// All answers, or `None` where any of them is an error.
fn answers(bytes: Vec<u8>) -> Option<String> {
    let index = Index::from_bytes(bytes).ok()?;
    let snapshot = index.snapshot();
    // The check reads all that the answers are built from; where it is content, they must be right.
    let report = snapshot.check(&Limits::default()).ok()?;
    report.findings.is_empty().then(|| match snapshot.has_outline("letters") {
        Ok(true) => everything_compiled(&snapshot) + &navigations(&snapshot),
        _ => everything(&snapshot),
    })
}

#[test]
fn a_flipped_bit_anywhere() {
    flip(sound());
}

#[test]
fn a_flipped_bit_in_outlines_and_records() {
    flip(golden("v1-compiled.plica"));
}

fn flip(bytes: Vec<u8>) {
    let right = answers(bytes.clone()).unwrap();
    let (mut noticed, mut harmless) = (0, 0);
    for at in (0..bytes.len() * 8).step_by(1021) {
        let mut bad = bytes.clone();
        bad[at / 8] ^= 1 << (at % 8);
        match answers(bad) {
            None => noticed += 1,
            // A slot that is not the newest one, say.
            Some(answers) => {
                assert!(answers == right, "bit {at} changed an answer and was not noticed");
                harmless += 1;
            }
        }
    }
    assert!(noticed > harmless, "{noticed} noticed, {harmless} harmless");
}

#[test]
fn a_lost_head_slot_is_found_by_a_check() {
    for page in 1..=4 {
        let mut bytes = sound();
        bytes[page * 4096..(page + 1) * 4096].fill(0);
        let Ok(index) = Index::from_bytes(bytes) else { continue };
        let report = index.snapshot().check(&Limits::default()).unwrap();
        assert_eq!(report.findings.len(), 1, "page {page}");
        assert_eq!((report.findings[0].offset, &*report.findings[0].what), (page as u64 * 4096, "head slot"));
    }
}

#[test]
fn a_creation_that_was_cut_short_is_done_again() {
    let folder = common::Folder::new();
    let path = folder.path("a.plica");
    drop(plica::Writer::create(&path, &plica::Options::new()).unwrap());
    let mut unborn = std::fs::read(&path).unwrap();
    unborn[..4096].fill(0);
    for left in [&[][..], &[0; 20_608], &unborn] {
        std::fs::write(&path, left).unwrap();
        assert!(matches!(Index::open(&path).unwrap_err(), plica::Error::NotAnIndex { .. }), "{} bytes", left.len());
        let mut writer = plica::Writer::create(&path, &plica::Options::new()).unwrap();
        writer.add_document("a", "", "").unwrap();
        writer.commit().unwrap();
    }
    // Anything else is left alone.
    let index = std::fs::read(&path).unwrap();
    assert!(plica::Writer::create(&path, &plica::Options::new()).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), index);
    std::fs::write(&path, "Dear diary").unwrap();
    assert!(plica::Writer::create(&path, &plica::Options::new()).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"Dear diary");
}

#[test]
fn a_file_cut_anywhere() {
    let bytes = sound();
    let right = answers(bytes.clone()).unwrap();
    for length in (0..bytes.len()).step_by(1531) {
        if let Some(answers) = answers(bytes[..length].to_vec()) {
            assert!(answers == right, "cut at {length}");
        }
    }
}

#[test]
fn every_answer_from_a_damaged_file_is_an_error_or_right() {
    let bytes = sound();
    let snapshot = Index::from_bytes(bytes.clone()).unwrap().snapshot();
    let ask = |snapshot: &plica::Snapshot| {
        let query = plica::Query::new("the keeper of the lamp").k(20);
        let texts = plica::TextQuery { k: 3, mode: plica::TextMode::All, ..plica::TextQuery::new("the keeper") };
        let found = snapshot.search(&query).and_then(|answer| Ok((answer, snapshot.text_search(&texts)?)));
        found.map(|found| format!("{found:?}")).ok()
    };
    let right = ask(&snapshot).unwrap();
    let mut errors = 0;
    for at in (20_480 * 8..bytes.len() * 8).step_by(499) {
        let mut bad = bytes.clone();
        bad[at / 8] ^= 1 << (at % 8);
        let Ok(index) = Index::from_bytes(bad) else { continue };
        match ask(&index.snapshot()) {
            Some(answer) => assert!(answer == right, "bit {at}"),
            None => errors += 1,
        }
    }
    assert!(errors > 0);
}
