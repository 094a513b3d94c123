//! `plica remove`: documents are taken out of an index.

use crate::failure::{Failure, Outcome};
use crate::opening::explain;
use crate::output::{Output, visible};
use crate::removal_arguments::Remove;
use crate::vacuum;
use crate::writing::Ledger;
use plica::Writer;
use plica::ingest::Acknowledged;
use std::cell::RefCell;

/// Removes documents with one commit.
pub fn remove(arguments: &Remove) -> Outcome {
    let mut writer = Writer::open(&arguments.index).map_err(|error| explain(&arguments.index, error))?;
    for doc in &arguments.docs {
        if writer.is_published(doc)?.is_none() {
            let hint = match arguments.erase {
                true => ". If it was removed before, `plica vacuum` takes what is left of it out of the file",
                false => "",
            };
            return Err(Failure::message(format!(
                "no document {doc:?} in {}; nothing was removed{hint}",
                arguments.index.display()
            )));
        }
    }
    let out = RefCell::new(Output::new());
    let ledger = Ledger::new(&out, arguments.json);
    // One that is named twice is removed, and told of, once.
    let docs: std::collections::BTreeSet<&String> = arguments.docs.iter().collect();
    for doc in &docs {
        writer.remove_document(doc)?;
    }
    let commit = writer.commit()?;
    ledger.acknowledge(Acknowledged { commit, chunks: writer.chunks() });
    ledger.settle(Ok(()))?;
    let mut out = out.borrow_mut();
    if !arguments.json {
        for doc in &docs {
            out.line(format!("{}: removed", visible(doc)))?;
        }
        out.line(format!("{}: commit {commit}", arguments.index.display()))?;
        out.flush()?;
    }
    if arguments.erase {
        vacuum::run(writer, &arguments.index, arguments.json, &mut out).map_err(|failure| match failure.text() {
            Some(text) if !matches!(&failure, Failure::Engine(error) if error.is_damage()) => {
                Failure::message(format!(
                    "removed, but not erased: {text}. Earlier commits still hold it; run `plica vacuum {}`",
                    arguments.index.display()
                ))
            }
            _ => failure,
        })?;
    }
    out.flush()
}
