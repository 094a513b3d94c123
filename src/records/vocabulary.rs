//! The values that a field has, with how many records have each: what a planner chooses from.
//!
//! Where readers see every document, and nothing but a type is given, the counts that the index keeps answer; else the
//! records are counted. Both give the same.

use super::Place;
use super::query::RecordQuery;
use super::reading::{Filter, Reading};
use crate::Result;
use crate::index::Snapshot;
use crate::index::records::{bounded, kind_of, label_symbol, symbol};
use crate::index::view::{damaged_value, inconsistent};
use crate::search::Limits;
use plica_format::key;
use plica_format::record::{RecordRow, decode_count};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// A field whose values can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordField {
    /// Entities.
    Entity,
    /// Types of entities.
    Type,
    /// Kinds.
    Kind,
    /// Labels.
    Label,
    /// Coarse labels.
    Coarse,
    /// Values.
    Value,
}

impl RecordField {
    /// All fields.
    pub const ALL: [Self; 6] = [Self::Entity, Self::Type, Self::Kind, Self::Label, Self::Coarse, Self::Value];

    /// `entity`, `type`, `kind`, `label`, `coarse` or `value`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entity => "entity",
            Self::Type => "type",
            Self::Kind => "kind",
            Self::Label => "label",
            Self::Coarse => "coarse",
            Self::Value => "value",
        }
    }

    /// The field of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    /// A value of the field in the form that is compared.
    fn symbol(self, text: &str) -> String {
        match self {
            Self::Label | Self::Coarse => label_symbol(text),
            _ => symbol(text),
        }
    }
}

/// A question for the values of a field: of all records, or of those with the fields that are given, exactly.
#[derive(Debug, Clone)]
pub struct VocabularyQuery {
    /// The field whose values are listed.
    pub field: RecordField,
    /// Only records of this document.
    pub document: Option<String>,
    /// Only records of this entity.
    pub entity: Option<String>,
    /// Only records of entities of this type.
    pub entity_type: Option<String>,
    /// Only records with this label.
    pub label: Option<String>,
    /// Only values that begin so, in their compared form.
    pub prefix: Option<String>,
    /// Values at most: the most frequent.
    pub limit: usize,
    /// How long the call may take.
    pub limits: Limits,
}

impl VocabularyQuery {
    /// All values of a field.
    pub fn new(field: RecordField) -> Self {
        Self {
            field,
            document: None,
            entity: None,
            entity_type: None,
            label: None,
            prefix: None,
            limit: usize::MAX,
            limits: Limits::default(),
        }
    }

    /// Only records of this document.
    pub fn document(mut self, id: impl Into<String>) -> Self {
        self.document = Some(id.into());
        self
    }

    /// Only records of this entity.
    pub fn entity(mut self, entity: impl Into<String>) -> Self {
        self.entity = Some(entity.into());
        self
    }

    /// Only records of entities of this type.
    pub fn entity_type(mut self, entity_type: impl Into<String>) -> Self {
        self.entity_type = Some(entity_type.into());
        self
    }

    /// Only records with this label.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Only values that begin so.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Sets the number of values.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

/// A value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldValue {
    /// The value: a label in its compared form, anything else as the first record that has it spells it, in the order
    /// of [`Snapshot::look_up`].
    pub value: String,
    /// Records that have it.
    pub count: u64,
}

/// A value that was counted.
#[derive(Default)]
struct Counted {
    count: u64,
    /// The first record that has it, the id of its document, and its spelling.
    first: Option<(Place, String, String)>,
}

