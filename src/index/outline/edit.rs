//! What can be done to an outline: categories, subjects, summaries of pages.

use super::order::{bounded, path_hash};
use super::pending::path_keys;
use super::render::{LEAST_BUDGET, MOST_BUDGET, Shares, path_text, tokens};
use super::summary::PageSummarizer;
use crate::index::documents::check_length;
use crate::index::writer::Writer;
use crate::ingest::Category;
use crate::text::key;
use crate::{Error, Result};
use plica_format::key as keys;
use plica_format::limits::{
    CATEGORY_FIELDS, CONTEXT_BYTES, KEY_BYTES, OUTLINE_DEPTH, PAGE_SUMMARY_BYTES, SUBJECT_LINKS, SUBJECT_VALUES,
    SUMMARY_BYTES, VALUE_BYTES,
};
use plica_format::outline::{Field, Path, Subject, Value};
use plica_format::outline_head::CategoryRow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A summarizer that a writer holds.
#[derive(Clone, Default)]
pub(in crate::index) struct Summarizer(pub(in crate::index) Option<Arc<dyn PageSummarizer + Send>>);

impl std::fmt::Debug for Summarizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Summarizer(own)" } else { "Summarizer(built-in)" })
    }
}

/// How far a document was compiled, as a compiler notes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Compiled {
    pub(crate) discovered: bool,
    pub(crate) compiled: u64,
    pub(crate) extracted: u32,
    pub(crate) context: String,
    pub(crate) calls: [u64; 4],
}

impl Writer {
    /// Summarises the pages of outlines with `summarizer` from now on, instead of the built-in one. A summary is asked
    /// for once for each content that a page has, and kept.
    pub fn summarize_pages_with(&mut self, summarizer: Arc<dyn PageSummarizer + Send>) {
        self.summarizer = Summarizer(Some(summarizer));
    }

    /// Sets the page budget of a document's outline: tokens of a page, 512 to 16,384; 2,000 unless set. It is fixed by
    /// the first subject.
    pub fn set_outline_budget(&mut self, document: &str, tokens: u32) -> Result<()> {
        if !(LEAST_BUDGET..=MOST_BUDGET).contains(&tokens) {
            return Err(Error::invalid(format!(
                "the page budget of an outline must be {LEAST_BUDGET} to {MOST_BUDGET} tokens, got {tokens}"
            )));
        }
        let number = self.number(document)?;
        let outline = self.pending_outline(number)?;
        if outline.head.budget == tokens {
            return Ok(());
        }
        if outline.head.root.is_some() || !outline.nodes.is_empty() {
            return Err(Error::invalid(format!(
                "the outline of document {document:?} has pages of {} tokens, which stays for good; leave the budget out",
                outline.head.budget
            )));
        }
        outline.head.budget = tokens;
        outline.dirty = true;
        Ok(())
    }

    /// Names a category, or says more of one. The order in which categories are named first is their order in the outline;
    /// one that only came with a subject stands behind those. The empty path is the root, with the outline's title.
    pub fn add_category(&mut self, document: &str, category: &Category, title: &str) -> Result<bool> {
        self.flush_if_full()?;
        let number = self.number(document)?;
        let shares = Shares::new(self.outline_head_now(number)?.budget);
        self.check_path(&category.path, shares)?;
        let limit = u64::from(shares.summary());
        for text in [&category.summary, title] {
            check_length("the summary of a category in bytes", text, SUMMARY_BYTES)?;
            check_tokens("the summary of a category in tokens", text, limit)?;
        }
        if category.fields.len() > CATEGORY_FIELDS {
            return Err(Error::Limit {
                what: "the fields of a category",
                limit: CATEGORY_FIELDS as u64,
                got: category.fields.len() as u64,
            });
        }
        for name in &category.fields {
            check_name("the name of a field", name, shares)?;
        }
        let before = self.view().category(number, &category.path)?;
        let position = match &before {
            Some(row) if row.position != u32::MAX => row.position,
            // The root is no category.
            _ if category.path.is_empty() => 0,
            _ => self.next_position(number)?,
        };
        let path = self.spelled(number, &category.path)?;
        let said = |new: &str, old: Option<&String>| match (new, old) {
            ("", Some(old)) => old.clone(),
            (new, _) => new.to_owned(),
        };
        let row = CategoryRow {
            path,
            position,
            title: said(title, before.as_ref().map(|row| &row.title)),
            summary: said(&category.summary, before.as_ref().map(|row| &row.summary)),
            fields: match &before {
                Some(row) if category.fields.is_empty() => row.fields.clone(),
                _ => category.fields.clone(),
            },
        };
        if before.as_ref() == Some(&row) {
            return Ok(false);
        }
        for depth in 1..category.path.len() {
            self.ensure_category(number, category.path.get(..depth).unwrap_or_default())?;
        }
        self.put_category(number, &row);
        if row.position != u32::MAX && !row.path.is_empty() {
            let outline = self.pending_outline(number)?;
            outline.next_position = outline.next_position.map(|next| next.max(row.position + 1));
        }
        let outline = self.pending_outline(number)?;
        outline.dirty = true;
        if !row.path.is_empty() {
            let node = outline.nodes.entry(path_keys(&row.path)).or_default();
            node.path = row.path;
            node.was = node.was.take().or(before);
        }
        Ok(true)
    }

