//! Writing what was found into the new index, and noting what could not be.

use super::documents::{Documents, Found, information, loss, runs};
use super::fragments::{each_fragment, each_homeless};
use super::memory::{each_entity, shown};
use super::outlines::Outlines;
use super::placeholder;
use super::remains::{LostKeys, Remains};
use super::report::{Loss, Salvaged};
use super::trees::{Tree, Trees};
use crate::index::check_dependents::shown_keys;
use crate::index::documents::{NewChunk, Origin};
use crate::index::options::MemoryScope;
use crate::index::outline::{Compiled, DEFAULT_BUDGET};
use crate::index::records::kind_of;
use crate::index::writer::Writer;
use crate::ingest::{Category, RecordUpdate};
use crate::search::Limits;
use crate::store::Scan;
use crate::text::Chunker;
use crate::{Error, Result};
use plica_format::fold::cover;
use plica_format::key::{self, RecordKey};
use plica_format::outline::Subject;
use plica_format::page::Parameters;
use plica_format::record::RecordRow;
use std::collections::BTreeMap;

/// Whether a range of keys holds anything that is not made anew from what else is there.
fn is_told_once(lost: &LostKeys) -> bool {
    const KINDS: [u8; 11] = [
        key::DOCUMENT,
        key::REPLACEMENT,
        key::CHUNK_PLACES,
        key::CHUNK_TEXTS,
        key::CHUNK_ENTITIES,
        key::ENTITY_PART,
        key::ENTITY_ROWS,
        key::OUTLINE,
        key::CATEGORY,
        key::PAGE_SUMMARY,
        key::RECORD,
    ];
    KINDS.into_iter().any(|kind| lost.meets(&[kind], &[kind, u8::MAX, u8::MAX]))
}

/// Placeholders for lost chunks: at most one for so many bytes of the damaged file, and some more.
const PLACEHOLDER_BYTES: u64 = 64;

/// A salvage at work.
pub(super) struct Salvage<'a> {
    scan: &'a Scan,
    remains: &'a Remains,
    parameters: &'a Parameters,
    writer: &'a mut Writer,
    report: &'a mut Salvaged,
    limits: &'a Limits,
    placeholders: u64,
    /// What the metadata of documents is to say.
    marks: BTreeMap<u32, Marks>,
}

/// Ordinals of chunks of a document.
#[derive(Debug, Default)]
struct Marks {
    lost: Vec<u32>,
    unvouched: Vec<u32>,
    is_unvouched: bool,
}

/// What a writer refuses because of its content is noted; any other error ends the salvage.
fn refused(error: Error) -> Result<String> {
    match error {
        Error::Invalid { .. } | Error::Limit { .. } | Error::NotFound { .. } => Ok(error.to_string()),
        other => Err(other),
    }
}

impl<'a> Salvage<'a> {
    pub(super) fn new(
        scan: &'a Scan,
        remains: &'a Remains,
        parameters: &'a Parameters,
        writer: &'a mut Writer,
        report: &'a mut Salvaged,
        limits: &'a Limits,
    ) -> Self {
        let placeholders = scan.length / PLACEHOLDER_BYTES + 1000;
        Self { scan, remains, parameters, writer, report, limits, placeholders, marks: BTreeMap::new() }
    }

    pub(super) fn run(mut self) -> Result<()> {
        let mut documents = Documents::read(self.remains)?;
        let mut trees = Trees::new(self.remains, &self.scan.sound, self.parameters.fanout);
        let numbers: Vec<u32> = documents.found.keys().copied().collect();
        for &number in &numbers {
            self.limits.check()?;
            if let Some(found) = documents.found.get(&number).cloned() {
                self.document(&mut documents, &mut trees, number, &found)?;
            }
        }
        let lost_texts = self.fragments(&mut documents)?;
        self.entities(&mut documents)?;
        let mut outlines = Outlines::new(self.remains, &self.scan.sound);
        for &number in &numbers {
            self.limits.check()?;
            if let Some(found) = documents.found.get(&number) {
                self.outline(&mut outlines, number, &found.id.clone())?;
            }
        }
        self.records(&documents)?;
        for &number in &numbers {
            if let Some(found) = documents.found.get(&number) {
                self.finish(number, found)?;
            }
        }
        if let Some(id) = lost_texts {
            self.writer.publish(&id)?;
        }
        for lost in &self.remains.lost {
            if is_told_once(lost) {
                let detail =
                    format!("{}, in a block at offset {}", shown_keys(&lost.from, lost.to.as_deref()), lost.offset);
                self.report.lost.push(loss("", "keys", detail));
            }
        }
        if let Some(later) = self.scan.later_commit() {
            let detail =
                format!("those up to commit {later}, which a head slot names, where they are not told of here");
            self.report.lost.push(loss("", "commits", detail));
        }
        self.writer.commit()?;
        self.report.lost.sort();
        self.report.lost.dedup();
        self.report.unvouched.sort();
        Ok(())
    }

