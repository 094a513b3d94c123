//! The entity memory, as a writer grows it, and what a model is shown of it.
//!
//! The rules: names are compared by their key (NFKC, case-folded, white space squeezed). An update whose name or alias
//! is the name or alias of one record enriches that record; one that matches several links the chunk to all of them
//! and enriches the one created first; one that matches none creates a record. Records are never merged later, and the
//! first kind that is given stays.

use super::documents::{check_length, count_terms, varint};
use super::parts::New;
use super::quote::{Quoter, Quotes, Wanted, anchors};
use super::writer::Writer;
use crate::ingest::{EntityUpdate, HistoryUnit, Recalled};
use crate::search::bm25::{Bm25, idf};
use crate::{Error, Result};
use plica_format::document::DocumentState;
use plica_format::entity::EntityRow;
use plica_format::key::{self, Field, INDEX_SCOPE};
use plica_format::limits::{DESCRIPTION_BYTES, KEY_BYTES};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Terms of a chunk that recall looks for: its rarest.
const RECALL_TERMS: usize = 64;
/// Records that recall shows a model.
const RECALL_RECORDS: usize = 5;
/// Tokens of each record that it shows.
const RECALL_TOKENS: u32 = 512;
/// A term in more records than this, and in more than a twentieth of all, says nothing.
const RECALL_COMMON: usize = 1000;
/// Entities of one update at most.
const UPDATE_ENTITIES: usize = 4096;

impl Writer {
    /// Takes what a model said of a chunk: creates or enriches records by name or alias, and links the chunk to them.
    pub fn apply_update(&mut self, id: &str, ordinal: u32, updates: &[EntityUpdate]) -> Result<()> {
        if updates.len() > UPDATE_ENTITIES {
            return Err(Error::Limit {
                what: "the entities of one update",
                limit: UPDATE_ENTITIES as u64,
                got: updates.len() as u64,
            });
        }
        let number = self.number(id)?;
        let chunk = self.chunk_id(number, ordinal)?;
        for update in updates {
            check_update(update)?;
        }
        let wanted = Wanted::new(updates.iter().flat_map(|update| &update.descriptions).map(String::as_str));
        let quoter = match self.open.get(&number).filter(|_| !wanted.is_empty()) {
            Some(open) => {
                let mut quotes = Quotes::of(self.view(), open);
                let text = quotes.text(ordinal)?;
                wanted.meets(&anchors(text)).then(|| Quoter::new([(ordinal, text)]))
            }
            None => None,
        };
        for update in updates {
            let matched = self.matching(self.scope(number), update)?;
            let target = match matched.first() {
                Some(&first) => first,
                None => self.create_entity(number, &update.name)?,
            };
            self.enrich(number, target, update, quoter.as_ref())?;
            for entity in matched.into_iter().chain([target]) {
                self.link(number, entity, chunk);
            }
        }
        Ok(())
    }

    /// Internal id of a chunk of a document that is being written.
    pub(crate) fn chunk_id(&mut self, number: u32, ordinal: u32) -> Result<u32> {
        let (first, last, chunks) = {
            let head = &self.open_document(number)?.head;
            (head.first_chunk, head.last_chunk, head.chunks)
        };
        if ordinal >= chunks {
            return Err(Error::NotFound { what: "chunk", name: format!("#{ordinal}") });
        }
        if last - first + 1 == chunks {
            return Ok(first + ordinal);
        }
        let Some(mut open) = self.open.remove(&number) else { return Ok(first) };
        let found = open.tail.chunk(self.view(), ordinal);
        self.open.insert(number, open);
        found
    }

    /// Records whose name or alias is the name or an alias of an update, in the order of creation.
    fn matching(&self, scope: u32, update: &EntityUpdate) -> Result<BTreeSet<u32>> {
        let view = self.view();
        let mut matched = BTreeSet::new();
        let names: BTreeSet<String> =
            std::iter::once(&update.name).chain(&update.aliases).map(|name| crate::text::key(name)).collect();
        for name in names.iter().filter(|name| !name.is_empty()) {
            matched.extend(view.entity_by_name(scope, name)?);
            matched.extend(view.set(&key::entity_alias(scope, name))?);
        }
        Ok(matched)
    }