impl Snapshot {
    /// The distinct values of a field and how many records have each, most frequent first, equals in the order of their
    /// compared form. Records whose field is empty are not counted.
    ///
    /// # Errors
    /// As of [`Snapshot::look_up`].
    pub fn vocabulary(&self, query: &VocabularyQuery) -> Result<Vec<FieldValue>> {
        let reading = Reading::new(self, &query.limits)?;
        let prefix = query.prefix.as_deref().map(|prefix| query.field.symbol(prefix)).unwrap_or_default();
        let is_whole = query.document.is_none() && query.entity.is_none() && query.label.is_none();
        let by_counts = is_whole
            && reading.counts_are_exact()
            && match query.field {
                RecordField::Entity => true,
                RecordField::Type | RecordField::Label | RecordField::Kind => query.entity_type.is_none(),
                RecordField::Coarse | RecordField::Value => false,
            };
        let mut counted = match by_counts {
            true => reading.kept_counts(query.field, query.entity_type.as_deref(), &prefix)?,
            false => reading.counted(query, &prefix)?,
        };
        // A vocabulary can be as large as the records; what is not asked for is not sorted.
        let order =
            |a: &(String, Counted), b: &(String, Counted)| b.1.count.cmp(&a.1.count).then_with(|| a.0.cmp(&b.0));
        if query.limit < counted.len() {
            counted.select_nth_unstable_by(query.limit, order);
            counted.truncate(query.limit);
        }
        counted.sort_unstable_by(order);
        let mut out = Vec::with_capacity(counted.len());
        for (symbol, counted) in counted {
            let value = match (query.field, counted.first) {
                (RecordField::Label | RecordField::Coarse | RecordField::Kind, _) => symbol,
                (_, Some((_, _, spelling))) => spelling,
                (_, None) => reading.spelling(query.field, &symbol, query.entity_type.as_deref())?,
            };
            out.push(FieldValue { value, count: counted.count });
        }
        Ok(out)
    }
}