    fn put_category(&mut self, document: u32, row: &CategoryRow) {
        let mut value = Vec::new();
        row.encode(&mut value);
        self.delta.put(keys::hashed(keys::CATEGORY, document, &path_hash(&row.path)), value);
    }

    /// The place of the next category that is named.
    fn next_position(&mut self, document: u32) -> Result<u32> {
        if let Some(next) = self.pending_outline(document)?.next_position {
            return Ok(next);
        }
        let rows = self.view().categories(document)?;
        let named = rows.iter().filter(|row| row.position != u32::MAX && !row.path.is_empty());
        let next = named.map(|row| row.position + 1).max().unwrap_or(0);
        self.pending_outline(document)?.next_position = Some(next);
        Ok(next)
    }

    /// A path with each name as it was first spelled.
    fn spelled(&self, document: u32, path: &[String]) -> Result<Path> {
        for depth in (0..=path.len()).rev() {
            let (known, rest) = path.split_at(depth);
            if let Some(row) = self.view().category(document, known)? {
                return Ok(row.path.into_iter().chain(rest.iter().cloned()).collect());
            }
        }
        Ok(path.to_vec())
    }

    /// The path of a category as it was first spelled; it comes to be where it was not there.
    fn ensure_category(&mut self, document: u32, path: &[String]) -> Result<Path> {
        if let Some(row) = self.view().category(document, path)? {
            return Ok(row.path);
        }
        let row = CategoryRow { path: self.spelled(document, path)?, position: u32::MAX, ..CategoryRow::default() };
        self.put_category(document, &row);
        Ok(row.path)
    }

    fn check_path(&self, path: &[String], shares: Shares) -> Result<()> {
        if path.len() > OUTLINE_DEPTH {
            return Err(Error::Limit {
                what: "the depth of an outline's categories",
                limit: OUTLINE_DEPTH as u64,
                got: path.len() as u64,
            });
        }
        path.iter().try_for_each(|name| check_name("the name of a category", name, shares))
    }

    /// Adds a subject, or what is new in `given` to one that is there, and says whether there was something. The first
    /// summary that is not empty stays; a value that a field has already adds nothing, a different one stands beside it.
    ///
    /// # Errors
    /// [`Error::Limit`] for what does not fit its share of a page, with the share; a value that is over a quarter of a page
    /// is kept as its span, and refused without one. [`Error::Invalid`] for a place behind the end of the source.
    pub fn add_subject(&mut self, document: &str, category: &[String], given: &Subject) -> Result<bool> {
        self.check_places(document, given)?;
        self.give_subject(document, category, given)
    }

    /// Adds a subject whose places may lie in text that has not come yet.
    pub(crate) fn give_subject(&mut self, document: &str, category: &[String], given: &Subject) -> Result<bool> {
        self.flush_if_full()?;
        let number = self.number(document)?;
        let given = self.fitting(number, category, given)?;
        let before = self.subject_now(number, category, &given.name)?;
        let mut subject = before.clone().unwrap_or_else(|| Subject { name: given.name.clone(), ..Subject::default() });
        if subject.summary.is_empty() {
            subject.summary.clone_from(&given.summary);
        }
        grow(&mut subject, given);
        self.put_subject(number, category, before, subject)
    }