    pub(super) fn create_entity(&mut self, document: u32, name: &str) -> Result<u32> {
        let entity = self.state.entities;
        self.state.entities = entity.checked_add(1).ok_or(Error::Limit {
            what: "the number of entities",
            limit: u64::from(u32::MAX),
            got: 1 << 32,
        })?;
        let scope = self.scope(document);
        let tokens = self.post_text(Field::Name, entity, &[name]);
        self.delta.put(key::entity_name(scope, &crate::text::key(name)), varint(entity));
        self.delta.put_entity_row(EntityRow { entity, scope, parts: 0, kind_part: 0, tokens: [tokens, 0, 0] });
        self.put_part(entity, &New { document, name, ..New::default() }, None)?;
        if scope == INDEX_SCOPE {
            self.state.totals.entities += 1;
            if let Some(total) = self.state.totals.entity_tokens.first_mut() {
                *total += u64::from(tokens);
            }
            return Ok(entity);
        }
        let open = self.open_document(document)?;
        if open.head.entities == 0 {
            open.head.first_entity = entity;
        }
        open.head.last_entity = entity;
        open.head.entities += 1;
        if let Some(total) = open.head.entity_tokens.first_mut() {
            *total += u64::from(tokens);
        }
        open.dirty = true;
        Ok(entity)
    }

    /// Adds what is new in `given` to a record, and says whether there was something.
    pub(super) fn enrich(
        &mut self,
        document: u32,
        entity: u32,
        given: &EntityUpdate,
        quoter: Option<&Quoter>,
    ) -> Result<bool> {
        let row = self.view().entity_row(entity)?;
        let scope = row.scope;
        let mut part = New { document, ..New::default() };
        let mut seen = BTreeSet::new();
        for alias in std::iter::once(&given.name).chain(&given.aliases) {
            let alias_key = crate::text::key(alias);
            if alias_key.is_empty() || !seen.insert(alias_key.clone()) {
                continue;
            }
            let view = self.view();
            let prefix = key::entity_alias(scope, &alias_key);
            if view.entity_by_name(scope, &alias_key)? == Some(entity) || view.set(&prefix)?.contains(&entity) {
                continue;
            }
            self.delta.insert(prefix, entity);
            part.aliases.push(alias);
        }
        part.descriptions = self.view().new_descriptions(&row, &given.descriptions)?;
        if row.kind_part == 0 {
            part.kind = &given.kind;
        }
        if part.aliases.is_empty() && part.descriptions.is_empty() && part.kind.is_empty() {
            return Ok(false);
        }
        let added = [
            (Field::Aliases, self.add_terms(Field::Aliases, entity, &part.aliases)?),
            (Field::Descriptions, self.add_terms(Field::Descriptions, entity, &part.descriptions)?),
        ];
        let mut row = row;
        for (field, tokens) in added {
            let at = field as usize - 1;
            if let Some(total) = row.tokens.get_mut(at) {
                *total = total.saturating_add(tokens);
            }
            let total = match scope {
                INDEX_SCOPE => self.state.totals.entity_tokens.get_mut(at),
                _ => self.open_document(scope)?.head.entity_tokens.get_mut(at),
            };
            if let Some(total) = total {
                *total += u64::from(tokens);
            }
        }
        self.delta.put_entity_row(row);
        if scope != INDEX_SCOPE {
            self.open_document(scope)?.dirty = true;
        }
        self.put_part(entity, &part, quoter)?;
        Ok(true)
    }

    /// Raises the frequencies of the terms of `texts` in a field of a record, and gives how many tokens there are.
    fn add_terms(&mut self, field: Field, entity: u32, texts: &[&str]) -> Result<u32> {
        let counts = self.counter.count(texts);
        for (term, hash, count) in counts.iter() {
            let Ok(text) = std::str::from_utf8(term) else { continue };
            let before = self.view().postings(field, text, entity, entity)?;
            let before = before.first().map_or(0, |posting| posting.frequency);
            self.delta.post_hashed(field, term, hash, entity, before.saturating_add(count));
        }
        Ok(counts.tokens())
    }

    pub(super) fn link(&mut self, document: u32, entity: u32, chunk: u32) {
        self.delta.insert(key::numbered(key::CHUNK_ENTITIES, chunk), entity);
        self.delta.insert(key::numbered(key::ENTITY_CHUNKS, entity), chunk);
        if self.scope(document) == INDEX_SCOPE {
            self.delta.insert(key::numbered(key::DOCUMENT_ENTITIES, document), entity);
        }
    }

