//! Verifying an index whole: every block, and that the structures agree.

use super::documents::chain;
use super::open::{Index, ReadOptions};
use super::snapshot::Snapshot;
use super::view::inconsistent;
use crate::search::Limits;
use crate::store::{self, Met, Stretch, each_block};
use crate::{Error, Result};
use plica_format::block::Reference;
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::fold::Children;
use plica_format::key::{self, Field, INDEX_SCOPE};
use plica_format::page::MemoryScope;
use plica_format::state::Totals;
use std::ops::ControlFlow;
use std::path::Path;

/// Something that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Offset in the file, where one is known.
    pub offset: u64,
    /// Bytes from there on that are damaged; 0 where that is not known, as where structures disagree.
    pub bytes: u64,
    /// Kind of block, or which structures.
    pub what: String,
    /// What was expected and what was found.
    pub detail: String,
    /// What cannot be read because of it, in words; empty where nothing of this commit needs the block, and where the
    /// structures disagree.
    pub depends: Vec<String>,
}

impl Finding {
    pub(super) fn new(offset: u64, what: String, detail: String) -> Self {
        Self { offset, bytes: 0, what, detail, depends: Vec::new() }
    }
}

/// What a check looked at, and what it found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Whether the index opens. One that does not is looked through block by block, and no more.
    pub opens: bool,
    /// Blocks whose checksums were compared.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Documents that were read.
    pub documents: u64,
    /// Chunks whose text was read.
    pub chunks: u64,
    /// Records of the entity memory that were read.
    pub entities: u64,
    /// Records ([`crate::records`]) that were read.
    pub records: u64,
    /// Pages of outlines that were read.
    pub outline_pages: u64,
    /// Subjects of outlines that were read.
    pub subjects: u64,
    /// What is wrong; empty for a sound index.
    pub findings: Vec<Finding>,
}

/// Findings after which a check stops looking.
const FINDINGS: usize = 1000;

impl Report {
    /// Notes damage; anything else ends the check.
    pub(super) fn note(&mut self, error: Error) -> Result<()> {
        match error {
            Error::Damaged { offset, what, detail } => {
                self.add(Finding::new(offset, what, detail));
                Ok(())
            }
            other => Err(other),
        }
    }

    /// Adds a finding, unless the block is known to be damaged: it may be met on several ways.
    fn add(&mut self, finding: Finding) {
        let offset = finding.offset;
        // Offset 0 is also where no place is known.
        let is_of = |known: &Finding| match offset {
            0 => known.what == finding.what,
            _ => (known.offset..known.offset + known.bytes).contains(&offset),
        };
        let is_known = |known: &Finding| *known == finding || known.bytes > 0 && is_of(known);
        if self.findings.len() < FINDINGS && !self.findings.iter().any(is_known) {
            self.findings.push(finding);
        }
    }

    pub(super) fn note_result(&mut self, result: Result<()>) -> Result<()> {
        result.or_else(|error| self.note(error))
    }
}

/// How an index is checked.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CheckOptions {
    quick: bool,
    commit: Option<u64>,
}

impl CheckOptions {
    /// Everything, as of the newest commit.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks at the blocks alone ([`Snapshot::check_quick`]).
    pub fn quick(mut self, quick: bool) -> Self {
        self.quick = quick;
        self
    }

    /// Checks an earlier commit.
    pub fn commit(mut self, sequence: Option<u64>) -> Self {
        self.commit = sequence;
        self
    }
}

