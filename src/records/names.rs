//! Which names an entity has: its own, those that the entity memory knows it by, and similar ones.

use super::fuzzy::Similar;
use super::reading::Reading;
use crate::Result;
use crate::index::records::{bounded, symbol};
use crate::index::view::inconsistent;
use plica_format::document::DocumentState;
use plica_format::entity::Addition;
use plica_format::key::{self, INDEX_SCOPE};
use plica_format::page::MemoryScope;
use std::collections::BTreeMap;

/// A name in the form of keys, with the document whose memory knows it (`None`: all of them).
pub(super) type Alias = (Option<u32>, String);

impl Reading<'_> {
    /// Other names of an entity by the entity memory, in the form of keys, each with the name as the memory spells it:
    /// those of every record that has `name` for its name or for an alias. A document's memory speaks for that document
    /// alone.
    pub(super) fn aliases(&self, name: &str, document: Option<u32>) -> Result<BTreeMap<Alias, String>> {
        let name_key = crate::text::key(name);
        let mut out = BTreeMap::new();
        if name_key.is_empty() {
            return Ok(out);
        }
        let scopes: Vec<u32> = match (self.snapshot.parameters().memory, document) {
            (MemoryScope::Index, _) => vec![INDEX_SCOPE],
            (MemoryScope::Document, Some(document)) => vec![document],
            (MemoryScope::Document, None) => self.snapshot.ordered_documents()?.to_vec(),
        };
        let own = bounded(symbol(name));
        for scope in scopes {
            self.step()?;
            let is_live = scope == INDEX_SCOPE || self.snapshot.head_of(scope)?.state == DocumentState::Live;
            if !is_live {
                continue;
            }
            let mut entities = self.view.set(&key::entity_alias(scope, &name_key))?;
            entities.extend(self.view.entity_by_name(scope, &name_key)?);
            for entity in entities {
                let mut additions = Vec::new();
                for part in 0..self.view.entity_row(entity)?.parts {
                    additions.extend(self.view.stored_part(entity, part)?);
                }
                for Addition { name, aliases, .. } in additions {
                    for other in std::iter::once(name).chain(aliases) {
                        let known = bounded(symbol(&other));
                        if !known.is_empty() && known != own {
                            out.entry(((scope != INDEX_SCOPE).then_some(scope), known)).or_insert(other);
                        }
                    }
                }
            }
        }
        Ok(out)
    }

    /// Entities of records, in the form of keys, whose names differ from `name` by at most `edits` edits (with
    /// `prefix`: that have a beginning which does), with the number of edits.
    pub(super) fn similar(&self, name: &str, edits: u8, prefix: bool) -> Result<Vec<(String, usize)>> {
        let mut found = Vec::new();
        let next = |from: &[u8]| {
            self.step()?;
            let mut start = key::named(key::RECORD, from);
            loop {
                let Some(bytes) = self.view.dictionary.next_key(&start)? else { return Ok(None) };
                if bytes.first() != Some(&key::RECORD) {
                    return Ok(None);
                }
                let entity = bytes.get(1..).and_then(|rest| rest.split(|&byte| byte == 0).next()).unwrap_or_default();
                if entity.is_empty() {
                    // Records without an entity lie first.
                    start = vec![key::RECORD, 1];
                    continue;
                }
                let name = std::str::from_utf8(entity).map_err(|_| inconsistent("an entity that is not UTF-8"))?;
                return Ok(Some(name.to_owned()));
            }
        };
        Similar::new(&bounded(symbol(name)), edits, prefix).walk(next, |name, distance| {
            found.push((name.to_owned(), distance));
            Ok(())
        })?;
        Ok(found)
    }
}
