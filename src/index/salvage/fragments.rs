//! Texts of which nothing says any more what they are: stretches of sound text blocks that no row names.
//!
//! A text block holds titles and texts of chunks one after another; where each begins is in the rows. Where rows are lost, what no
//! other row names is text all the same, of chunks whose document, place and bounds are not known. Where the rows are there and the
//! places are lost, the bounds are known, and nothing else.

use super::documents::Documents;
use super::remains::Remains;
use crate::Result;
use plica_format::block::{BlockKind, Reference};
use plica_format::chunk::decode_texts;
use plica_format::key;
use std::collections::{BTreeMap, BTreeSet};

/// Hands every chunk that has a row and no place, because places are lost, to `sink`, in the order of the chunks; without title and
/// text where its block is lost, too.
pub(super) fn each_homeless(
    remains: &Remains,
    documents: &mut Documents,
    mut sink: impl FnMut(Option<(&str, &str, Option<&str>)>) -> Result<()>,
) -> Result<()> {
    let mut homeless = BTreeSet::new();
    remains.each(&[key::CHUNK_TEXTS], |key, values| {
        let block = key::last_number(key).unwrap_or_default();
        for row in values.iter().flat_map(|found| decode_texts(block, &found.value).unwrap_or_default()) {
            let place = key::numbered(key::CHUNK_PLACES, row.chunk / key::PLACES_A_BLOCK);
            if documents.place(row.chunk).is_none() && remains.is_lost(&place) {
                homeless.insert(row.chunk);
            }
        }
        Ok(())
    })?;
    for chunk in homeless {
        let text = documents.text(remains, chunk)?;
        let content = text.as_ref().and_then(|text| text.content.as_ref().map(|content| (&text.row, content)));
        sink(content.map(|(row, (title, text))| (title.as_str(), text.as_str(), row.external_id.as_deref())))?;
    }
    Ok(())
}

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