/// Verifies the index at a path ([`Snapshot::check`]). One that does not open because it is damaged is looked through block by
/// block, so that all damage is named and not only what opening it met first. So is a file that does not start as an index does,
/// page 0 and all slots being lost, say.
///
/// # Errors
/// As of [`Index::open_with`], but for damage ([`Error::NotAnIndex`] where no block is left); [`Error::Cancelled`].
pub fn check(path: impl AsRef<Path>, options: &CheckOptions, limits: &Limits) -> Result<Report> {
    let reading = ReadOptions { commit: options.commit, ..ReadOptions::new() };
    let (offset, what, detail) = match Index::open_with(path.as_ref(), &reading) {
        Ok(index) if options.quick => return index.snapshot().check_quick(limits),
        Ok(index) => return index.snapshot().check(limits),
        Err(Error::Damaged { offset, what, detail }) => (offset, what, detail),
        Err(error @ Error::NotAnIndex { .. }) => match store::scan(path.as_ref(), &|| limits.check()) {
            // One block alone is what a creation leaves that was cut short.
            Ok(scan) if scan.sound.len() > 1 => (0, "page 0".to_owned(), "expected the file magic".to_owned()),
            Ok(_) | Err(Error::NotAnIndex { .. }) => return Err(error),
            Err(error) => return Err(error),
        },
        Err(error) => return Err(error),
    };
    let mut report = Report::default();
    match store::scan(path.as_ref(), &|| limits.check()) {
        Ok(scan) => {
            report.blocks = (scan.sound.len() + scan.damage.len()) as u64;
            report.bytes = scan.length;
            for Stretch { offset, bytes, what, detail } in scan.damage {
                report.add(Finding { bytes, ..Finding::new(offset, what, detail) });
            }
        }
        // Nothing but what opening it met.
        Err(Error::NotAnIndex { .. }) => {}
        Err(error) => return Err(error),
    }
    report.add(Finding::new(offset, what, detail));
    Ok(report)
}

impl Snapshot {
    /// Reads everything and says what is damaged, where, and what depends on it: first the head slots and every block of the
    /// file up to this commit, then that documents, trees, texts, memory, postings, outlines, records and sums agree. A writer
    /// may be at work meanwhile.
    pub fn check(&self, limits: &Limits) -> Result<Report> {
        let mut report = self.check_quick(limits)?;
        self.reachable(|error| report.note(error))?;
        let mut totals = Totals::default();
        match self.heads() {
            Ok(heads) => {
                for head in heads {
                    limits.check()?;
                    report.documents += 1;
                    let result = self.check_document(&head, limits, &mut report);
                    report.note_result(result)?;
                    let result = self.check_outline(&head, limits, &mut report);
                    report.note_result(result)?;
                    add(&mut totals, &head);
                }
            }
            Err(error) => report.note(error)?,
        }
        let result = self.check_replacements(&mut report);
        report.note_result(result)?;
        let result = self.check_memory(&mut totals, limits, &mut report);
        report.note_result(result)?;
        let result = self.check_text_postings(limits, &mut report);
        report.note_result(result)?;
        let result = self.check_records(limits, &mut report);
        report.note_result(result)?;
        let counted = self.view().state.totals;
        if report.findings.is_empty() && counted != totals {
            report.note(inconsistent(format!("the commit counts {counted:?}, the documents sum up to {totals:?}")))?;
        }
        self.name_dependents(&mut report.findings)?;
        Ok(report)
    }

    /// As [`Snapshot::check`], but only that the head slots and every block up to this commit are as they were written: all
    /// damage of the medium is found, and what a writer may have got wrong is not.
    pub fn check_quick(&self, limits: &Limits) -> Result<Report> {
        let mut report = Report { opens: true, ..Report::default() };
        for (offset, detail) in self.opened().slot_damage()? {
            let what = "head slot".to_owned();
            report.note(Error::Damaged { offset, what, detail })?;
        }
        self.check_blocks(limits, &mut report)?;
        self.name_dependents(&mut report.findings)?;
        Ok(report)
    }

    fn check_blocks(&self, limits: &Limits, report: &mut Report) -> Result<()> {
        let (blocks, end) = (&self.view().dictionary.blocks, self.commit_head().end);
        let verify = |reference: &Reference| {
            limits.check()?;
            blocks.read(reference).map(|_| ())
        };
        each_block(&**blocks.source(), blocks.file_id(), end, verify, |met| match met {
            Met::Sound(reference) => {
                report.blocks += 1;
                report.bytes += reference.end() - reference.offset;
                Ok(())
            }
            Met::Damaged(Stretch { offset, bytes, what, detail }) => {
                report.blocks += 1;
                report.bytes += bytes;
                report.add(Finding { bytes, ..Finding::new(offset, what, detail) });
                Ok(())
            }
        })
    }

