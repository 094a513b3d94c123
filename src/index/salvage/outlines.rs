//! Outlines, from pages of which some are lost.

use super::remains::Remains;
use crate::index::outline::{bounded_name, path_hash, subject_hash, subject_key};
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::key;
use plica_format::limits::{OUTLINE_DEPTH, PAGE_SUMMARY_BYTES};
use plica_format::outline::{Entries, Expected, Field, Item, OutlinePage, Path, Subject, Top, Value};
use plica_format::outline_head::{CategoryRow, OutlineHead};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Hash of a node.
type Hash = [u8; 16];
/// Names of subjects in compared form, with the hash of the category.
type Standing = HashSet<(Vec<u8>, Hash)>;

/// A subject that was found.
#[derive(Debug, Clone)]
pub(super) struct FoundSubject {
    pub(super) category: Path,
    pub(super) subject: Subject,
    pub(super) is_vouched: bool,
    /// Whether all of its values and links are there.
    pub(super) is_whole: bool,
}

/// What is left of the outline of a document.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) head: OutlineHead,
    /// The root, with an empty path, and the categories that were named, in their order.
    pub(super) categories: Vec<CategoryRow>,
    /// By category and name.
    pub(super) subjects: Vec<FoundSubject>,
    /// Summaries that pages were given.
    pub(super) summaries: Vec<(Hash, String)>,
    /// Names of subjects that are lost, in compared form.
    pub(super) lost: Vec<String>,
    /// Whether more may be lost, of which no name is left.
    pub(super) may_lose_more: bool,
}

/// The outline pages of a file.
pub(super) struct Outlines<'a> {
    remains: &'a Remains,
    sound: &'a [Reference],
    /// Pages by document, in the order of the file; read where a page is missing.
    claims: Option<HashMap<u32, Vec<Reference>>>,
}

/// Values and links of a large subject, by their places.
#[derive(Default)]
struct Large {
    values: BTreeMap<(u32, u32), (String, Value)>,
    links: BTreeMap<u32, Path>,
}

impl Large {
    /// Takes an item, unless a newer one has its place.
    fn take(&mut self, item: Item) {
        match item {
            Item::Value { field, number, name, value } => {
                self.values.entry((field, number)).or_insert((name, value));
            }
            Item::Link { number, path } => {
                self.links.entry(number).or_insert(path);
            }
            _ => {}
        }
    }

    fn subject(self, name: String, summary: String) -> Subject {
        let mut subject = Subject { name, summary, fields: Vec::new(), links: self.links.into_values().collect() };
        let mut before = None;
        for ((field, _), (name, value)) in self.values {
            match subject.fields.last_mut().filter(|_| before == Some(field)) {
                Some(last) => last.values.push(value),
                None => subject.fields.push(Field { name, values: vec![value] }),
            }
            before = Some(field);
        }
        subject
    }
}

/// An outline that is being read.
struct Reading {
    document: u32,
    /// Subjects that stand, as the name in compared form and the hash of the category, as far as their names are there.
    standing: Standing,
    /// Whether names may be lost.
    may_lose_names: bool,
    /// Paths of categories by their hash.
    paths: HashMap<Hash, Path>,
    found: BTreeMap<(Path, Vec<u8>), FoundSubject>,
    /// Whether a page is lost.
    is_broken: bool,
}

impl<'a> Outlines<'a> {
    pub(super) fn new(remains: &'a Remains, sound: &'a [Reference]) -> Self {
        Self { remains, sound, claims: None }
    }

