//! Writing an index as JSON lines.
//!
//! The order is fixed by content alone: documents by the bytes of their ids; of each, the document line, its chunks by
//! ordinal, its entities in the order of creation, its summaries by level and index, its outline, its records by
//! compared entity, label and hash. The entities of an index-wide memory
//! come at the end, without a document. Memory is bounded by one document.

use crate::index::{Entity, MemoryScope, Snapshot};
use crate::{Error, Result};
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::entity::EntityRow;
use plica_format::key::{self, INDEX_SCOPE};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::io::Write;

/// Lists of an entity line are continued on a further line of the same entity when they pass this many bytes: far below
/// what a line may have ([`super::LINE_BYTES`]).
const ENTITY_LINE_BYTES: usize = 4 << 20;

#[derive(Serialize)]
struct DocumentLine<'a> {
    r#type: &'static str,
    doc: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
    fanout: u8,
    chunk_words: u32,
    memory: &'static str,
}

#[derive(Serialize)]
struct ChunkLine<'a> {
    r#type: &'static str,
    doc: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<u64>,
}

#[derive(Serialize)]
struct EntityLine<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc: Option<&'a str>,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    aliases: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    descriptions: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    chunks: &'a [String],
}

#[derive(Serialize)]
struct SummaryLine<'a> {
    r#type: &'static str,
    doc: &'a str,
    level: u8,
    index: u32,
    text: &'a str,
}

#[derive(Serialize)]
struct RecordLine<'a> {
    r#type: &'static str,
    doc: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    entity: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    entity_type: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    value: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<ConditionLine<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    valid: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    coarse: &'a str,
    chunks: &'a [String],
}

#[derive(Serialize)]
struct ConditionLine<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    value: &'a str,
}

/// Writes what a snapshot holds as JSON lines (see [the module](super)). Importing them gives the same export.
///
/// # Errors
/// [`Error::Io`] where `out` does not take them, [`Error::Damaged`] where the file is damaged.
pub fn export(snapshot: &Snapshot, out: &mut impl Write) -> Result<()> {
    let memory = snapshot.parameters().memory;
    for head in snapshot.heads()? {
        export_document(snapshot, &head, out)?;
    }
    if memory == MemoryScope::Index {
        let mut heads = HashMap::new();
        snapshot.each_row(|row| {
            if row.scope != INDEX_SCOPE {
                return Ok(());
            }
            export_shared(snapshot, row, &mut heads, out)
        })?;
    }
    out.flush().map_err(Error::io("write the lines", None))
}

pub(super) fn write(out: &mut impl Write, line: &impl Serialize) -> Result<()> {
    serde_json::to_writer(&mut *out, line)
        .map_err(std::io::Error::from)
        .and_then(|()| out.write_all(b"\n"))
        .map_err(Error::io("write the lines", None))
}

