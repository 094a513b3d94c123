//! Which records linked a hit to the question.

use super::document;
use super::fuse::Candidate;
use super::memory::{Memory, MemoryStatistics};
use super::query::LinkedRecord;
use super::scope::Reading;
use crate::Result;
use plica_format::document::DocumentHead;
use plica_format::key;
use std::collections::BTreeSet;

/// Records of an explanation at most.
const RECORDS: usize = 10;

impl Reading<'_> {
    /// The records linked to a chunk that share a term with the question, best first; scored with the numbers of its
    /// document, or with those of `all` files.
    pub(super) fn linked_records(
        &self,
        head: &DocumentHead,
        candidate: &Candidate,
        all: Option<&[Reading<'_>]>,
    ) -> Result<Vec<LinkedRecord>> {
        if candidate.raw[1] == 0.0 {
            return Ok(Vec::new());
        }
        let ids = self.view.set(&key::numbered(key::CHUNK_ENTITIES, candidate.chunk))?;
        let mut linked: Vec<(u32, [f64; 3])> = match all {
            None => document::linked_scores(self, head, &ids)?,
            Some(readings) => {
                let memories = readings.iter().map(Memory::of_all).collect::<Result<Vec<_>>>()?;
                let statistics = MemoryStatistics::of(&memories);
                let Some(memory) = memories.get(candidate.file) else { return Ok(Vec::new()) };
                let scores = memory.scores(self, &statistics)?;
                ids.into_iter().filter_map(|entity| Some((entity, *scores.get(&entity)?))).collect()
            }
        };
        linked.sort_by(|a, b| b.1.iter().sum::<f64>().total_cmp(&a.1.iter().sum()).then(a.0.cmp(&b.0)));
        linked.truncate(RECORDS);
        let asked: BTreeSet<&str> = self.terms.iter().map(String::as_str).collect();
        let matches = |text: &String| {
            let mut found = false;
            crate::text::for_each_token(text, |token: &str| found |= asked.contains(token));
            found
        };
        linked
            .into_iter()
            .map(|(entity, scores)| {
                let mut record = LinkedRecord { name: String::new(), aliases: vec![], descriptions: vec![], scores };
                for part in self.view.parts(&self.row(entity)?)? {
                    if !part.name.is_empty() {
                        record.name = part.name;
                    }
                    record.aliases.extend(part.aliases.into_iter().filter(matches));
                    record.descriptions.extend(part.descriptions.into_iter().filter(matches));
                }
                Ok(record)
            })
            .collect()
    }
}
