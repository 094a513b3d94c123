//! What was removed before a vacuum is nowhere in the file.

use crate::ingest::builtin::Builtin;
use crate::ingest::{Compile, Reader, Source};
use crate::{Limits, Options, Writer};
use plica_format::block::BlockKind;
use plica_format::limits::FIRST_BLOCK_OFFSET;

/// Every payload of a file, decoded, and the file itself.
fn contents(path: &std::path::Path) -> Vec<Vec<u8>> {
    let snapshot = crate::Index::open(path).unwrap().snapshot();
    let blocks = &snapshot.view().dictionary.blocks;
    let mut out = vec![std::fs::read(path).unwrap()];
    for walked in blocks.walk(FIRST_BLOCK_OFFSET) {
        let reference = walked.unwrap().reference;
        if reference.kind != BlockKind::Padding {
            out.push(blocks.read(&reference).unwrap().to_vec());
        }
    }
    out
}

fn stands(contents: &[Vec<u8>], text: &str) -> bool {
    contents.iter().any(|bytes| bytes.windows(text.len()).any(|found| found == text.as_bytes()))
}

#[test]
fn what_was_erased_is_nowhere_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.plica");
    let mut writer = Writer::create(&path, &Options::new().chunk_words(40).fanout(2)).unwrap();
    let text = |who: &str, place: &str| {
        let one =
            format!("{who} lives at {place}. {who} met the {place} keeper on Monday. The keeper of {place} is old. ");
        one.repeat(12)
    };
    let mut reader = Reader::new(Some(&Builtin));
    for (id, who, place) in [("kept-id", "Anna", "Marsh Lane"), ("secret-id", "Xanthippe", "Quillborough")] {
        let text = text(who, place);
        let title = format!("Of {who}");
        reader.build(&mut writer, Source { id, title: &title, metadata: "", text: &text }).unwrap();
        Compile::new(Some(&Builtin), Some(&Builtin)).compile(&mut writer, id).unwrap();
    }
    let secrets = ["secret-id", "Xanthippe", "xanthippe", "Quillborough", "quillborough"];
    let before = contents(&path);
    assert!(secrets.iter().all(|secret| stands(&before, secret)));
    writer.remove_document("secret-id").unwrap();
    writer.commit().unwrap();
    writer.vacuum(&Limits::default()).unwrap();
    let after = contents(&path);
    assert_eq!(secrets.iter().find(|secret| stands(&after, secret)), None);
    assert!(["kept-id", "Anna", "anna", "Marsh Lane"].iter().all(|kept| stands(&after, kept)));
}
