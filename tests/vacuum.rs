//! A vacuum changes no answer, and what it writes depends on the content alone.

mod common;
#[path = "common/history.rs"]
mod history;

use common::{Folder, assert_sound, everything};
use history::{Step, answers, append, difference, id, steps, write};
use plica::format::block::{BlockHeader, BlockKind, HEADER_BYTES};
use plica::format::limits::FIRST_BLOCK_OFFSET;
use plica::{Index, MemoryScope, Options, Query, Refreshed, VacuumOptions, Writer, vacuum};
use proptest::prelude::*;
use std::path::Path;
use std::sync::OnceLock;

const FILE: [u8; 16] = *b"one and the same";

/// Vacuums a file so many times, and gives its bytes.
fn vacuumed(path: &Path, times: usize) -> Vec<u8> {
    for _ in 0..times {
        vacuum(path, &VacuumOptions::new()).unwrap();
    }
    std::fs::read(path).unwrap()
}

/// Kind and payload of each block, but for commits.
fn blocks(file: &[u8]) -> Vec<(BlockKind, Vec<u8>)> {
    let mut out = Vec::new();
    let mut at = FIRST_BLOCK_OFFSET as usize;
    while at < file.len() {
        let header = BlockHeader::decode(&file[at..at + HEADER_BYTES], &FILE, at as u64).unwrap();
        let payload = at + HEADER_BYTES..at + HEADER_BYTES + header.stored_bytes as usize;
        at = payload.end.next_multiple_of(16);
        if header.kind != BlockKind::Commit {
            out.push((header.kind, file[payload].to_vec()));
        }
    }
    out
}

/// The same additions and removals, with other commits, sessions and vacuums between them.
fn shuffled(steps: &[Step], other: &[u8]) -> Vec<Step> {
    let mut out = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if matches!(step, Step::Chunk { .. } | Step::Remove { .. } | Step::Replace { .. }) {
            out.push(step.clone());
            match other.get(at) {
                Some(0) => out.push(Step::Commit),
                Some(1) => out.push(Step::Reopen),
                Some(2) => out.push(Step::Vacuum),
                _ => {}
            }
        }
    }
    out
}

fn vacuums(steps: &[Step]) -> usize {
    steps.iter().filter(|step| matches!(step, Step::Vacuum)).count()
}

fn equal_content_is_equal_bytes(options: &Options, steps: &[Step], other: &[u8]) -> Result<(), TestCaseError> {
    let others = shuffled(steps, other);
    let (_kept, path, snapshot) = write(options, steps);
    let before = answers(&snapshot);
    let (_kept, other_path, other) = write(&options.clone().memory_budget_bytes(25_000), &others);
    prop_assert_eq!(difference(&before, &answers(&other)), None);
    // Epochs are part of the bytes.
    let times = vacuums(steps).max(vacuums(&others)) + 1;
    let bytes = vacuumed(&path, times - vacuums(steps));
    let other_bytes = vacuumed(&other_path, times - vacuums(&others));
    prop_assert!(bytes == other_bytes, "{} and {} bytes", bytes.len(), other_bytes.len());
    let after = Index::open(&path).unwrap().snapshot();
    assert_sound(&after);
    prop_assert_eq!(difference(&before, &answers(&after)), None);
    prop_assert_eq!(after.stat().unwrap().bytes.dead, padding(&bytes));
    let again = vacuumed(&path, 1);
    prop_assert!(blocks(&bytes) == blocks(&again));
    // Readers of before go on.
    prop_assert_eq!(difference(&before, &answers(&snapshot)), None);
    Ok(())
}

/// Bytes of padding blocks, the only ones that nothing leads to.
fn padding(file: &[u8]) -> u64 {
    let of = |(kind, payload): &(BlockKind, Vec<u8>)| match kind {
        BlockKind::Padding => (HEADER_BYTES + payload.len()).next_multiple_of(16) as u64,
        _ => 0,
    };
    blocks(file).iter().map(of).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_content_comes_to_equal_bytes(steps in steps(), other in prop::collection::vec(0u8..6, 40)) {
        equal_content_is_equal_bytes(&Options::new().fanout(2).file_id(FILE), &steps, &other)?;
    }

    #[test]
    fn and_with_an_index_wide_memory(steps in steps(), other in prop::collection::vec(0u8..6, 40)) {
        let options = Options::new().fanout(3).file_id(FILE).memory(MemoryScope::Index);
        equal_content_is_equal_bytes(&options, &steps, &other)?;
    }
}

