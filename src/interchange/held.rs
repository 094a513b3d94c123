//! Lines that came before what they speak of: they wait, within a bound, until the import ends.

use super::line::Line;
use super::outline::OutlineLine;
use crate::ingest::RecordUpdate;
use crate::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Bytes of lines that may wait at a time.
pub(super) const HELD_BYTES: usize = 64 << 20;
/// Rough cost of an entry besides its text.
const ENTRY_BYTES: usize = 96;

/// Place of a summary: number of the document, level, index.
pub(super) type SummaryPlace = (u32, u8, u32);

/// A record that waits for chunks.
pub(super) type HeldRecord = Rc<RecordUpdate>;

/// What waits.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Lines of documents that are not known, by document id, in order.
    lines: HashMap<String, Vec<(u64, Line)>>,
    /// What those lines were charged, by document.
    line_bytes: HashMap<String, usize>,
    /// Links to chunks that are not there, by document number (or that of no document) and the chunk's name: records,
    /// with the lines that link them.
    links: HashMap<u32, HashMap<String, Vec<(u32, u64)>>>,
    /// Records that chunks that are not there support, by document number and the chunk's name, with their lines.
    records: HashMap<u32, HashMap<String, Vec<(HeldRecord, u64)>>>,
    /// Summaries of units that are not complete.
    summaries: HashMap<SummaryPlace, (u64, String)>,
    /// Lines whose place has another summary from before this import. A later line may repeat what is there.
    conflicts: HashMap<SummaryPlace, u64>,
    /// Places whose summary this import has set, or has found to be the same.
    ours: HashSet<SummaryPlace>,
    /// Outline lines with places in text that has not come, in order.
    outlines: Vec<(u64, OutlineLine)>,
    bytes: usize,
}

impl Held {
    fn charge(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes + ENTRY_BYTES;
        if self.bytes > HELD_BYTES {
            return Err(Error::Limit {
                what: "what waits for a document or chunk that has not come yet, in bytes (put documents and chunks before what speaks of them)",
                limit: HELD_BYTES as u64,
                got: self.bytes as u64,
            });
        }
        Ok(())
    }

    /// Keeps a line of `bytes` bytes until its document comes.
    pub(super) fn hold_line(&mut self, document: &str, number: u64, line: Line, bytes: usize) -> Result<()> {
        self.charge(bytes)?;
        *self.line_bytes.entry(document.to_owned()).or_default() += bytes + ENTRY_BYTES;
        self.lines.entry(document.to_owned()).or_default().push((number, line));
        Ok(())
    }

    /// The lines that waited for a document.
    pub(super) fn lines_of(&mut self, document: &str) -> Vec<(u64, Line)> {
        let charged = self.line_bytes.remove(document).unwrap_or_default();
        self.bytes = self.bytes.saturating_sub(charged);
        self.lines.remove(document).unwrap_or_default()
    }

    /// Keeps a link until its chunk comes.
    pub(super) fn hold_link(&mut self, document: u32, chunk: &str, entity: u32, line: u64) -> Result<()> {
        self.charge(chunk.len())?;
        self.links.entry(document).or_default().entry(chunk.to_owned()).or_default().push((entity, line));
        Ok(())
    }

    /// Keeps a record until a chunk that supports it comes. A record that waits for several is charged for each.
    pub(super) fn hold_record(&mut self, document: u32, chunk: &str, record: &HeldRecord, line: u64) -> Result<()> {
        self.charge(chunk.len() + record_bytes(record))?;
        let waiting = self.records.entry(document).or_default().entry(chunk.to_owned()).or_default();
        waiting.push((Rc::clone(record), line));
        Ok(())
    }

    /// The records that waited for a chunk of a document.
    pub(super) fn records_of(&mut self, document: u32, chunk: &str) -> Vec<(HeldRecord, u64)> {
        let found = self.records.get_mut(&document).and_then(|records| records.remove(chunk)).unwrap_or_default();
        let charged: usize = found.iter().map(|(record, _)| chunk.len() + record_bytes(record) + ENTRY_BYTES).sum();
        self.bytes = self.bytes.saturating_sub(charged);
        found
    }

    /// Whether links or records wait for chunks of a document.
    pub(super) fn waits_for_chunks(&self, document: u32) -> bool {
        self.links.get(&document).is_some_and(|links| !links.is_empty())
            || self.records.get(&document).is_some_and(|records| !records.is_empty())
    }

    /// The records that waited for a chunk of a document.
    pub(super) fn links_to(&mut self, document: u32, chunk: &str) -> Vec<(u32, u64)> {
        let found = self.links.get_mut(&document).and_then(|links| links.remove(chunk)).unwrap_or_default();
        self.bytes = self.bytes.saturating_sub(found.len() * (chunk.len() + ENTRY_BYTES));
        found
    }

    /// The links that wait under a number, all of them, in the order of their lines.
    pub(super) fn take_links(&mut self, document: u32) -> Vec<(String, u32, u64)> {
        let mut all = Vec::new();
        for (chunk, links) in self.links.remove(&document).unwrap_or_default() {
            all.extend(links.into_iter().map(|(entity, line)| (chunk.clone(), entity, line)));
        }
        all.sort_by_key(|(_, _, line)| *line);
        all
    }

