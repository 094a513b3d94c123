//! Texts of which nothing says any more what they are: stretches of sound text blocks that no row names.
//!
//! A text block holds titles and texts of chunks one after another; where each begins is in the rows. Where rows are lost, what no
//! other row names is text all the same, of chunks whose document, place and bounds are not known.

use super::remains::Remains;
use crate::Result;
use plica_format::block::{BlockKind, Reference};
use plica_format::chunk::decode_texts;
use plica_format::key;
use std::collections::BTreeMap;

/// Hands every such stretch to `sink`, in the order of the file. Blocks from `end` on are of no commit, and left out.
pub(super) fn each_fragment(
    remains: &Remains,
    sound: &[Reference],
    end: u64,
    mut sink: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    if !remains.may_lose_kind(key::CHUNK_TEXTS) {
        return Ok(());
    }
    let mut named: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
    remains.each(&[key::CHUNK_TEXTS], |key, values| {
        let block = key::last_number(key).unwrap_or_default();
        for row in values.iter().flat_map(|found| decode_texts(block, &found.value).unwrap_or_default()) {
            let start = row.offset as usize;
            let end = start + row.title_bytes as usize + row.text_bytes as usize;
            named.entry(row.block.offset).or_default().push((start, end));
        }
        Ok(())
    })?;
    for reference in sound.iter().filter(|block| block.kind == BlockKind::Text && block.offset < end) {
        let Some(payload) = remains.payload(reference)? else { continue };
        let mut stretches = named.remove(&reference.offset).unwrap_or_default();
        stretches.push((payload.len(), payload.len()));
        stretches.sort_unstable();
        let mut at = 0;
        for (from, to) in stretches {
            if let Some(fragment) = payload.get(at..from).filter(|fragment| !fragment.is_empty()) {
                sink(&String::from_utf8_lossy(fragment))?;
            }
            at = at.max(to);
        }
    }
    Ok(())
}
