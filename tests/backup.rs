//! A copy of a live index is a commit, whole, whatever a writer does meanwhile.

mod common;

use common::{Capitals, Folder, assert_sound, everything, sentences};
use plica::ingest::Reader;
use plica::{Error, Index, Limits, NewChunk, Options, VacuumOptions, Writer};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

fn append(writer: &mut Writer, seed: u32) {
    let text = sentences(seed, 3);
    Reader::new(Some(&Capitals)).read_chunks(writer, &[("book", NewChunk::text(&text))]).unwrap();
    writer.commit().unwrap();
}

fn index(path: &Path, chunks: u32) -> Writer {
    let mut writer = Writer::create(path, &Options::new().fanout(3)).unwrap();
    writer.add_document("book", "A book", "").unwrap();
    writer.publish("book").unwrap();
    (0..chunks).for_each(|seed| append(&mut writer, seed));
    writer
}

fn snapshot(path: &Path) -> plica::Snapshot {
    Index::open(path).unwrap().snapshot()
}

#[test]
fn a_copy_answers_as_the_commit_it_was_made_of_and_is_the_same_to_the_byte() {
    let folder = Folder::new();
    let (path, copy) = (folder.path("a.plica"), folder.path("copy.plica"));
    let mut writer = index(&path, 9);
    let before = snapshot(&path);
    append(&mut writer, 77);
    let length = before.backup(&copy, &Limits::default()).unwrap();
    assert_eq!(std::fs::metadata(&copy).unwrap().len(), length);
    assert_eq!(everything(&snapshot(&copy)), everything(&before));
    assert_sound(&snapshot(&copy));
    let (of, copied) = (std::fs::read(&path).unwrap(), std::fs::read(&copy).unwrap());
    assert!(of[20_480..copied.len()] == copied[20_480..] && of[..4096] == copied[..4096]);
    // Its earlier commits are there, too, and it can be written to.
    assert_eq!(everything(&Index::open_at(&copy, 4).unwrap().snapshot()), everything(&before.at(4).unwrap()));
    append(&mut Writer::open(&copy).unwrap(), 77);
    assert_eq!(everything(&snapshot(&copy)), everything(&snapshot(&path)));
}

#[test]
fn a_copy_with_an_id_of_its_own_answers_the_same_and_holds_one_commit() {
    let folder = Folder::new();
    let (path, copy) = (folder.path("a.plica"), folder.path("copy.plica"));
    let mut writer = index(&path, 7);
    writer.add_document("gone", "", "").unwrap();
    writer.append_chunk("gone", &NewChunk::text("Nobody keeps this.")).unwrap();
    writer.publish("gone").unwrap();
    writer.commit().unwrap();
    writer.remove_document("gone").unwrap();
    writer.commit().unwrap();
    let of = snapshot(&path);
    let length = of.backup_as_new(&copy, &Limits::default()).unwrap();
    assert_eq!(std::fs::metadata(&copy).unwrap().len(), length);
    assert_eq!(everything(&snapshot(&copy)), everything(&of));
    assert_sound(&snapshot(&copy));
    let id = |path: &Path| std::fs::read(path).unwrap()[..4096].to_vec();
    assert_ne!(id(&path), id(&copy));
    assert!(!std::fs::read(&copy).unwrap().windows(6).any(|bytes| bytes == b"Nobody"));
}

#[test]
fn copies_beside_a_busy_writer_and_vacuums_are_sound() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    drop(index(&path, 2));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for seed in 0..40 {
                append(&mut Writer::open(&path).unwrap(), seed);
                if seed % 10 == 9 {
                    plica::vacuum(&path, &VacuumOptions::new()).unwrap();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut number = 0;
        while !done.load(Ordering::Relaxed) || number < 3 {
            let (copy, of) = (folder.path(&format!("copy-{number}.plica")), snapshot(&path));
            of.backup(&copy, &Limits::default()).unwrap();
            assert_sound(&snapshot(&copy));
            assert_eq!(everything(&snapshot(&copy)), everything(&of));
            number += 1;
        }
    });
}

#[test]
fn what_cannot_be_copied_leaves_nothing_behind() {
    let folder = Folder::new();
    let (path, copy) = (folder.path("a.plica"), folder.path("copy.plica"));
    drop(index(&path, 5));
    // An existing file is left alone, the index itself among them.
    for taken in [&path, &folder.path("diary")] {
        std::fs::write(folder.path("diary"), "Dear diary").unwrap();
        let before = std::fs::read(taken).unwrap();
        for copied in [
            snapshot(&path).backup(taken, &Limits::default()),
            snapshot(&path).backup_as_new(taken, &Limits::default()),
        ] {
            assert!(matches!(copied.unwrap_err(), Error::Io { .. }));
        }
        assert!(std::fs::read(taken).unwrap() == before);
    }
    let cancel = std::sync::Arc::new(AtomicBool::new(true));
    let limits = Limits { cancel: Some(cancel), ..Limits::default() };
    assert!(matches!(snapshot(&path).backup(&copy, &limits).unwrap_err(), Error::Cancelled));
    assert!(matches!(snapshot(&path).backup_as_new(&copy, &limits).unwrap_err(), Error::Cancelled));
    assert!(!copy.exists());
    // A damaged block is noticed, though nobody has asked for it.
    let sound = std::fs::read(&path).unwrap();
    let mut noticed = 0;
    for at in (20_480..sound.len()).step_by(97) {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let Ok(index) = Index::open(&path) else { continue };
        assert!(index.snapshot().backup(&copy, &Limits::default()).unwrap_err().is_damage(), "byte {at}");
        assert!(!copy.exists());
        noticed += 1;
    }
    assert!(noticed > 10);
}