    /// One document: places, texts, hash, tree and summaries.
    fn check_document(&self, head: &DocumentHead, limits: &Limits, report: &mut Report) -> Result<()> {
        let wrong = |what: &str, expected: u64, got: u64| {
            Err(inconsistent(format!("document {:?}: {what}: the head says {expected}, there are {got}", head.id)))
        };
        let ids = self.chunk_ids(head)?;
        let (mut tokens, mut words, mut bytes, mut hash) = (0u64, 0u64, 0u64, [0; 32]);
        let mut order = super::texts::TextOrder::default();
        for &chunk in &ids {
            limits.check()?;
            let row = self.view().text_row(chunk)?;
            order.follow(&row)?;
            let (title, text) = self.view().text(&row)?;
            let mut own = 0u32;
            crate::text::for_each_token(&title, |_: &str| own += 1);
            crate::text::for_each_token(&text, |_: &str| own += 1);
            let place = self.view().place(chunk)?;
            if place.tokens != own {
                report.note(inconsistent(format!(
                    "chunk {chunk}: {} tokens are noted, its text has {own}",
                    place.tokens
                )))?;
            }
            if let Some(id) = &row.external_id
                && self.view().chunk_by_external_id(head.number, id)? != Some(chunk)
            {
                report.note(inconsistent(format!("chunk {chunk} is not found by its id {id:?}")))?;
            }
            report.chunks += 1;
            tokens += u64::from(own);
            words += u64::from(row.words);
            bytes += u64::from(row.text_bytes);
            hash = chain(&hash, &text);
        }
        for (what, expected, got) in [
            ("tokens", head.text_tokens, tokens),
            ("words", head.words, words),
            ("bytes of text", head.text_bytes, bytes),
        ] {
            if expected != got {
                return wrong(what, expected, got);
            }
        }
        if hash != head.content_hash {
            return Err(inconsistent(format!("document {:?}: its texts do not have the hash of its head", head.id)));
        }
        self.check_tree(head, &ids)?;
        let (mut summaries, mut summary_tokens) = (0u64, 0u64);
        self.each_summary(head, |level, index, text| {
            if level == 1 {
                summaries += 1;
                let mut own = 0u32;
                crate::text::for_each_token(text, |_: &str| own += 1);
                summary_tokens += u64::from(own);
                let unit = index as usize * usize::from(self.parameters().fanout);
                let unit = ids.get(unit).copied().unwrap_or(u32::MAX);
                let rows = self.view().summary_rows(unit, unit)?;
                if rows.first().map(|row| row.tokens) != Some(own) {
                    return Err(inconsistent(format!("summary {index} of document {:?} has another row", head.id)));
                }
            }
            Ok(())
        })?;
        if u64::from(head.summaries) != summaries {
            return wrong("level-1 summaries", u64::from(head.summaries), summaries);
        }
        if head.summary_tokens != summary_tokens {
            return wrong("tokens of level-1 summaries", head.summary_tokens, summary_tokens);
        }
        Ok(())
    }

    /// That the leaves of a document's tree are its chunks, in order.
    fn check_tree(&self, head: &DocumentHead, ids: &[u32]) -> Result<()> {
        let fanout = u32::from(self.parameters().fanout);
        for first in (0..head.chunks).step_by(fanout as usize) {
            if self.chunk_in_tree(head, first)? != ids.get(first as usize).copied().unwrap_or(u32::MAX) {
                return Err(inconsistent(format!("document {:?}: its tree has another chunk {first}", head.id)));
            }
        }
        for page in self.open_pages(head)? {
            if let Children::Chunks(chunks) = &page.children
                && ids.get(page.first as usize..) != Some(chunks.as_slice())
            {
                return Err(inconsistent(format!("document {:?}: its open page has other chunks", head.id)));
            }
        }
        Ok(())
    }

