//! Outline lines: categories, subjects, and the summaries that pages were given.
//!
//! A line with `"category":true` names a category, with what belongs into it and the names of the fields to record; the
//! one with the empty path is the root, with the outline's title and overview, the page budget where it is not the usual one, and how
//! far the document was compiled. Any other outline line is a subject: a category path and a name.

use super::export::write;
use super::import::Import;
use super::line::at;
use crate::index::Snapshot;
use crate::index::outline::{Compiled, DEFAULT_BUDGET, NodesMet, page_hash};
use crate::ingest::Category;
use crate::{Error, Result};
use plica_format::document::DocumentHead;
use plica_format::outline::{Field, Item, Path, Subject, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;

/// A subject is continued on a further line when its values pass this many bytes.
const SUBJECT_LINE_BYTES: usize = 4 << 20;

/// An outline line, as it is read and written.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutlineLine {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    pub(super) doc: String,
    path: Path,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    category: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fields: Option<Vec<FieldLine>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    links: Option<Vec<Path>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    discovered: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compiled: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    extracted: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<String>,
}

/// A value of a field; of a category, a field's name alone.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldLine {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<u64>,
}

/// The summary that a page was given.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PageSummaryLine {
    #[serde(rename = "type")]
    kind: String,
    pub(super) doc: String,
    hash: String,
    summary: String,
}

fn line(doc: &str, path: &[String]) -> OutlineLine {
    OutlineLine { kind: "outline".into(), doc: doc.to_owned(), path: path.to_vec(), ..OutlineLine::default() }
}