    /// The records that a text may tell more of: at most five, best first.
    ///
    /// BM25 over names, aliases and descriptions, asked with the 64 rarest terms of the text that stand in any record
    /// of the memory, common ones left out.
    pub fn recall(&mut self, id: &str, title: &str, text: &str) -> Result<Vec<Recalled>> {
        let number = self.number(id)?;
        let scope = self.scope(number);
        let (first, last, records, tokens) = match scope {
            INDEX_SCOPE => {
                let totals = &self.state.totals;
                (0, self.state.entities.saturating_sub(1), totals.entities, totals.entity_tokens)
            }
            _ => {
                let head = &self.open_document(number)?.head;
                (head.first_entity, head.last_entity, u64::from(head.entities), head.entity_tokens)
            }
        };
        if records == 0 {
            return Ok(Vec::new());
        }
        let view = self.view();
        let mut rows: HashMap<u32, EntityRow> = HashMap::new();
        let whole = scope == INDEX_SCOPE || u64::from(last - first) + 1 == records;
        let terms: BTreeSet<String> = count_terms(&[title, text]).terms().map(str::to_owned).collect();
        // (records with the term, term, postings a field)
        let mut found = Vec::new();
        for term in terms {
            let mut units = BTreeSet::new();
            let mut fields = Vec::with_capacity(3);
            for field in Field::MEMORY {
                let mut postings = view.postings(field, &term, first, last)?;
                if !whole {
                    let mut kept = Vec::with_capacity(postings.len());
                    for posting in postings {
                        if row_of(&mut rows, &view, posting.id)?.scope == scope {
                            kept.push(posting);
                        }
                    }
                    postings = kept;
                }
                units.extend(postings.iter().map(|posting| posting.id));
                fields.push((field, postings));
            }
            let common = RECALL_COMMON.max((records / 20) as usize);
            if !units.is_empty() && units.len() <= common {
                found.push((units.len(), term, fields));
            }
        }
        found.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        found.truncate(RECALL_TERMS);
        let bm25 = Bm25::default();
        let mut scores: BTreeMap<u32, f64> = BTreeMap::new();
        for (_, _, fields) in &found {
            for (field, postings) in fields {
                let at = *field as usize - 1;
                let total = tokens.get(at).copied().unwrap_or_default();
                let average = if total == 0 { 1.0 } else { total as f64 / records as f64 };
                let idf = idf(records, postings.len() as u64);
                for posting in postings {
                    let row = row_of(&mut rows, &view, posting.id)?;
                    let length = row.tokens.get(at).copied().unwrap_or_default();
                    *scores.entry(posting.id).or_default() += bm25.score(idf, posting.frequency, length, average);
                }
            }
        }
        let mut best: Vec<(u32, f64)> = scores.into_iter().collect();
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        best.truncate(RECALL_RECORDS);
        best.into_iter().map(|(entity, _)| self.shown(entity)).collect()
    }

    /// A record as a model is shown it: its first 512 tokens.
    fn shown(&mut self, entity: u32) -> Result<Recalled> {
        let row = self.view().entity_row(entity)?;
        let mut shown = Recalled { name: String::new(), kind: String::new(), aliases: vec![], descriptions: vec![] };
        let mut left = RECALL_TOKENS;
        let mut take = |text: &str| {
            let tokens = count_terms(&[text]).tokens();
            let fits = tokens <= left;
            left = left.saturating_sub(tokens);
            fits
        };
        for part in 0..row.parts {
            for part in self.shown_part(entity, part)?.iter() {
                if !part.name.is_empty() {
                    take(&part.name);
                    shown.name.clone_from(&part.name);
                }
                if shown.kind.is_empty() {
                    shown.kind.clone_from(&part.kind);
                }
                let aliases = part.aliases.iter().map(|text| (true, text));
                for (is_alias, text) in aliases.chain(part.descriptions.iter().map(|text| (false, text))) {
                    if !take(text) {
                        return Ok(shown);
                    }
                    let list = if is_alias { &mut shown.aliases } else { &mut shown.descriptions };
                    list.push(text.clone());
                }
            }
        }
        Ok(shown)
    }

