//! That the postings of the texts are those of the chunks: in their sums, and in the bounds of their blocks.

use super::check::Report;
use super::lengths::Lengths;
use super::snapshot::Snapshot;
use super::view::{damaged_value, inconsistent, newest_of_each, read_postings};
use crate::dictionary::{MergeCursor, load_value};
use crate::search::Limits;
use crate::{Error, Result};
use plica_format::key::{self, Field};
use plica_format::postings::{BlockBuffer, Bound, Posting, PostingList, PostingValue};
use std::collections::HashMap;

impl Snapshot {
    /// Reads the postings of all terms in the texts: bounds are the least that hold, and the frequencies of a chunk sum
    /// up to its tokens.
    pub(super) fn check_text_postings(&self, limits: &Limits, report: &mut Report) -> Result<()> {
        let dictionary = self.view().dictionary;
        let lengths = Lengths::default();
        let mut counted: HashMap<u32, u64> = HashMap::new();
        let mut cursor = MergeCursor::new(dictionary, &dictionary.segments, &[key::POSTINGS])?;
        while let Some(found) = cursor.key().filter(|found| found.first() == Some(&key::POSTINGS)) {
            limits.check()?;
            let is_text = Field::of_key(&found).is_some_and(|(field, _)| field == Field::Text);
            let mut postings: Vec<Posting> = Vec::new();
            let mut failed = None;
            cursor.take(&found, |leaf, stored| {
                let result = load_value(&dictionary.blocks, leaf, stored, |value| {
                    let decoded = PostingValue::decode(value).map_err(damaged_value(key::POSTINGS))?;
                    if is_text {
                        self.check_bounds(&decoded, value, &lengths)?;
                    }
                    read_postings(dictionary, &decoded, 0, u32::MAX, &mut postings)
                });
                failed = failed.take().or(result.err());
                Ok(())
            })?;
            if let Some(error) = failed {
                report.note(error)?;
                continue;
            }
            if is_text {
                newest_of_each(&mut postings);
                for posting in postings.into_iter().filter(|posting| posting.frequency > 0) {
                    *counted.entry(posting.id).or_default() += u64::from(posting.frequency);
                }
            }
        }
        for head in self.heads()? {
            for chunk in self.chunk_ids(&head)? {
                limits.check()?;
                let tokens = u64::from(lengths.of(self.view(), chunk)?);
                let found = counted.get(&chunk).copied().unwrap_or_default();
                if tokens != found {
                    report.note(inconsistent(format!("chunk {chunk} has {tokens} tokens, and postings of {found}")))?;
                }
            }
        }
        Ok(())
    }

    /// Compares the bounds of a value's blocks and pieces with what is in them.
    fn check_bounds(&self, value: &PostingValue<'_>, bytes: &[u8], lengths: &Lengths) -> Result<()> {
        match value {
            PostingValue::Inline(list) => {
                self.bound_of(list, bytes, lengths)?;
            }
            PostingValue::Pieces(pieces) => {
                for piece in pieces {
                    let payload = self.view().dictionary.blocks.read(&piece.reference)?;
                    let list = PostingList::decode(&payload).map_err(Error::damaged_block(&piece.reference))?;
                    let bound = self.bound_of(&list, &payload, lengths)?;
                    if piece.bound != Some(bound) {
                        return Err(inconsistent(format!(
                            "the piece of postings at {} has the bound {bound:?}, and {:?} is noted",
                            piece.reference.offset, piece.bound
                        )));
                    }
                }
            }
        }
        Ok(())
    }

    /// The bound of a list, once those of its blocks were found to be right.
    fn bound_of(&self, list: &PostingList<'_>, bytes: &[u8], lengths: &Lengths) -> Result<Bound> {
        let mut buffer = BlockBuffer::default();
        let mut all = Bound::NONE;
        for block in list.blocks() {
            let block = block.map_err(damaged_value(key::POSTINGS))?;
            block.read(bytes, &mut buffer).map_err(damaged_value(key::POSTINGS))?;
            let mut bound = Bound::NONE;
            for (&id, &frequency) in buffer.ids().iter().zip(buffer.frequencies()) {
                if frequency > 0 {
                    bound = bound.joined(Bound::one(frequency, lengths.of(self.view(), id)?));
                }
            }
            if list.is_bounded() && block.bound != Some(bound) {
                return Err(inconsistent(format!(
                    "a block of postings up to chunk {} has the bound {bound:?}, and {:?} is noted",
                    block.last_id, block.bound
                )));
            }
            all = all.joined(bound);
        }
        Ok(all)
    }
}
