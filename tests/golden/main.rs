//! An index that was written by an earlier version must be read for ever, with the same answers.
//!
//! `format/golden/NAME.plica` is an index, `NAME.txt` all that it answers. A missing pair is written where
//! `PLICA_WRITE_GOLDEN=1` is set: when the format gains something, a new pair is added, and no old one is touched.

mod blocks;
#[path = "../common/mod.rs"]
mod common;
mod write;

use common::{assert_sound, everything, everything_compiled};
use plica::format::block::BlockKind;
use plica::format::key::merge_rule;
use plica::format::leaf::{Leaf, LeafForm};
use plica::{Index, Snapshot};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Bytes of a golden file at most: it is damaged bit by bit.
const GOLDEN_BYTES: usize = 32 << 10;

/// A file by its name: what writes it, and what it answers.
type Golden = (&'static str, fn(&Path), fn(&Snapshot) -> String);

const GOLDEN: [Golden; 5] = [
    ("v1", write::v1, everything),
    ("v1-outline", write::outline, everything_compiled),
    ("v1-records", write::records, everything_compiled),
    ("v1-dictionary", write::dictionary, everything_shortened),
    ("v1-forms", write::forms, everything),
];

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("format/golden").join(name)
}

/// As [`everything`], of long lines the start and a hash.
fn everything_shortened(snapshot: &Snapshot) -> String {
    let mut out = String::new();
    for line in everything(snapshot).lines() {
        match line.get(..200) {
            Some(start) => out += &format!("{start} … {}\n", blake3::hash(line.as_bytes())),
            None => out += &format!("{line}\n"),
        }
    }
    out
}

#[test]
fn every_golden_file_is_read_as_ever() {
    for (name, write, answers) in GOLDEN {
        let (index, text) = (golden(&format!("{name}.plica")), golden(&format!("{name}.txt")));
        if !index.exists() && std::env::var_os("PLICA_WRITE_GOLDEN").is_some() {
            write(&index);
            std::fs::write(&text, answers(&Index::open(&index).unwrap().snapshot())).unwrap();
        }
        let right = std::fs::read_to_string(&text).unwrap();
        let snapshot = Index::open(&index).unwrap().snapshot();
        assert_sound(&snapshot);
        assert!(answers(&snapshot) == right, "{name}");
        // Earlier commits, too.
        for sequence in 1..=snapshot.sequence() {
            assert_sound(&Index::open_at(&index, sequence).unwrap().snapshot());
        }
        let bytes = std::fs::read(&index).unwrap();
        assert!(bytes.len() <= GOLDEN_BYTES, "{name}: {} bytes", bytes.len());
        assert!(answers(&Index::from_bytes(bytes).unwrap().snapshot()) == right, "{name} in memory");
    }
}

#[test]
fn what_is_written_today_answers_as_what_was_written_then() {
    let folder = common::Folder::new();
    for (name, write, answers) in GOLDEN {
        let path = folder.path(name);
        write(&path);
        let right = std::fs::read_to_string(golden(&format!("{name}.txt"))).unwrap();
        assert!(answers(&Index::open(&path).unwrap().snapshot()) == right, "{name}");
    }
}

#[test]
fn the_golden_files_together_hold_every_kind_of_block_codec_leaf_and_key() {
    let (mut kinds, mut codecs, mut forms, mut keys) = (BTreeSet::new(), [0; 3], [0; 2], BTreeSet::new());
    for entry in std::fs::read_dir(golden("")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "plica") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(GOLDEN.iter().any(|(known, ..)| *known == name), "nothing reads {name}");
        for block in blocks::blocks(&std::fs::read(&path).unwrap()) {
            kinds.insert(block.header.kind);
            codecs[block.header.codec as usize] += 1;
            if block.header.kind != BlockKind::Leaf {
                continue;
            }
            let leaf = Leaf::decode(&block.raw).unwrap();
            forms[usize::from(leaf.form() == LeafForm::Fst)] += 1;
            let mut entries = leaf.seek(b"");
            while let Some((key, _)) = entries.next().unwrap() {
                keys.insert(key[0]);
            }
        }
    }
    let missing = (
        BlockKind::ALL.into_iter().filter(|kind| !kinds.contains(kind)).collect::<Vec<_>>(),
        (0..codecs.len()).filter(|&codec| codecs[codec] == 0).collect::<Vec<_>>(),
        (0..forms.len()).filter(|&form| forms[form] == 0).collect::<Vec<_>>(),
        (0..=u8::MAX).filter(|&kind| merge_rule(&[kind]).is_some() && !keys.contains(&kind)).collect::<Vec<_>>(),
    );
    let nothing = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    assert_eq!(missing, nothing, "kinds of block, codecs, forms of leaf and kinds of key that no golden file has");
}
