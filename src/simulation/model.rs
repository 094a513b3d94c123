//! The plain model: what an index must hold, as lists.

use crate::records::RecordQuery;
use crate::{Error, Limits, Result, Snapshot, TextQuery};
use std::collections::{BTreeMap, BTreeSet};

/// A document of the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Modelled {
    pub(super) chunks: Vec<String>,
    /// Texts of summaries, by level and index.
    pub(super) summaries: BTreeMap<(u8, u32), String>,
    /// Values of records.
    pub(super) records: BTreeSet<String>,
    /// Names of subjects.
    pub(super) subjects: BTreeSet<String>,
}

/// What an index must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Model {
    /// Number of the commit.
    pub(super) sequence: u64,
    /// What readers see.
    pub(super) live: BTreeMap<String, Modelled>,
    /// New documents that are not published.
    pub(super) staged: BTreeMap<String, Modelled>,
    /// What is to take the place of a document that readers see.
    pub(super) replacements: BTreeMap<String, Modelled>,
}

/// A word of most chunks.
pub(super) const COMMON: &str = "lantern";

/// The text of a chunk.
pub(super) fn text(words: u8, seed: u8) -> String {
    let words = (0..words % 48).map(|at| match (at ^ seed) % 4 {
        0 => COMMON.to_owned(),
        1 => format!("w{}", at.wrapping_mul(seed) % 16),
        2 => format!("v{seed}"),
        _ => "and".to_owned(),
    });
    words.chain([format!("x{seed}x")]).collect::<Vec<_>>().join(" ")
}

impl Model {
    /// The document that additions go to, if it is there; with `is_replaced` that is its replacement.
    pub(super) fn target(&mut self, id: &str, is_replaced: bool) -> Option<&mut Modelled> {
        match is_replaced {
            true => self.replacements.get_mut(id),
            false => self.staged.get_mut(id).or_else(|| self.live.get_mut(id)),
        }
    }

    /// Takes away a document and its replacement.
    pub(super) fn remove(&mut self, id: &str) {
        for documents in [&mut self.live, &mut self.staged, &mut self.replacements] {
            documents.remove(id);
        }
    }

    /// Demands that a reader finds this; says what it found instead.
    pub(super) fn demand(&self, snapshot: &Snapshot) -> Result<(), String> {
        let read = |error: Error| format!("cannot be read: {error}");
        same("the number of the commit", &self.sequence, &snapshot.sequence())?;
        let found = snapshot.documents().map_err(read)?;
        let ids: Vec<&str> = found.iter().map(|document| &*document.id).collect();
        let (expected, mut ids_sorted) = (self.live.keys().map(String::as_str), ids.clone());
        ids_sorted.sort_unstable();
        same("documents", &expected.collect::<Vec<_>>(), &ids_sorted)?;
        for (id, document) in &self.live {
            let chunks = (0..snapshot.document(id).map_err(read)?.chunks)
                .map(|ordinal| Ok(snapshot.chunk_at(id, ordinal)?.text))
                .collect::<Result<Vec<_>>>()
                .map_err(read)?;
            same("chunks", &document.chunks, &chunks)?;
            let query = RecordQuery { document: Some(id.clone()), limit: 1000, ..RecordQuery::new() };
            let records = snapshot.look_up(&query).map_err(read)?;
            same("records", &document.records, &records.into_iter().map(|record| record.value).collect())?;
            let mut summaries = BTreeMap::new();
            for ordinal in 0..document.chunks.len() as u32 {
                let covering = snapshot.covering_summaries(id, ordinal).map_err(read)?;
                for (level, summary) in (1u8..).zip(covering) {
                    let index = ordinal / u32::from(snapshot.parameters().fanout).pow(u32::from(level));
                    summaries.extend(summary.map(|summary| ((level, index), summary)));
                }
            }
            same("summaries", &document.summaries, &summaries)?;
            let has_outline = snapshot.has_outline(id).map_err(read)?;
            same("an outline", &!document.subjects.is_empty(), &has_outline)?;
        }
        let hits = snapshot.text_search(&TextQuery { k: 1000, ..TextQuery::new(COMMON) }).map_err(read)?;
        let hits: BTreeSet<(String, u32)> = hits.into_iter().map(|hit| (hit.document, hit.ordinal)).collect();
        same("hits of the common word", &self.holding(COMMON), &hits)
    }

    /// The chunks with this word.
    fn holding(&self, word: &str) -> BTreeSet<(String, u32)> {
        let of = |id: &String, texts: &[String]| -> Vec<(String, u32)> {
            let texts = (0u32..).zip(texts).filter(|(_, text)| text.split(' ').any(|found| found == word));
            texts.map(|(ordinal, _)| (id.clone(), ordinal)).collect()
        };
        self.live.iter().flat_map(|(id, document)| of(id, &document.chunks)).collect()
    }

    /// As [`Model::demand`], and that a check finds nothing.
    pub(super) fn demand_sound(&self, snapshot: &Snapshot) -> Result<(), String> {
        self.demand(snapshot)?;
        let report = snapshot.check(&Limits::default()).map_err(|error| format!("cannot be checked: {error}"))?;
        same("findings", &String::from("[]"), &format!("{:?}", report.findings))
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("{what}: expected {expected:?}, found {found:?}")) }
}