    /// Writes what is text of nobody knows what, and gives the id of the document that it is put into.
    fn fragments(&mut self, documents: &mut Documents) -> Result<Option<String>> {
        let end = match (self.scan.is_newest, &self.scan.newest) {
            (true, Some(head)) => head.end,
            _ => self.scan.length,
        };
        let taken = |id: &str| documents.found.values().any(|found| found.id == id);
        let ids = std::iter::once("lost-texts".to_owned()).chain((2..).map(|at| format!("lost-texts ({at})")));
        let Some(id) = ids.into_iter().find(|id| !taken(id)) else { return Ok(None) };
        let chunker = Chunker::new(self.parameters.chunk_words);
        let note = r#"{"salvage":{"unvouched_document":true}}"#;
        let (mut chunks, mut gone) = (0, 0);
        each_homeless(self.remains, documents, |content| {
            self.limits.check()?;
            let Some((title, text, external_id)) = content else {
                gone += 1;
                return Ok(());
            };
            if chunks == 0 {
                self.writer.add_document(&id, "", note)?;
            }
            self.append(&id, chunks, &NewChunk { title, external_id, ..NewChunk::text(text) })?;
            chunks += 1;
            Ok(())
        })?;
        if gone > 0 {
            self.lose(loss("", "chunk", format!("{gone} texts, of which nothing says the document or the place")));
        }
        let whole = chunks;
        each_fragment(self.remains, &self.scan.sound, end, |fragment| {
            self.limits.check()?;
            if chunks == 0 {
                self.writer.add_document(&id, "", note)?;
            }
            for text in chunker.chunks(fragment) {
                self.writer.give_chunk(&id, &NewChunk::text(text), None)?;
                chunks += 1;
            }
            Ok(())
        })?;
        if chunks == 0 {
            return Ok(None);
        }
        self.report.documents += 1;
        self.report.chunks += u64::from(chunks);
        let mut unvouched = |first: u32, end: u32, detail: &str| {
            if first < end {
                self.report.unvouched.push(Loss { chunks: vec![(first, end - 1)], ..loss(&id, "chunk", detail) });
            }
        };
        unvouched(0, whole, "their texts; nothing says any more which document they are of");
        let detail =
            "their texts, cut anew; nothing says any more which document they are of, nor where its chunks began";
        unvouched(whole, chunks, detail);
        Ok(Some(id))
    }

    fn lose(&mut self, loss: Loss) {
        self.report.lost.push(loss);
    }

    fn document(&mut self, documents: &mut Documents, trees: &mut Trees<'_>, number: u32, found: &Found) -> Result<()> {
        let tree = trees.read(documents, number, found)?;
        let id = found.id.as_str();
        let (mut title, mut metadata) = (String::new(), String::new());
        match &found.head {
            Some(head) => {
                let (information, is_whole) = information(self.remains, head)?;
                title = if head.title.is_empty() { information.title } else { head.title.clone() };
                metadata = information.metadata;
                if !is_whole {
                    self.lose(loss(id, "metadata", "the block of the title and the metadata"));
                }
                if !found.is_vouched {
                    self.report.unvouched.push(loss(id, "document", "its head"));
                }
            }
            None => self.lose(loss(id, "document", "its head, with title and metadata")),
        }
        if let Err(error) = self.writer.add_document(id, &title, &metadata) {
            let why = refused(error)?;
            self.lose(loss(id, "metadata", why));
            self.writer.add_document(id, "", "")?;
        }
        self.report.documents += 1;
        let mut marks = Marks { is_unvouched: !found.is_vouched, ..Marks::default() };
        self.chunks(documents, number, found, &tree, &mut marks)?;
        self.tree(id, tree)?;
        for (chunks, list, what) in [
            (&marks.lost, &mut self.report.lost, "their texts; they keep their places, empty"),
            (&marks.unvouched, &mut self.report.unvouched, "their texts"),
        ] {
            if !chunks.is_empty() {
                list.push(Loss { chunks: runs(chunks), ..loss(id, "chunk", what) });
            }
        }
        self.marks.insert(number, marks);
        Ok(())
    }

