//! Entities, from parts of which some are lost.

use super::documents::Documents;
use super::remains::{Remains, wrong_value};
use crate::Result;
use crate::ingest::EntityUpdate;
use plica_format::entity::{Addition, decode_part, decode_rows};
use plica_format::idset;
use plica_format::key::{self, INDEX_SCOPE};
use plica_format::limits::DESCRIPTION_BYTES;
use std::collections::BTreeMap;

/// An entity as far as its row, or its parts, say.
#[derive(Debug, Clone, Copy)]
struct Known {
    /// The document whose memory it belongs to, or [`INDEX_SCOPE`]; unknown where the row is lost.
    scope: Option<u32>,
    parts: u32,
    is_vouched: bool,
}

/// What one document told of an entity.
#[derive(Debug)]
pub(super) struct Told {
    /// The document, by number; none for what no document told.
    pub(super) document: Option<u32>,
    pub(super) update: EntityUpdate,
    /// Places of the chunks that it is linked to: document and ordinal.
    pub(super) chunks: Vec<(u32, u32)>,
}

/// An entity that was found.
#[derive(Debug)]
pub(super) struct Entity {
    pub(super) scope: u32,
    pub(super) told: Vec<Told>,
    pub(super) is_vouched: bool,
    /// What of it is lost, in words; nothing where that is empty.
    pub(super) lost: Vec<String>,
}

