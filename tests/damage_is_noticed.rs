//! A flipped bit or a cut file gives a typed error or the right answer, never a wrong one, and never a panic.

#[path = "common/blocks.rs"]
mod blocks;
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

/// Every so many places are damaged; `PLICA_DAMAGE_STRIDE=1` makes it the whole run.
fn stride(slice: usize) -> usize {
    std::env::var("PLICA_DAMAGE_STRIDE").ok().and_then(|stride| stride.parse().ok()).unwrap_or(slice)
}

/// What became of damage.
#[derive(Debug, Default)]
struct Classes {
    /// The file did not open.
    refused: usize,
    /// A check ended with an error.
    failed: usize,
    /// A check found it.
    found: usize,
    /// All answers were the same: an older slot, say.
    harmless: usize,
}

impl Classes {
    fn noticed(&self) -> usize {
        self.refused + self.failed + self.found
    }
}

fn answers_of(snapshot: &plica::Snapshot) -> String {
    let answers = everything(snapshot) + &everything_compiled(snapshot);
    match snapshot.has_outline("letters") {
        Ok(true) => answers + &navigations(snapshot),
        _ => answers,
    }
}

/// Opens and reads all of a damaged file: it must say so, or answer as the sound one.
fn try_damaged(bytes: Vec<u8>, right: &str, classes: &mut Classes, what: impl Fn() -> String) {
    let class = match Index::from_bytes(bytes).map(|index| index.snapshot()) {
        Err(_) => &mut classes.refused,
        // The check reads all that the answers are built from; where it is content, they must be right.
        Ok(snapshot) => match snapshot.check(&Limits::default()) {
            Err(_) => &mut classes.failed,
            Ok(report) if !report.findings.is_empty() => &mut classes.found,
            Ok(_) => {
                assert!(answers_of(&snapshot) == right, "{} changed an answer and was not noticed", what());
                &mut classes.harmless
            }
        },
    };
    *class += 1;
}

/// What the sound file answers.
fn right(bytes: &[u8]) -> String {
    answers_of(&Index::from_bytes(bytes.to_vec()).unwrap().snapshot())
}

/// The names of all golden files.
fn all_golden() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("format/golden");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".plica")).collect();
    names.sort();
    assert!(names.len() >= 5, "{names:?}");
    names
}

#[test]
fn a_flipped_bit_anywhere() {
    for name in &all_golden() {
        let (bytes, mut classes) = (golden(name), Classes::default());
        let right = right(&bytes);
        for at in (0..bytes.len() * 8).step_by(stride(1021)) {
            let mut bad = bytes.clone();
            bad[at / 8] ^= 1 << (at % 8);
            try_damaged(bad, &right, &mut classes, || format!("bit {at} of {name}"));
        }
        assert!(classes.noticed() > classes.harmless, "{classes:?}");
        println!("{name}, flipped bits: {classes:?}");
    }
}

#[test]
fn a_sector_of_zeros_or_of_another_place_anywhere() {
    for name in &all_golden() {
        let (bytes, mut classes) = (golden(name), Classes::default());
        let right = right(&bytes);
        let sectors = bytes.len() / 512;
        for at in 0..sectors {
            let place = at * 512..(at + 1) * 512;
            let mut bad = bytes.clone();
            bad[place.clone()].fill(0);
            try_damaged(bad, &right, &mut classes, || format!("zeros in sector {at} of {name}"));
            for other in (0..sectors).step_by(stride(13)).filter(|&other| other != at) {
                let mut bad = bytes.clone();
                bad[place.clone()].copy_from_slice(&bytes[other * 512..(other + 1) * 512]);
                try_damaged(bad, &right, &mut classes, || format!("sector {other} in the place of {at} of {name}"));
            }
        }
        assert!(classes.noticed() > 0, "{classes:?}");
        println!("{name}, sectors: {classes:?}");
    }
}

/// Where the blocks of a file lie.
fn blocks(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    blocks::blocks(bytes).into_iter().map(|(_, place)| place).collect()
}

#[test]
fn a_block_in_the_place_of_another_and_garbage_behind_the_last() {
    for name in &all_golden() {
        let (bytes, mut classes) = (golden(name), Classes::default());
        let right = right(&bytes);
        let blocks = blocks(&bytes);
        for (from, to) in blocks.iter().flat_map(|from| blocks.iter().map(move |to| (from, to))) {
            // What fits: a whole block over one as long or longer.
            if from == to || from.len() > to.len() {
                continue;
            }
            let mut bad = bytes.clone();
            bad[to.start..to.start + from.len()].copy_from_slice(&bytes[from.clone()]);
            try_damaged(bad, &right, &mut classes, || format!("block {from:?} at {to:?} of {name}"));
            if from.len() == to.len() {
                let mut bad = bytes.clone();
                bad[to.clone()].copy_from_slice(&bytes[from.clone()]);
                bad[from.clone()].copy_from_slice(&bytes[to.clone()]);
                try_damaged(bad, &right, &mut classes, || format!("blocks {from:?} and {to:?} of {name}, exchanged"));
            }
        }
        assert!(classes.noticed() > 0, "{classes:?}");
        println!("{name}, blocks: {classes:?}");
        // Behind the last block nobody looks: a stale commit, any bytes, zeros.
        let last = blocks.last().unwrap().clone();
        let tails = [&bytes[last.clone()], &bytes[20_480..], &[0; 4096], &[0xa5; 333], &bytes[..4096]];
        for tail in tails {
            let mut classes = Classes::default();
            let bad = [&bytes, tail].concat();
            try_damaged(bad, &right, &mut classes, || format!("{} bytes behind {name}", tail.len()));
            assert_eq!(classes.harmless, 1, "{classes:?}");
        }
    }
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
    for name in &all_golden() {
        let (bytes, mut classes) = (golden(name), Classes::default());
        let right = right(&bytes);
        for length in (0..bytes.len()).step_by(stride(1531)) {
            try_damaged(bytes[..length].to_vec(), &right, &mut classes, || format!("{name}, cut at {length}"));
        }
        println!("{name}, cut: {classes:?}");
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
