//! Writing a new index with all that is left of a damaged one.
//!
//! The damaged file is read block by block, whatever leads to them ([`crate::store::scan`]); the sound leaves are put
//! together again to what the dictionary was ([`remains`]). From them come the documents with their chunks, and with those
//! the summaries, the entities, the outlines and the records, each as far as its own blocks are sound. What was made from
//! these (postings, statistics, pages) is made anew. A chunk that is lost keeps its place, empty, so that all that names a
//! place names the right one.
//!
//! Nothing is guessed silently: what no commit vouches for, and what is lost, is in the report, and in the metadata of the
//! document.

mod documents;
mod fragments;
mod memory;
mod outlines;
pub(super) mod remains;
mod report;
mod trees;
mod write;

pub(super) use documents::runs;
pub(super) use memory::shown;
pub use report::{Loss, Salvaged};

use super::check::Finding;
use super::documents::NewChunk;
use super::options::{MemoryScope, Options};
use super::writer::Writer;
use crate::search::Limits;
use crate::store::{self, Scan};
use crate::{Error, Result};
use plica_format::block::BlockKind;
use plica_format::entity::decode_rows;
use plica_format::fold::FoldPage;
use plica_format::key::{self, INDEX_SCOPE};
use plica_format::page::Parameters;
use plica_format::state::IndexState;
use remains::Remains;
use std::path::Path;

/// Writes a new index at `new`, which must not exist, with all that is left of the one at `damaged`. That one is only read;
/// it may be damaged anywhere, page 0 and all slots included. The new index has an id of its own and one commit.
///
/// Chunks, summaries, entities, outlines and records are taken wherever their own blocks are sound. A lost chunk keeps its
/// place, empty. A document whose head is lost keeps its id where that is found elsewhere, else it is `lost-document-N`; text of
/// which nothing says any more whose it is is cut into chunks of a document `lost-texts`. What is lost, and
/// what no commit vouches for, is reported, and noted in the metadata of the document under `"salvage"`.
///
/// ```
/// # fn main() -> plica::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let (damaged, new) = (folder.path().join("damaged.plica"), folder.path().join("new.plica"));
/// # let mut writer = plica::Writer::create(&damaged, &plica::Options::new())?;
/// # writer.add_document("notes", "", "")?;
/// # writer.append_chunk("notes", &plica::NewChunk::text("The archive keeps the letters."))?;
/// # writer.publish("notes")?;
/// # writer.commit()?;
/// # drop(writer);
/// let mut bytes = std::fs::read(&damaged).unwrap();
/// bytes[..20_480].fill(0); // page 0 and all slots
/// std::fs::write(&damaged, bytes).unwrap();
/// assert!(plica::Index::open(&damaged).is_err());
///
/// let salvaged = plica::salvage(&damaged, &new, &plica::Limits::default())?;
/// assert_eq!((salvaged.chunks, salvaged.lost.len()), (1, 0));
/// assert_eq!(plica::Index::open(&new)?.snapshot().text("notes")?, "The archive keeps the letters.");
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::NotAnIndex`] where nothing is left, [`Error::Unsupported`] for a file of a later version, [`Error::Io`] (a `new`
/// that exists among them), [`Error::Cancelled`]. No new file is left behind then.
pub fn salvage(damaged: impl AsRef<Path>, new: impl AsRef<Path>, limits: &Limits) -> Result<Salvaged> {
    let (damaged, new) = (damaged.as_ref(), new.as_ref());
    if new.exists() {
        let source = std::io::ErrorKind::AlreadyExists.into();
        return Err(Error::Io { action: "create", path: Some(new.to_path_buf()), source });
    }
    let scan = store::scan(damaged, &|| limits.check())?;
    let head = scan.newest.as_ref();
    // A state with a right checksum that does not decode is no state.
    let state = head.and_then(|head| IndexState::decode(&head.commit.state).ok());
    let remains = Remains::new(&scan, state.as_ref())?;
    let mut report = Salvaged {
        commit: head.filter(|_| state.is_some()).map(|head| head.commit.sequence),
        damage: scan.damage.iter().map(finding).collect(),
        ..Salvaged::default()
    };
    let parameters = match scan.parameters.or(head.map(|head| head.commit.parameters)) {
        Some(parameters) => parameters,
        None => guess(&scan, &remains, &mut report)?,
    };
    let mut writer = Writer::create(new, &options(&parameters))?;
    let written = write::Salvage::new(&scan, &remains, &parameters, &mut writer, &mut report, limits).run();
    drop(writer);
    if let Err(error) = written {
        // Nobody else has the new file.
        let _ = std::fs::remove_file(new);
        return Err(error);
    }
    let known: Vec<(u64, u64)> = scan.damage.iter().map(|stretch| (stretch.offset, stretch.bytes)).collect();
    let is_known = |offset: u64| known.iter().any(|&(from, bytes)| (from..from + bytes).contains(&offset));
    let wrong = remains.wrong().into_iter().filter(|(offset, ..)| !is_known(*offset) && *offset < scan.length);
    report.damage.extend(wrong.map(|(offset, what, detail)| Finding::new(offset, what, detail)));
    report.damage.sort_by_key(|finding| finding.offset);
    Ok(report)
}

fn finding(stretch: &store::Stretch) -> Finding {
    let store::Stretch { offset, bytes, what, detail } = stretch.clone();
    Finding { bytes, ..Finding::new(offset, what, detail) }
}

fn options(parameters: &Parameters) -> Options {
    Options::new().fanout(parameters.fanout).chunk_words(parameters.chunk_words).memory(parameters.memory)
}

/// What was fixed at creation, where nothing says it any more: the fan-out from the pages of fold trees, the memory scope
/// from the entities, the rest as usual.
fn guess(scan: &Scan, remains: &Remains, report: &mut Salvaged) -> Result<Parameters> {
    let usual = Options::new();
    let mut fanout = 0;
    for reference in scan.sound.iter().filter(|reference| reference.kind == BlockKind::Fold) {
        if let Some(payload) = remains.payload(reference)?
            && let Ok(claim) = FoldPage::claim(&payload)
            && claim.level == 1
        {
            fanout = fanout.max(claim.count);
        }
    }
    let mut memory = MemoryScope::Document;
    remains.each(&[key::ENTITY_ROWS], |key, values| {
        for found in values {
            let rows = decode_rows(key::last_number(key).unwrap_or_default(), &found.value);
            if rows.is_ok_and(|rows| rows.iter().any(|row| row.scope == INDEX_SCOPE)) {
                memory = MemoryScope::Index;
            }
        }
        Ok(())
    })?;
    let allowed = plica_format::limits::FANOUT_LEAST..=plica_format::limits::FANOUT_MOST;
    let fanout = u8::try_from(fanout).ok().filter(|fanout| allowed.contains(fanout)).unwrap_or(usual.fanout);
    report.lost.push(documents::loss(
        "",
        "parameters",
        format!("taken to be fan-out {fanout}, memory of {}, {} words a chunk", memory_name(memory), usual.chunk_words),
    ));
    Ok(Parameters { fanout, chunk_words: usual.chunk_words, memory, tokenizer: crate::text::TOKENIZER })
}

fn memory_name(memory: MemoryScope) -> &'static str {
    match memory {
        MemoryScope::Document => "each document",
        MemoryScope::Index => "the whole index",
    }
}

/// A chunk without a text, in the place of one that is lost.
fn placeholder() -> NewChunk<'static> {
    NewChunk::text("")
}
