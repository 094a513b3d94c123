//! Verifying an outline: pages, their bounds, and that names, categories and counts agree with them.

use super::order::{bounded, path_hash};
use super::read::{KeyRange, NodeAt, NodesMet, OutlineView};
use super::render::tokens;
use super::tree::slots_of;
use crate::index::check::Report;
use crate::index::snapshot::Snapshot;
use crate::index::view::inconsistent;
use crate::search::Limits;
use crate::{Error, Result};
use plica_format::document::DocumentHead;
use plica_format::key as keys;
use plica_format::limits::OUTLINE_ENTRIES;
use plica_format::outline::{Entries, Item, OutlinePage, Subject};
use std::collections::BTreeSet;

impl Snapshot {
    /// Verifies the outline of a document.
    pub(in crate::index) fn check_outline(
        &self,
        head: &DocumentHead,
        limits: &Limits,
        report: &mut Report,
    ) -> Result<()> {
        let view = self.view();
        let Some(of) = view.outline_head(head.number)? else { return Ok(()) };
        let wrong = |detail: String| inconsistent(format!("outline of document {:?}: {detail}", head.id));
        if of.extracted > head.chunks || of.compiled > head.text_bytes {
            report.note(wrong(format!(
                "{} bytes and {} chunks are compiled, the document has {} and {}",
                of.compiled, of.extracted, head.text_bytes, head.chunks
            )))?;
        }
        let Some(outline) = view.outline(head.number)? else { return Ok(()) };
        let Some(root) = outline.root_node()? else { return Ok(()) };
        let mut names: BTreeSet<Vec<u8>> = BTreeSet::new();
        let mut values = 0u64;
        let source_end = self.source_end(head)?;
        let mut waiting = vec![root];
        let mut met = NodesMet::default();
        while let Some(node) = waiting.pop() {
            limits.check()?;
            met.meet(&node)?;
            let shown = node.path.join(" / ");
            if !node.is_subject && view.category(head.number, &node.path)?.is_none() {
                report.note(wrong(format!("category {shown:?} has pages and is not listed")))?;
            }
            let mut pages = Vec::new();
            outline.each_page(&node, &mut |page| {
                pages.push(page.clone());
                Ok(())
            })?;
            for page in &pages {
                report.outline_pages += 1;
                let result = check_page(&outline, &node, page);
                report.note_result(result.map_err(|detail| wrong(format!("a page of {shown:?}: {detail}"))))?;
            }
            if node.is_subject {
                continue;
            }
            outline.each_item(&node, &mut |item| {
                if let Item::Category { .. } = item {
                    waiting.extend(outline.node_of(&node, item)?);
                    return Ok(());
                }
                waiting.extend(outline.node_of(&node, item.clone())?);
                let Some(subject) = outline.whole(&node, item)? else { return Ok(()) };
                report.subjects += 1;
                values += subject.values() as u64;
                let mut name = keys::subject_name(head.number, &bounded(&subject.name));
                name.extend_from_slice(&path_hash(&node.path));
                names.insert(name);
                check_places(&subject, source_end).map_err(|detail| wrong(format!("{:?}: {detail}", subject.name)))
            })?;
        }
        if values != of.values {
            report.note(wrong(format!("the head counts {} values, the subjects have {values}", of.values)))?;
        }
        let mut listed = std::collections::BTreeMap::new();
        let decode = |bytes: &[u8]| Ok(bytes == [1]);
        view.each_newest(&keys::numbered(keys::SUBJECT_NAME, head.number), decode, |key, there| {
            listed.insert(key, there);
        })?;
        let listed: BTreeSet<Vec<u8>> = listed.into_iter().filter(|(_, there)| *there).map(|(key, _)| key).collect();
        if listed != names {
            let (missing, other) = (names.difference(&listed).count(), listed.difference(&names).count());
            report.note(wrong(format!(
                "{missing} subjects are not found by their name, {other} names have no subject"
            )))?;
        }
        Ok(())
    }

    /// Where the source of a document ends, as far as its chunks say.
    fn source_end(&self, head: &DocumentHead) -> Result<u64> {
        let mut end = head.text_bytes;
        for chunk in self.chunk_ids(head)? {
            end = end.max(self.view().text_row(chunk)?.span.map_or(0, |(_, end)| end));
        }
        Ok(end)
    }
}

/// That the places of a subject's values are in the source.
fn check_places(subject: &Subject, source_end: u64) -> Result<(), String> {
    for field in &subject.fields {
        let ends = field.values.iter().filter_map(|value| value.span).map(|(_, end)| end);
        if let Some(end) = ends.filter(|end| *end > source_end).max() {
            return Err(format!("a value of {:?} ends at {end}, behind the source of {source_end} bytes", field.name));
        }
    }
    Ok(())
}

/// That a page stays within its bounds, and says of the pages below what they are.
fn check_page(outline: &OutlineView<'_>, node: &NodeAt, page: &OutlinePage) -> Result<(), String> {
    let slots = slots_of(page, outline.shares());
    let used: u32 = slots.iter().map(|slot| tokens(&slot.text())).sum();
    let limit = outline.shares().entries();
    if used > limit || slots.len() > OUTLINE_ENTRIES {
        return Err(format!("{used} tokens in {} entries, of {limit} in {OUTLINE_ENTRIES}", slots.len()));
    }
    let Entries::Ranges(ranges) = &page.entries else { return Ok(()) };
    for (at, range) in ranges.iter().enumerate() {
        let expected = outline.expected(node, page.level - 1, range.count);
        let keys = KeyRange::of(ranges, at, None);
        let below = outline.page(&range.page, expected, keys).map_err(|error: Error| error.to_string())?;
        let below = slots_of(&below, outline.shares());
        let ends =
            below.first().zip(below.last()).map(|(first, last)| (first.key.clone(), first.name().0, last.name().1));
        if ends != Some((range.first_key.clone(), range.first.clone(), range.last.clone())) {
            return Err(format!("it says {:?} – {:?} of a page with other ends", range.first, range.last));
        }
    }
    Ok(())
}
