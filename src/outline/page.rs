//! Pages as readers see them, by path.
//!
//! A path is a list of steps from the root: names of categories, then of a subject. Where a node has more pages than one,
//! a step `~2` goes to the third page that the present one lists; a name that itself begins with `~` is written with two.
//! A name means a category before a subject; `~=NAME` means the subject where there are both.

use crate::index::Snapshot;
use crate::index::outline::{KeyRange, NodeAt, OutlineView, body, item_name, item_text, range_text, range_title};
use crate::text::key;
use crate::{Error, Result};
use plica_format::outline::{Entries, Field, Item, OutlinePage as Stored, Path};

/// A page of an outline.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutlinePage {
    /// Id of the document.
    pub document: String,
    /// Steps from the root.
    pub path: Vec<String>,
    /// Its title.
    pub title: String,
    /// Its summary, or empty.
    pub summary: String,
    /// What it covers.
    pub cover: Cover,
    /// What it lists: pages below. A page of one subject has none, unless the subject takes several pages.
    pub entries: Vec<OutlineEntry>,
    /// Fields, of a page of one subject.
    pub fields: Vec<Field>,
    /// Related subjects, of a page of one subject: category path and name, or a name alone.
    pub links: Vec<Path>,
    /// Whether it is a subject, or a part of one.
    pub is_subject: bool,
}

/// What a page covers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cover {
    /// Title of the first entry, or name of the first field.
    pub first: String,
    /// Title of the last.
    pub last: String,
    /// Subjects below; of a subject, its values and links.
    pub count: u32,
}

/// What an entry leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A category.
    Category,
    /// A subject.
    Subject,
    /// A page of the same node.
    Range,
}

/// An entry of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutlineEntry {
    /// What it leads to.
    pub kind: EntryKind,
    /// Title: a name, or the first and the last name of a range.
    pub title: String,
    /// First and last name of a range; else twice the name.
    pub range: (String, String),
    /// Summary, or empty.
    pub summary: String,
    /// Subjects below.
    pub count: u32,
    /// Path of the page it leads to.
    pub path: Vec<String>,
    /// The entry as the page shows it, a subject's fields included.
    pub text: String,
}

impl OutlinePage {
    /// The page as text: at most as many tokens as the outline's page budget.
    pub fn text(&self) -> String {
        let mut out = format!("# {}\n", self.title);
        if !self.summary.is_empty() {
            out.push_str(&self.summary);
            out.push('\n');
        }
        out.push('\n');
        for entry in &self.entries {
            out.push_str(&entry.text);
        }
        out.push_str(&body(&self.fields, &self.links));
        out
    }
}

/// A step as a path has it, from a name.
pub(super) fn step_of(name: &str) -> String {
    if name.starts_with('~') { format!("~{name}") } else { name.to_owned() }
}

/// The step to a subject of a category: its name, or what tells it from a sub-category of the same name.
pub(super) fn subject_step(outline: &OutlineView<'_>, category: &[String], name: &str) -> Result<String> {
    let path: Vec<String> = category.iter().cloned().chain([name.to_owned()]).collect();
    // A category that was named and has no subjects has no page to be taken for.
    let is_there = outline.view.category(outline.document, &path)?.is_some() && outline.node(&path)?.is_some();
    Ok(if is_there { format!("~={name}") } else { step_of(name) })
}

/// What a step says.
enum StepKind<'a> {
    Name(&'a str),
    Subject(&'a str),
    Range(usize),
}

fn step(text: &str) -> Option<StepKind<'_>> {
    match text.strip_prefix('~') {
        Some(name) if name.starts_with('~') => Some(StepKind::Name(name)),
        Some(name) if name.starts_with('=') => name.strip_prefix('=').map(StepKind::Subject),
        Some(number) => number.parse().ok().map(StepKind::Range),
        None => Some(StepKind::Name(text)),
    }
}

/// Where a path leads.
pub(super) enum Target {
    /// A page of a node.
    Page { node: NodeAt, page: Stored, title: String, summary: String },
    /// A subject within the page of its category.
    Subject { subject: plica_format::outline::Subject },
}