    /// Keeps an outline line of `bytes` bytes until the lines end.
    pub(super) fn hold_outline(&mut self, number: u64, line: OutlineLine, bytes: usize) -> Result<()> {
        self.charge(bytes)?;
        self.outlines.push((number, line));
        Ok(())
    }

    /// The outline lines that waited.
    pub(super) fn take_outlines(&mut self) -> Vec<(u64, OutlineLine)> {
        std::mem::take(&mut self.outlines)
    }

    /// Keeps a summary until its unit is complete. Of two, the last stays.
    pub(super) fn hold_summary(&mut self, place: SummaryPlace, line: u64, text: String) -> Result<()> {
        self.charge(text.len())?;
        if let Some((_, before)) = self.summaries.insert(place, (line, text)) {
            self.bytes = self.bytes.saturating_sub(before.len() + ENTRY_BYTES);
        }
        Ok(())
    }

    /// The summary that waited for a unit.
    pub(super) fn summary_of(&mut self, place: SummaryPlace) -> Option<(u64, String)> {
        let found = self.summaries.remove(&place)?;
        self.bytes = self.bytes.saturating_sub(found.1.len() + ENTRY_BYTES);
        Some(found)
    }

    /// Notes that this import has set the summary of a place, or has found it there.
    pub(super) fn own(&mut self, place: SummaryPlace) {
        self.ours.insert(place);
        self.conflicts.remove(&place);
    }

    /// Whether this import has set the summary of a place, or has found it there.
    pub(super) fn is_ours(&self, place: SummaryPlace) -> bool {
        self.ours.contains(&place)
    }

    /// Notes a line whose place has another summary from before.
    pub(super) fn conflict(&mut self, place: SummaryPlace, line: u64) -> Result<()> {
        self.charge(0)?;
        self.conflicts.insert(place, line);
        Ok(())
    }

    /// What still waits when there are no more lines, as the error of its first line.
    pub(super) fn finish(self) -> Result<()> {
        let mut first: Option<(u64, Error)> = None;
        let mut note = |line: u64, error: Error| {
            if first.as_ref().is_none_or(|(before, _)| line < *before) {
                first = Some((line, error));
            }
        };
        for (document, lines) in self.lines {
            if let Some((line, _)) = lines.first() {
                note(*line, Error::NotFound { what: "document", name: document });
            }
        }
        for (chunk, links) in self.links.into_values().flatten() {
            for (_, line) in links {
                note(line, Error::NotFound { what: "chunk", name: chunk.clone() });
            }
        }
        for (chunk, records) in self.records.into_values().flatten() {
            for (_, line) in records {
                note(line, Error::NotFound { what: "chunk", name: chunk.clone() });
            }
        }
        for ((_, level, index), (line, _)) in self.summaries {
            note(line, Error::invalid(format!("summary {index} of level {level} covers chunks that have not come")));
        }
        for ((_, level, index), line) in self.conflicts {
            note(
                line,
                Error::invalid(format!(
                    "the index has another text for summary {index} of level {level} from before this import"
                )),
            );
        }
        match first {
            Some((line, source)) => Err(Error::Line { line, source: Box::new(source) }),
            None => Ok(()),
        }
    }
}

/// Bytes of a record's fields.
fn record_bytes(record: &RecordUpdate) -> usize {
    let condition = record.condition.as_ref().map_or(0, |(label, value)| label.len() + value.len());
    let fields = [&record.entity, &record.entity_type, &record.label, &record.coarse, &record.value, &record.valid];
    fields.iter().map(|field| field.len()).sum::<usize>() + condition
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line::parse(br#"{"type":"entity","doc":"d","name":"n"}"#).unwrap()
    }

    #[test]
    fn what_waits_is_bounded_and_makes_room_when_it_is_taken() {
        let mut held = Held::default();
        for round in 0..3 {
            held.hold_line("d", round, line(), HELD_BYTES / 2).unwrap();
            assert_eq!(held.lines_of("d").len(), 1);
            assert_eq!(held.bytes, 0);
        }
        for _ in 0..3 {
            let text = "s".repeat(HELD_BYTES / 2);
            held.hold_summary((0, 1, 0), 1, text.clone()).unwrap();
            held.summary_of((0, 1, 0)).unwrap();
            held.hold_link(0, &text, 7, 1).unwrap();
            assert_eq!(held.links_to(0, &text), [(7, 1)]);
            assert_eq!(held.bytes, 0);
        }
        held.hold_line("d", 1, line(), HELD_BYTES / 2).unwrap();
        assert!(matches!(held.hold_line("e", 2, line(), HELD_BYTES / 2), Err(Error::Limit { .. })));
    }

    #[test]
    fn the_first_line_that_still_waits_is_named() {
        let mut held = Held::default();
        held.hold_link(0, "c", 7, 9).unwrap();
        held.hold_line("d", 4, line(), 10).unwrap();
        held.hold_summary((0, 1, 0), 6, String::new()).unwrap();
        assert!(matches!(held.finish(), Err(Error::Line { line: 4, .. })));
        Held::default().finish().unwrap();
    }
}
