//! `plica compile`: outlines and records of documents that were built.

use crate::failure::{Failure, Outcome};
use crate::opening::explain;
use crate::outline_arguments::Compile as CompileArguments;
use crate::output::{Output, counted, visible};
use crate::progress::Progress;
use crate::signals;
use crate::writing::Ledger;
use plica::Writer;
use plica::ingest::builtin::Builtin;
use plica::ingest::{Compile, Compiled, Compiler, Extractor};
use std::cell::{Cell, RefCell};

/// The built-in compiler and extractor.
static BUILTIN: Builtin = Builtin;

/// Compiles documents.
pub fn compile(arguments: &CompileArguments) -> Outcome {
    let mut writer = Writer::open(&arguments.index).map_err(|error| explain(&arguments.index, error))?;
    let documents = match arguments.docs.is_empty() {
        true => writer.documents()?,
        false => arguments.docs.clone(),
    };
    if documents.is_empty() {
        return Err(Failure::message("the index has no documents; `plica build` adds some"));
    }
    let out = RefCell::new(Output::new());
    let ledger = Ledger::new(&out, arguments.json);
    let progress = Progress::unbounded();
    let done = Cell::new(0);
    let compiler = (!arguments.no_outline).then_some(&BUILTIN as &dyn Compiler);
    let extractor = (!arguments.no_records).then_some(&BUILTIN as &dyn Extractor);
    let mut compile = Compile::new(compiler, extractor)
        .pieces(arguments.piece, arguments.overlap)?
        .cancel(signals::stop_flag())
        .on_commit(|commit| ledger.acknowledge(commit))
        .on_progress(|_, read, _| progress.at(done.get() + read));
    if let Some(budget) = arguments.budget {
        compile = compile.budget(budget);
    }
    for document in &documents {
        progress.about(document);
        let compiled = ledger.settle(compile.compile(&mut writer, document))?;
        if !arguments.json {
            progress.aside(|| report(&mut out.borrow_mut(), document, compiled))?;
        }
    }
    drop(compile);
    drop(progress);
    let mut out = out.borrow_mut();
    if !arguments.json {
        out.line(format!("{}: commit {}", arguments.index.display(), writer.sequence()))?;
    }
    out.flush()
}

fn report(out: &mut Output, document: &str, done: Compiled) -> Outcome {
    let mut parts = Vec::new();
    if done.categories > 0 {
        parts.push(counted(u64::from(done.categories), "category"));
    }
    if done.pieces > 0 {
        parts.push(format!(
            "{} new or grown, from {}",
            counted(done.subjects, "subject"),
            counted(u64::from(done.pieces), "piece")
        ));
    }
    if done.chunks > 0 {
        parts.push(format!(
            "{} new or grown, from {}",
            counted(done.records, "record"),
            counted(u64::from(done.chunks), "chunk")
        ));
    }
    let said = if parts.is_empty() { "nothing new".to_owned() } else { parts.join(", ") };
    out.line(format!("{}: {said}", visible(document)))
}