    fn chunks(
        &mut self,
        documents: &mut Documents,
        number: u32,
        found: &Found,
        tree: &Tree,
        marks: &mut Marks,
    ) -> Result<()> {
        let id = found.id.as_str();
        // Behind the last chunk that is there, places are kept for what summaries cover.
        let covered = tree.summaries.keys().filter_map(|&(level, index)| {
            let chunks = cover(self.parameters.fanout, level)?;
            chunks.checked_mul(index.checked_add(1)?)
        });
        let kept = covered.max().unwrap_or_default().min(found.chunks);
        let last = (0..found.chunks).rev().take(1 << 20).find(|&ordinal| documents.chunk(number, ordinal).is_some());
        let kept = kept.max(last.map_or(0, |last| last + 1));
        for ordinal in 0..kept {
            if ordinal % 64 == 0 {
                self.limits.check()?;
            }
            let place = documents.chunk(number, ordinal);
            let text = match place {
                Some((chunk, _)) => documents.text(self.remains, chunk)?,
                None => None,
            };
            let Some((title, content)) = text.as_ref().and_then(|text| text.content.as_ref()) else {
                let Some(left) = self.placeholders.checked_sub(1) else {
                    self.lose(loss(id, "chunk", format!("all from {ordinal} on, with their places")));
                    return Ok(());
                };
                self.placeholders = left;
                marks.lost.push(ordinal);
                let row = text.as_ref().map(|text| &text.row);
                let external_id = row.and_then(|row| row.external_id.as_deref());
                let span = row.and_then(|row| row.span);
                self.append(id, ordinal, &NewChunk { external_id, span, ..placeholder() })?;
                continue;
            };
            let text_is_vouched = text.as_ref().is_some_and(|text| text.is_vouched);
            if !(text_is_vouched && place.is_some_and(|(_, is_vouched)| is_vouched)) {
                marks.unvouched.push(ordinal);
            }
            let row = text.as_ref().map(|text| &text.row);
            let external_id = row.and_then(|row| row.external_id.as_deref());
            let span = row.and_then(|row| row.span);
            self.append(id, ordinal, &NewChunk { title, text: content, external_id, span })?;
            self.report.chunks += 1;
        }
        if kept < found.chunks {
            let detail = "their texts and places; the document ends before them";
            self.lose(Loss { chunks: vec![(kept, found.chunks - 1)], ..loss(id, "chunk", detail) });
        }
        Ok(())
    }

    fn append(&mut self, id: &str, ordinal: u32, chunk: &NewChunk<'_>) -> Result<()> {
        if let Err(error) = self.writer.give_chunk(id, chunk, None) {
            let why = refused(error)?;
            self.lose(Loss { chunks: vec![(ordinal, ordinal)], ..loss(id, "chunk id or span", why) });
            self.writer.give_chunk(id, &NewChunk { external_id: None, span: None, ..*chunk }, None)?;
        }
        Ok(())
    }

    fn tree(&mut self, id: &str, tree: Tree) -> Result<()> {
        for ((level, index), summary) in tree.summaries {
            let which = format!("level {level}, {index}");
            match self.writer.set_summary(id, level, index, &summary.text, Origin::Given) {
                Ok(()) => {
                    self.report.summaries += 1;
                    if !summary.is_whole {
                        self.lose(loss(
                            id,
                            "summary",
                            format!("{which}: part of it, which quotes a chunk that is lost"),
                        ));
                    }
                    if !summary.is_vouched {
                        self.report.unvouched.push(loss(id, "summary", which));
                    }
                }
                Err(error) => {
                    let why = refused(error)?;
                    self.lose(loss(id, "summary", format!("{which}: {why}")));
                }
            }
        }
        for (level, first, count) in tree.lost {
            let detail = match level {
                u8::MAX => "those that no page has any more".to_owned(),
                level => format!("those below level {level} that no other page has"),
            };
            let chunks = vec![(first, first.saturating_add(count).saturating_sub(1))];
            self.lose(Loss { chunks, ..loss(id, "summary", detail) });
        }
        Ok(())
    }

