//! What the writing commands share: opening or creating the index, the model, and the acknowledgement of commits.

use crate::arguments::Creation;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::signals;
use crate::values::ModelArgument;
use plica::ingest::builtin::Builtin;
use plica::ingest::{Acknowledged, Model};
use plica::{MemoryScope, Options, Writer};
use serde::Serialize;
use std::cell::RefCell;
use std::path::Path;

/// The built-in model.
static BUILTIN: Builtin = Builtin;

/// The model of a name.
pub fn model(argument: ModelArgument) -> Option<&'static dyn Model> {
    match argument {
        ModelArgument::Builtin => Some(&BUILTIN),
        ModelArgument::None => None,
    }
}

/// `options` with what was asked for at creation in their place.
pub fn options(creation: &Creation, mut options: Options) -> Options {
    if let Some(fanout) = creation.fanout {
        options = options.fanout(fanout);
    }
    if let Some(words) = creation.chunk_words {
        options = options.chunk_words(words.get());
    }
    if let Some(memory) = creation.memory {
        options = options.memory(memory.into());
    }
    options
}

/// Opens an index for writing, or creates it where it is absent. What was asked for at creation must be what an index
/// has that is there.
pub fn open_or_create(path: &Path, creation: &Creation, otherwise: &Options) -> Outcome<Writer> {
    if !exists(path) {
        return Ok(Writer::create(path, otherwise)?);
    }
    let writer = match Writer::open_with(path, otherwise) {
        // What a creation left that was cut short is taken as if it were not there; anything else is refused by it, too.
        Err(error @ plica::Error::NotAnIndex { .. }) => return Writer::create(path, otherwise).or(Err(error.into())),
        opened => opened?,
    };
    let own = writer.options();
    let differs = |option: &str, asked: String, own: String| {
        Err(Failure::message(format!(
            "{} was created with {option} {own}, which stays for good; leave out {option} {asked}, or build another index",
            path.display()
        )))
    };
    if let Some(fanout) = creation.fanout.filter(|&fanout| fanout != own.fanout) {
        return differs("--fanout", fanout.to_string(), own.fanout.to_string());
    }
    if let Some(words) = creation.chunk_words.filter(|words| words.get() != own.chunk_words) {
        return differs("--chunk-words", words.to_string(), own.chunk_words.to_string());
    }
    if let Some(memory) = creation.memory.map(MemoryScope::from).filter(|&memory| memory != own.memory) {
        return differs("--memory", memory_name(memory).to_owned(), memory_name(own.memory).to_owned());
    }
    Ok(writer)
}

/// The outcome of a command that created an index: where it failed before it committed anything, the index goes again.
pub fn keep_if_used<T>(created: bool, writer: Option<&Writer>, outcome: Outcome<T>) -> Outcome<T> {
    if let (true, Err(_), Some(writer)) = (created, &outcome, writer)
        && writer.sequence() <= 1
    {
        // The writer still holds the lock, so nobody else has begun to use the file.
        let _ = std::fs::remove_file(writer.path());
    }
    outcome
}

/// Whether there is anything at a path; a link that leads nowhere counts.
pub fn exists(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

/// A scope of the entity memory, as options and JSON name it.
pub fn memory_name(memory: MemoryScope) -> &'static str {
    match memory {
        MemoryScope::Document => "document",
        MemoryScope::Index => "index",
    }
}

/// A commit that has returned, as JSON.
#[derive(Serialize)]
struct Acknowledgement {
    commit: u64,
    chunks: u64,
}

/// The acknowledgement of commits: with `--json` a line each, flushed at once.
#[derive(Debug)]
pub struct Ledger<'a> {
    out: &'a RefCell<Output>,
    json: bool,
    failure: RefCell<Option<Failure>>,
}

impl<'a> Ledger<'a> {
    /// Acknowledges on `out` where `json` is asked for.
    pub fn new(out: &'a RefCell<Output>, json: bool) -> Self {
        Self { out, json, failure: RefCell::new(None) }
    }

    /// Notes that a commit has returned. Where nobody can be told, the work stops.
    pub fn acknowledge(&self, done: Acknowledged) {
        if !self.json {
            return;
        }
        let mut out = self.out.borrow_mut();
        let line = Acknowledgement { commit: done.commit, chunks: done.chunks };
        if let Err(failure) = out.json(&line).and_then(|()| out.flush()) {
            self.failure.borrow_mut().get_or_insert(failure);
            signals::stop();
        }
    }

    /// The outcome of the work: a failure to acknowledge, where there was one, else its own.
    pub fn settle<T>(&self, outcome: plica::Result<T>) -> Outcome<T> {
        match (self.failure.borrow_mut().take(), outcome) {
            (Some(failure), Ok(_) | Err(plica::Error::Cancelled)) => Err(failure),
            (_, outcome) => Ok(outcome?),
        }
    }
}
