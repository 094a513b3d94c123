//! The same units appended in any division into commits, segments and sessions give the same answers, to the bit.

mod common;

use common::{Capitals, Folder, assert_sound, everything, sentences};
use plica::ingest::Reader;
use plica::{Index, MemoryScope, NewChunk, Options, Writer};

/// Appends `chunks` chunks of some documents, in turns, and commits as `commit` says.
fn write(options: &Options, chunks: u32, mut commit: impl FnMut(u32, &mut Writer)) -> (Folder, String) {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, options).unwrap();
    let mut reader = Reader::new(Some(&Capitals));
    for at in 0..chunks {
        let id = format!("doc-{}", at % 3);
        if at < 3 {
            writer.add_document(&id, "A title", r#"{"lang":"en"}"#).unwrap();
            writer.publish(&id).unwrap();
        }
        let text = sentences(at, 6);
        reader.read_chunks(&mut writer, &[(&id, NewChunk::text(&text))]).unwrap();
        commit(at, &mut writer);
    }
    writer.commit().unwrap();
    drop(writer);
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_sound(&snapshot);
    let all = everything(&snapshot);
    (folder, all)
}

fn all_histories_agree(options: Options) {
    let (_kept, whole) = write(&options, 90, |_, _| ());
    assert!(whole.contains("Anna"));
    let (_kept, each) = write(&options, 90, |_, writer| {
        writer.commit().unwrap();
    });
    assert!(whole == each, "one commit a chunk");
    let (_kept, some) = write(&options, 90, |at, writer| {
        if at % 7 == 3 {
            writer.commit().unwrap();
            let path = writer.path().to_owned();
            // A session of its own from here on.
            let placeholder = Folder::new();
            let other = Writer::create(placeholder.path("b.plica"), &Options::new()).unwrap();
            drop(std::mem::replace(writer, other));
            *writer = Writer::open_with(&path, &Options::new()).unwrap();
        }
    });
    assert!(whole == some, "a session every seven chunks");
    let (_kept, flushed) = write(&options.clone().memory_budget_bytes(20_000), 90, |_, _| ());
    assert!(whole == flushed, "a small memory budget");
}

#[test]
fn with_a_memory_a_document() {
    all_histories_agree(Options::new().fanout(3));
}

#[test]
fn with_an_index_wide_memory() {
    all_histories_agree(Options::new().fanout(2).memory(MemoryScope::Index));
}
