//! The loop that reads documents: how often it calls the model and with what, that documents read side by side come out
//! as read one after another, and that an interrupted reading goes on where it was.

mod common;

use common::{Capitals, Folder, assert_sound, everything, sentences};
use plica::ingest::{Built, EntityUpdate, FoldInput, Model, Reader, Source, UpdateInput};
use plica::{Error, Index, Options, Result, Writer};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts calls, notes the greatest history, and fails when told to.
#[derive(Default)]
struct Watched {
    updates: AtomicU64,
    folds: AtomicU64,
    /// (chunks before the call, units of history).
    histories: Mutex<Vec<(u32, usize)>>,
    fail_at_fold: Option<u64>,
}

impl Model for Watched {
    fn update(&self, input: &UpdateInput<'_>) -> Result<Vec<EntityUpdate>> {
        self.updates.fetch_add(1, Ordering::Relaxed);
        self.histories.lock().unwrap().push((input.ordinal, input.history.len()));
        assert!(input.history.iter().all(|unit| !unit.text.is_empty()));
        assert!(input.recalled.len() <= 5);
        Capitals.update(input)
    }

    fn fold(&self, input: &FoldInput<'_>) -> Result<String> {
        let calls = self.folds.fetch_add(1, Ordering::Relaxed);
        if self.fail_at_fold == Some(calls) {
            return Err(Error::Model { message: "out of credit".into() });
        }
        Capitals.fold(input)
    }
}

fn calls(chunks: u64, fanout: u64) -> u64 {
    std::iter::successors(Some(chunks), |units| Some(units / fanout)).take_while(|&units| units > 0).sum()
}

fn build(path: &Path, options: &Options, sources: &[Source<'_>], threads: usize) -> Vec<Built> {
    let mut writer = Writer::create(path, options).unwrap();
    Reader::new(Some(&Capitals)).threads(threads).build_all(&mut writer, sources).unwrap()
}

#[test]
fn the_model_is_called_as_often_as_the_tree_asks_and_sees_the_digits_of_the_count() {
    for (fanout, words) in [(2u8, 9), (3, 14), (5, 6), (16, 7)] {
        let folder = Folder::new();
        let path = folder.path("a.plica");
        let text = sentences(u32::from(fanout), 80);
        let model = Watched::default();
        let mut writer = Writer::create(&path, &Options::new().fanout(fanout).chunk_words(words)).unwrap();
        let source = Source { id: "a", text: &text, ..Source::default() };
        let Built::New { chunks } = Reader::new(Some(&model)).build(&mut writer, source).unwrap() else {
            panic!("it was not known");
        };
        let expected = calls(u64::from(chunks), u64::from(fanout));
        assert!(chunks > 40);
        assert_eq!(model.updates.load(Ordering::Relaxed), u64::from(chunks));
        assert_eq!(model.updates.load(Ordering::Relaxed) + model.folds.load(Ordering::Relaxed), expected);
        let stat = Index::open(&path).unwrap().snapshot().stat().unwrap();
        assert_eq!((stat.calls.accepted, stat.calls.expected, stat.calls.given), (expected, expected, 0));
        for (before, units) in model.histories.into_inner().unwrap() {
            let (mut digits, mut rest) = (0, before);
            while rest > 0 {
                digits += rest % u32::from(fanout);
                rest /= u32::from(fanout);
            }
            assert_eq!(units, digits as usize, "history of call {before} at fan-out {fanout}");
        }
        assert_eq!(Index::open(&path).unwrap().snapshot().text("a").unwrap(), text);
    }
}

#[test]
fn side_by_side_is_as_one_after_another() {
    let texts: Vec<String> = (0..4).map(|n| sentences(n, 20 + 13 * n)).collect();
    let ids = ["one", "two", "three", "four"];
    let sources: Vec<Source<'_>> =
        ids.iter().zip(&texts).map(|(id, text)| Source { id, text, title: id, ..Source::default() }).collect();
    let options = Options::new().fanout(3).chunk_words(12);
    let folder = Folder::new();
    let mut all = Vec::new();
    for threads in [1, 3] {
        let path = folder.path(&format!("together-{threads}.plica"));
        build(&path, &options, &sources, threads);
        all.push(everything(&Index::open(&path).unwrap().snapshot()));
        assert_sound(&Index::open(&path).unwrap().snapshot());
    }
    let path = folder.path("apart.plica");
    let mut writer = Writer::create(&path, &options).unwrap();
    for source in &sources {
        Reader::new(Some(&Capitals)).build(&mut writer, *source).unwrap();
    }
    all.push(everything(&Index::open(&path).unwrap().snapshot()));
    assert!(all[0] == all[1], "three threads");
    assert!(all[0] == all[2], "one after another");
}

#[test]
fn a_reading_that_a_failing_model_stopped_goes_on_and_ends_the_same() {
    let text = sentences(3, 60);
    let source = Source { id: "a", text: &text, ..Source::default() };
    let options = Options::new().fanout(3).chunk_words(12);
    let folder = Folder::new();
    build(&folder.path("whole.plica"), &options, &[source], 1);
    let whole = Index::open(folder.path("whole.plica")).unwrap().snapshot();
    for fail_at in [0, 3, 4, 9] {
        let path = folder.path(&format!("stopped-{fail_at}.plica"));
        let failing = Watched { fail_at_fold: Some(fail_at), ..Watched::default() };
        let mut writer = Writer::create(&path, &options).unwrap();
        let error = Reader::new(Some(&failing)).commit_every(2).build(&mut writer, source).unwrap_err();
        assert!(error.to_string().contains("out of credit"), "{error}");
        // Even what the failure left half done may be committed.
        writer.commit().unwrap();
        drop(writer);
        assert!(Index::open(&path).unwrap().snapshot().documents().unwrap().is_empty(), "it is staged");
        let mut writer = Writer::open(&path).unwrap();
        Reader::new(Some(&Watched::default())).commit_every(5).build(&mut writer, source).unwrap();
        let snapshot = Index::open(&path).unwrap().snapshot();
        assert_sound(&snapshot);
        assert!(everything(&snapshot) == everything(&whole), "stopped at fold {fail_at}");
        let calls = snapshot.stat().unwrap().calls;
        assert_eq!(calls.accepted, calls.expected);
    }
}

#[test]
fn a_known_document_is_left_alone_extended_or_refused() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let text = sentences(5, 40);
    let mut writer = Writer::create(&path, &Options::new().chunk_words(12)).unwrap();
    let mut reader = Reader::new(Some(&Capitals));
    let source = |text| Source { id: "a", text, ..Source::default() };
    let half = text.len() / 2;
    assert!(matches!(reader.build(&mut writer, source(&text[..half])).unwrap(), Built::New { .. }));
    assert_eq!(reader.build(&mut writer, source(&text[..half])).unwrap(), Built::Unchanged);
    assert!(matches!(reader.build(&mut writer, source(&text)).unwrap(), Built::Extended { added } if added > 0));
    assert_eq!(Index::open(&path).unwrap().snapshot().text("a").unwrap(), text);
    let changed = text.replacen("Anna", "Anne", 1);
    for other in [&text[..half - 7], "Something else.", &changed] {
        let error = reader.build(&mut writer, source(other)).unwrap_err().to_string();
        assert!(error.contains("another text"), "{error}");
    }
    assert!(reader.build(&mut writer, source("")).is_err());
}

