//! `plica build` and `plica append`: documents are read into an index.

use crate::arguments::{Append, Build};
use crate::failure::{Failure, Outcome};
use crate::output::{Output, counted, visible};
use crate::progress::Progress;
use crate::signals;
use crate::sources::{self, SourceFile};
use crate::writing::{Ledger, exists, keep_if_used, model, open_or_create, options};
use plica::ingest::{Acknowledged, Built, Reader, Source};
use plica::{Options, Writer};
use std::cell::{Cell, RefCell};
use std::io::Write;

/// Reads files and folders.
pub fn build(arguments: &Build) -> Outcome {
    let files = sources::list(&arguments.paths, arguments.doc.as_deref())?;
    let out = RefCell::new(Output::new());
    let ledger = Ledger::new(&out, arguments.json);
    let progress = Progress::bytes(files.iter().map(|file| file.bytes).sum());
    let done = Cell::new(0);
    let mut reader = Reader::new(model(arguments.model.model))
        .chunking(arguments.chunks.into())
        .replace(arguments.replace)
        .cancel(signals::stop_flag())
        .on_commit(|commit| ledger.acknowledge(commit))
        .on_progress(|_, read, _| progress.at(done.get() + read));
    let mut writer: Option<Writer> = None;
    let created = !exists(&arguments.index);
    for file in &files {
        progress.about(&file.id);
        // A text that cannot be read must not leave an empty index behind.
        let Some(text) = text_of(file, &progress)? else { continue };
        let writer = match &mut writer {
            Some(writer) => writer,
            None => writer.insert(open_or_create(
                &arguments.index,
                &arguments.creation,
                &options(&arguments.creation, Options::new()),
            )?),
        };
        let title = sources::title_of(&file.path, &text);
        let source = Source { id: &file.id, title: &title, metadata: "", text: &text };
        let built = ledger.settle(reader.build(writer, source));
        let built = keep_if_used(created, Some(writer), built)?;
        done.set(done.get() + text.len() as u64);
        progress.at(done.get());
        if !arguments.json {
            progress.aside(|| report(&mut out.borrow_mut(), &file.id, built))?;
        }
    }
    drop(reader);
    drop(progress);
    let Some(writer) = writer else { return Err(Failure::message("all files are empty; there is nothing to read")) };
    let mut out = out.borrow_mut();
    if !arguments.json {
        let chunks = counted(writer.chunks(), "chunk");
        out.line(format!("{}: {chunks}, commit {}", arguments.index.display(), writer.sequence()))?;
    }
    out.flush()
}

/// The text of a file; nothing, and a word about it, for an empty file that was found in a folder.
fn text_of(file: &SourceFile, progress: &Progress) -> Outcome<Option<String>> {
    let text = sources::read_text(&file.path)?;
    if !text.is_empty() {
        return Ok(Some(text));
    }
    if !file.found {
        return Err(Failure::message(format!("{} is empty; there is nothing to read", file.path.display())));
    }
    let _ = progress.aside(|| writeln!(std::io::stderr(), "plica: left out {}: it is empty", file.path.display()));
    Ok(None)
}

/// Says what a build did with a document.
fn report(out: &mut Output, id: &str, built: Built) -> Outcome {
    let what = match built {
        Built::New { chunks } => counted(u64::from(chunks), "chunk"),
        Built::Replaced { chunks } => format!("replaced, {}", counted(u64::from(chunks), "chunk")),
        Built::Extended { added } => format!("extended by {}", counted(u64::from(added), "chunk")),
        Built::Unchanged => "unchanged".to_owned(),
    };
    out.line(format!("{}: {what}", visible(id)))?;
    out.flush()
}

/// Adds text to a document.
pub fn append(arguments: &Append) -> Outcome {
    let text = sources::read_text(&arguments.file)?;
    if text.is_empty() {
        return Err(Failure::message(format!("{} is empty; there is nothing to append", arguments.file.display())));
    }
    let out = RefCell::new(Output::new());
    let ledger = Ledger::new(&out, arguments.json);
    let mut writer = Writer::open(&arguments.index)?;
    let progress = Progress::bytes(text.len() as u64);
    progress.about(&arguments.doc);
    let mut reader = Reader::new(model(arguments.model.model))
        .chunking(arguments.chunks.into())
        .cancel(signals::stop_flag())
        .on_commit(|commit| ledger.acknowledge(commit))
        .on_progress(|_, read, _| progress.at(read));
    if let Some(chunks) = arguments.commit_every {
        reader = reader.commit_every(chunks.get());
    }
    let added = ledger.settle(reader.again(arguments.again).append(&mut writer, &arguments.doc, &text))?;
    if added == 0 {
        // The commit that has it may never have been acknowledged.
        ledger.acknowledge(Acknowledged { commit: writer.sequence(), chunks: writer.chunks() });
    }
    drop(reader);
    drop(progress);
    let mut out = out.borrow_mut();
    if !arguments.json {
        match added {
            0 => out.line("the document ends with this text already; with --again it is added once more")?,
            _ => report(&mut out, &arguments.doc, Built::Extended { added })?,
        }
        let chunks = counted(writer.chunks(), "chunk");
        out.line(format!("{}: {chunks}, commit {}", arguments.index.display(), writer.sequence()))?;
    }
    out.flush()
}
