//! Forks: a child that inherits a writer can neither write nor cut nor give back the lock; one that inherits a reader
//! reads on. It runs without the test harness, since only a process of one thread may fork and go on.

#[cfg(unix)]
mod common;

#[cfg(not(unix))]
fn main() {
    println!("skipped: this system has no fork");
}

#[cfg(unix)]
fn main() {
    unix::a_child_can_neither_write_nor_cut_nor_unlock();
    unix::a_child_reads_on_and_follows_the_parent();
    unix::the_lock_of_a_dead_parent_is_held_until_its_children_end();
    println!("3 tests of forks passed");
}

#[cfg(unix)]
mod unix {
    use crate::common::{Folder, assert_sound, everything};
    use fork::{Fork, fork};
    use plica::{Error, Index, NewChunk, Options, ReadOptions, Refreshed, SourceKind, Writer};
    use std::path::Path;
    use std::time::Duration;

    /// Runs `child` in a fork, and demands that it ends well.
    fn forked(child: impl FnOnce()) {
        let pid = start(child);
        assert_eq!(fork::waitpid(pid).unwrap(), 0, "the forked child failed; its output is above");
    }

    /// Starts `child` in a fork.
    fn start(child: impl FnOnce()) -> i32 {
        match fork().unwrap() {
            Fork::Parent(pid) => pid,
            Fork::Child => {
                let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
                std::process::exit(i32::from(done.is_err()));
            }
        }
    }

    fn index(path: &Path) -> Writer {
        let mut writer = Writer::create(path, &Options::new()).unwrap();
        writer.add_document("book", "", "").unwrap();
        writer.publish("book").unwrap();
        append(&mut writer, "The first chunk.").unwrap();
        writer
    }

    fn append(writer: &mut Writer, text: &str) -> plica::Result<u64> {
        writer.append_chunk("book", &NewChunk::text(text))?;
        writer.commit()
    }

    fn chunks(path: &Path) -> u32 {
        let snapshot = Index::open(path).unwrap().snapshot();
        assert_sound(&snapshot);
        snapshot.document("book").unwrap().chunks
    }

    fn is_locked(path: &Path) -> bool {
        let options = Options::new().busy_timeout(Duration::from_millis(5));
        match Writer::open_with(path, &options) {
            Ok(_) => false,
            Err(Error::Locked { .. }) => true,
            Err(error) => panic!("{error}"),
        }
    }

    pub fn a_child_can_neither_write_nor_cut_nor_unlock() {
        let folder = Folder::new();
        let path = folder.path("a.plica");
        let mut writer = Some(index(&path));
        // Something is appended and not committed, so that there is a tail to cut.
        writer.as_mut().unwrap().append_chunk("book", &NewChunk::text("The parent's.")).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        forked(|| {
            let mut writer = writer.take().unwrap();
            for result in [append(&mut writer, "The child's."), writer.commit(), writer.sync().map(|()| 0)] {
                assert!(matches!(result, Err(Error::Unusable { .. })), "{result:?}");
            }
            assert!(matches!(writer.rollback(), Err(Error::Unusable { .. })));
            drop(writer);
            assert!(is_locked(&path));
        });
        forked(|| drop(writer.take()));
        assert!(std::fs::read(&path).unwrap() == bytes);
        assert!(is_locked(&path), "a child has given back the lock");
        let mut writer = writer.unwrap();
        writer.commit().unwrap();
        append(&mut writer, "One more.").unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let mut writer = Some(writer);
        forked(|| {
            let vacuumed = writer.take().unwrap().vacuum(&plica::Limits::default());
            assert!(matches!(vacuumed, Err(Error::Unusable { .. })), "{vacuumed:?}");
            assert!(is_locked(&path));
        });
        assert!(std::fs::read(&path).unwrap() == bytes);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        drop(writer);
        assert!(!is_locked(&path));
        assert_eq!(chunks(&path), 3);
    }

    pub fn a_child_reads_on_and_follows_the_parent() {
        let folder = Folder::new();
        let path = folder.path("a.plica");
        let mut writer = index(&path);
        for source in [SourceKind::Map, SourceKind::Positioned] {
            let reader = Index::open_with(&path, &ReadOptions::new().source(source)).unwrap();
            let held = reader.snapshot();
            let right = everything(&held);
            let before = held.document("book").unwrap().chunks;
            append(&mut writer, "A chunk after the opening.").unwrap();
            forked(|| {
                assert!(everything(&held) == right);
                assert!(matches!(reader.refresh().unwrap(), Refreshed::Advanced(_)));
                assert_eq!(reader.snapshot().document("book").unwrap().chunks, before + 1);
                assert_sound(&reader.snapshot());
                // A reader of its own asks for the lock, and leaves it to the writer.
                assert_eq!(chunks(&path), before + 1);
                assert!(is_locked(&path));
            });
            assert!(everything(&reader.snapshot()) == right, "the parent's reader has not moved");
            assert!(matches!(reader.refresh().unwrap(), Refreshed::Advanced(_)));
        }
        append(&mut writer, "And the writer goes on.").unwrap();
        drop(writer);
        assert_eq!(chunks(&path), 4);
    }

    /// The lock is of the open file, which a child shares. So a child that outlives a parent that was killed keeps
    /// other writers out, as specified; one that outlives a parent that closed its writer does not.
    pub fn the_lock_of_a_dead_parent_is_held_until_its_children_end() {
        let folder = Folder::new();
        let path = folder.path("a.plica");
        drop(index(&path));
        let (ready, go) = (folder.path("ready"), folder.path("go"));
        let wait_for = |path: &Path| {
            while !path.exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        for closes in [false, true] {
            // The parent of this test's sense is a child, which has one of its own and ends before it.
            forked(|| {
                let mut writer = Writer::open(&path).unwrap();
                append(&mut writer, "Acknowledged.").unwrap();
                start(|| {
                    std::fs::write(&ready, "").unwrap();
                    wait_for(&go);
                    std::fs::write(folder.path("ended"), "").unwrap();
                    // Nothing is dropped: `exit` ends the process.
                });
                wait_for(&ready);
                match closes {
                    true => drop(writer),
                    false => std::mem::forget(writer),
                }
            });
            assert_eq!(is_locked(&path), !closes);
            // A reader is not hindered.
            assert_eq!(chunks(&path), 2 + u32::from(closes));
            std::fs::write(&go, "").unwrap();
            wait_for(&folder.path("ended"));
            let options = Options::new().busy_timeout(Duration::from_secs(60));
            drop(Writer::open_with(&path, &options).unwrap());
            assert_eq!(chunks(&path), 2 + u32::from(closes));
            for name in ["ready", "go", "ended"] {
                std::fs::remove_file(folder.path(name)).unwrap();
            }
        }
    }
}
