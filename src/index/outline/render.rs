//! A page as text, and what its entries cost.
//!
//! A page is read by people and by models, so its budget counts the tokens of the very text that is shown. Costs are
//! whole numbers, the same on every machine, since page boundaries follow from them.

use plica_format::outline::{Field, Item, Path, Range, Subject, Value};

/// Tokens of a page, unless asked otherwise.
pub(crate) const DEFAULT_BUDGET: u32 = 2000;
/// Smallest budget of a page.
pub(crate) const LEAST_BUDGET: u32 = 512;
/// Greatest budget of a page.
pub(crate) const MOST_BUDGET: u32 = 16_384;

/// What the budget of a page, in tokens, leaves to each part of it. A page needs room for its heading and at least two
/// entries, so every part is bounded by a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shares {
    budget: u32,
}

impl Shares {
    pub(crate) fn new(budget: u32) -> Self {
        Self { budget }
    }

    /// Tokens of a name, a title or the name of a field.
    pub(crate) fn name(self) -> u32 {
        self.budget / 16
    }

    /// Tokens of the summary of a subject or a category.
    pub(crate) fn summary(self) -> u32 {
        self.budget / 8
    }

    /// Tokens of the summary of a page.
    pub(crate) fn page_summary(self) -> u32 {
        self.budget / 16
    }

    /// Tokens of a value; a longer one is kept as its span.
    pub(crate) fn value(self) -> u32 {
        self.budget / 4
    }

    /// Tokens of all entries of a page.
    pub(crate) fn entries(self) -> u32 {
        self.budget - self.budget / 4
    }

    /// Tokens of one entry; a subject over this has pages of its own.
    pub(crate) fn entry(self) -> u32 {
        self.entries() / 2
    }
}

/// Tokens of a text.
pub(crate) fn tokens(text: &str) -> u32 {
    let mut count = 0u32;
    crate::text::for_each_token(text, |_: &str| count = count.saturating_add(1));
    count
}

/// A path as it is shown.
pub(crate) fn path_text(path: &[String]) -> String {
    path.join(" / ")
}

fn value_line(out: &mut String, name: &str, value: &Value) {
    out.push_str("- ");
    out.push_str(name);
    out.push_str(": ");
    out.push_str(&value.text);
    if let Some((start, end)) = value.span {
        if !value.text.is_empty() {
            out.push(' ');
        }
        out.push_str(&format!("[{start}..{end}]"));
    }
    out.push('\n');
}

fn link_line(out: &mut String, link: &Path) {
    out.push_str("- see ");
    out.push_str(&path_text(link));
    out.push('\n');
}

/// Fields and links of a subject as text.
pub(crate) fn body(fields: &[Field], links: &[Path]) -> String {
    let mut out = String::new();
    for field in fields {
        field.values.iter().for_each(|value| value_line(&mut out, &field.name, value));
    }
    links.iter().for_each(|link| link_line(&mut out, link));
    out
}

fn heading(out: &mut String, name: &str, count: Option<u32>, parts: &[&str]) {
    out.push_str("* ");
    out.push_str(name);
    if let Some(count) = count {
        out.push_str(&format!(" ({count})"));
    }
    for part in parts.iter().filter(|part| !part.is_empty()) {
        out.push_str("\n  ");
        out.push_str(part);
    }
    out.push('\n');
}

/// A subject as an entry of a page.
pub(crate) fn subject_text(subject: &Subject) -> String {
    let mut out = String::new();
    heading(&mut out, &subject.name, None, &[&subject.summary]);
    out.push_str(&body(&subject.fields, &subject.links));
    out
}

/// An item as an entry of a page.
pub(crate) fn item_text(item: &Item) -> String {
    let mut out = String::new();
    match item {
        Item::Category { name, summary, overview, top, .. } => {
            heading(&mut out, name, Some(top.count), &[summary, overview]);
        }
        Item::Subject(subject) => return subject_text(subject),
        Item::LargeSubject { name, summary, overview, top } => {
            heading(&mut out, name, Some(top.count), &[summary, overview]);
        }
        Item::Value { name, value, .. } => value_line(&mut out, name, value),
        Item::Link { path, .. } => link_line(&mut out, path),
    }
    out
}

/// The title of a range of items.
pub(crate) fn range_title(first: &str, last: &str) -> String {
    if first == last { first.to_owned() } else { format!("{first} – {last}") }
}

/// A range as an entry of a page.
pub(crate) fn range_text(range: &Range) -> String {
    let mut out = String::new();
    heading(&mut out, &range_title(&range.first, &range.last), Some(range.count), &[&range.summary]);
    out
}

/// What an item is called in the title of a range.
pub(crate) fn item_name(item: &Item) -> String {
    match item {
        Item::Category { name, .. } | Item::LargeSubject { name, .. } | Item::Value { name, .. } => name.clone(),
        Item::Subject(subject) => subject.name.clone(),
        Item::Link { path, .. } => path.last().cloned().unwrap_or_default(),
    }
}
