//! Which records linked a hit to the question.

use super::document::Memory;
use super::fuse::Candidate;
use super::query::{LinkedRecord, Statistics};
use super::scope::{Reading, Resolved};
use crate::Result;
use plica_format::document::DocumentHead;
use plica_format::key;
use std::collections::BTreeSet;

/// Records of an explanation at most.
const RECORDS: usize = 10;

impl Reading<'_> {
    /// The records linked to a chunk that share a term with the question, best first.
    pub(super) fn linked_records(&self, head: &DocumentHead, candidate: &Candidate) -> Result<Vec<LinkedRecord>> {
        if candidate.raw[1] == 0.0 {
            return Ok(Vec::new());
        }
        let own = matches!(self.scope()?, Resolved::Document(_)) || self.query.statistics == Statistics::Document;
        let memory = if own { Memory::of(self, head)? } else { Memory::of_all(self) };
        let scores = memory.scores(self)?;
        let mut linked: Vec<(u32, [f64; 3])> = self
            .view
            .set(&key::numbered(key::CHUNK_ENTITIES, candidate.chunk))?
            .into_iter()
            .filter_map(|entity| Some((entity, *scores.get(&entity)?)))
            .collect();
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
