//! Walking an outline step by step, as an agent does.

use super::page::OutlinePage;
use crate::index::Snapshot;
use crate::{Error, Result};
use plica_format::key::{self as keys, INDEX_SCOPE};
use plica_format::limits::KEY_BYTES;
use plica_format::page::MemoryScope;

/// Records of the entity memory that a link's name is looked up by.
const RECORDS: usize = 8;

/// A walk through a document's outline.
///
/// ```
/// # fn main() -> plica::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("w.plica");
/// use plica::outline::{Subject, Walker};
/// use plica::{Index, NewChunk, Options, Writer};
///
/// let mut writer = Writer::create(&path, &Options::new())?;
/// writer.add_document("notes", "Notes", "")?;
/// writer.append_chunk("notes", &NewChunk::text("Ann keeps the lighthouse."))?;
/// let people = ["People".to_owned()];
/// let ann = Subject { name: "Ann".into(), summary: "Keeps the lighthouse.".into(), ..Subject::default() };
/// writer.add_subject("notes", &people, &ann)?;
/// writer.publish("notes")?;
/// writer.commit()?;
///
/// let mut walker = Walker::new(Index::open(&path)?.snapshot(), "notes")?;
/// assert_eq!(walker.page().entries[0].title, "People");
/// walker.open(0)?;
/// walker.open(0)?;
/// assert_eq!(walker.page().summary, "Keeps the lighthouse.");
/// walker.up()?;
/// assert_eq!(walker.page().title, "People");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Walker {
    snapshot: Snapshot,
    document: String,
    page: OutlinePage,
    /// Paths of the pages that led here.
    trail: Vec<Vec<String>>,
}

impl Walker {
    /// A walk that starts at the root.
    ///
    /// # Errors
    /// [`Error::NotFound`] where the document has no outline.
    pub fn new(snapshot: Snapshot, document: &str) -> Result<Self> {
        let page = snapshot.outline(document, &[])?;
        Ok(Self { snapshot, document: document.to_owned(), page, trail: Vec::new() })
    }

    /// The present page.
    pub fn page(&self) -> &OutlinePage {
        &self.page
    }

    /// Opens an entry of the present page by its place.
    pub fn open(&mut self, entry: usize) -> Result<&OutlinePage> {
        let found = self.page.entries.get(entry).map(|entry| entry.path.clone());
        let path = found.ok_or_else(|| Error::NotFound {
            what: "entry of the outline's page",
            name: format!("{entry} of {}", self.page.entries.len()),
        })?;
        self.go(&path)
    }

    /// Goes to a page by its path.
    pub fn go(&mut self, path: &[String]) -> Result<&OutlinePage> {
        let page = self.snapshot.outline(&self.document, path)?;
        let before = std::mem::replace(&mut self.page, page);
        self.trail.push(before.path);
        Ok(&self.page)
    }

    /// Goes back to the page that led here; from the root, stays there.
    pub fn up(&mut self) -> Result<&OutlinePage> {
        let path = self.trail.pop().unwrap_or_default();
        self.page = self.snapshot.outline(&self.document, &path)?;
        Ok(&self.page)
    }

    /// Follows a link of the present page by its place.
    ///
    /// # Errors
    /// [`Error::NotFound`] where the link leads to no subject.
    pub fn follow(&mut self, link: usize) -> Result<&OutlinePage> {
        let name = || format!("{link} of {}", self.page.links.len());
        let found = self.page.links.get(link).cloned();
        let link = found.ok_or_else(|| Error::NotFound { what: "link of the outline's page", name: name() })?;
        let path = self.snapshot.resolve_link(&self.document, &link)?;
        let missing = || Error::NotFound { what: "subject that a link leads to", name: link.join(" / ") };
        self.go(&path.ok_or_else(missing)?)
    }
}

impl Snapshot {
    /// The page that a link leads to: by path, or by the name alone, or by another name of the same entity; `None` where there is no such subject.
    pub fn resolve_link(&self, document: &str, link: &[String]) -> Result<Option<Vec<String>>> {
        let Some((name, category)) = link.split_last() else { return Ok(None) };
        let wanted: Vec<String> = category.iter().map(|name| crate::text::key(name)).collect();
        let is_wanted = |path: &Vec<String>| {
            let own = path.split_last().map(|(_, category)| category).unwrap_or_default();
            wanted.is_empty() || own.iter().map(|name| crate::text::key(name)).eq(wanted.iter().cloned())
        };
        let mut found = self.subjects_named(document, name)?.into_iter().find(&is_wanted);
        if found.is_none() {
            // By another name that the entity memory knows.
            for name in self.other_names(document, name)? {
                found = self.subjects_named(document, &name)?.into_iter().find(&is_wanted);
                if found.is_some() {
                    break;
                }
            }
        }
        let Some(path) = found else { return Ok(None) };
        let number = self.head(document)?.number;
        let (Some((name, category)), Some(outline)) = (path.split_last(), self.view().outline(number)?) else {
            return Ok(None);
        };
        let last = super::page::subject_step(&outline, category, name)?;
        Ok(Some(category.iter().map(|name| super::page::step_of(name)).chain([last]).collect()))
    }

    /// Names of the records of the entity memory that have this name or alias.
    fn other_names(&self, document: &str, name: &str) -> Result<Vec<String>> {
        let scope = match self.parameters().memory {
            MemoryScope::Document => self.head(document)?.number,
            MemoryScope::Index => INDEX_SCOPE,
        };
        let name = crate::text::key(name);
        if name.is_empty() || name.len() > KEY_BYTES {
            return Ok(Vec::new());
        }
        let view = self.view();
        let mut records = view.set(&keys::entity_alias(scope, &name))?;
        records.extend(view.entity_by_name(scope, &name)?);
        records.into_iter().take(RECORDS).map(|entity| view.name_of(entity)).collect()
    }
}