    /// That what is to replace a document is staged, under the same id.
    fn check_replacements(&self, report: &mut Report) -> Result<()> {
        self.view().dictionary.each_newest(&[key::REPLACEMENT], b"", |found, value| {
            let id = String::from_utf8_lossy(found.get(1..).unwrap_or_default());
            if !value.is_empty() {
                let number = self.view().replacement_number(&id)?.unwrap_or(u32::MAX);
                let head = self.head_of(number)?;
                if head.id != id || head.state != DocumentState::Staged {
                    report.note(inconsistent(format!("document {number} is to replace {id:?}, and is not staged")))?;
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// The records: parts, token counts, names, and links in both directions.
    fn check_memory(&self, totals: &mut Totals, limits: &Limits, report: &mut Report) -> Result<()> {
        let mut findings = Vec::new();
        let mut entities = 0;
        self.each_row(|row| {
            limits.check()?;
            if row.scope != INDEX_SCOPE && self.head_of(row.scope)?.state == DocumentState::Removed {
                return Ok(());
            }
            entities += 1;
            let wrong = |detail: String| inconsistent(format!("entity {}: {detail}", row.entity));
            let mut parts = Vec::new();
            for number in 0..row.parts {
                let part = self.view().part(row.entity, number)?;
                for description in part.iter().flat_map(|part| &part.descriptions) {
                    if !self.view().notes_description(row.entity, number, description)? {
                        findings.push(wrong(format!("a description of part {number} is not noted: {description:?}")));
                    }
                }
                parts.extend(part);
            }
            let mut tokens = [0u32; 3];
            let mut count = |at: usize, text: &str| {
                crate::text::for_each_token(text, |_: &str| {
                    if let Some(total) = tokens.get_mut(at) {
                        *total += 1;
                    }
                });
            };
            for part in &parts {
                count(0, &part.name);
                part.aliases.iter().for_each(|alias| count(1, alias));
                part.descriptions.iter().for_each(|description| count(2, description));
            }
            if tokens != row.tokens {
                findings.push(wrong(format!("{:?} tokens are noted, its parts have {tokens:?}", row.tokens)));
            }
            let name = parts.first().map(|part| crate::text::key(&part.name)).unwrap_or_default();
            if self.view().entity_by_name(row.scope, &name)? != Some(row.entity) {
                findings.push(wrong(format!("it is not found by its name {name:?}")));
            }
            for chunk in self.view().set(&key::numbered(key::ENTITY_CHUNKS, row.entity))? {
                if !self.view().set(&key::numbered(key::CHUNK_ENTITIES, chunk))?.contains(&row.entity) {
                    findings.push(wrong(format!("chunk {chunk} does not link back")));
                    // One of each entity will do: a set of few bytes may have many.
                    break;
                }
            }
            for (field, texts) in [(Field::Name, 1), (Field::Aliases, 0), (Field::Descriptions, 0)] {
                let term = match texts {
                    1 => parts.first().and_then(|part| crate::text::tokens(&part.name).into_iter().next()),
                    _ => parts.iter().find_map(|part| {
                        let list = if field == Field::Aliases { &part.aliases } else { &part.descriptions };
                        list.iter().find_map(|text| crate::text::tokens(text).into_iter().next())
                    }),
                };
                if let Some(term) = term
                    && self.view().postings(field, &term, row.entity, row.entity)?.is_empty()
                {
                    findings.push(wrong(format!("it is not found by {term:?} in {field:?}")));
                }
            }
            if self.parameters().memory == MemoryScope::Index {
                totals.entities += 1;
                for (total, tokens) in totals.entity_tokens.iter_mut().zip(row.tokens) {
                    *total += u64::from(tokens);
                }
            }
            Ok(())
        })?;
        report.entities = entities;
        findings.into_iter().try_for_each(|finding| report.note(finding))
    }
}

fn add(totals: &mut Totals, head: &DocumentHead) {
    totals.documents = totals.documents.saturating_add(1);
    totals.chunks = totals.chunks.saturating_add(u64::from(head.chunks));
    totals.text_tokens = totals.text_tokens.saturating_add(head.text_tokens);
    totals.summaries = totals.summaries.saturating_add(u64::from(head.summaries));
    totals.summary_tokens = totals.summary_tokens.saturating_add(head.summary_tokens);
    totals.entities = totals.entities.saturating_add(u64::from(head.entities));
    for (total, tokens) in totals.entity_tokens.iter_mut().zip(head.entity_tokens) {
        *total = total.saturating_add(tokens);
    }
}
