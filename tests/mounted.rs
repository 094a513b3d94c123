//! File systems that refuse: mounted read-only, and full. The tests run themselves again in a mount namespace of their
//! own; where the system does not let them mount there, they say so and are skipped.
#![cfg(target_os = "linux")]

#[path = "common/child.rs"]
mod child;
mod common;

use child::{command, role};
use common::{Folder, assert_sound, everything, sentences};
use plica::{
    Error, Index, Limits, NewChunk, Options, ReadOptions, Refreshed, SourceKind, VacuumOptions, Writer, vacuum,
};
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a script of the shell in a mount namespace of its own, in which `$1` is an empty folder and `$2` this program
/// with the arguments that run the test `name` in a role. False where that is not allowed.
fn mounted(name: &str, script: &str) -> bool {
    let folder = Folder::new();
    let place = folder.path("mount");
    std::fs::create_dir(&place).unwrap();
    let unshare = |script: &str| {
        for options in ["-m", "-rm"] {
            let mut command = Command::new("unshare");
            command.args([options, "sh", "-ec", script, "sh"]).arg(&place);
            if command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
                return Some(options);
            }
        }
        None
    };
    let Some(options) = unshare("mount -t tmpfs -o size=1m tmpfs \"$1\" && mount -o remount,ro \"$1\"") else {
        println!("skipped {name}: this system does not let the test mount a file system");
        return false;
    };
    let test = command(name, "unused", &place.join("a.plica"));
    let mut command = Command::new("unshare");
    command.args([options, "sh", "-ec", script, "sh"]).arg(&place).arg(test.get_program()).args(test.get_args());
    command.envs(test.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{status}; the output is above");
    true
}

fn write(path: &Path, chunks: u32) -> Writer {
    let mut writer = Writer::create(path, &Options::new().fanout(3)).unwrap();
    writer.add_document("book", "A book", "").unwrap();
    writer.publish("book").unwrap();
    for seed in 0..chunks {
        writer.append_chunk("book", &NewChunk::text(&sentences(seed, 3))).unwrap();
        writer.commit().unwrap();
    }
    writer
}

fn demand_io<T: std::fmt::Debug>(result: plica::Result<T>) {
    assert!(matches!(result, Err(Error::Io { .. })), "{result:?}");
}

const READ_ONLY: &str = "a_read_only_file_system_is_read_without_a_lock_file_and_refuses_writers";

#[test]
fn a_read_only_file_system_is_read_without_a_lock_file_and_refuses_writers() {
    match role() {
        Some((role, path)) if role == "write" => {
            drop(write(&path, 9));
            std::fs::write(path.with_extension("txt"), everything(&Index::open(&path).unwrap().snapshot())).unwrap();
        }
        Some((_, path)) => {
            let right = std::fs::read_to_string(path.with_extension("txt")).unwrap();
            for source in [SourceKind::Map, SourceKind::Positioned] {
                let index = Index::open_with(&path, &ReadOptions::new().source(source)).unwrap();
                assert!(everything(&index.snapshot()) == right);
                assert_sound(&index.snapshot());
                assert_eq!(index.refresh().unwrap(), Refreshed::Unchanged);
                assert!(!index.recovery_pending());
                demand_io(index.snapshot().backup(path.with_file_name("copy.plica"), &Limits::default()));
            }
            demand_io(Writer::open(&path));
            demand_io(vacuum(&path, &VacuumOptions::new()));
            demand_io(Writer::create(path.with_file_name("new.plica"), &Options::new()));
            let names = std::fs::read_dir(path.parent().unwrap()).unwrap();
            assert_eq!(names.count(), 2, "nothing came beside the index");
        }
        None => {
            let script = "mount -t tmpfs -o size=4m tmpfs \"$1\"; shift
                PLICA_TEST_ROLE=write \"$@\"
                mount -o remount,ro \"$(dirname \"$PLICA_TEST_PLACE\")\"
                PLICA_TEST_ROLE=read \"$@\"";
            mounted(READ_ONLY, script);
        }
    }
}

const FULL: &str = "a_full_file_system_refuses_commits_and_goes_on_when_there_is_room";

#[test]
fn a_full_file_system_refuses_commits_and_goes_on_when_there_is_room() {
    let Some((_, path)) = role() else {
        mounted(FULL, "mount -t tmpfs -o size=1m tmpfs \"$1\"; shift; PLICA_TEST_ROLE=fill \"$@\"");
        return;
    };
    let mut writer = write(&path, 3);
    // Room for a few commits is kept by another file.
    let ballast = path.with_file_name("ballast");
    std::fs::write(&ballast, vec![7; 200 << 10]).unwrap();
    let reader = Index::open(&path).unwrap();
    let before = everything(&reader.snapshot());
    let (mut texts, mut refused) = ((0..3).map(|seed| sentences(seed, 3)).collect::<Vec<_>>(), 0);
    let demand = |texts: &[String]| {
        let snapshot = Index::open(&path).unwrap().snapshot();
        assert_sound(&snapshot);
        let chunks = snapshot.document("book").unwrap().chunks;
        let found: Vec<String> = (0..chunks).map(|at| snapshot.chunk_at("book", at).unwrap().text).collect();
        assert_eq!(found, texts);
    };
    let add = |writer: &mut Writer, seed: u32| -> plica::Result<String> {
        // Digits that do not repeat, so that they take room.
        let numbers = (0..900u64).map(|at| format!("{} ", (at + u64::from(seed) * 1_000) * 2_654_435_761 % 1_000_003));
        let text = numbers.collect::<String>();
        writer.append_chunk("book", &NewChunk::text(&text))?;
        writer.commit()?;
        Ok(text)
    };
    for seed in 0..400 {
        match add(&mut writer, seed) {
            Ok(text) => texts.push(text),
            Err(error) => {
                let is_full = |error: &Error| {
                    let source = match error {
                        Error::NotCommitted { source } => source,
                        error => error,
                    };
                    matches!(source, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull)
                };
                assert!(is_full(&error), "{error:?}");
                refused += 1;
                writer.rollback().unwrap();
                demand(&texts);
                if refused == 5 {
                    break;
                }
            }
        }
    }
    assert!(refused == 5 && texts.len() > 10, "{refused} refused, {} chunks", texts.len());
    assert!(everything(&reader.snapshot()) == before);
    // A vacuum and a creation need room, too, and leave nothing behind.
    let names = || std::fs::read_dir(path.parent().unwrap()).unwrap().count();
    let before = names();
    drop(writer);
    let error = vacuum(&path, &VacuumOptions::new()).unwrap_err();
    assert!(matches!(error, Error::Io { .. } | Error::Limit { .. } | Error::Invalid { .. }), "{error:?}");
    std::fs::write(path.with_file_name("rest"), vec![7; 1 << 20]).unwrap_err();
    demand_io(Writer::create(path.with_file_name("new.plica"), &Options::new()));
    std::fs::remove_file(path.with_file_name("rest")).unwrap();
    assert_eq!(names(), before);
    demand(&texts);
    // A writer that opens while it is full can do so, and there is room again.
    let mut writer = Writer::open(&path).unwrap();
    std::fs::remove_file(&ballast).unwrap();
    texts.push(add(&mut writer, 1_000).unwrap());
    drop(writer);
    demand(&texts);
    assert!(matches!(reader.refresh().unwrap(), Refreshed::Advanced(_)));
}