/// Hands every entity, in the order of creation, to `sink`.
pub(super) fn each_entity(
    remains: &Remains,
    documents: &mut Documents,
    mut sink: impl FnMut(&mut Documents, Entity) -> Result<()>,
) -> Result<()> {
    let known = entities(remains)?;
    let names = match remains.may_lose_kind(key::ENTITY_PART) {
        true => names(remains)?,
        false => BTreeMap::new(),
    };
    let backwards = match remains.may_lose_kind(key::ENTITY_CHUNKS) {
        true => backwards(remains)?,
        false => BTreeMap::new(),
    };
    for (entity, known) in known {
        let (mut additions, mut gone, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        // By what there is, and not by what the row claims.
        let mut next = 0;
        remains.each_newest(
            &key::numbered(key::ENTITY_PART, entity),
            |_, value| decode_part(value),
            |key, found, _| {
                if let Some(part) = key::last_number(key).filter(|&part| key.len() == 9 && part < known.parts) {
                    gone.extend((part > next).then(|| (next, part - 1)));
                    next = part.saturating_add(1);
                    additions.extend(found);
                }
                Ok(())
            },
        )?;
        gone.extend((next < known.parts).then(|| (next, known.parts - 1)));
        let told_by = additions.first().map(|addition: &Addition| addition.document);
        let Some(scope) = known.scope.or(told_by) else { continue };
        let is_there = scope == INDEX_SCOPE || documents.found.contains_key(&scope);
        if !is_there {
            continue;
        }
        let said = additions.iter().map(|addition| addition.name.as_str()).find(|name| !name.is_empty());
        let name = match (said, names.get(&entity)) {
            (Some(name), _) => name.to_owned(),
            (None, Some(name)) => {
                lost.push("the spelling of its name".to_owned());
                name.clone()
            }
            (None, None) => {
                lost.push("its name".to_owned());
                format!("lost-entity-{entity}")
            }
        };
        if !gone.is_empty() {
            lost.push(format!("part {} of {}", shown(&gone), known.parts));
        }
        let mut chunks = links(remains, entity)?;
        chunks.extend(backwards.get(&entity).into_iter().flatten());
        chunks.sort_unstable();
        chunks.dedup();
        let places: Vec<(u32, u32)> = chunks.iter().filter_map(|&chunk| documents.place(chunk)).collect();
        let told = tell(remains, documents, &name, scope, additions, places, &mut lost)?;
        sink(documents, Entity { scope, told, is_vouched: known.is_vouched, lost })?;
    }
    Ok(())
}

/// Numbers as `3, 5 to 9`.
pub(in crate::index) fn shown(runs: &[(u32, u32)]) -> String {
    let shown = runs.iter().map(|&(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// What was told, addition by addition, as it reads.
fn tell(
    remains: &Remains,
    documents: &mut Documents,
    name: &str,
    scope: u32,
    additions: Vec<Addition>,
    mut places: Vec<(u32, u32)>,
    lost: &mut Vec<String>,
) -> Result<Vec<Told>> {
    let (mut told, mut broken): (Vec<Told>, usize) = (Vec::new(), 0);
    let nothing = || EntityUpdate { name: name.to_owned(), ..EntityUpdate::default() };
    for addition in additions {
        let of_document = documents.found.contains_key(&addition.document);
        let document = match scope {
            INDEX_SCOPE if of_document => Some(addition.document),
            INDEX_SCOPE => None,
            scope => Some(scope),
        };
        let mut update = EntityUpdate { kind: addition.kind, aliases: addition.aliases, ..nothing() };
        for quoted in &addition.descriptions {
            let (text, is_whole) = documents.resolve(remains, addition.document, quoted, DESCRIPTION_BYTES)?;
            broken += usize::from(!is_whole);
            update.descriptions.push(text);
        }
        told.push(Told { document, update, chunks: Vec::new() });
    }
    if broken > 0 {
        lost.push(format!("parts of {broken} of its descriptions, which quote chunks that are lost"));
    }
    if told.is_empty() {
        let document = Some(scope).filter(|&scope| scope != INDEX_SCOPE);
        told.push(Told { document, update: nothing(), chunks: Vec::new() });
    }
    if scope != INDEX_SCOPE {
        places.retain(|&(document, _)| document == scope);
    } else {
        places.retain(|(document, _)| documents.found.contains_key(document));
    }
    if let Some(first) = told.first_mut() {
        first.chunks = places;
    }
    Ok(told)
}

/// All entities that were not removed, by id.
fn entities(remains: &Remains) -> Result<BTreeMap<u32, Known>> {
    let mut known: BTreeMap<u32, Known> = BTreeMap::new();
    remains.each(&[key::ENTITY_ROWS], |key, values| {
        let block = key::last_number(key).unwrap_or_default();
        for found in values {
            let rows = match decode_rows(block, &found.value) {
                Ok(rows) => rows,
                Err(error) => {
                    remains.note(wrong_value(key)(error))?;
                    continue;
                }
            };
            for row in rows {
                let is_newer = match known.get(&row.entity) {
                    None => true,
                    Some(_) if found.is_vouched => true,
                    Some(before) => row.parts >= before.parts,
                };
                if is_newer {
                    let (scope, is_vouched) = (Some(row.scope), found.is_vouched);
                    known.insert(row.entity, Known { scope, parts: row.parts, is_vouched });
                }
            }
        }
        Ok(())
    })?;
    if remains.may_lose_kind(key::ENTITY_ROWS) {
        remains.each(&[key::ENTITY_PART], |key, _| {
            let (Some(entity), Some(part)) = (key::first_number(key), key::last_number(key)) else { return Ok(()) };
            if key.len() != 9 || !remains.may_be_lost(&key::numbered(key::ENTITY_ROWS, entity / key::ROWS_A_BLOCK)) {
                return Ok(());
            }
            let unknown = Known { scope: None, parts: 0, is_vouched: false };
            let of = known.entry(entity).or_insert(unknown);
            if !of.is_vouched {
                of.parts = of.parts.max(part.saturating_add(1));
            }
            Ok(())
        })?;
    }
    known.retain(|_, known| known.parts > 0);
    Ok(known)
}

/// Names in compared form, by entity.
fn names(remains: &Remains) -> Result<BTreeMap<u32, String>> {
    let mut names = BTreeMap::new();
    remains.each_newest(
        &[key::ENTITY_NAME],
        |_, value| super::remains::standing_number(value),
        |key, entity, _| {
            let name = String::from_utf8_lossy(key.get(5..).unwrap_or_default()).into_owned();
            names.extend(entity.map(|entity| (entity, name)));
            Ok(())
        },
    )?;
    Ok(names)
}

/// Chunks by entity, from the sets of the chunks.
fn backwards(remains: &Remains) -> Result<BTreeMap<u32, Vec<u32>>> {
    let mut chunks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    remains.each(&[key::CHUNK_ENTITIES], |key, values| {
        let (Some(chunk), Some(piece)) = (key::first_number(key), key::piece(key)) else { return Ok(()) };
        let mut entities = Vec::new();
        for found in values {
            if let Err(error) = idset::add_update(&found.value, piece, &mut entities) {
                remains.note(wrong_value(key)(error))?;
            }
        }
        entities.into_iter().for_each(|entity| chunks.entry(entity).or_default().push(chunk));
        Ok(())
    })?;
    Ok(chunks)
}

/// Chunks that an entity is linked to.
fn links(remains: &Remains, entity: u32) -> Result<Vec<u32>> {
    let prefix = key::numbered(key::ENTITY_CHUNKS, entity);
    let mut chunks = Vec::new();
    remains.each(&prefix, |key, values| {
        let Some(piece) = key::piece(key).filter(|_| key.len() == prefix.len() + 2) else { return Ok(()) };
        for found in values {
            if let Err(error) = idset::add_update(&found.value, piece, &mut chunks) {
                remains.note(wrong_value(key)(error))?;
            }
        }
        Ok(())
    })?;
    Ok(chunks)
}
