//! What cannot be read because a block is damaged.
//!
//! A check finds damaged blocks in the order of the file. What they are to the index is seen from the other side: who refers
//! to them. So all that is still sound is walked once more, and each reference held against the damaged stretches.

use super::check::Finding;
use super::outline::path_hash;
use super::salvage::remains::Remains;
use super::snapshot::Snapshot;
use crate::Result;
use crate::dictionary::value_block;
use plica_format::block::Reference;
use plica_format::chunk::{decode_places, decode_texts};
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::fold::{Children, Expected, FoldPage, cover, open_pages};
use plica_format::key::{self, Field};
use plica_format::limits::FIRST_BLOCK_OFFSET;
use plica_format::outline::{Entries, Expected as OutlineExpected, Item, OutlinePage, Path, Top};
use plica_format::outline_head::OutlineHead;
use plica_format::postings::PostingValue;
use std::collections::BTreeMap;

/// Dependents that are named for one finding; of more, their number.
const NAMED: usize = 20;

/// Damaged stretches, and who depends on each.
struct Dependents {
    /// Start, end, place among the findings; ascending.
    stretches: Vec<(u64, u64, usize)>,
    named: BTreeMap<usize, (Vec<String>, usize)>,
    /// Chunks of damaged text blocks, by finding and document.
    chunks: BTreeMap<(usize, u32), Vec<u32>>,
}

impl Dependents {
    /// The finding that a reference leads to.
    fn hit(&self, reference: &Reference) -> Option<usize> {
        let at = self.stretches.partition_point(|&(from, ..)| from <= reference.offset).checked_sub(1)?;
        let &(_, to, finding) = self.stretches.get(at)?;
        (reference.offset < to).then_some(finding)
    }

    /// Names a dependent of a block, where that is damaged; says whether it is.
    fn name(&mut self, reference: &Reference, what: impl FnOnce() -> String) -> bool {
        let Some(finding) = self.hit(reference) else { return false };
        let (named, more) = self.named.entry(finding).or_default();
        let what = what();
        // A block may be met twice, as where segments are being merged.
        match named.len() < NAMED {
            true if named.contains(&what) => {}
            true => named.push(what),
            false => *more += 1,
        }
        true
    }
}

impl Snapshot {
    /// Says of each finding what depends on it.
    pub(super) fn name_dependents(&self, findings: &mut [Finding]) -> Result<()> {
        let mut stretches = Vec::new();
        for (at, finding) in findings.iter_mut().enumerate() {
            if finding.what == "head slot" {
                finding.depends.push("finding the newest commit; the other slot of the pair serves instead".to_owned());
            } else if finding.offset >= FIRST_BLOCK_OFFSET {
                stretches.push((finding.offset, finding.offset + finding.bytes.max(1), at));
                if finding.what.starts_with("commit") {
                    finding.depends.push("opening earlier commits by number".to_owned());
                }
            }
        }
        if stretches.is_empty() {
            return Ok(());
        }
        stretches.sort_unstable();
        let mut dependents = Dependents { stretches, named: BTreeMap::new(), chunks: BTreeMap::new() };
        self.find_dependents(&mut dependents)?;
        for (at, (named, more)) in dependents.named {
            if let Some(finding) = findings.get_mut(at) {
                finding.depends.extend(named);
                if more > 0 {
                    finding.depends.push(format!("and {more} more"));
                }
            }
        }
        Ok(())
    }

