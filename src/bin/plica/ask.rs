//! `plica ask`: one command from a text file to an answer.
//!
//! The index stands beside the file. It is built where the first build is interrupted and taken up again; a file that
//! has changed is read into a new index beside it, which takes the old one's place only when it is complete.

use crate::arguments::Ask;
use crate::failure::{Failure, Outcome};
use crate::hits::{answer_line, show};
use crate::output::Output;
use crate::progress::Progress;
use crate::signals;
use crate::sources::{name_of, read_text, title_of};
use crate::values::ModelArgument;
use crate::writing::{exists, model};
use plica::ingest::{Reader, Source};
use plica::{Index, Options, Query, Snapshot, Writer};
use std::path::{Path, PathBuf};

/// A file, its text, and its index.
struct Asked<'a> {
    file: &'a Path,
    index: PathBuf,
    id: String,
    title: String,
    text: String,
    question: &'a str,
}

/// What the index has of the file.
enum State {
    /// All of it.
    Current,
    /// Nothing, or the beginning of it.
    Behind,
    /// Another text.
    Changed,
}

/// Answers a question from a file.
pub fn ask(arguments: &Ask) -> Outcome {
    let text = read_text(&arguments.file)?;
    if text.is_empty() {
        return Err(Failure::message(format!("{} is empty; there is nothing to ask", arguments.file.display())));
    }
    let asked = Asked {
        file: &arguments.file,
        index: with_suffix(&arguments.file, ".plica"),
        id: name_of(&arguments.file)?,
        title: title_of(&arguments.file, &text),
        text,
        question: &arguments.question,
    };
    let snapshot = asked.current_snapshot()?;
    let query = Query::new(asked.question).document(asked.id.as_str()).k(arguments.k.get()).explain(true);
    let answer = snapshot.search(&query)?;
    let mut out = Output::new();
    match arguments.json {
        true => out.json(&answer_line(asked.question, Some(&asked.id), &answer))?,
        false => show(&mut out, std::slice::from_ref(&snapshot), asked.question, &answer)?,
    }
    out.flush()
}

impl Asked<'_> {
    /// A snapshot of an index that has the file as it is.
    fn current_snapshot(&self) -> Outcome<Snapshot> {
        if exists(&self.index) {
            let snapshot = self.open()?;
            match self.state(&self.index, &snapshot)? {
                State::Current => return Ok(snapshot),
                State::Behind => self.build(&self.index)?,
                State::Changed => self.rebuild()?,
            }
        } else {
            self.build(&self.index)?;
        }
        self.open()
    }

    fn open(&self) -> Outcome<Snapshot> {
        self.open_at(&self.index)
    }

    fn open_at(&self, path: &Path) -> Outcome<Snapshot> {
        match Index::open(path) {
            Ok(index) => Ok(index.snapshot()),
            Err(plica::Error::NotAnIndex { .. }) => Err(self.foreign(path, "is no index")),
            Err(error) => Err(error.into()),
        }
    }

    /// An error for something else in an index's place.
    fn foreign(&self, path: &Path, what: &str) -> Failure {
        let (path, file) = (path.display(), self.file.display());
        Failure::message(format!(
            "{path} {what}; move it away, or use `plica build OTHER.plica {file}` and `plica search OTHER.plica \"{}\"`",
            self.question
        ))
    }

    /// What the index at `path` has of the file.
    fn state(&self, path: &Path, snapshot: &Snapshot) -> Outcome<State> {
        let documents = snapshot.documents()?;
        match documents.as_slice() {
            // A first build that was not completed.
            [] => Ok(State::Behind),
            [document] if document.id == self.id => {
                let text = snapshot.text(&self.id)?;
                Ok(match self.text.strip_prefix(&text) {
                    Some("") => State::Current,
                    Some(_) => State::Behind,
                    None => State::Changed,
                })
            }
            [document] => Err(self.foreign(path, &format!("is an index of another document, {:?}", document.id))),
            several => Err(self.foreign(path, &format!("is an index of {} documents", several.len()))),
        }
    }

    /// Reads the file into the index at `path`, which is created when absent.
    fn build(&self, path: &Path) -> Outcome {
        let opened = match exists(path) {
            true => Writer::open(path),
            false => Writer::create(path, &Options::new()),
        };
        let mut writer = opened.map_err(|error| self.cannot_write(path, error))?;
        match self.read(path, &mut writer) {
            // The beginning of another text was read here; this one is read anew.
            Err(Failure::Engine(plica::Error::Invalid { .. })) if path == self.index => {
                drop(writer);
                self.rebuild()
            }
            other => other,
        }
    }

    fn read(&self, path: &Path, writer: &mut Writer) -> Outcome {
        if writer.has_staged() && matches!(writer.title(&self.id), Err(plica::Error::NotFound { .. })) {
            return Err(self.foreign(path, "is an unfinished index of another document"));
        }
        let progress = Progress::bytes(self.text.len() as u64);
        progress.about(&self.id);
        let mut reader = Reader::new(model(ModelArgument::Builtin))
            .cancel(signals::stop_flag())
            .on_progress(|_, read, _| progress.at(read));
        let source = Source { id: &self.id, title: &self.title, metadata: "", text: &self.text };
        reader.build(writer, source)?;
        Ok(())
    }

    /// Reads the file into a new index and puts it in the old one's place. The old one is held as a writer meanwhile,
    /// so that nobody adds to it what would be lost.
    fn rebuild(&self) -> Outcome {
        let _held = Writer::open(&self.index).map_err(|error| self.cannot_write(&self.index, error))?;
        let new = with_suffix(&self.index, ".new");
        if exists(&new) && !self.goes_on(&new)? {
            remove(&new)?;
        }
        match self.build(&new) {
            // The beginning of yet another text.
            Err(Failure::Engine(plica::Error::Invalid { .. })) => {
                remove(&new)?;
                self.build(&new)?;
            }
            other => other?,
        }
        std::fs::rename(&new, &self.index).map_err(|source| {
            Failure::message(format!("cannot rename {} to {}: {source}", new.display(), self.index.display()))
        })?;
        // The new name outlives a loss of power only when the folder is on the medium; where that cannot be had, the
        // old index comes back, which is as sound.
        let folder = self.index.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if let Ok(folder) = std::fs::File::open(folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// Whether what an interrupted rebuild left at `path` can be taken up. Anything else than that is left alone.
    fn goes_on(&self, path: &Path) -> Outcome<bool> {
        if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0) {
            return Ok(false);
        }
        match self.open_at(path) {
            Ok(snapshot) => Ok(!matches!(self.state(path, &snapshot)?, State::Changed)),
            Err(Failure::Engine(error)) if error.is_damage() => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Says what to do where the index cannot be written beside the file.
    fn cannot_write(&self, path: &Path, error: plica::Error) -> Failure {
        match error {
            plica::Error::Io { .. } => Failure::message(format!(
                "{error}; where the folder is read-only, use `plica build ELSEWHERE.plica {}` and `plica search ELSEWHERE.plica \"{}\"`",
                self.file.display(),
                self.question
            )),
            plica::Error::NotAnIndex { .. } => self.foreign(path, "is no index"),
            other => other.into(),
        }
    }
}

/// A path with something added to its file name.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn remove(path: &Path) -> Outcome {
    std::fs::remove_file(path).map_err(|error| Failure::message(format!("cannot remove {}: {error}", path.display())))
}
