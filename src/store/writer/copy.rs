//! A copy of what a reader sees, whatever a writer does meanwhile.
//!
//! The blocks of a commit never change, and no writer cuts a file below a commit that readers see. So they are copied as
//! they stand, and only the head is written anew: it names that commit. The copy is read back and compared with its
//! checksums before it becomes an index.

use super::Place;
use super::lock::LockedFile;
use super::recovery::write_head;
use crate::store::blocks::{Blocks, check_payload, read_failed};
use crate::store::head::Head;
use crate::store::open::Opened;
use crate::store::source::{Medium, Source};
use crate::{Error, Result};
use plica_format::limits::FIRST_BLOCK_OFFSET;
use std::path::Path;
use std::sync::Arc;

/// Bytes that are copied at a time.
const COPIED_BYTES: u64 = 1 << 20;

/// Copies the blocks up to `head` to a new file at `path`, which must not exist. `go_on` may stop it. Gives the length of
/// the copy.
///
/// # Errors
///
/// [`Error::Io`]; [`Error::Damaged`] where a block does not agree with its checksum; whatever `go_on` says. The file is
/// removed then.
pub(crate) fn copy(opened: &Opened, head: &Head, path: &Path, go_on: &dyn Fn() -> Result<()>) -> Result<u64> {
    let place = Place::File(LockedFile::create(path)?);
    let copied = copy_to(opened, head, &place, go_on);
    if copied.is_err() {
        // The lock is still held, so the name is this file's.
        place.remove();
    }
    copied
}

fn copy_to(opened: &Opened, head: &Head, place: &Place, go_on: &dyn Fn() -> Result<()>) -> Result<u64> {
    let medium = place.medium();
    let source = opened.blocks.source();
    let mut bytes = Vec::new();
    let mut at = FIRST_BLOCK_OFFSET;
    while at < head.end {
        go_on()?;
        bytes.resize(COPIED_BYTES.min(head.end - at) as usize, 0);
        source.read_at(&mut bytes, at).map_err(Error::io("read", None))?;
        medium.write_at(&bytes, at).map_err(Error::io("write to", Some(place.path())))?;
        at += bytes.len() as u64;
    }
    verify(&medium, opened, head, go_on)?;
    write_head(&*medium, &opened.page, head).map_err(Error::io("write the head of", Some(place.path())))?;
    place.sync_directory()?;
    Ok(head.end)
}

/// Demands that every block agrees with its checksums, and that they end with the commit.
fn verify(medium: &Arc<dyn Medium>, opened: &Opened, head: &Head, go_on: &dyn Fn() -> Result<()>) -> Result<()> {
    let source: Arc<dyn Source> = medium.clone();
    let blocks = Blocks::new(source, opened.page.file_id, head.end);
    let (mut last, mut block) = (None, Vec::new());
    for walked in blocks.walk(FIRST_BLOCK_OFFSET) {
        go_on()?;
        let reference = walked?.reference;
        block.resize((reference.end() - reference.offset) as usize, 0);
        medium.read_at(&mut block, reference.offset).map_err(read_failed(reference.offset, reference.kind.name()))?;
        check_payload(&reference, &block)?;
        last = Some(reference);
    }
    if last == Some(head.reference) {
        return Ok(());
    }
    let detail = format!("expected the commit at offset {} to be the last block", head.reference.offset);
    Err(Error::Damaged { offset: head.reference.offset, what: "commit block".into(), detail })
}