    /// The outline of a document; `None` where it has none.
    pub(super) fn read(&mut self, document: u32) -> Result<Option<Outline>> {
        let remains = self.remains;
        let place = key::numbered(key::OUTLINE, document);
        let head = remains.newest(&place, OutlineHead::decode)?;
        if head.is_none() && !remains.may_be_lost(&place) {
            return Ok(None);
        }
        let has_head = head.is_some();
        let mut outline = Outline::default();
        remains.each_newest(
            &key::numbered(key::CATEGORY, document),
            |_, value| CategoryRow::decode(value),
            |_, row, _| {
                outline.categories.push(row);
                Ok(())
            },
        )?;
        outline.categories.sort_by_cached_key(|row| (row.position, row.path.clone()));
        let summary = |_: &[u8], value: &[u8]| {
            let mut reader = plica_format::bytes::Reader::new("page summary", value);
            let text = reader.text(PAGE_SUMMARY_BYTES)?.to_owned();
            reader.finish()?;
            Ok(text)
        };
        remains.each_newest(&key::numbered(key::PAGE_SUMMARY, document), summary, |key, text, _| {
            let hash = key.last_chunk::<16>().filter(|_| key.len() == 21);
            outline.summaries.extend(hash.map(|hash| (*hash, text)));
            Ok(())
        })?;
        let mut reading = Reading {
            document,
            standing: self.standing(document)?,
            may_lose_names: remains.may_lose_kind(key::SUBJECT_NAME),
            paths: outline.categories.iter().map(|row| (path_hash(&row.path), row.path.clone())).collect(),
            found: BTreeMap::new(),
            is_broken: head.is_none(),
        };
        reading.paths.insert(path_hash::<String>(&[]), Path::new());
        let is_vouched = head.as_ref().is_some_and(|(_, is_vouched)| *is_vouched);
        outline.head = head.map(|(head, _)| head).unwrap_or_default();
        if let Some(root) = outline.head.root {
            self.walk(&mut reading, Path::new(), root, is_vouched)?;
        }
        if reading.is_broken || !is_vouched {
            self.fill(&mut reading)?;
        }
        let found: HashSet<(Vec<u8>, Hash)> = reading
            .found
            .values()
            .map(|found| (bounded_name(&found.subject.name).into_bytes(), path_hash(&found.category)))
            .collect();
        // Without the head, its own lost keys are told.
        outline.may_lose_more = has_head && reading.is_broken && reading.may_lose_names;
        outline.lost = reading
            .standing
            .into_iter()
            .filter(|name| !found.contains(name))
            .map(|(name, _)| String::from_utf8_lossy(&name).into_owned())
            .collect();
        outline.lost.sort();
        outline.subjects = reading.found.into_values().collect();
        let is_empty = outline.categories.is_empty()
            && outline.subjects.is_empty()
            && outline.lost.is_empty()
            && !outline.may_lose_more;
        Ok(Some(outline).filter(|outline| !is_empty || outline.head != OutlineHead::default()))
    }

    /// The subjects that stand, as far as their names are there.
    fn standing(&self, document: u32) -> Result<Standing> {
        let mut standing = HashSet::new();
        let prefix = key::numbered(key::SUBJECT_NAME, document);
        self.remains.each_newest(
            &prefix,
            |_, value| Ok(value == [1]),
            |key, is_there, _| {
                if let Some((name, hash)) = key.get(prefix.len()..).and_then(<[u8]>::split_last_chunk::<16>)
                    && let Some((0, name)) = name.split_last()
                    && is_there
                {
                    standing.insert((name.to_vec(), *hash));
                }
                Ok(())
            },
        )?;
        Ok(standing)
    }

    fn page(&self, reference: &Reference, expected: Expected) -> Result<Option<OutlinePage>> {
        let Some(payload) = self.remains.payload(reference)? else { return Ok(None) };
        match OutlinePage::decode(&payload, reference.offset, expected) {
            Ok(page) => Ok(Some(page)),
            Err(error) => self.remains.note(Error::damaged_block(reference)(error)).map(|()| None),
        }
    }

    /// The items of a node, as far as its pages are there, and whether all are.
    fn items(&self, document: u32, node: Hash, is_subject: bool, top: Top) -> Result<(Vec<Item>, bool)> {
        let (mut items, mut is_whole) = (Vec::new(), true);
        let mut waiting = vec![(top.page, top.level, top.count)];
        let mut seen = HashSet::new();
        while let Some((reference, level, count)) = waiting.pop() {
            if !seen.insert(reference.offset) {
                continue;
            }
            match self.page(&reference, Expected { document, node, is_subject, level, count })?.map(|page| page.entries)
            {
                None => is_whole = false,
                Some(Entries::Items(found)) => items.extend(found),
                Some(Entries::Ranges(ranges)) => {
                    let below = level.saturating_sub(1);
                    waiting.extend(ranges.into_iter().rev().map(|range| (range.page, below, range.count)));
                }
            }
        }
        Ok((items, is_whole))
    }