#[test]
fn an_append_that_was_interrupted_is_completed_by_the_same_append() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let (first, more) = (sentences(6, 20), sentences(7, 40));
    let options = Options::new().chunk_words(12).fanout(3);
    build(&path, &options, &[Source { id: "a", text: &first, ..Source::default() }], 1);
    let mut writer = Writer::open(&path).unwrap();
    let failing = Watched { fail_at_fold: Some(5), ..Watched::default() };
    Reader::new(Some(&failing)).commit_every(3).append(&mut writer, "a", &more).unwrap_err();
    drop(writer);
    let partly = Index::open(&path).unwrap().snapshot().text("a").unwrap();
    assert!(partly.len() > first.len() && partly.len() < first.len() + more.len());
    let mut writer = Writer::open(&path).unwrap();
    let error = Reader::new(Some(&Capitals)).append(&mut writer, "a", "Other text.").unwrap_err().to_string();
    assert!(error.contains("not complete"), "{error}");
    Reader::new(Some(&Capitals)).append(&mut writer, "a", &more).unwrap();
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_eq!(snapshot.text("a").unwrap(), format!("{first}{more}"));
    // Whoever was not told that it was complete may ask again.
    assert_eq!(Reader::new(Some(&Capitals)).append(&mut writer, "a", &more).unwrap(), 0);
    assert_eq!(Index::open(&path).unwrap().snapshot().text("a").unwrap(), format!("{first}{more}"));
    assert_sound(&snapshot);
    assert_eq!(snapshot.stat().unwrap().calls.accepted, snapshot.stat().unwrap().calls.expected);
    assert!(Reader::new(Some(&Capitals)).again(true).append(&mut writer, "a", &more).unwrap() > 0);
    assert_eq!(Index::open(&path).unwrap().snapshot().text("a").unwrap(), format!("{first}{more}{more}"));
}

#[test]
fn an_append_whose_text_is_gone_does_not_hold_its_document() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let options = Options::new().chunk_words(12).fanout(3);
    build(&path, &options, &[Source { id: "a", text: &sentences(6, 20), ..Source::default() }], 1);
    let mut writer = Writer::open(&path).unwrap();
    let failing = Watched { fail_at_fold: Some(5), ..Watched::default() };
    Reader::new(Some(&failing)).commit_every(3).append(&mut writer, "a", &sentences(7, 40)).unwrap_err();
    drop(writer);
    let mut writer = Writer::open(&path).unwrap();
    let partly = Index::open(&path).unwrap().snapshot().text("a").unwrap();
    assert!(Reader::new(Some(&Capitals)).append(&mut writer, "a", "Other text.").is_err());
    Reader::new(Some(&Capitals)).again(true).append(&mut writer, "a", "Other text.").unwrap();
    assert_eq!(Index::open(&path).unwrap().snapshot().text("a").unwrap(), format!("{partly}Other text."));
}