fn said(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// Writes the outline of a document.
pub(super) fn export_outline(snapshot: &Snapshot, head: &DocumentHead, out: &mut impl Write) -> Result<()> {
    let view = snapshot.view();
    let Some(of) = view.outline_head(head.number)? else { return Ok(()) };
    let categories = view.categories(head.number)?;
    let root = categories.iter().find(|row| row.path.is_empty()).cloned().unwrap_or_default();
    let top = OutlineLine {
        category: Some(true),
        title: said(&root.title),
        summary: said(&root.summary),
        budget: Some(of.budget).filter(|&budget| budget != DEFAULT_BUDGET),
        discovered: of.discovered.then_some(true),
        compiled: Some(of.compiled).filter(|&compiled| compiled > 0),
        extracted: Some(of.extracted).filter(|&extracted| extracted > 0),
        context: said(&of.context),
        ..line(&head.id, &[])
    };
    write(out, &top)?;
    // Those that only came with a subject come again with it.
    for row in categories.iter().filter(|row| !row.path.is_empty() && row.position != u32::MAX) {
        let fields = row.fields.iter().map(|name| FieldLine { name: name.clone(), ..FieldLine::default() });
        let category = OutlineLine {
            category: Some(true),
            summary: said(&row.summary),
            fields: Some(fields.collect::<Vec<_>>()).filter(|fields| !fields.is_empty()),
            ..line(&head.id, &row.path)
        };
        write(out, &category)?;
    }
    let Some(outline) = view.outline(head.number)? else { return Ok(()) };
    let mut summaries = BTreeMap::new();
    let Some(root) = outline.root_node()? else { return Ok(()) };
    let mut waiting = vec![root];
    let mut met = NodesMet::default();
    while let Some(node) = waiting.pop() {
        met.meet(&node)?;
        let mut below = Vec::new();
        let mut large = Vec::new();
        outline.each_page(&node, &mut |page| {
            let hash = page_hash(page, node.is_subject, outline.shares());
            if let Some(summary) = view.page_summary(head.number, &hash)? {
                summaries.insert(hash, summary);
            }
            Ok(())
        })?;
        if node.is_subject {
            continue;
        }
        outline.each_item(&node, &mut |item| {
            match item {
                Item::Category { .. } => below.extend(outline.node_of(&node, item)?),
                item => {
                    large.extend(outline.node_of(&node, item.clone())?);
                    if let Some(subject) = outline.whole(&node, item)? {
                        export_subject(&head.id, &node.path, &subject, out)?;
                    }
                }
            }
            Ok(())
        })?;
        waiting.extend(below.into_iter().rev());
        waiting.extend(large);
    }
    for (hash, summary) in summaries {
        let hash = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        write(out, &PageSummaryLine { kind: "page_summary".into(), doc: head.id.clone(), hash, summary })?;
    }
    Ok(())
}

fn export_subject(doc: &str, category: &[String], subject: &Subject, out: &mut impl Write) -> Result<()> {
    let path: Path = category.iter().cloned().chain([subject.name.clone()]).collect();
    let mut now = OutlineLine {
        summary: said(&subject.summary),
        links: Some(subject.links.clone()).filter(|links| !links.is_empty()),
        ..line(doc, &path)
    };
    let (mut fields, mut bytes) = (Vec::new(), 0);
    for field in &subject.fields {
        for value in &field.values {
            if bytes > SUBJECT_LINE_BYTES {
                now.fields = Some(std::mem::take(&mut fields));
                write(out, &now)?;
                (now, bytes) = (line(doc, &path), 0);
            }
            bytes += field.name.len() + value.text.len() + 64;
            let (start, end) = value.span.unzip();
            fields.push(FieldLine { name: field.name.clone(), value: said(&value.text), start, end });
        }
    }
    now.fields = Some(fields).filter(|fields| !fields.is_empty());
    write(out, &now)
}

impl Import<'_, '_> {
    /// Takes an outline line of a document that is known. One with places in text that has not come yet waits until the
    /// lines end, so that what it adds does not depend on when commits are made.
    pub(super) fn outline(&mut self, number: u64, line: OutlineLine, bytes: usize) -> Result<()> {
        let (document, _) = self.known(&line.doc)?;
        if self.lacks(document, &line)?.is_some() {
            return self.held.hold_outline(number, line, bytes);
        }
        self.take_outline(document, line)
    }

    /// Takes the outline lines that waited.
    pub(super) fn late_outlines(&mut self) -> Result<()> {
        for (number, line) in self.held.take_outlines() {
            let (document, _) = self.known(&line.doc).map_err(at(number))?;
            if let Some(lack) = self.lacks(document, &line)? {
                return Err(at(number)(Error::invalid(lack)));
            }
            self.take_outline(document, line).map_err(at(number))?;
        }
        Ok(())
    }

    /// What a line speaks of that has not come, where there is something.
    fn lacks(&mut self, document: u32, line: &OutlineLine) -> Result<Option<String>> {
        let place = line.fields.iter().flatten().filter_map(|field| field.end).max().unwrap_or_default();
        let (compiled, extracted) = (line.compiled.unwrap_or_default(), line.extracted.unwrap_or_default());
        if place > 0 && place > self.source_end(document)? {
            let there = self.source_end(document)?;
            return Ok(Some(format!("a place at byte {place} of a source that has {there} bytes")));
        }
        if compiled == 0 && extracted == 0 {
            return Ok(None);
        }
        let (_, chunks) = self.known(&line.doc)?;
        let bytes = self.writer.text_bytes(&line.doc)?;
        Ok((compiled > bytes || extracted > chunks).then(|| {
            format!("{compiled} bytes and {extracted} chunks are said to be compiled, of a text of {bytes} bytes in {chunks} chunks")
        }))
    }

    /// Where the source of a document ends by now.
    fn source_end(&mut self, document: u32) -> Result<u64> {
        if let Some(&end) = self.ends.get(&document) {
            return Ok(end);
        }
        let end = self.writer.source_end(document)?;
        self.ends.insert(document, end);
        Ok(end)
    }

    fn take_outline(&mut self, document: u32, mut line: OutlineLine) -> Result<()> {
        let doc = std::mem::take(&mut line.doc);
        let is_category = line.category.unwrap_or(line.path.is_empty());
        let of_root = line.path.is_empty() && is_category;
        for (key, there) in [
            ("title", line.title.is_some()),
            ("budget", line.budget.is_some()),
            ("discovered", line.discovered.is_some()),
            ("compiled", line.compiled.is_some()),
            ("extracted", line.extracted.is_some()),
            ("context", line.context.is_some()),
        ] {
            if there && !of_root {
                return Err(Error::invalid(format!("{key:?} belongs to the line of the root, whose path is empty")));
            }
        }
        let changed = match is_category {
            true => self.category(&doc, document, line)?,
            false => self.subject(&doc, line)?,
        };
        match changed {
            true => self.imported.outline += 1,
            false => self.imported.skipped += 1,
        }
        Ok(())
    }

    fn category(&mut self, doc: &str, document: u32, line: OutlineLine) -> Result<bool> {
        if line.links.is_some() {
            return Err(Error::invalid("a category has no links"));
        }
        let fields = line.fields.unwrap_or_default();
        if fields.iter().any(|field| field.value.is_some() || field.start.is_some() || field.end.is_some()) {
            return Err(Error::invalid("a category has names of fields, and no values"));
        }
        let mut changed = line.path.is_empty() && self.writer.begin_outline(document)?;
        if let Some(budget) = line.budget {
            changed |= self.writer.outline_budget(doc)? != budget;
            self.writer.set_outline_budget(doc, budget)?;
        }
        if !line.path.is_empty() || line.title.is_some() || line.summary.is_some() {
            let category = Category {
                path: line.path,
                summary: line.summary.unwrap_or_default(),
                fields: fields.into_iter().map(|field| field.name).collect(),
            };
            changed |= self.writer.add_category(doc, &category, line.title.as_deref().unwrap_or_default())?;
        }
        let before = self.writer.compiled(document)?;
        let state = Compiled {
            discovered: before.discovered || line.discovered.unwrap_or_default(),
            compiled: before.compiled.max(line.compiled.unwrap_or_default()),
            extracted: before.extracted.max(line.extracted.unwrap_or_default()),
            context: line.context.unwrap_or(before.context),
            calls: before.calls,
        };
        Ok(self.writer.set_compiled(document, &state)? || changed)
    }

    fn subject(&mut self, doc: &str, line: OutlineLine) -> Result<bool> {
        let (category, subject) = subject_of(line)?;
        self.writer.give_subject(doc, &category, &subject)
    }

    /// Takes the summary that a page was given.
    pub(super) fn page_summary(&mut self, line: PageSummaryLine) -> Result<()> {
        self.known(&line.doc)?;
        let hash = hash_of(&line.hash).ok_or_else(|| {
            Error::invalid(format!("the hash of a page is 32 hexadecimal figures, got {:?}", line.hash))
        })?;
        match self.writer.give_page_summary(&line.doc, &hash, &line.summary)? {
            true => self.imported.outline += 1,
            false => self.imported.skipped += 1,
        }
        Ok(())
    }
}

/// The category path and the subject that a line says.
fn subject_of(line: OutlineLine) -> Result<(Path, Subject)> {
    let Some((name, category)) = line.path.split_last().filter(|(_, category)| !category.is_empty()) else {
        return Err(Error::invalid(
            "the path of a subject is a category and its name; a category itself has \"category\":true",
        ));
    };
    let mut subject = Subject {
        name: name.clone(),
        summary: line.summary.unwrap_or_default(),
        fields: Vec::new(),
        links: line.links.unwrap_or_default(),
    };
    for field in line.fields.unwrap_or_default() {
        let span = match (field.start, field.end) {
            (None, None) => None,
            (Some(start), Some(end)) => Some((start, end)),
            _ => return Err(Error::invalid("\"start\" and \"end\" come together or not at all")),
        };
        let text = field.value.unwrap_or_default();
        if text.is_empty() && span.is_none() {
            return Err(Error::invalid(format!("field {:?} has neither a value nor its place", field.name)));
        }
        match subject.fields.last_mut().filter(|before| before.name == field.name) {
            Some(before) => before.values.push(Value { text, span }),
            None => subject.fields.push(Field { name: field.name, values: vec![Value { text, span }] }),
        }
    }
    Ok((category.to_vec(), subject))
}

/// Reads an outline line by itself: category path and subject. `"type"` and `"doc"` may be left out.
///
/// ```
/// let line = r#"{"path":["People","Ann"],"summary":"Keeps the light.","fields":[{"name":"age","value":"40"}]}"#;
/// let (category, subject) = plica::interchange::subject(line)?;
/// assert_eq!((category[0].as_str(), subject.name.as_str()), ("People", "Ann"));
/// # Ok::<(), plica::Error>(())
/// ```
pub fn subject(line: &str) -> Result<(Vec<String>, Subject)> {
    let line: OutlineLine = super::line::parse(line.trim())?;
    if !matches!(line.kind.as_str(), "" | "outline") || line.category == Some(true) {
        return Err(Error::invalid("expected the outline line of a subject"));
    }
    subject_of(line)
}

fn hash_of(text: &str) -> Option<[u8; 16]> {
    let mut hash = [0; 16];
    if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(hash)
}
