//! Page 0, slots and commit blocks.

use crate::trial::{Trial, golden};
use plica::Error;
use plica::format::block::Reference;
use plica::format::limits::{COMMIT_STATE_BYTES, PAGE_BYTES};
use plica::format::page::Slot;

#[test]
fn reader_features_that_are_not_known_are_refused_by_number() {
    for (bits, name) in [(1u64, "reader feature 0"), (1 << 63 | 1 << 5, "reader feature 5, 63")] {
        let mut forge = golden(0);
        forge.commit(|commit| commit.reader_features = bits);
        let trial = Trial::of(&forge);
        assert!(matches!(trial.refused(), Error::Unsupported { what } if what.contains(name)), "{trial:?}");
        assert!(trial.refused().to_string().contains("use a newer version"), "{trial:?}");
    }
}

#[test]
fn writer_features_that_are_not_known_are_refused_to_writers_alone() {
    let mut forge = golden(0);
    forge.commit(|commit| commit.writer_features = 1 << 7);
    let trial = Trial::of(&forge);
    assert!(trial.errors.is_empty() && trial.findings.is_empty(), "{trial:?}");
    let folder = crate::common::Folder::new();
    let path = folder.path("a.plica");
    let file = forge.build();
    std::fs::write(&path, &file).unwrap();
    let error = plica::Writer::open(&path).unwrap_err();
    assert!(matches!(&error, Error::Unsupported { what } if what.contains("writer feature 7")), "{error}");
    assert!(std::fs::read(&path).unwrap() == file);
}

#[test]
fn another_major_version_is_refused_by_its_number() {
    let mut file = golden(0).build();
    file[8] = 2;
    let checksum = plica::format::block::payload_checksum(&file[..PAGE_BYTES - 4]);
    file[PAGE_BYTES - 4..PAGE_BYTES].copy_from_slice(&checksum.to_le_bytes());
    let trial = Trial::of_bytes(file);
    assert!(matches!(trial.refused(), Error::Unsupported { what } if what.contains("version 2")), "{trial:?}");
}

#[test]
fn page_0_and_the_commit_must_have_the_same_parameters() {
    let mut forge = golden(0);
    forge.page.parameters.fanout = 16;
    Trial::of(&forge).is_refused_as_damaged("its creation parameters are not those of the commit block");
}

/// Slots that all name the same wrong commit.
fn with_slots(change: impl Fn(&mut Slot)) -> Trial {
    let mut forge = golden(0);
    let newest = forge.slots.iter().max_by_key(|slot| slot.sequence).copied().unwrap();
    for slot in &mut forge.slots {
        *slot = Slot { page: slot.page, role: slot.role, ..newest };
        change(slot);
    }
    Trial::of(&forge)
}

#[test]
fn slots_name_a_commit_that_is_theirs() {
    with_slots(|slot| slot.sequence = u64::MAX).is_refused_as_damaged("expected commit 18446744073709551615");
    with_slots(|slot| slot.epoch = 9).is_refused_as_damaged("of epoch 9");
    with_slots(|slot| slot.salt ^= 1).is_refused_as_damaged("its salt is not the slot's");
    let far = |slot: &mut Slot| slot.commit.offset = (1 << 62) - 16;
    with_slots(far).is_refused_as_damaged("it has been cut");
    let long = |slot: &mut Slot| slot.commit = Reference { stored_bytes: 65_536, ..slot.commit };
    with_slots(long).is_refused_as_damaged("it has been cut");
}

#[test]
fn a_commit_is_of_this_file_and_its_number() {
    let mut forge = golden(0);
    forge.commit(|commit| commit.file_id[0] ^= 1);
    Trial::of(&forge).is_refused_as_damaged("of this file");
    // A number with the same references, so that it can be read at all.
    let mut forge = golden(0);
    forge.commit(|commit| commit.sequence += if commit.skips.is_empty() { 2 } else { 1 << (commit.skips.len() + 1) });
    Trial::of(&forge).is_refused_as_damaged("expected commit");
}

#[test]
fn a_commit_that_says_it_is_the_first_forgets_the_earlier_ones_alone() {
    // Without `previous`, and with a number that has none: the slots say another.
    let mut forge = golden(0);
    forge.commit(|commit| {
        (commit.sequence, commit.previous, commit.covered_from) = (1, None, 20_480);
        commit.skips.clear();
    });
    Trial::of(&forge).is_refused_as_damaged("got commit 1");
}

#[test]
fn earlier_commits_lie_before_and_have_their_numbers() {
    // Commit n, whose `previous` is n − 2: named by the slots, found by the log.
    let mut forge = golden(0);
    let commits = forge.of_kind(plica::format::block::BlockKind::Commit);
    let earlier = forge.blocks[commits[commits.len() - 3]].name;
    forge.commit(|commit| {
        commit.previous = Some(earlier);
        commit.skips.clear();
        commit.skips.extend(std::iter::repeat_n(earlier, 0));
    });
    let trial = Trial::of(&forge);
    // A commit with skips cannot lose them: which of the two it is depends on its number.
    let error = trial.errors.iter().find(|(call, _)| matches!(*call, "log" | "open")).expect("an error");
    assert!(matches!(error.1, Error::Damaged { .. }), "{trial:?}");
}

#[test]
fn a_state_of_any_length_but_its_own_is_refused() {
    let mut forge = golden(0);
    forge.commit(|commit| commit.state.push(0));
    Trial::of(&forge).is_refused_as_damaged("index state");
    let mut forge = golden(0);
    forge.commit(|commit| commit.state.truncate(3));
    Trial::of(&forge).is_refused_as_damaged("index state");
    let mut forge = golden(0);
    forge.commit(|commit| commit.state = vec![0; COMMIT_STATE_BYTES + 1]);
    Trial::of(&forge).is_refused_as_damaged("commit block");
}

#[test]
fn a_tokenizer_that_is_not_known_is_refused() {
    let mut forge = golden(0);
    forge.page.parameters.tokenizer = 7;
    forge.commit(|commit| commit.parameters.tokenizer = 7);
    let trial = Trial::of(&forge);
    assert!(matches!(trial.refused(), Error::Unsupported { what } if what == "tokenizer 7"), "{trial:?}");
}