    fn entities(&mut self, documents: &mut Documents) -> Result<()> {
        let remains = self.remains;
        each_entity(remains, documents, |documents, entity| {
            self.limits.check()?;
            let name = entity.told.first().map(|told| told.update.name.clone()).unwrap_or_default();
            let own = documents.found.get(&entity.scope).map(|found| found.id.clone()).unwrap_or_default();
            let mut written = false;
            for told in &entity.told {
                let id = told.document.and_then(|number| documents.found.get(&number)).map(|found| found.id.as_str());
                if id.is_none() && self.parameters.memory == MemoryScope::Document {
                    continue;
                }
                let number = id.map(|id| self.writer.number(id)).transpose()?;
                let given = self.writer.give_entity(number, &told.update);
                let row = match given {
                    Ok((row, _)) => row,
                    Err(error) => {
                        let why = refused(error)?;
                        self.lose(loss(&own, "entity", format!("{name}: {why}")));
                        continue;
                    }
                };
                written = true;
                for &(document, ordinal) in &told.chunks {
                    let Some(id) = documents.found.get(&document).map(|found| found.id.as_str()) else { continue };
                    let number = self.writer.number(id)?;
                    if self.writer.head_of(number)?.chunks > ordinal {
                        let chunk = self.writer.chunk_id(number, ordinal)?;
                        self.writer.give_link(row, chunk, false)?;
                    }
                }
            }
            self.report.entities += u64::from(written);
            if !entity.lost.is_empty() {
                self.lose(loss(&own, "entity", format!("{name}: {}", entity.lost.join("; "))));
            }
            if !entity.is_vouched {
                self.report.unvouched.push(loss(&own, "entity", name));
            }
            Ok(())
        })
    }

    fn outline(&mut self, outlines: &mut Outlines<'_>, number: u32, id: &str) -> Result<()> {
        let Some(outline) = outlines.read(number)? else { return Ok(()) };
        let head = &outline.head;
        let mut problems = Vec::new();
        let mut note = |result: Result<bool>, what: &str| -> Result<bool> {
            match result {
                Ok(_) => Ok(true),
                Err(error) => {
                    problems.push(format!("{what}: {}", refused(error)?));
                    Ok(false)
                }
            }
        };
        if head.budget != 0 && head.budget != DEFAULT_BUDGET {
            note(self.writer.set_outline_budget(id, head.budget).map(|()| true), "the page budget")?;
        }
        for row in outline.categories.iter().filter(|row| row.path.is_empty() || row.position != u32::MAX) {
            if row.path.is_empty() && row.title.is_empty() && row.summary.is_empty() {
                continue;
            }
            let (summary, fields) = (row.summary.clone(), row.fields.clone());
            let category = Category { path: row.path.clone(), summary, fields };
            note(self.writer.add_category(id, &category, &row.title), &row.path.join(" / "))?;
        }
        let (mut written, mut broken, mut unvouched) = (0, Vec::new(), Vec::new());
        for found in outline.subjects {
            let path =
                found.category.iter().chain([&found.subject.name]).map(String::as_str).collect::<Vec<_>>().join(" / ");
            if !found.is_whole {
                broken.push(format!("{path}: some of its values"));
            }
            // A value that has only its place is refused where that is lost; an empty subject is none.
            let Subject { name, summary, .. } = &found.subject;
            let bare = Subject { name: name.clone(), summary: summary.clone(), ..Subject::default() };
            if note(self.writer.give_subject(id, &found.category, &found.subject), &path)?
                || note(self.writer.give_subject(id, &found.category, &bare), &path)?
            {
                written += 1;
                if !found.is_vouched {
                    unvouched.push(path);
                }
            }
        }
        let state = Compiled {
            discovered: head.discovered,
            compiled: head.compiled.min(self.writer.text_bytes(id)?),
            extracted: head.extracted.min(self.writer.head_of(self.writer.number(id)?)?.chunks),
            context: head.context.clone(),
            calls: head.calls,
        };
        let document = self.writer.number(id)?;
        note(self.writer.set_compiled(document, &state), "how far it is compiled")?;
        for (hash, summary) in &outline.summaries {
            note(self.writer.give_page_summary(id, hash, summary), "the summary of a page")?;
        }
        self.report.subjects += written;
        let nameless =
            outline.may_lose_more.then(|| "those of lost pages whose names are lost, too, if any".to_owned());
        let lost = problems.into_iter().chain(broken).chain(outline.lost).chain(nameless);
        self.report.lost.extend(lost.map(|detail| loss(id, "subject", detail)));
        self.report.unvouched.extend(unvouched.into_iter().map(|path| loss(id, "subject", path)));
        Ok(())
    }