    /// Puts a subject in the place of the one of this name; `name` may be corrected by it. Gives whether something changed.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is none; [`Error::Invalid`] where the corrected name is another subject's.
    pub fn correct_subject(&mut self, document: &str, category: &[String], name: &str, new: &Subject) -> Result<bool> {
        self.flush_if_full()?;
        self.check_places(document, new)?;
        let number = self.number(document)?;
        let given = self.fitting(number, category, new)?;
        let mut new = Subject { name: given.name.clone(), summary: given.summary.clone(), ..Subject::default() };
        grow(&mut new, given);
        check_counts(&new)?;
        let before = self.subject_now(number, category, name)?;
        let before = before.ok_or_else(|| not_there(category, name))?;
        if key(&new.name) != key(name) {
            if self.subject_now(number, category, &new.name)?.is_some() {
                return Err(Error::invalid(format!(
                    "there is a subject {:?} already; remove it first, or add to it",
                    new.name
                )));
            }
            self.remove_subject(document, category, name)?;
            return self.put_subject(number, category, None, new);
        }
        self.put_subject(number, category, Some(before), new)
    }

    /// Refuses a subject with a place behind the end of the document's source.
    fn check_places(&mut self, document: &str, given: &Subject) -> Result<()> {
        let ends = given.fields.iter().flat_map(|field| &field.values).filter_map(|value| value.span);
        let Some(end) = ends.map(|(_, end)| end).max() else { return Ok(()) };
        let number = self.number(document)?;
        // All chunks are looked at only where their spans may say more than their texts.
        if end > self.head_of(number)?.text_bytes && end > self.source_end(number)? {
            let there = self.source_end(number)?;
            return Err(Error::invalid(format!(
                "a value of {:?} ends at byte {end} of a source that has {there} bytes",
                given.name
            )));
        }
        Ok(())
    }

    /// Takes a subject away, and says whether it was there.
    pub fn remove_subject(&mut self, document: &str, category: &[String], name: &str) -> Result<bool> {
        self.flush_if_full()?;
        let number = self.number(document)?;
        let Some(before) = self.subject_now(number, category, name)? else { return Ok(false) };
        self.put_name(number, category, name, 0);
        let outline = self.pending_outline(number)?;
        outline.head.values = outline.head.values.saturating_sub(before.values() as u64);
        self.set_subject(number, category, name, None)?;
        Ok(true)
    }

    fn put_subject(
        &mut self,
        number: u32,
        category: &[String],
        before: Option<Subject>,
        subject: Subject,
    ) -> Result<bool> {
        if before.as_ref() == Some(&subject) {
            return Ok(false);
        }
        check_counts(&subject)?;
        let values = subject.values();
        for depth in 0..=category.len() {
            self.ensure_category(number, category.get(..depth).unwrap_or_default())?;
        }
        let path = self.ensure_category(number, category)?;
        if before.is_none() {
            self.put_name(number, category, &subject.name, 1);
        }
        let outline = self.pending_outline(number)?;
        let old = before.as_ref().map_or(0, Subject::values) as u64;
        outline.head.values = outline.head.values.saturating_sub(old) + values as u64;
        let name = subject.name.clone();
        self.set_subject(number, &path, &name, Some(subject))?;
        Ok(true)
    }

    /// Notes that a category has a subject of this name (1), or has it no more (0).
    fn put_name(&mut self, document: u32, category: &[String], name: &str, there: u8) {
        let mut place = keys::subject_name(document, &bounded(name));
        place.extend_from_slice(&path_hash(category));
        self.delta.put(place, vec![there]);
    }