#[test]
fn documents_that_were_read_side_by_side_come_to_the_bytes_of_those_read_one_after_another() {
    let folder = Folder::new();
    let options = Options::new().fanout(3).file_id(FILE);
    let write = |name: &str, order: &[(u8, u32)]| {
        let path = folder.path(name);
        let mut writer = Writer::create(&path, &options).unwrap();
        for document in 0..4 {
            writer.add_document(&id(document), "", "").unwrap();
            writer.publish(&id(document)).unwrap();
        }
        for &(document, seed) in order {
            append(&mut writer, document, seed);
        }
        writer.commit().unwrap();
        drop(writer);
        let before = everything(&Index::open(&path).unwrap().snapshot());
        let bytes = vacuumed(&path, 1);
        let after = Index::open(&path).unwrap().snapshot();
        assert_sound(&after);
        assert!(before == everything(&after));
        bytes
    };
    let mut order: Vec<(u8, u32)> = (0..70).map(|at| ((at * 7 % 11 % 4) as u8, at)).collect();
    let side_by_side = write("a.plica", &order);
    order.sort_by_key(|(document, _)| *document);
    assert!(side_by_side == write("b.plica", &order));
}

/// An index with two documents, one of which is removed.
fn index(folder: &Folder) -> std::path::PathBuf {
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, &Options::new().file_id(FILE)).unwrap();
    for at in 0..12 {
        append(&mut writer, (at % 2) as u8, at);
        writer.commit().unwrap();
    }
    writer.remove_document(&id(1)).unwrap();
    writer.commit().unwrap();
    path
}

#[test]
fn a_reader_goes_on_and_is_told_that_the_file_was_replaced() {
    let folder = Folder::new();
    let path = index(&folder);
    let reader = Index::open(&path).unwrap();
    let before = everything(&reader.snapshot());
    let report = vacuum(&path, &VacuumOptions::new()).unwrap();
    assert_eq!((report.epoch, report.after_bytes), (1, std::fs::metadata(&path).unwrap().len()));
    assert!(report.after_bytes < report.before_bytes);
    assert!(everything(&reader.snapshot()) == before);
    assert_eq!(reader.refresh().unwrap(), Refreshed::Replaced);
    assert!(everything(&Index::open(&path).unwrap().snapshot()) == before);
    // Earlier commits ended with the old file.
    assert_eq!(Index::open(&path).unwrap().snapshot().log().count(), 1);
    // Numbers are never given twice, and a writer goes on.
    let mut writer = Writer::open(&path).unwrap();
    append(&mut writer, 1, 77);
    append(&mut writer, 2, 78);
    writer.commit().unwrap();
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_sound(&snapshot);
    assert_eq!(snapshot.documents().unwrap().len(), 3);
    assert_eq!(snapshot.search(&Query::new("unique2x78")).unwrap().hits[0].chunk, "doc-2#0");
}

#[test]
fn what_a_killed_vacuum_left_is_replaced() {
    let folder = Folder::new();
    let path = index(&folder);
    let left = folder.path(".a.plica.vacuum");
    std::fs::write(&left, vec![7; 1 << 20]).unwrap();
    let before = everything(&Index::open(&path).unwrap().snapshot());
    vacuum(&path, &VacuumOptions::new()).unwrap();
    assert!(!left.exists());
    assert!(everything(&Index::open(&path).unwrap().snapshot()) == before);
}

#[test]
fn a_cancelled_vacuum_changes_nothing() {
    let folder = Folder::new();
    let path = index(&folder);
    let before = std::fs::read(&path).unwrap();
    let limits = plica::Limits { deadline: Some(std::time::Instant::now()), ..plica::Limits::default() };
    let cancelled = vacuum(&path, &VacuumOptions::new().limits(limits));
    assert!(matches!(cancelled, Err(plica::Error::Cancelled)));
    assert!(std::fs::read(&path).unwrap() == before);
    assert!(!folder.path(".a.plica.vacuum").exists());
}

#[test]
fn a_writer_at_work_keeps_a_vacuum_out_and_additions_must_be_committed_first() {
    let folder = Folder::new();
    let path = index(&folder);
    let mut writer = Writer::open(&path).unwrap();
    let options = VacuumOptions::new().busy_timeout(std::time::Duration::from_millis(10));
    assert!(matches!(vacuum(&path, &options), Err(plica::Error::Locked { .. })));
    append(&mut writer, 3, 3);
    let error = writer.vacuum(&plica::Limits::default()).unwrap_err().to_string();
    assert!(error.contains("commit"), "{error}");
}