    /// Reads a category and all below.
    fn walk(&self, reading: &mut Reading, path: Path, top: Top, is_vouched: bool) -> Result<()> {
        let (items, is_whole) = self.items(reading.document, path_hash(&path), false, top)?;
        reading.is_broken |= !is_whole;
        for item in items {
            if let Item::Category { name, top, .. } = item {
                let mut below = path.clone();
                below.push(name);
                reading.paths.insert(path_hash(&below), below.clone());
                if below.len() <= OUTLINE_DEPTH {
                    self.walk(reading, below, top, is_vouched)?;
                }
            } else {
                self.take(reading, &path, item, is_vouched)?;
            }
        }
        Ok(())
    }

    /// Takes a subject of a category, unless a newer one of its name is there.
    fn take(&self, reading: &mut Reading, category: &Path, item: Item, is_vouched: bool) -> Result<()> {
        let name = match &item {
            Item::Subject(subject) => &subject.name,
            Item::LargeSubject { name, .. } => name,
            _ => return Ok(()),
        };
        let place = (category.clone(), subject_key(name));
        if reading.found.contains_key(&place) {
            return Ok(());
        }
        let (subject, is_whole) = match item {
            Item::LargeSubject { name, summary, top, .. } => {
                let node = subject_hash(category, &name);
                let (items, is_whole) = self.items(reading.document, node, true, top)?;
                reading.is_broken |= !is_whole;
                let mut large = Large::default();
                items.into_iter().for_each(|item| large.take(item));
                (large.subject(name, summary), is_whole)
            }
            Item::Subject(subject) => (subject, true),
            _ => return Ok(()),
        };
        reading.found.insert(place, FoundSubject { category: category.clone(), subject, is_vouched, is_whole });
        Ok(())
    }

    /// Looks for what is lost in pages that no sound page leads to, the newest first. Only subjects that stand are taken.
    fn fill(&mut self, reading: &mut Reading) -> Result<()> {
        let document = reading.document;
        let pages = self.claims()?.get(&document).cloned().unwrap_or_default();
        let mut categories: Vec<(Hash, Vec<Item>)> = Vec::new();
        let mut large: HashMap<Hash, Large> = HashMap::new();
        for reference in pages.iter().rev() {
            let Some(payload) = self.remains.payload(reference)? else { continue };
            for is_subject in [false, true] {
                let page = OutlinePage::claim(&payload, is_subject)
                    .and_then(|claim| OutlinePage::decode(&payload, reference.offset, claim));
                if let Ok(OutlinePage { node, entries: Entries::Items(items), .. }) = page {
                    match is_subject {
                        false => categories.push((node, items)),
                        true => items.into_iter().for_each(|item| large.entry(node).or_default().take(item)),
                    }
                    break;
                }
            }
        }
        // A category's page may come before the one that names it.
        for _ in 0..OUTLINE_DEPTH {
            for (node, items) in &categories {
                let Some(path) = reading.paths.get(node).cloned() else { continue };
                for item in items {
                    if let Item::Category { name, .. } = item {
                        let mut below = path.clone();
                        below.push(name.clone());
                        reading.paths.insert(path_hash(&below), below);
                    }
                }
            }
        }
        for (node, items) in categories {
            let Some(path) = reading.paths.get(&node).cloned() else { continue };
            for item in items {
                let name = match &item {
                    Item::Subject(subject) => &subject.name,
                    Item::LargeSubject { name, .. } => name,
                    _ => continue,
                };
                let name = (bounded_name(name).into_bytes(), node);
                if reading.may_lose_names || reading.standing.contains(&name) {
                    self.take(reading, &path, item, false)?;
                }
            }
        }
        for found in reading.found.values_mut().filter(|found| !found.is_whole) {
            let Some(more) = large.remove(&subject_hash(&found.category, &found.subject.name)) else { continue };
            let Subject { name, summary, .. } = &found.subject;
            let more = more.subject(name.clone(), summary.clone());
            if more.values() > found.subject.values() {
                found.subject = more;
                found.is_vouched = false;
            }
        }
        Ok(())
    }

    fn claims(&mut self) -> Result<&HashMap<u32, Vec<Reference>>> {
        if self.claims.is_none() {
            let mut claims: HashMap<u32, Vec<Reference>> = HashMap::new();
            for reference in self.sound.iter().filter(|reference| reference.kind == BlockKind::Outline) {
                if let Some(payload) = self.remains.payload(reference)?
                    && let Ok(claim) = OutlinePage::claim(&payload, false)
                {
                    claims.entry(claim.document).or_default().push(*reference);
                }
            }
            self.claims = Some(claims);
        }
        Ok(self.claims.get_or_insert_default())
    }
}