    /// A subject within its limits, with values that are too long for a page kept as their spans.
    fn fitting(&self, document: u32, category: &[String], given: &Subject) -> Result<Subject> {
        let shares = Shares::new(self.outline_head_now(document)?.budget);
        if category.is_empty() {
            return Err(Error::invalid(format!("subject {:?} has no category", given.name)));
        }
        self.check_path(category, shares)?;
        check_name("the name of a subject", &given.name, shares)?;
        check_length("the summary of a subject in bytes", &given.summary, SUMMARY_BYTES)?;
        check_tokens("the summary of a subject in tokens", &given.summary, u64::from(shares.summary()))?;
        let mut subject = given.clone();
        for field in &mut subject.fields {
            check_name("the name of a field", &field.name, shares)?;
            field.values.retain(|value| !value.text.is_empty() || value.span.is_some());
            for value in &mut field.values {
                if let Some((start, end)) = value.span.filter(|(start, end)| start > end) {
                    return Err(Error::invalid(format!(
                        "a value's start must not be behind its end, got {start} and {end}"
                    )));
                }
                let over = value.text.len() > VALUE_BYTES || tokens(&value.text) > shares.value();
                if over && value.span.is_none() {
                    return Err(Error::Limit {
                        what: "a value without its place in the source, in tokens (with \"start\" and \"end\" it would be kept as its span)",
                        limit: u64::from(shares.value()),
                        got: u64::from(tokens(&value.text)),
                    });
                }
                if over {
                    value.text.clear();
                }
            }
        }
        for link in &subject.links {
            if link.is_empty() || link.len() > OUTLINE_DEPTH + 1 {
                return Err(Error::invalid(format!("a link of {} names; it has a category and a subject", link.len())));
            }
            link.iter().try_for_each(|name| check_length("a name of a link in bytes", name, KEY_BYTES))?;
            check_tokens("a link in tokens", &path_text(link), u64::from(shares.value()))?;
        }
        Ok(subject)
    }

    /// Gives a page the summary that was made for it once, by the hash of its content. Gives whether that is new.
    pub(crate) fn give_page_summary(&mut self, document: &str, hash: &[u8; 16], summary: &str) -> Result<bool> {
        self.flush_if_full()?;
        let number = self.number(document)?;
        let limit = Shares::new(self.outline_head_now(number)?.budget).page_summary();
        check_length("the summary of a page in bytes", summary, PAGE_SUMMARY_BYTES)?;
        check_tokens("the summary of a page in tokens", summary, u64::from(limit))?;
        if self.view().page_summary(number, hash)?.as_deref() == Some(summary) {
            return Ok(false);
        }
        let mut value = Vec::new();
        plica_format::bytes::put_string(&mut value, summary.as_bytes());
        self.delta.put(keys::hashed(keys::PAGE_SUMMARY, number, hash), value);
        let outline = self.pending_outline(number)?;
        outline.dirty = true;
        outline.rebuild = true;
        Ok(true)
    }

    /// How far a document was compiled.
    pub(crate) fn compiled(&self, document: u32) -> Result<Compiled> {
        let head = self.outline_head_now(document)?;
        let (discovered, compiled, extracted) = (head.discovered, head.compiled, head.extracted);
        Ok(Compiled { discovered, compiled, extracted, context: head.context, calls: head.calls })
    }

    /// Notes how far a document is compiled. Gives whether that is new.
    pub(crate) fn set_compiled(&mut self, document: u32, to: &Compiled) -> Result<bool> {
        check_length("what a compiler hands on, in bytes", &to.context, CONTEXT_BYTES)?;
        if self.compiled(document)? == *to {
            return Ok(false);
        }
        let outline = self.pending_outline(document)?;
        outline.head.discovered = to.discovered;
        outline.head.compiled = to.compiled;
        outline.head.extracted = to.extracted;
        outline.head.context.clone_from(&to.context);
        outline.head.calls = to.calls;
        outline.dirty = true;
        Ok(true)
    }

    /// Lets a document have an outline, though nothing is known of it; gives whether it had none.
    pub(crate) fn begin_outline(&mut self, document: u32) -> Result<bool> {
        if self.view().outline_head(document)?.is_some() {
            return Ok(false);
        }
        let outline = self.pending_outline(document)?;
        Ok(!std::mem::replace(&mut outline.dirty, true))
    }

