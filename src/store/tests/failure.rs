//! Damage: flipped bits, cut files, forged references. Always an error or the right answer.

use super::super::simulated::Disk;
use super::super::{Durability, Opened, open_bytes};
use super::{create, decode_state, encode_state, open, options, payload};
use crate::format::block::{BlockKind, Reference};
use crate::format::limits::FIRST_BLOCK_OFFSET;
use crate::{Error, Result};
use proptest::prelude::*;
use std::sync::OnceLock;

/// A small index of four commits.
fn small_index() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let disk = Disk::default();
        let mut writer = create(&disk, "a.plica", &options(1)).unwrap();
        for _ in 0..3 {
            let mut references = decode_state(&writer.head().commit.state);
            for (kind, length, compress) in
                [(BlockKind::Text, 300, true), (BlockKind::Fold, 250, false), (BlockKind::Leaf, 1, false)]
            {
                let bytes = payload(writer.head().commit.sequence, 0, length);
                references.push(writer.append(kind, &bytes, compress).unwrap());
            }
            writer.commit(encode_state(&references), Durability::Immediate).unwrap();
        }
        drop(writer);
        disk.bytes("a.plica").unwrap()
    })
}

/// Opens an index and reads all its commits and blocks.
fn read_all(bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let opened: Opened = open_bytes(bytes.into())?;
    let mut all = Vec::new();
    for head in opened.log() {
        let head = head?;
        for reference in decode_state(&head.commit.state) {
            all.push(opened.blocks.read(&reference)?.to_vec());
        }
        all.push(head.commit.state);
    }
    Ok(all)
}

/// Demands an error or the right answer; returns whether it was an error.
fn damaged_or_right(bytes: &[u8], right: &[Vec<u8>]) -> bool {
    match read_all(bytes) {
        Ok(all) => {
            assert_eq!(all, right);
            false
        }
        Err(error) => {
            assert!(error.is_damage(), "{error}");
            true
        }
    }
}

#[test]
fn every_flipped_bit_is_noticed_or_does_not_matter() {
    let right = read_all(small_index()).unwrap();
    let mut bytes = small_index().to_vec();
    let head_bits = FIRST_BLOCK_OFFSET as usize * 8;
    for bit in (0..head_bits).step_by(61).chain(head_bits..bytes.len() * 8) {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let noticed = damaged_or_right(&bytes, &right);
        assert!(noticed || bit / 8 > 4096 && bit < head_bits, "bit {bit} lies in no slot, and was not noticed");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn a_cut_file_is_damaged_wherever_it_is_cut() {
    for length in (8..small_index().len()).step_by(7) {
        let error = read_all(&small_index()[..length]).unwrap_err();
        assert!(error.is_damage(), "{length}: {error}");
    }
    assert!(matches!(read_all(&[]), Err(Error::NotAnIndex { .. })));
}

#[test]
fn a_file_whose_page_0_is_gone_is_damaged_and_not_foreign() {
    let mut bytes = small_index().to_vec();
    bytes[..4096].fill(0);
    assert!(read_all(&bytes).unwrap_err().is_damage());
}

#[test]
fn a_reference_must_agree_with_its_block_and_stay_in_the_snapshot() {
    let opened = open_bytes(small_index().into()).unwrap();
    let good = decode_state(&opened.head.commit.state)[4];
    assert!(opened.blocks.read(&good).is_ok());
    let bad = [
        Reference { checksum: good.checksum ^ 1, ..good },
        Reference { stored_bytes: good.stored_bytes - 1, ..good },
        Reference { kind: BlockKind::Value, ..good },
        Reference { offset: good.offset + 16, ..good },
        Reference { offset: good.offset + 1, ..good },
        Reference { offset: 4096, ..good },
        Reference { offset: opened.blocks.end() - 16, ..good },
        Reference { offset: u64::MAX - 15, ..good },
        Reference { stored_bytes: u32::MAX, ..good },
    ];
    for reference in bad {
        // A second time, too: the block has been touched, but not by this reference.
        for _ in 0..2 {
            assert!(opened.blocks.read(&reference).unwrap_err().is_damage(), "{reference:?}");
        }
    }
}

#[test]
fn a_structure_is_validated_until_it_has_passed_once() {
    let opened = open_bytes(small_index().into()).unwrap();
    let reference = decode_state(&opened.head.commit.state)[0];
    let refuse = |_: &[u8]| Err(crate::format::FormatError::new("test", 0, "another", "this"));
    assert!(opened.blocks.read(&reference).is_ok());
    assert!(opened.blocks.read_validated(&reference, refuse).is_err());
    assert!(opened.blocks.read_validated(&reference, refuse).is_err());
    assert!(opened.blocks.read_validated(&reference, |_| Ok(())).is_ok());
    assert!(opened.blocks.read_validated(&reference, refuse).is_ok(), "it has been validated");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn bursts_are_noticed_or_do_not_matter(at in 0usize..40_000 * 8, pattern in 1u32..) {
        let right = read_all(small_index()).unwrap();
        let mut bytes = small_index().to_vec();
        let start = at % (bytes.len() * 8 - 32);
        for bit in (0..32).filter(|bit| pattern >> bit & 1 == 1) {
            bytes[(start + bit) / 8] ^= 1 << ((start + bit) % 8);
        }
        match read_all(&bytes) {
            Ok(all) => prop_assert_eq!(all, right),
            // A burst in the first bytes may make it another file altogether.
            Err(error) => prop_assert!(error.is_damage() || start < 64, "{}", error),
        }
    }

    #[test]
    fn any_bytes_after_a_good_start_are_survived(
        mut tail in prop::collection::vec(any::<u8>(), 0..3_000), keep in 0usize..24_000,
    ) {
        let mut bytes = small_index()[..keep.min(small_index().len())].to_vec();
        bytes.append(&mut tail);
        let _ = read_all(&bytes);
        let _ = open(&Disk::with_file("a.plica", bytes), "a.plica", &options(1));
    }
}