fn export_document(snapshot: &Snapshot, head: &DocumentHead, out: &mut impl Write) -> Result<()> {
    let parameters = snapshot.parameters();
    let information = snapshot.view().information(head)?;
    let metadata = match information.metadata.as_str() {
        "" => None,
        text => Some(serde_json::from_str(text).map_err(|error| Error::Damaged {
            offset: head.information.map_or(0, |reference| reference.offset),
            what: "metadata block".into(),
            detail: error.to_string(),
        })?),
    };
    let line = DocumentLine {
        r#type: "document",
        doc: &head.id,
        title: if head.title.is_empty() { &information.title } else { &head.title },
        metadata,
        fanout: parameters.fanout,
        chunk_words: parameters.chunk_words,
        memory: match parameters.memory {
            MemoryScope::Document => "document",
            MemoryScope::Index => "index",
        },
    };
    write(out, &line)?;
    // What entity lines call each chunk.
    let mut names: HashMap<u32, String> = HashMap::new();
    let mut order = crate::index::TextOrder::default();
    for (ordinal, chunk) in (0u32..).zip(snapshot.chunk_ids(head)?) {
        let row = snapshot.view().text_row(chunk)?;
        order.follow(&row)?;
        let (title, text) = snapshot.view().text(&row)?;
        let (start, end) = row.span.unzip();
        let id = row.external_id.as_deref();
        write(out, &ChunkLine { r#type: "chunk", doc: &head.id, id, title: &title, text: &text, start, end })?;
        if parameters.memory == MemoryScope::Document {
            names.insert(chunk, row.external_id.unwrap_or_else(|| format!("{}#{ordinal}", head.id)));
        }
    }
    if parameters.memory == MemoryScope::Document {
        snapshot.each_row_of(head, |row| {
            let (entity, linked) = record(snapshot, row)?;
            // Internal ids of a document's chunks ascend with the ordinal.
            let chunks: Vec<String> = linked.iter().filter_map(|chunk| names.get(chunk).cloned()).collect();
            write_entity(Some(&head.id), &entity, &chunks, out)
        })?;
    }
    snapshot.each_summary(head, |level, index, text| {
        write(out, &SummaryLine { r#type: "summary", doc: &head.id, level, index, text })
    })?;
    super::outline::export_outline(snapshot, head, out)?;
    export_records(snapshot, head, out)
}

/// The records of a document, in the order of their compared entities and labels.
fn export_records(snapshot: &Snapshot, head: &DocumentHead, out: &mut impl Write) -> Result<()> {
    snapshot.each_record_of(head, |row, ordinals| {
        let mut chunks = Vec::with_capacity(ordinals.len());
        for (&chunk, ordinal) in row.chunks.iter().zip(ordinals) {
            let id = snapshot.view().text_row(chunk)?.external_id;
            chunks.push(id.unwrap_or_else(|| format!("{}#{ordinal}", head.id)));
        }
        let (label, value) = row.condition;
        let has_condition = !label.is_empty() || !value.is_empty();
        write(
            out,
            &RecordLine {
                r#type: "record",
                doc: &head.id,
                entity: row.entity,
                entity_type: row.entity_type,
                kind: crate::index::records::kind_of(row.kind).name(),
                label: row.label,
                value: row.value,
                condition: has_condition.then_some(ConditionLine { label, value }),
                valid: row.valid,
                coarse: row.coarse,
                chunks: &chunks,
            },
        )
    })
}

/// A record, without its chunks, and the internal ids of those.
fn record(snapshot: &Snapshot, row: &EntityRow) -> Result<(Entity, Vec<u32>)> {
    let entity = snapshot.record_of(row)?;
    Ok((entity, snapshot.view().set(&key::numbered(key::ENTITY_CHUNKS, row.entity))?))
}

/// A record of an index-wide memory. Its chunks are named by document id and ordinal order, by external id where no
/// other chunk of the index can be meant, else as `DOC#ORDINAL`. Where another chunk has that for an external id, a
/// further line with the document names it.
fn export_shared(
    snapshot: &Snapshot,
    row: &EntityRow,
    heads: &mut HashMap<u32, Option<DocumentHead>>,
    out: &mut impl Write,
) -> Result<()> {
    let view = snapshot.view();
    let (entity, linked) = record(snapshot, row)?;
    let mut places = Vec::with_capacity(linked.len());
    for chunk in linked {
        let place = view.place(chunk)?;
        if let std::collections::hash_map::Entry::Vacant(vacant) = heads.entry(place.document) {
            vacant.insert(view.head(place.document)?.filter(|head| head.state == DocumentState::Live));
        }
        if let Some(head) = heads.get(&place.document).and_then(Option::as_ref) {
            places.push((head.id.clone(), place.ordinal, chunk));
        }
    }
    places.sort();
    let mut chunks = Vec::with_capacity(places.len());
    let mut apart: Vec<(String, String)> = Vec::new();
    for (document, ordinal, chunk) in places {
        let place = format!("{document}#{ordinal}");
        match view.text_row(chunk)?.external_id {
            Some(id) if means(snapshot, &id, chunk)? => chunks.push(id),
            _ if means(snapshot, &place, chunk)? => chunks.push(place),
            _ => apart.push((document, place)),
        }
    }
    write_entity(None, &entity, &chunks, out)?;
    for (document, place) in apart {
        let line = EntityLine {
            r#type: "entity",
            doc: Some(&document),
            name: &entity.name,
            kind: "",
            aliases: &[],
            descriptions: &[],
            chunks: &[place],
        };
        write(out, &line)?;
    }
    Ok(())
}

/// Whether a name, as an external id or as `DOC#ORDINAL`, means this chunk and no other.
fn means(snapshot: &Snapshot, name: &str, chunk: u32) -> Result<bool> {
    let view = snapshot.view();
    for (document, found) in view.chunks_by_external_id(name)? {
        if found != chunk && view.head(document)?.is_some_and(|head| head.state == DocumentState::Live) {
            return Ok(false);
        }
    }
    if let Some((id, _)) = name.rsplit_once('#')
        && let Some(ordinal) = crate::index::ordinal_of(id, name)
        && let Some(number) = view.document_number(id)?
        && let Some(head) = view.head(number)?.filter(|head| head.state == DocumentState::Live)
        && ordinal < head.chunks
    {
        return Ok(snapshot.chunk_id(&head, ordinal)? == chunk);
    }
    Ok(true)
}

/// Writes a record, on several lines where its lists are long.
fn write_entity(doc: Option<&str>, entity: &Entity, chunks: &[String], out: &mut impl Write) -> Result<()> {
    let mut rest: [&[String]; 3] = [&entity.aliases, &entity.descriptions, chunks];
    let mut kind = entity.kind.as_str();
    loop {
        let mut room = ENTITY_LINE_BYTES;
        let [aliases, descriptions, chunks] = rest.each_mut().map(|list| {
            let fits = list.iter().take_while(|item| {
                let fits = item.len() < room;
                room = room.saturating_sub(item.len() + 3);
                fits
            });
            let (now, later) = list.split_at(fits.count());
            *list = later;
            now
        });
        write(out, &EntityLine { r#type: "entity", doc, name: &entity.name, kind, aliases, descriptions, chunks })?;
        kind = "";
        if rest.iter().all(|list| list.is_empty()) {
            return Ok(());
        }
    }
}
