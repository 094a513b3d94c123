//! Using a hostile file, and what that may cost.

use crate::forge::Forge;
use peak_alloc::PeakAlloc;
use plica::outline::Navigate;
use plica::records::{RecordField, RecordQuery, VocabularyQuery};
use plica::{Error, Index, Limits, Query, Snapshot, TextQuery};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Bytes that reading a file may take beyond the file.
const MEMORY_LIMIT: usize = 64 << 20;
/// What is left of the memory of other tests that build their files meanwhile.
const NOISE: usize = 4 << 20;
/// No file of these tests has 64 MiB that could be visited, so a second is what one may take. A test that is decided by a slow machine
/// is of no use, and a walk without bound does not end in a thousand times that: this stands for "ends".
const HANG: Duration = Duration::from_secs(120);

/// A file of the golden ones, taken apart: 0 with texts, memory and fold trees, 1 with an outline and records.
pub fn golden(which: usize) -> Forge {
    let name = ["v1.plica", "v1-outline.plica"][which];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("format/golden").join(name);
    Forge::new(&std::fs::read(path).unwrap())
}

/// What all uses of a file said.
#[derive(Debug)]
pub struct Trial {
    /// Errors of single calls, by the name of the call; `open` is among them.
    pub errors: Vec<(&'static str, Error)>,
    /// What the check found.
    pub findings: Vec<String>,
    /// Bytes beyond the file at the worst moment.
    pub memory: usize,
}

impl Trial {
    /// Uses all of a file, within the limits.
    pub fn of(forge: &Forge) -> Self {
        Self::of_bytes(forge.build())
    }

    /// The same of the bytes of a file.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        // One at a time, since memory is counted for the program as a whole.
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let started = Instant::now();
        // The engine keeps a copy of the bytes, as a file would be.
        let before = MEMORY.current_usage() + bytes.len();
        MEMORY.reset_peak_usage();
        let mut trial = Self { errors: Vec::new(), findings: Vec::new(), memory: 0 };
        match Index::from_bytes(bytes) {
            Ok(index) => trial.use_all(&index.snapshot()),
            Err(error) => trial.errors.push(("open", error)),
        }
        trial.memory = MEMORY.peak_usage().saturating_sub(before);
        assert!(trial.memory <= MEMORY_LIMIT + NOISE, "{} bytes", trial.memory);
        assert!(started.elapsed() < HANG, "{:?}", started.elapsed());
        for (call, error) in &trial.errors {
            assert!(is_typed(error), "{call}: {error}");
        }
        trial
    }

    fn note<T>(&mut self, call: &'static str, result: plica::Result<T>) -> Option<T> {
        result.map_err(|error| self.errors.push((call, error))).ok()
    }

    fn use_all(&mut self, snapshot: &Snapshot) {
        if let Some(report) = self.note("check", snapshot.check(&Limits::default())) {
            self.findings = report.findings.iter().map(|found| format!("{}: {}", found.what, found.detail)).collect();
        }
        self.note("stat", snapshot.stat());
        let log: plica::Result<Vec<_>> = snapshot.log().take(1000).collect();
        self.note("log", log);
        self.note("search", snapshot.search(&Query::new("the keeper of the lamp, Anna at the mill").explain(true)));
        self.note("text search", snapshot.text_search(&TextQuery::new("the keeper of the lamp")));
        self.note("export", plica::interchange::export(snapshot, &mut std::io::sink()));
        self.note("records", snapshot.records(&RecordQuery::new().entity("Ilse").fuzzy(2)));
        self.note("vocabulary", snapshot.vocabulary(&VocabularyQuery::new(RecordField::Value)));
        for document in self.note("documents", snapshot.documents()).unwrap_or_default() {
            let id = &document.id;
            self.note("text", snapshot.text(id));
            self.note("tree", snapshot.tree(id, &[]));
            self.note("tree", snapshot.tree(id, &[0]));
            self.note("summaries", snapshot.covering_summaries(id, 0));
            self.note("search", snapshot.search(&Query::new("Anna and the lamp").document(id).explain(true)));
            self.note("entities", snapshot.entities(Some(id), |_| Ok(())));
            if let Ok(true) = snapshot.has_outline(id) {
                self.note("outline", snapshot.outline(id, &[]));
                self.note("navigate", snapshot.navigate(&Navigate::new(id, "Where does Ilse keep the lamp?")));
            }
        }
    }

    /// The error of opening the file.
    #[track_caller]
    pub fn refused(&self) -> &Error {
        match self.errors.as_slice() {
            [("open", error)] => error,
            other => panic!("it was opened: {other:?}"),
        }
    }

    /// Demands that the file is refused as damaged where it is opened, with these words.
    #[track_caller]
    pub fn is_refused_as_damaged(&self, words: &str) {
        let error = self.refused();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }

    /// Demands that the check names the damage with these words.
    #[track_caller]
    pub fn is_found(&self, words: &str) {
        assert!(self.findings.iter().any(|found| found.contains(words)), "{self:#?}");
    }

    /// Demands that a call fails with damage in these words, and that the check names it, too.
    #[track_caller]
    pub fn fails(&self, call: &str, words: &str) {
        self.is_found(words);
        let is_it = |(at, error): &(&str, Error)| {
            *at == call && matches!(error, Error::Damaged { .. }) && error.to_string().contains(words)
        };
        assert!(self.errors.iter().any(is_it), "{self:#?}");
    }
}

/// Whether a hostile file may be answered with this error.
fn is_typed(error: &Error) -> bool {
    matches!(
        error,
        Error::Damaged { .. }
            | Error::Unsupported { .. }
            | Error::NotAnIndex { .. }
            | Error::Limit { .. }
            | Error::NotFound { .. }
            | Error::Invalid { .. }
    )
}

#[test]
fn a_sound_file_comes_out_as_it_went_in() {
    for (which, name) in [(0, "v1.plica"), (1, "v1-outline.plica")] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("format/golden").join(name);
        assert!(golden(which).build() == std::fs::read(path).unwrap());
        let trial = Trial::of(&golden(which));
        assert!(trial.errors.is_empty() && trial.findings.is_empty(), "{trial:#?}");
    }
}