    /// What a model is shown of what came before: the units that are not folded yet, highest level first; the base-f
    /// digits of the chunk count say how many there are of each level.
    pub fn history(&mut self, id: &str) -> Result<Vec<HistoryUnit>> {
        let number = self.number(id)?;
        self.open_document(number)?;
        let Some(open) = self.open.get(&number) else { return Ok(Vec::new()) };
        let (summaries, chunks) = open.tail.open_units();
        let mut quotes = Quotes::of(self.view(), open);
        let first = open.head.chunks - chunks.len() as u32;
        let mut units = Vec::with_capacity(summaries.len() + chunks.len());
        for ((level, index), text) in summaries {
            let text = text.map(|summary| summary.text(&mut quotes)).transpose()?.unwrap_or_default();
            units.push(HistoryUnit { level, index, text });
        }
        for (at, chunk) in chunks.into_iter().enumerate() {
            units.push(HistoryUnit { level: 0, index: first + at as u32, text: self.chunk_text(open, chunk)? });
        }
        Ok(units)
    }

    /// Nodes at the right edge of a document's fold tree that are complete and have no summary, lowest level first.
    pub fn unfolded(&mut self, id: &str) -> Result<Vec<(u8, u32)>> {
        let number = self.number(id)?;
        self.open_document(number)?;
        let Some(mut open) = self.open.remove(&number) else { return Ok(Vec::new()) };
        let result = open.tail.unfolded(self.view());
        self.open.insert(number, open);
        result
    }

    /// The units that a node folds, in reading order: chunk texts for level 1, summaries above. `None` where a summary
    /// is missing.
    pub fn fold_units(&mut self, id: &str, level: u8, index: u32) -> Result<Option<Vec<String>>> {
        let number = self.number(id)?;
        self.open_document(number)?;
        let Some(mut open) = self.open.remove(&number) else { return Ok(None) };
        let result = self.fold_units_of(&mut open, level, index);
        self.open.insert(number, open);
        result
    }

    fn fold_units_of(
        &self,
        open: &mut super::writer::OpenDocument,
        level: u8,
        index: u32,
    ) -> Result<Option<Vec<String>>> {
        if level == 1 {
            let chunks = open.tail.chunks_of(self.view(), (level, index))?;
            return chunks.into_iter().map(|chunk| self.chunk_text(open, chunk)).collect::<Result<_>>().map(Some);
        }
        let fanout = u32::from(self.parameters.fanout);
        let mut units = Vec::new();
        for child in index * fanout..(index + 1) * fanout {
            match open.tail.summary(self.view(), (level - 1, child))? {
                Some(summary) => units.push(summary.text(&mut Quotes::of(self.view(), open))?),
                None => return Ok(None),
            }
        }
        Ok(Some(units))
    }

    /// Whether readers see a document; `None` where there is no such document.
    pub fn is_published(&self, id: &str) -> Result<Option<bool>> {
        Ok(self.head(id)?.map(|head| head.state == DocumentState::Live))
    }
}

fn row_of<'a>(
    rows: &'a mut HashMap<u32, EntityRow>,
    view: &super::view::View<'_>,
    entity: u32,
) -> Result<&'a EntityRow> {
    use std::collections::hash_map::Entry;
    match rows.entry(entity) {
        Entry::Occupied(row) => Ok(row.into_mut()),
        Entry::Vacant(place) => Ok(place.insert(view.entity_row(entity)?)),
    }
}

/// Refuses an update whose parts are empty or over their limits.
pub(super) fn check_update(update: &EntityUpdate) -> Result<()> {
    let name = crate::text::key(&update.name);
    if name.is_empty() {
        return Err(Error::invalid("an entity's name must not be empty"));
    }
    for text in [&update.name, &update.kind, &name].into_iter().chain(&update.aliases) {
        check_length("a name, an alias or a kind in bytes", text, KEY_BYTES)?;
    }
    for alias in &update.aliases {
        check_length("an alias in bytes, as it is compared", &crate::text::key(alias), KEY_BYTES)?;
    }
    for description in &update.descriptions {
        check_length("a description in bytes", description, DESCRIPTION_BYTES)?;
    }
    Ok(())
}