impl Reading<'_> {
    /// The counts that the index keeps.
    fn kept_counts(
        &self,
        field: RecordField,
        entity_type: Option<&str>,
        prefix: &str,
    ) -> Result<Vec<(String, Counted)>> {
        let mut out: Vec<(String, Counted)> = Vec::new();
        let mut entities: HashMap<String, u64> = HashMap::new();
        let start = match (field, entity_type) {
            (RecordField::Kind, _) => vec![key::RECORD_KINDS],
            (RecordField::Label, _) => key::named(key::RECORD_LABELS, prefix.as_bytes()),
            (RecordField::Entity, Some(of)) => {
                let mut start = key::parted(key::RECORD_TYPES, &[bounded(symbol(of)).as_bytes()]);
                start.extend_from_slice(prefix.as_bytes());
                start
            }
            (RecordField::Type, _) => key::named(key::RECORD_TYPES, prefix.as_bytes()),
            _ => vec![key::RECORD_TYPES],
        };
        self.view.dictionary.each_newest(&start, b"", |bytes, count| {
            self.step()?;
            let count = decode_count(count).map_err(damaged_value(key::RECORD_TYPES))?;
            if count == 0 {
                return Ok(ControlFlow::Continue(()));
            }
            let rest = bytes.get(1..).unwrap_or_default();
            if field == RecordField::Kind {
                let kind = kind_of(rest.first().copied().unwrap_or_default()).name();
                if kind.starts_with(prefix) {
                    out.push((kind.to_owned(), Counted { count, first: None }));
                }
                return Ok(ControlFlow::Continue(()));
            }
            let text = std::str::from_utf8(rest).map_err(|_| inconsistent("a count of what is not UTF-8"))?;
            let symbol = match (field, text.split_once('\0')) {
                (RecordField::Label, _) => text,
                (RecordField::Type, Some((of, _))) => of,
                (_, Some((_, entity))) => entity,
                (_, None) => return Err(inconsistent("a count of records by type and entity without its entity")),
            };
            if symbol.is_empty() || !symbol.starts_with(prefix) {
                return Ok(ControlFlow::Continue(()));
            }
            match out.last_mut() {
                // The entities of a type lie together, those of several types do not.
                Some((last, counted)) if last == symbol => counted.count += count,
                _ if field == RecordField::Entity && entity_type.is_none() => {
                    *entities.entry(symbol.to_owned()).or_default() += count;
                }
                _ => out.push((symbol.to_owned(), Counted { count, first: None })),
            }
            Ok(ControlFlow::Continue(()))
        })?;
        out.extend(entities.into_iter().map(|(symbol, count)| (symbol, Counted { count, first: None })));
        Ok(out)
    }

    /// Counts the values of the records themselves.
    fn counted(&self, query: &VocabularyQuery, prefix: &str) -> Result<Vec<(String, Counted)>> {
        let records = RecordQuery {
            document: query.document.clone(),
            entity: query.entity.clone(),
            entity_type: query.entity_type.clone(),
            label: query.label.clone(),
            ..RecordQuery::new()
        };
        let filter = Filter::new(self.snapshot, &records)?;
        let mut counted: HashMap<String, Counted> = HashMap::new();
        self.each_match(&filter, |found, row| {
            let (symbol, spelling) = match query.field {
                RecordField::Kind => (kind_of(row.kind).name().to_owned(), ""),
                field => {
                    let text = text_of(field, row);
                    (bounded(field.symbol(text)), text)
                }
            };
            if symbol.is_empty() || !symbol.starts_with(prefix) {
                return Ok(ControlFlow::Continue(()));
            }
            let entry = counted.entry(symbol).or_default();
            entry.count += 1;
            let place = found.place();
            let is_first = entry.first.as_ref().is_none_or(|(first, document, _)| {
                (place.as_slice(), found.head.id.as_str()) < (first.as_slice(), document.as_str())
            });
            if is_first {
                entry.first = Some((place, found.head.id.clone(), spelling.to_owned()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(counted.into_iter().collect())
    }

    /// The spelling of an entity or a type by the first record that has it.
    fn spelling(&self, field: RecordField, wanted: &str, entity_type: Option<&str>) -> Result<String> {
        let entity = match field {
            RecordField::Entity => Some(wanted.to_owned()),
            _ => {
                let start = key::parted(key::RECORD_TYPES, &[wanted.as_bytes()]);
                let mut first = None;
                self.view.dictionary.each_newest(&start, b"", |bytes, count| {
                    if count.is_empty() {
                        return Ok(ControlFlow::Continue(()));
                    }
                    let entity = bytes.get(start.len()..).unwrap_or_default();
                    first = Some(String::from_utf8_lossy(entity).into_owned());
                    Ok(ControlFlow::Break(()))
                })?;
                first
            }
        };
        let entity = entity.ok_or_else(|| inconsistent("a type is counted and no entity has it"))?;
        let of_type = match field {
            RecordField::Entity => entity_type.map(|of| bounded(symbol(of))),
            _ => Some(wanted.to_owned()),
        };
        let mut best: Option<(Vec<u8>, [u8; key::RECORD_HASH_BYTES], String, String)> = None;
        self.each(
            &key::parted(key::RECORD, &[entity.as_bytes()]),
            |_, _| true,
            |found| {
                let row = found.decoded()?;
                if of_type.as_ref().is_some_and(|of| bounded(symbol(row.entity_type)) != *of) {
                    return Ok(ControlFlow::Continue(()));
                }
                if best
                    .as_ref()
                    .is_some_and(|(label, hash, _, _)| (label.as_slice(), hash) != (found.key.label, &found.key.hash))
                {
                    return Ok(ControlFlow::Break(()));
                }
                // The same record of several documents: the id decides, which no history shows in.
                if best.as_ref().is_none_or(|(_, _, document, _)| found.head.id < *document) {
                    let spelling = text_of(field, &row).to_owned();
                    best = Some((found.key.label.to_vec(), found.key.hash, found.head.id.clone(), spelling));
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;
        best.map(|best| best.3).ok_or_else(|| inconsistent("an entity is counted and no record has it"))
    }
}

fn text_of<'r>(field: RecordField, row: &RecordRow<'r>) -> &'r str {
    match field {
        RecordField::Entity => row.entity,
        RecordField::Type => row.entity_type,
        RecordField::Label => row.label,
        RecordField::Coarse => row.coarse,
        RecordField::Value => row.value,
        RecordField::Kind => "",
    }
}
