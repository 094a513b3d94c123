//! Putting a new text in the place of a document, in one commit.
//!
//! The replacement is a document of its own, staged under the same id with a number of its own. Readers see the old one
//! until the replacement is complete; then one commit removes the old one and shows the new one. A replacement that was
//! interrupted stays staged, and is gone on with.

use super::documents::varint;
use super::writer::Writer;
use crate::Result;
use plica_format::document::DocumentState;
use plica_format::key;
use plica_format::page::MemoryScope;

impl Writer {
    /// Begins to replace a document, or goes on with a replacement that was begun. From now on its id means the
    /// replacement to this writer, which starts empty: chunks, records and summaries go there. Readers see the document
    /// as it is until [`Writer::publish`] and the commit after that, which takes away the old one with its outline and its
    /// records and shows the new one. What was begun is committed like any document that is not published.
    ///
    /// A document that is not there is added, and one that was never published starts anew. An index-wide memory cannot
    /// hold both, so the old one is removed at once; that is committed with the new one.
    ///
    /// # Errors
    /// As of [`Writer::add_document`] and [`Writer::remove_document`].
    pub fn replace_document(&mut self, id: &str, title: &str, metadata: &str) -> Result<()> {
        self.replacing.remove(id);
        let Some(old) = self.standing(id)? else { return self.add_document(id, title, metadata) };
        let is_live = self.head_of(old)?.state == DocumentState::Live;
        if !is_live || self.parameters.memory == MemoryScope::Index {
            self.whole(|writer| writer.remove_number(old))?;
            return self.add_document(id, title, metadata);
        }
        let number = match self.view().replacement_number(id)? {
            Some(number) => number,
            None => {
                let number = self.stage(id)?;
                self.delta.put(key::named(key::REPLACEMENT, id.as_bytes()), varint(number));
                number
            }
        };
        self.replacing.insert(id.to_owned(), number);
        self.describe(id, title, metadata)
    }

    /// Drops the replacement of a document that was begun and not published. Gives whether there was one.
    pub fn discard_replacement(&mut self, id: &str) -> Result<bool> {
        self.replacing.remove(id);
        let Some(number) = self.view().replacement_number(id)? else { return Ok(false) };
        self.whole(|writer| writer.remove_number(number))?;
        Ok(true)
    }

    /// Lets an id mean the document that readers see again; a replacement that was begun stays staged.
    pub(crate) fn set_replacement_aside(&mut self, id: &str) {
        self.replacing.remove(id);
    }

    /// Puts the replacement with this number in the place of the document with this id.
    pub(super) fn swap(&mut self, id: &str, number: u32) -> Result<()> {
        self.whole(|writer| {
            if let Some(old) = writer.standing(id)? {
                writer.remove_number(old)?;
            }
            writer.delta.put(key::named(key::DOCUMENT_ID, id.as_bytes()), varint(number));
            writer.delta.put(key::named(key::REPLACEMENT, id.as_bytes()), Vec::new());
            writer.replacing.remove(id);
            writer.show(number)
        })
    }
}