#[test]
fn a_damaged_file_is_left_as_it_is() {
    let folder = Folder::new();
    let path = index(&folder);
    let mut bytes = std::fs::read(&path).unwrap();
    // In the last leaf, which counts.
    let at = bytes.windows(7).rposition(|found| found == b"unique0").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let error = vacuum(&path, &VacuumOptions::new()).unwrap_err();
    assert!(error.is_damage(), "{error}");
    assert!(std::fs::read(&path).unwrap() == bytes && !folder.path(".a.plica.vacuum").exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn of_any_bytes_a_vacuum_makes_the_same_answers_or_an_error(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        static SOUND: OnceLock<(Vec<u8>, String)> = OnceLock::new();
        let folder = Folder::new();
        let path = folder.path("a.plica");
        let (bytes, before) = SOUND.get_or_init(|| {
            let path = index(&folder);
            (std::fs::read(&path).unwrap(), everything(&Index::open(&path).unwrap().snapshot()))
        });
        let mut bytes = bytes.clone();
        for (at, change) in flips {
            let at = FIRST_BLOCK_OFFSET as usize + at.index(bytes.len() - FIRST_BLOCK_OFFSET as usize);
            bytes[at] ^= change;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        std::fs::write(&path, &bytes).unwrap();
        match vacuum(&path, &VacuumOptions::new()) {
            // What was changed was dead.
            Ok(_) => prop_assert!(everything(&Index::open(&path).unwrap().snapshot()) == *before),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

#[cfg(unix)]
#[test]
fn owner_mode_and_links_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = index(&folder);
    let link = folder.path("link.plica");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let before = std::fs::metadata(&path).unwrap().len();
    vacuum(&link, &VacuumOptions::new()).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    let metadata = std::fs::metadata(&path).unwrap();
    assert!(metadata.len() < before);
    assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
}

#[test]
fn an_empty_index_can_be_vacuumed() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    drop(Writer::create(&path, &Options::new()).unwrap());
    vacuum(&path, &VacuumOptions::new()).unwrap();
    assert_sound(&Index::open(&path).unwrap().snapshot());
    let mut writer = Writer::open(&path).unwrap();
    append(&mut writer, 0, 1);
    writer.commit().unwrap();
    assert_sound(&Index::open(&path).unwrap().snapshot());
}

#[test]
fn a_writer_that_waited_for_a_vacuum_writes_to_the_new_file() {
    let folder = Folder::new();
    let path = index(&folder);
    let writer = Writer::open(&path).unwrap();
    let waiting = std::thread::spawn({
        let path = path.clone();
        move || {
            let options = Options::new().busy_timeout(std::time::Duration::from_secs(60));
            let mut writer = Writer::open_with(&path, &options).unwrap();
            append(&mut writer, 3, 3);
            writer.commit().unwrap()
        }
    });
    writer.vacuum(&plica::Limits::default()).unwrap();
    // Commit 1 is the vacuum's.
    assert_eq!(waiting.join().unwrap(), 2);
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_sound(&snapshot);
    assert_eq!(snapshot.documents().unwrap().len(), 2);
}

const KILLED: &str = "PLICA_TEST_VACUUM";

#[test]
fn a_vacuum_that_is_killed_at_any_moment_leaves_the_old_file_or_the_new_one() {
    if let Some(path) = std::env::var_os(KILLED) {
        loop {
            vacuum(&path, &VacuumOptions::new().busy_timeout(std::time::Duration::from_secs(60))).unwrap();
        }
    }
    let folder = Folder::new();
    let path = index(&folder);
    let before = everything(&Index::open(&path).unwrap().snapshot());
    for delay in 0..25 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_vacuum_that_is_killed_at_any_moment_leaves_the_old_file_or_the_new_one"])
            .env(KILLED, &path)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_micros(20_000 + delay * 731));
        child.kill().unwrap();
        child.wait().unwrap();
        let snapshot = Index::open(&path).unwrap().snapshot();
        assert_sound(&snapshot);
        assert!(everything(&snapshot) == before, "after {delay}");
    }
    vacuum(&path, &VacuumOptions::new()).unwrap();
    assert!(!folder.path(".a.plica.vacuum").exists());
}