    /// The categories of a document's outline, as they were named; the root, with an empty path, is not among them.
    pub fn categories(&self, document: &str) -> Result<Vec<Category>> {
        let rows = self.view().categories(self.number(document)?)?;
        let rows = rows.into_iter().filter(|row| !row.path.is_empty());
        Ok(rows.map(|row| Category { path: row.path, summary: row.summary, fields: row.fields }).collect())
    }

    /// A subject of a document's outline, as it stands now.
    pub fn subject(&self, document: &str, category: &[String], name: &str) -> Result<Option<Subject>> {
        self.subject_now(self.number(document)?, category, name)
    }

    /// Tokens of a page of a document's outline.
    pub fn outline_budget(&self, document: &str) -> Result<u32> {
        Ok(self.outline_head_now(self.number(document)?)?.budget)
    }

    /// Paths of the categories that have a subject of this name.
    pub(crate) fn categories_with(&self, document: &str, name: &str) -> Result<Vec<Path>> {
        self.view().categories_of(self.number(document)?, name)
    }

    /// Subjects below a category, those that are not written yet included.
    pub(crate) fn subjects_below(&mut self, document: &str, category: &[String]) -> Result<u32> {
        let number = self.number(document)?;
        if self.outlines.get(&number).is_some_and(|outline| !outline.nodes.is_empty()) {
            self.flush()?;
        }
        Ok(self.written_outline(number)?.node(category)?.map_or(0, |node| node.top.count))
    }
}

/// What makes a value that of a field.
type Identity = (String, Option<(u64, u64)>);

/// What makes two values of a field the same: the text as it is compared, or, of a value that is kept as its place, that.
fn identity(value: &Value) -> Identity {
    (key(&value.text), value.span.filter(|_| value.text.is_empty()))
}

/// Adds to a subject what is new in the fields and links of another.
fn grow(subject: &mut Subject, given: Subject) {
    let mut places: HashMap<String, usize> =
        subject.fields.iter().enumerate().map(|(at, field)| (key(&field.name), at)).collect();
    let mut seen: HashMap<usize, HashSet<Identity>> = HashMap::new();
    for field in given.fields.into_iter().filter(|field| !field.values.is_empty()) {
        let at = *places.entry(key(&field.name)).or_insert(subject.fields.len());
        if at == subject.fields.len() {
            subject.fields.push(Field { name: field.name, values: Vec::new() });
        }
        let Some(known) = subject.fields.get_mut(at) else { continue };
        let seen = seen.entry(at).or_insert_with(|| known.values.iter().map(identity).collect());
        known.values.extend(field.values.into_iter().filter(|value| seen.insert(identity(value))));
    }
    let mut links: HashSet<Vec<String>> = subject.links.iter().map(|link| path_keys(link)).collect();
    subject.links.extend(given.links.into_iter().filter(|link| links.insert(path_keys(link))));
}

/// Refuses a subject of more values or links than one may have.
fn check_counts(subject: &Subject) -> Result<()> {
    let counts = [
        ("the values of a subject", SUBJECT_VALUES, subject.values()),
        ("the links of a subject", SUBJECT_LINKS, subject.links.len()),
    ];
    match counts.into_iter().find(|(_, limit, got)| got > limit) {
        Some((what, limit, got)) => Err(Error::Limit { what, limit: limit as u64, got: got as u64 }),
        None => Ok(()),
    }
}

fn check_tokens(what: &'static str, text: &str, limit: u64) -> Result<()> {
    match u64::from(tokens(text)) {
        got if got > limit => Err(Error::Limit { what, limit, got }),
        _ => Ok(()),
    }
}

fn check_name(what: &'static str, name: &str, shares: Shares) -> Result<()> {
    if key(name).is_empty() {
        return Err(Error::invalid(format!("{what} must not be empty")));
    }
    if name.contains('\0') {
        return Err(Error::invalid(format!("{what} must not hold U+0000, as {name:?} does")));
    }
    check_length("a name in bytes", name, KEY_BYTES)?;
    check_length("a name in bytes, as it is compared", &key(name), KEY_BYTES)?;
    check_tokens("a name in tokens", name, u64::from(shares.name()))
}

fn not_there(category: &[String], name: &str) -> Error {
    Error::NotFound { what: "subject", name: format!("{} / {name}", path_text(category)) }
}