    fn find_dependents(&self, dependents: &mut Dependents) -> Result<()> {
        let view = self.view();
        let blocks = &view.dictionary.blocks;
        let remains = Remains::of_commit(blocks, view.state)?;
        if let Some(dictionary) = &view.state.dictionary {
            dependents.name(dictionary, || "every block that is compressed with it".to_owned());
        }
        for lost in &remains.lost {
            let reference = Reference {
                offset: lost.offset,
                stored_bytes: 0,
                kind: plica_format::block::BlockKind::Leaf,
                checksum: 0,
            };
            dependents.name(&reference, || shown_keys(&lost.from, lost.to.as_deref()));
        }
        remains.each_stored(|leaf, key, stored| {
            if let Ok(Some(reference)) = value_block(leaf, stored) {
                dependents.name(&reference, || shown_key(key));
            }
            match key.first() {
                Some(&key::POSTINGS) => {
                    let Some(value) = remains.load(leaf, stored)? else { return Ok(()) };
                    if let (Ok(PostingValue::Pieces(pieces)), Some((field, term))) =
                        (PostingValue::decode(&value), Field::of_key(key))
                    {
                        let shown =
                            || format!("postings of {:?} in {}", String::from_utf8_lossy(term), field_name(field));
                        for piece in &pieces {
                            dependents.name(&piece.reference, shown);
                        }
                    }
                }
                Some(&key::CHUNK_TEXTS) => {
                    let Some(value) = remains.load(leaf, stored)? else { return Ok(()) };
                    for row in decode_texts(key::last_number(key).unwrap_or_default(), &value).unwrap_or_default() {
                        if let Some(finding) = dependents.hit(&row.block) {
                            dependents.chunks.entry((finding, u32::MAX)).or_default().push(row.chunk);
                        }
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        let heads = heads(&remains)?;
        name_chunks(&remains, dependents, &heads)?;
        for head in heads.values().filter(|head| head.state != DocumentState::Removed) {
            if let Some(information) = &head.information {
                dependents.name(information, || format!("title and metadata of document {:?}", head.id));
            }
            let fanout = self.parameters().fanout;
            for (expected, page) in open_pages(head.number, fanout, head.chunks).into_iter().zip(&head.pages) {
                name_fold(&remains, dependents, head, fanout, (page, expected))?;
            }
            let place = key::numbered(key::OUTLINE, head.number);
            let outline = remains.newest(&place, OutlineHead::decode)?;
            if let Some(root) = outline.and_then(|(outline, _)| outline.root) {
                name_outline(&remains, dependents, head, root)?;
            }
        }
        Ok(())
    }
}

/// The newest head of each document.
fn heads(remains: &Remains) -> Result<BTreeMap<u32, DocumentHead>> {
    let mut heads = BTreeMap::new();
    remains.each(&[key::DOCUMENT], |key, values| {
        let number = key::last_number(key).unwrap_or_default();
        let newest = values.iter().rev().find_map(|found| DocumentHead::decode(number, &found.value).ok());
        heads.extend(newest.map(|head| (number, head)));
        Ok(())
    })?;
    Ok(heads)
}

/// Names the chunks whose text blocks are damaged, by document and ordinal.
fn name_chunks(remains: &Remains, dependents: &mut Dependents, heads: &BTreeMap<u32, DocumentHead>) -> Result<()> {
    let chunks = std::mem::take(&mut dependents.chunks);
    if chunks.is_empty() {
        return Ok(());
    }
    let mut places: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    remains.each(&[key::CHUNK_PLACES], |key, values| {
        for found in values {
            let rows = decode_places(key::last_number(key).unwrap_or_default(), &found.value).unwrap_or_default();
            places.extend(rows.into_iter().map(|row| (row.chunk, (row.document, row.ordinal))));
        }
        Ok(())
    })?;
    for ((finding, _), chunks) in chunks {
        let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (document, ordinal) in chunks.iter().filter_map(|chunk| places.get(chunk)) {
            found.entry(*document).or_default().push(*ordinal);
        }
        for (document, mut ordinals) in found {
            ordinals.sort_unstable();
            let id = match heads.get(&document) {
                Some(head) if head.state == DocumentState::Removed => continue,
                Some(head) => format!("{:?}", head.id),
                None => format!("number {document}"),
            };
            let runs = super::salvage::shown(&super::salvage::runs(&ordinals));
            dependents.named.entry(finding).or_default().0.push(format!("texts of chunks {runs} of document {id}"));
        }
    }
    Ok(())
}

fn name_fold(
    remains: &Remains,
    dependents: &mut Dependents,
    head: &DocumentHead,
    fanout: u8,
    (reference, expected): (&Reference, Expected),
) -> Result<()> {
    let Expected { level, first, count, .. } = expected;
    let last = first.saturating_add(count).saturating_sub(1);
    let shown = || format!("the fold tree of document {:?}: level {level}, chunks {first} to {last}", head.id);
    if dependents.name(reference, shown) {
        return Ok(());
    }
    let Some(payload) = remains.payload(reference)? else { return Ok(()) };
    let Ok(page) = FoldPage::decode(&payload, reference.offset, fanout, expected) else { return Ok(()) };
    if let Children::Nodes(nodes) = &page.children {
        let level = page.level - 1;
        let count = cover(fanout, level).unwrap_or(u32::MAX);
        for (at, child) in (0u32..).zip(nodes) {
            let expected = Expected { document: head.number, level, first: page.first + at * count, count };
            name_fold(remains, dependents, head, fanout, (&child.page, expected))?;
        }
    }
    Ok(())
}

fn name_outline(remains: &Remains, dependents: &mut Dependents, head: &DocumentHead, root: Top) -> Result<()> {
    let mut waiting: Vec<(Top, Path, [u8; 16], bool)> = vec![(root, Path::new(), path_hash::<String>(&[]), false)];
    while let Some((top, path, node, is_subject)) = waiting.pop() {
        let shown = || format!("the outline of document {:?}: a page of {:?}", head.id, path.join(" / "));
        if dependents.name(&top.page, shown) {
            continue;
        }
        let Some(payload) = remains.payload(&top.page)? else { continue };
        let expected = OutlineExpected { document: head.number, node, is_subject, level: top.level, count: top.count };
        let Ok(page) = OutlinePage::decode(&payload, top.page.offset, expected) else { continue };
        match page.entries {
            Entries::Ranges(ranges) => {
                let level = top.level.saturating_sub(1);
                let below = ranges.into_iter().map(|range| Top { page: range.page, level, count: range.count });
                waiting.extend(below.map(|top| (top, path.clone(), node, is_subject)));
            }
            Entries::Items(items) => {
                for item in items {
                    let (name, top, is_subject) = match item {
                        Item::Category { name, top, .. } => (name, top, false),
                        Item::LargeSubject { name, top, .. } => (name, top, true),
                        _ => continue,
                    };
                    let mut below = path.clone();
                    below.push(name.clone());
                    let node = match is_subject {
                        true => super::outline::subject_hash(&path, &name),
                        false => path_hash(&below),
                    };
                    waiting.push((top, below, node, is_subject));
                }
            }
        }
    }
    Ok(())
}

fn field_name(field: Field) -> &'static str {
    match field {
        Field::Text => "texts",
        Field::Name => "names",
        Field::Aliases => "aliases",
        Field::Descriptions => "descriptions",
        Field::Summary => "summaries",
    }
}

/// What keys of a kind hold.
fn kind_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        key::DOCUMENT => "heads of documents",
        key::DOCUMENT_ID => "ids of documents",
        key::REPLACEMENT => "replacements of documents",
        key::CHUNK_PLACES => "places of chunks",
        key::CHUNK_TEXTS => "where texts of chunks are",
        key::EXTERNAL_ID => "chunks by id",
        key::CHUNK_ENTITIES => "entities of chunks",
        key::ENTITY_PART => "what entities are",
        key::ENTITY_ROWS => "counts of entities",
        key::ENTITY_NAME => "entities by name",
        key::ENTITY_ALIAS => "entities by alias",
        key::ENTITY_CHUNKS => "chunks of entities",
        key::DOCUMENT_ENTITIES => "entities of documents",
        key::ENTITY_DESCRIPTION => "hashes of descriptions",
        key::SUMMARY_ROWS => "counts of summaries",
        key::POSTINGS => "postings",
        key::OUTLINE => "heads of outlines",
        key::CATEGORY => "categories of outlines",
        key::SUBJECT_NAME => "names of subjects",
        key::PAGE_SUMMARY => "summaries of pages of outlines",
        key::RECORD => "records",
        key::RECORD_OF_DOCUMENT => "records by document",
        key::RECORD_BY_LABEL => "records by label",
        key::RECORD_BY_VALUE => "records by value",
        key::RECORD_BY_COARSE => "records by coarse label",
        key::RECORD_TYPES => "counts of records by type",
        key::RECORD_LABELS => "counts of records by label",
        key::RECORD_KINDS => "counts of records by kind",
        _ => return None,
    })
}

/// Ids of a block of rows, for the kinds whose keys number such blocks.
fn rows_of(key: &[u8]) -> Option<(u32, u32)> {
    let rows = match *key.first()? {
        key::CHUNK_PLACES => key::PLACES_A_BLOCK,
        key::CHUNK_TEXTS => key::TEXTS_A_BLOCK,
        key::ENTITY_ROWS | key::SUMMARY_ROWS => key::ROWS_A_BLOCK,
        _ => return None,
    };
    let first = key::last_number(key)?.saturating_mul(rows);
    Some((first, first.saturating_add(rows - 1)))
}

/// Where a key stands among those of its kind, in words.
fn shown_place(key: &[u8]) -> Option<String> {
    match key.first() {
        Some(&key::POSTINGS) => Field::of_key(key).map(|(_, term)| format!("{:?}", String::from_utf8_lossy(term))),
        Some(&(key::DOCUMENT_ID | key::REPLACEMENT)) => Some(format!("{:?}", String::from_utf8_lossy(key.get(1..)?))),
        Some(&(key::RECORD..=key::RECORD_KINDS | key::EXTERNAL_ID)) => None,
        _ => match rows_of(key) {
            Some((first, last)) => Some(format!("{first} to {last}")),
            None => key::first_number(key).map(|number| number.to_string()),
        },
    }
}

/// A key in words.
fn shown_key(key: &[u8]) -> String {
    let kind = key.first().and_then(|&kind| kind_name(kind)).unwrap_or("a key of an unknown kind");
    format!("{kind}: {}", shown_place(key).unwrap_or_else(|| "one value".to_owned()))
}

/// A range of keys in words.
pub(super) fn shown_keys(from: &[u8], to: Option<&[u8]>) -> String {
    let Some(&first) = from.first() else {
        return "a whole segment: all that some commits wrote, but for texts and pages".to_owned();
    };
    // A key of the kind alone ends the kind before it.
    let last = match to {
        Some([kind]) => kind.saturating_sub(1),
        Some([kind, ..]) => *kind,
        _ => u8::MAX,
    };
    let kinds: Vec<&str> = (first..=last).filter_map(kind_name).collect();
    let start = shown_place(from).map(|at| format!(", from {at} on")).unwrap_or_default();
    match kinds.as_slice() {
        [] => "keys of an unknown kind".to_owned(),
        [kind] => format!("{kind}{start}"),
        [kind, .., end] => format!("{kind}{start}, to {end}"),
    }
}