    fn records(&mut self, documents: &Documents) -> Result<()> {
        let remains = self.remains;
        // Rows that stand, by the list of their documents; those that are not met are lost.
        let mut lost: BTreeMap<u32, u64> = BTreeMap::new();
        remains.each_newest(
            &[key::RECORD_OF_DOCUMENT],
            |_, value| Ok(!value.is_empty()),
            |key, stands, _| {
                if let (true, Some((record, _))) = (stands, RecordKey::parse(key)) {
                    let row = remains.values(&record.row())?.pop();
                    if row.is_none_or(|row| row.value.is_empty()) {
                        *lost.entry(record.document).or_default() += 1;
                    }
                }
                Ok(())
            },
        )?;
        for (number, count) in lost {
            if let Some(found) = documents.found.get(&number) {
                let detail = format!("{count} records whose rows are gone");
                self.report.lost.push(loss(&found.id, "record", detail));
            }
        }
        remains.each(&[key::RECORD], |key, values| {
            self.limits.check()?;
            let Some((record, _)) = RecordKey::parse(key) else { return Ok(()) };
            let Some(newest) = values.last().filter(|found| !found.value.is_empty()) else { return Ok(()) };
            let Some(found) = documents.found.get(&record.document) else { return Ok(()) };
            let row = match RecordRow::decode(&newest.value) {
                Ok(row) => row,
                Err(error) => return remains.note(super::remains::wrong_value(key)(error)),
            };
            let number = self.writer.number(&found.id)?;
            let written = self.writer.head_of(number)?.chunks;
            let ordinals: Vec<u32> = row
                .chunks
                .iter()
                .filter_map(|&chunk| documents.place(chunk))
                .filter(|&(document, ordinal)| document == record.document && ordinal < written)
                .map(|(_, ordinal)| ordinal)
                .collect();
            let (label, value) = row.condition;
            let has_condition = !label.is_empty() || !value.is_empty();
            let update = RecordUpdate {
                entity: row.entity.to_owned(),
                entity_type: row.entity_type.to_owned(),
                kind: kind_of(row.kind),
                label: row.label.to_owned(),
                coarse: row.coarse.to_owned(),
                value: row.value.to_owned(),
                condition: has_condition.then(|| (label.to_owned(), value.to_owned())),
                valid: row.valid.to_owned(),
            };
            let what = || format!("{} / {} / {}", row.entity, row.label, row.value);
            if ordinals.len() < row.chunks.len() {
                let detail = format!("{}: {} of its chunks", what(), row.chunks.len() - ordinals.len());
                self.report.lost.push(loss(&found.id, "record", detail));
            }
            match self.writer.add_record(&found.id, &update, &ordinals) {
                Ok(_) => {
                    self.report.records += 1;
                    if !newest.is_vouched {
                        self.report.unvouched.push(loss(&found.id, "record", what()));
                    }
                }
                Err(error) => {
                    let why = refused(error)?;
                    self.report.lost.push(loss(&found.id, "record", format!("{}: {why}", what())));
                }
            }
            Ok(())
        })
    }

    /// Says in the metadata of a document what is to be known of it, and lets readers see it if they did.
    fn finish(&mut self, number: u32, found: &Found) -> Result<()> {
        let marks = self.marks.remove(&number).unwrap_or_default();
        if !marks.lost.is_empty() || !marks.unvouched.is_empty() || marks.is_unvouched {
            let (title, metadata) = self.writer.described(&found.id)?;
            let mut object: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(&metadata).unwrap_or_default();
            let (lost, unvouched) = (runs(&marks.lost), runs(&marks.unvouched));
            let mut note = serde_json::json!({ "lost_chunks": lost, "unvouched_chunks": unvouched });
            if marks.is_unvouched {
                note["unvouched_document"] = true.into();
            }
            object.insert("salvage".to_owned(), note);
            let whole = serde_json::Value::Object(object.clone()).to_string();
            if let Err(error) = self.writer.describe(&found.id, &title, &whole) {
                refused(error)?;
                let short =
                    serde_json::json!({ "lost_chunks": marks.lost.len(), "unvouched_chunks": marks.unvouched.len() });
                object.insert("salvage".to_owned(), short);
                let whole = serde_json::Value::Object(object).to_string();
                if let Err(error) = self.writer.describe(&found.id, &title, &whole) {
                    let why = refused(error)?;
                    self.lose(loss(
                        &found.id,
                        "metadata",
                        format!("the note of this salvage: {why}; {}", shown(&lost)),
                    ));
                }
            }
        }
        if found.is_live {
            self.writer.publish(&found.id)?;
        } else if self.parameters.memory == MemoryScope::Index {
            // An index-wide memory cannot hold what is not published.
            self.report.unvouched.push(loss(&found.id, "document", "it was not published before, and is now"));
            self.writer.publish(&found.id)?;
        }
        Ok(())
    }
}
