//! Taking record lines: what they name may come later.

use super::held::HeldRecord;
use super::import::Import;
use super::line::RecordLine;
use crate::Result;
use std::rc::Rc;

impl Import<'_, '_> {
    /// Takes a record line of a document that is known; chunks that have not come yet are waited for.
    pub(super) fn record(&mut self, number: u64, mut line: RecordLine) -> Result<()> {
        let (document, _) = self.known(&line.doc)?;
        let record = line.record()?;
        let (mut there, mut later) = (Vec::new(), Vec::new());
        for chunk in line.chunks.take().unwrap_or_default() {
            match self.resolve(Some((document, &line.doc)), &chunk)? {
                Some(found) => there.push(found),
                None => later.push(chunk),
            }
        }
        let mut grew = !later.is_empty();
        if !there.is_empty() || later.is_empty() {
            grew |= self.writer.give_record(document, &record, there)?;
        }
        let held: HeldRecord = Rc::new(record);
        for chunk in later {
            self.held.hold_record(document, &chunk, &held, number)?;
        }
        match grew {
            true => self.imported.records += 1,
            false => self.imported.skipped += 1,
        }
        Ok(())
    }

    /// Adds a chunk that has come to a record that waited for it.
    pub(super) fn give_record(&mut self, document: u32, record: HeldRecord, chunk: u32) -> Result<()> {
        self.writer.give_record(document, &record, vec![chunk]).map(|_| ())
    }
}
