//! Verifying the records: rows, the keys that lead to them, the chunks they name, and the counts.

use super::check::Report;
use super::records::Symbols;
use super::snapshot::Snapshot;
use super::view::{damaged_value, inconsistent};
use crate::Result;
use crate::search::Limits;
use plica_format::FormatError;
use plica_format::key::{self, RecordKey};
use plica_format::record::{RecordRow, decode_count};
use std::ops::ControlFlow;

/// Kinds of the keys that lead to rows.
const LEADING: [u8; 4] = [key::RECORD_OF_DOCUMENT, key::RECORD_BY_LABEL, key::RECORD_BY_VALUE, key::RECORD_BY_COARSE];

/// What a key adds to the sum by which what the rows say is compared with what the counts say: equal sums mean equal
/// counts of every key, without holding the keys.
fn weight(key: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&blake3::hash(key).as_bytes()[..16]);
    u128::from_le_bytes(bytes)
}

impl Snapshot {
    /// Every row: that its key is made of its fields, that its chunks are the document's, that all keys lead to it. And
    /// that there are no other such keys, and no other counts.
    pub(super) fn check_records(&self, limits: &Limits, report: &mut Report) -> Result<()> {
        let dictionary = self.view().dictionary;
        let mut leading = [0u64; LEADING.len()];
        let mut counted = 0u128;
        dictionary.each_newest(&[key::RECORD], b"", |bytes, value| {
            limits.check()?;
            if !value.is_empty() {
                report.records += 1;
                let checked = self.check_record(bytes, value, &mut leading, &mut counted);
                report.note_result(checked)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for (kind, expected) in LEADING.into_iter().zip(leading) {
            let mut there = 0u64;
            dictionary.each_newest(&[kind], b"", |bytes, value| {
                limits.check()?;
                match value {
                    [] => {}
                    [1] => there += 1,
                    other => report.note(damaged_value(kind)(FormatError::new(
                        "record key",
                        0,
                        "1 or nothing",
                        other.escape_ascii(),
                    )))?,
                }
                if RecordKey::parse(bytes).is_none() {
                    report.note(inconsistent(format!("{} is no key of a record", bytes.escape_ascii())))?;
                }
                Ok(ControlFlow::Continue(()))
            })?;
            if there != expected {
                report.note(inconsistent(format!(
                    "{there} keys of kind {kind:#04x} lead to records, and the records have {expected}"
                )))?;
            }
        }
        let mut kept = 0u128;
        for kind in key::RECORD_TYPES..=key::RECORD_KINDS {
            dictionary.each_newest(&[kind], b"", |bytes, value| {
                limits.check()?;
                match decode_count(value) {
                    Ok(count) => kept = kept.wrapping_add(weight(bytes).wrapping_mul(u128::from(count))),
                    Err(error) => report.note(damaged_value(kind)(error))?,
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        if kept != counted {
            report.note(inconsistent("the counts of records by type, label and kind are not those of the records"))?;
        }
        Ok(())
    }

    fn check_record(&self, bytes: &[u8], value: &[u8], leading: &mut [u64], counted: &mut u128) -> Result<()> {
        let wrong = |what: &str| Err(inconsistent(format!("record {}: {what}", bytes.escape_ascii())));
        let Some((key, _)) = RecordKey::parse(bytes) else { return wrong("its key has no form") };
        let row = RecordRow::decode(value).map_err(damaged_value(key::RECORD))?;
        let symbols = Symbols::of(&row);
        for of in symbols.counts() {
            *counted = counted.wrapping_add(weight(&of));
        }
        let keys = symbols.leading(key.document);
        for (kind, count) in LEADING.into_iter().zip(leading) {
            *count += keys.iter().filter(|leading| leading.first() == Some(&kind)).count() as u64;
        }
        if symbols.key(key.document) != key {
            return wrong("its key is not made of its fields");
        }
        if self.view().head(key.document)?.is_none() {
            return wrong("there is no such document");
        }
        for &chunk in &row.chunks {
            if chunk >= self.view().state.chunks || self.view().place(chunk)?.document != key.document {
                return wrong(&format!("chunk {chunk} is not of its document"));
            }
        }
        for leading in keys {
            if self.view().record_value(&leading)?.is_none() {
                return wrong(&format!("{} does not lead to it", leading.escape_ascii()));
            }
        }
        Ok(())
    }
}