impl Snapshot {
    /// A page of a document's outline by its path; the empty path is the root.
    ///
    /// # Errors
    /// [`Error::NotFound`] where the document has no outline, or the path leads nowhere.
    pub fn outline(&self, document: &str, path: &[String]) -> Result<OutlinePage> {
        let head = self.head(document)?;
        let none = || Error::NotFound { what: "outline of document", name: document.to_owned() };
        let outline = self.view().outline(head.number)?.ok_or_else(none)?;
        let root = outline.root_node()?.ok_or_else(none)?;
        let title = self.outline_title(document)?;
        page_at(document, &outline, root, title, path)
    }

    /// Whether a document has an outline.
    pub fn has_outline(&self, document: &str) -> Result<bool> {
        let head = self.head(document)?;
        Ok(self.view().outline_head(head.number)?.is_some_and(|head| head.root.is_some()))
    }

    /// Title of a document's outline: its own, else the document's title or id.
    fn outline_title(&self, document: &str) -> Result<String> {
        let number = self.head(document)?.number;
        if let Some(row) = self.view().category(number, &[])?.filter(|row| !row.title.is_empty()) {
            return Ok(row.title);
        }
        let title = self.document(document)?.title;
        Ok(if title.is_empty() { document.to_owned() } else { title })
    }

    /// Paths of the subjects of this name, whatever their category, in order.
    pub fn subjects_named(&self, document: &str, name: &str) -> Result<Vec<Vec<String>>> {
        let number = self.head(document)?.number;
        let mut paths = self.view().categories_of(number, name)?;
        paths.iter_mut().for_each(|path| path.push(name.to_owned()));
        Ok(paths)
    }
}

/// The page that `path` leads to.
pub(super) fn page_at(
    document: &str,
    outline: &OutlineView<'_>,
    root: NodeAt,
    title: String,
    path: &[String],
) -> Result<OutlinePage> {
    let missing = || Error::NotFound { what: "page of the outline", name: path.join("/") };
    let page = outline.top_page(&root)?;
    let summary = root.summary.clone();
    let mut target = Target::Page { node: root, page, title, summary };
    // The steps as the outline spells them.
    let mut steps = Vec::with_capacity(path.len());
    for text in path {
        let Target::Page { node, page, .. } = target else { return Err(missing()) };
        target = match (step(text).ok_or_else(missing)?, page.entries) {
            (StepKind::Range(at), Entries::Ranges(mut ranges)) if at < ranges.len() => {
                let next = ranges.get(at + 1).map(|next| next.first_key.clone());
                let range = ranges.swap_remove(at);
                let keys = KeyRange { first: Some(&range.first_key), upper: next.as_deref() };
                let below = outline.page(&range.page, outline.expected(&node, page.level - 1, range.count), keys)?;
                let title = range_title(&range.first, &range.last);
                Target::Page { node, page: below, title, summary: range.summary }
            }
            (StepKind::Range(_), _) => return Err(missing()),
            // A name leads on from the node, whichever of its pages it was read on.
            (StepKind::Name(name), _) => {
                steps.retain(|step: &String| !is_range(step));
                named(outline, &node, name, true)?.ok_or_else(missing)?
            }
            (StepKind::Subject(name), _) => {
                steps.retain(|step: &String| !is_range(step));
                named(outline, &node, name, false)?.ok_or_else(missing)?
            }
        };
        steps.push(match &target {
            _ if is_range(text) || text.starts_with("~=") => text.clone(),
            Target::Page { title, .. } => step_of(title),
            Target::Subject { subject } => step_of(&subject.name),
        });
    }
    shown(document, outline, target, &steps)
}

/// What a name leads to in a category: a sub-category, else a subject.
fn named(outline: &OutlineView<'_>, node: &NodeAt, name: &str, or_category: bool) -> Result<Option<Target>> {
    if node.is_subject {
        return Ok(None);
    }
    let mut below = node.path.clone();
    below.push(name.to_owned());
    if or_category && let Some(node) = outline.node(&below)? {
        return of_node(outline, node).map(Some);
    }
    let Some(item) = outline.item(node, &crate::index::outline::subject_key(name))? else { return Ok(None) };
    match item {
        Item::Subject(subject) => Ok(Some(Target::Subject { subject })),
        item => match outline.node_of(node, item)? {
            Some(node) => of_node(outline, node).map(Some),
            None => Ok(None),
        },
    }
}

