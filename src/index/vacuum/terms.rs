//! Terms with their postings, kind 50, and records, kinds 70 to 77.

use super::Run;
use super::walk::Walk;
use crate::Result;
use crate::index::flush::encode_postings;
use crate::index::lengths::Lengths;
use crate::index::view::{damaged_value, inconsistent, newest_of_each, read_postings};
use plica_format::key::{self, Field, RecordKey};
use plica_format::postings::{Posting, PostingValue};
use plica_format::record::RecordRow;
use std::ops::ControlFlow;

impl Run<'_> {
    pub(super) fn terms(&mut self) -> Result<()> {
        let lengths = Lengths::default();
        let view = self.view;
        let mut walk = Walk::new(view.dictionary);
        while let Some((found, values)) = walk.next(&[key::POSTINGS])? {
            self.limits.check()?;
            let (field, _) = Field::of_key(&found)
                .ok_or_else(|| inconsistent(format!("{} is no key of postings", found.escape_ascii())))?;
            let mut postings: Vec<Posting> = Vec::new();
            for value in &values {
                let value = PostingValue::decode(value).map_err(damaged_value(key::POSTINGS))?;
                read_postings(view.dictionary, &value, 0, u32::MAX, &mut postings)?;
            }
            // The newest of a text's postings is its tombstone, where there is one.
            newest_of_each(&mut postings);
            postings.retain_mut(|posting| {
                let new = match field {
                    Field::Text | Field::Summary => self.ids.chunk(posting.id),
                    Field::Name | Field::Aliases | Field::Descriptions => self.ids.entity(posting.id),
                };
                posting.id = new.unwrap_or_default();
                new.is_some() && posting.frequency > 0
            });
            postings.sort_unstable_by_key(|posting| posting.id);
            if !postings.is_empty() {
                let old_chunks = &self.ids.old_chunks;
                let length = |chunk: u32| match old_chunks.get(chunk as usize) {
                    Some(&old) => lengths.of(view, old),
                    None => Err(inconsistent(format!("chunk {chunk} came from none"))),
                };
                let value = encode_postings(self.new, &postings, (field == Field::Text).then_some(&length))?;
                self.push(&found, &value)?;
            }
        }
        Ok(())
    }

    pub(super) fn records(&mut self) -> Result<()> {
        self.view.dictionary.each_newest(&[key::RECORD], b"", |found, value| {
            self.limits.check()?;
            if value.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            let there = RecordKey::parse(found).is_some_and(|(key, _)| self.ids.slot(key.document).is_some());
            if !there {
                return Err(inconsistent(format!("record {} is of no document", found.escape_ascii())));
            }
            let mut row = RecordRow::decode(value).map_err(damaged_value(key::RECORD))?;
            for chunk in &mut row.chunks {
                let new = self.ids.chunk(*chunk);
                *chunk = new.ok_or_else(|| inconsistent(format!("chunk {chunk} of a record is not there")))?;
            }
            row.chunks.sort_unstable();
            let mut value = Vec::new();
            row.encode(&mut value).map_err(crate::Error::encoding)?;
            self.push(found, &value)?;
            Ok(ControlFlow::Continue(()))
        })?;
        for kind in key::RECORD_OF_DOCUMENT..=key::RECORD_KINDS {
            self.view.dictionary.each_newest(&[kind], b"", |found, value| {
                self.limits.check()?;
                if !value.is_empty() {
                    self.push(found, value)?;
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(())
    }
}