fn of_node(outline: &OutlineView<'_>, node: NodeAt) -> Result<Target> {
    let page = outline.top_page(&node)?;
    let title = node.path.last().cloned().unwrap_or_default();
    let summary = if node.summary.is_empty() { node.overview.clone() } else { node.summary.clone() };
    Ok(Target::Page { node, page, title, summary })
}

/// A target as a page that is shown.
fn shown(document: &str, outline: &OutlineView<'_>, target: Target, path: &[String]) -> Result<OutlinePage> {
    let mut out = OutlinePage {
        document: document.to_owned(),
        path: path.to_vec(),
        title: String::new(),
        summary: String::new(),
        cover: Cover::default(),
        entries: Vec::new(),
        fields: Vec::new(),
        links: Vec::new(),
        is_subject: true,
    };
    let (node, page) = match target {
        Target::Subject { subject } => {
            let name = |field: Option<&Field>| field.map(|field| field.name.clone()).unwrap_or_default();
            let count = (subject.values() + subject.links.len()) as u32;
            let (first, last) = (name(subject.fields.first()), name(subject.fields.last()));
            out.cover = Cover { first, last, count };
            (out.title, out.summary) = (subject.name, subject.summary);
            (out.fields, out.links) = (subject.fields, subject.links);
            return Ok(out);
        }
        Target::Page { node, page, title, summary } => {
            (out.title, out.summary, out.is_subject) = (title, summary, node.is_subject);
            (node, page)
        }
    };
    out.cover.count = page.entries.count();
    // Where the steps of the node end and those among its pages begin.
    let ranges = path.iter().rev().take_while(|step| is_range(step)).count();
    let of_node = path.get(..path.len() - ranges).unwrap_or_default();
    let below = |base: &[String], step: String| base.iter().cloned().chain([step]).collect::<Vec<_>>();
    match page.entries {
        Entries::Ranges(list) => {
            let ends = list.first().zip(list.last());
            (out.cover.first, out.cover.last) =
                ends.map(|(first, last)| (first.first.clone(), last.last.clone())).unwrap_or_default();
            for (at, range) in list.into_iter().enumerate() {
                out.entries.push(OutlineEntry {
                    kind: EntryKind::Range,
                    title: range_title(&range.first, &range.last),
                    text: range_text(&range),
                    range: (range.first, range.last),
                    summary: range.summary,
                    count: range.count,
                    path: below(path, format!("~{at}")),
                });
            }
        }
        Entries::Items(items) => {
            let ends = items.first().zip(items.last());
            (out.cover.first, out.cover.last) =
                ends.map(|(first, last)| (item_name(first), item_name(last))).unwrap_or_default();
            for item in items {
                let text = item_text(&item);
                let name = item_name(&item);
                let step = match &item {
                    Item::Subject(_) | Item::LargeSubject { .. } => subject_step(outline, &node.path, &name)?,
                    _ => step_of(&name),
                };
                let path = below(of_node, step);
                let (kind, summary, count) = match item {
                    Item::Category { summary, overview, top, .. } => {
                        let both = [summary, overview];
                        let both: Vec<&str> = both.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
                        (EntryKind::Category, both.join(" "), top.count)
                    }
                    Item::Subject(subject) => (EntryKind::Subject, subject.summary, 1),
                    Item::LargeSubject { summary, overview, .. } => {
                        (EntryKind::Subject, if summary.is_empty() { overview } else { summary }, 1)
                    }
                    Item::Value { name, value, .. } => {
                        match out.fields.last_mut().filter(|field| key(&field.name) == key(&name)) {
                            Some(field) => field.values.push(value),
                            None => out.fields.push(Field { name, values: vec![value] }),
                        }
                        continue;
                    }
                    Item::Link { path, .. } => {
                        out.links.push(path);
                        continue;
                    }
                };
                out.entries.push(OutlineEntry {
                    kind,
                    title: name.clone(),
                    range: (name.clone(), name),
                    summary,
                    count,
                    path,
                    text,
                });
            }
        }
    }
    Ok(out)
}

/// Whether a step leads to a page of the same node.
pub(super) fn is_range(step: &str) -> bool {
    step.starts_with('~') && !step.starts_with("~~") && !step.starts_with("~=")
}
