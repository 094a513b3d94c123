//! Records answer as a plain list of them would, whatever was added, removed, corrected, committed and merged before.

mod common;

use common::{Folder, assert_sound};
use plica::ingest::{RecordKind, RecordUpdate};
use plica::interchange::{ImportOptions, export, import, stated};
use plica::records::{Record, RecordField, RecordQuery, VocabularyQuery};
use plica::{Error, Index, MemoryScope, NewChunk, Options, Snapshot, Writer};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A field as it is compared.
fn symbol(text: &str) -> String {
    plica::text::key(text)
}

fn label_symbol(text: &str) -> String {
    symbol(text).replace([' ', '-'], "_")
}

/// What makes records the same: the compared fields.
type Identity = (String, String, u8, String, String, String, String, String);

fn identity(record: &RecordUpdate) -> Identity {
    let (label, value) = record.condition.clone().unwrap_or_default();
    (
        symbol(&record.entity),
        symbol(&record.entity_type),
        record.kind as u8,
        label_symbol(&record.label),
        symbol(&record.value),
        label_symbol(&label),
        symbol(&value),
        symbol(&record.valid),
    )
}

/// The plain list: by document and identity, the record as it was spelled first and its chunks.
#[derive(Debug, Clone, Default)]
struct Model(BTreeMap<(String, Identity), (RecordUpdate, BTreeSet<u32>)>);

impl Model {
    fn add(&mut self, document: &str, record: &RecordUpdate, ordinals: &[u32]) -> bool {
        let entry = self.0.entry((document.to_owned(), identity(record)));
        let (known, chunks) = entry.or_insert_with(|| (record.clone(), BTreeSet::new()));
        let before = (known.coarse.clone(), chunks.len());
        if known.coarse.is_empty() {
            known.coarse.clone_from(&record.coarse);
        }
        chunks.extend(ordinals);
        before != (known.coarse.clone(), chunks.len())
    }

    fn remove(&mut self, document: &str, record: &RecordUpdate) -> Option<BTreeSet<u32>> {
        self.0.remove(&(document.to_owned(), identity(record))).map(|(_, chunks)| chunks)
    }

    fn correct(&mut self, document: &str, old: &RecordUpdate, new: &RecordUpdate) -> bool {
        let Some(chunks) = self.remove(document, old) else { return false };
        self.add(document, new, &chunks.into_iter().collect::<Vec<_>>());
        true
    }

    fn seen(&self) -> impl Iterator<Item = (&String, &RecordUpdate, &BTreeSet<u32>)> {
        let live = self.0.iter().filter(|((document, _), _)| document != "hidden");
        live.map(|((document, _), (record, chunks))| (document, record, chunks))
    }
}

fn flat(records: Vec<Record>) -> Vec<(String, RecordUpdate, BTreeSet<u32>)> {
    let listed = records.into_iter();
    listed.map(|r| (r.document.clone(), r.update(), r.chunks.iter().copied().collect())).collect()
}

#[derive(Debug, Clone)]
enum Action {
    Add(usize, RecordUpdate, Vec<u32>),
    Remove(usize, RecordUpdate),
    Correct(usize, RecordUpdate, RecordUpdate),
    Commit,
    Rollback,
    Reopen,
}

fn record() -> impl Strategy<Value = RecordUpdate> {
    let entity = prop::sample::select(vec!["Jane", "JANE", "jane  b", "Jana", "Ⅸ", ""]);
    let entity_type = prop::sample::select(vec!["", "Person", "person", "Place"]);
    let label = prop::sample::select(vec!["sister of", "Sister-Of", "age", "ag", ""]);
    let coarse = prop::sample::select(vec!["", "kin", "Kin", "age"]);
    let value = prop::sample::select(vec!["Lydia", "lydia", "22", ""]);
    let condition = prop::sample::select(vec![None, Some(("in", "May")), Some(("IN", "may")), Some(("", "June"))]);
    let valid = prop::sample::select(vec!["", "1811"]);
    let kind = prop::sample::select(RecordKind::ALL.to_vec());
    (entity, entity_type, kind, label, coarse, value, condition, valid).prop_filter_map(
        "says something",
        |(entity, entity_type, kind, label, coarse, value, condition, valid)| {
            let says = !entity.is_empty() || !label.is_empty() || !value.is_empty();
            says.then(|| RecordUpdate {
                entity: entity.into(),
                entity_type: entity_type.into(),
                kind,
                label: label.into(),
                coarse: coarse.into(),
                value: value.into(),
                condition: condition.map(|(label, value)| (label.into(), value.into())),
                valid: valid.into(),
            })
        },
    )
}

fn action() -> impl Strategy<Value = Action> {
    let chunks = prop::collection::vec(0u32..5, 1..4);
    prop_oneof![
        8 => (0usize..3, record(), chunks).prop_map(|(at, record, chunks)| Action::Add(at, record, chunks)),
        3 => (0usize..3, record()).prop_map(|(at, record)| Action::Remove(at, record)),
        2 => (0usize..3, record(), record()).prop_map(|(at, old, new)| Action::Correct(at, old, new)),
        4 => Just(Action::Commit),
        1 => Just(Action::Rollback),
        1 => Just(Action::Reopen),
    ]
}

const DOCUMENTS: [&str; 3] = ["b", "a", "hidden"];

fn create(path: &Path, options: &Options) -> Writer {
    let mut writer = Writer::create(path, options).unwrap();
    for ordinal in 0..5 {
        for document in DOCUMENTS {
            if ordinal == 0 {
                writer.add_document(document, "", "").unwrap();
            }
            let id = format!("{document}-{ordinal}");
            let external_id = (ordinal % 2 == 0).then_some(id.as_str());
            let text = format!("passage {ordinal}");
            writer.append_chunk(document, &NewChunk { external_id, ..NewChunk::text(&text) }).unwrap();
        }
    }
    for document in DOCUMENTS {
        // An index-wide memory commits no document that is not published.
        if document != "hidden" || options.memory == MemoryScope::Index {
            writer.publish(document).unwrap();
        }
    }
    writer.commit().unwrap();
    writer
}

fn exported(snapshot: &Snapshot) -> Vec<u8> {
    let mut out = Vec::new();
    export(snapshot, &mut out).unwrap();
    out
}

/// The records of a model that have the fields that a query gives.
fn expected(model: &Model, query: &RecordQuery) -> Vec<(String, RecordUpdate, BTreeSet<u32>)> {
    let is = |wanted: &Option<String>, text: &str, form: fn(&str) -> String, prefix: bool| {
        wanted.as_ref().is_none_or(|wanted| match prefix {
            true => form(text).starts_with(&form(wanted)),
            false => form(text) == form(wanted),
        })
    };
    let found = model.seen().filter(|(document, record, _)| {
        let (label, value) = record.condition.clone().unwrap_or_default();
        query.document.as_ref().is_none_or(|own| own == *document)
            && query.kind.is_none_or(|kind| kind == record.kind)
            && is(&query.entity, &record.entity, symbol, query.prefix)
            && is(&query.entity_type, &record.entity_type, symbol, query.prefix)
            && is(&query.label, &record.label, label_symbol, query.prefix)
            && is(&query.coarse, &record.coarse, label_symbol, query.prefix)
            && is(&query.value, &record.value, symbol, query.prefix)
            && is(&query.condition_label, &label, label_symbol, false)
            && is(&query.condition_value, &value, symbol, false)
    });
    let mut found: Vec<_> =
        found.map(|(document, record, chunks)| (document.clone(), record.clone(), chunks.clone())).collect();
    found.sort_by_key(|(document, record, _)| (document.clone(), identity(record)));
    found
}

/// Compares every answer with the model's.
fn compare(snapshot: &Snapshot, model: &Model, probe: &RecordUpdate, document: &str) {
    for fields in 0u32..1 << 10 {
        let given = |bit: u32, text: &str| (fields >> bit & 1 == 1).then(|| text.to_owned());
        let (label, value) = probe.condition.clone().unwrap_or_default();
        let query = RecordQuery {
            document: given(0, document),
            entity: given(1, &probe.entity),
            entity_type: given(2, &probe.entity_type),
            kind: (fields >> 3 & 1 == 1).then_some(probe.kind),
            label: given(4, &probe.label),
            coarse: given(5, &probe.coarse),
            value: given(6, &probe.value),
            condition_label: given(7, &label),
            condition_value: given(8, &value),
            prefix: fields >> 9 & 1 == 1,
            ..RecordQuery::new()
        };
        let mut found = flat(snapshot.look_up(&query).unwrap());
        found.sort_by_key(|(document, record, _)| (document.clone(), identity(record)));
        assert_eq!(found, expected(model, &query), "{query:?}");
        if query.prefix {
            assert_eq!(snapshot.records(&query).unwrap().total, found.len());
        }
    }
    for field in RecordField::ALL {
        for fields in 0u32..1 << 5 {
            let given = |bit: u32, text: &str| (fields >> bit & 1 == 1).then(|| text.to_owned());
            let query = VocabularyQuery {
                document: given(0, document),
                entity: given(1, &probe.entity),
                entity_type: given(2, &probe.entity_type),
                label: given(3, &probe.label),
                prefix: given(4, "J"),
                ..VocabularyQuery::new(field)
            };
            let records = RecordQuery {
                document: query.document.clone(),
                entity: query.entity.clone(),
                entity_type: query.entity_type.clone(),
                label: query.label.clone(),
                ..RecordQuery::new()
            };
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for (_, record, _) in expected(model, &records) {
                let value = match field {
                    RecordField::Entity => symbol(&record.entity),
                    RecordField::Type => symbol(&record.entity_type),
                    RecordField::Kind => record.kind.name().to_owned(),
                    RecordField::Label => label_symbol(&record.label),
                    RecordField::Coarse => label_symbol(&record.coarse),
                    RecordField::Value => symbol(&record.value),
                };
                if !value.is_empty() && query.prefix.as_ref().is_none_or(|start| value.starts_with(&symbol(start))) {
                    *counts.entry(value).or_default() += 1;
                }
            }
            let mut wanted: Vec<(String, u64)> = counts.into_iter().collect();
            wanted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            let listed = snapshot.vocabulary(&query).unwrap();
            let listed: Vec<(String, u64)> =
                listed.into_iter().map(|value| (symbol(&value.value), value.count)).collect();
            assert_eq!(listed, wanted, "{query:?}");
            let first = snapshot.vocabulary(&query.clone().limit(1)).unwrap();
            assert_eq!(first.first().map(|first| first.count), wanted.first().map(|wanted| wanted.1));
        }
    }
}

/// Everything that a snapshot says of its records, spellings included.
fn everything(snapshot: &Snapshot) -> String {
    let mut out = format!("{:?}\n", snapshot.look_up(&RecordQuery::new()).unwrap());
    for field in RecordField::ALL {
        out.push_str(&format!("{:?}\n", snapshot.vocabulary(&VocabularyQuery::new(field)).unwrap()));
        let of = VocabularyQuery::new(field).entity_type("person");
        out.push_str(&format!("{:?}\n", snapshot.vocabulary(&of).unwrap()));
    }
    for query in [
        RecordQuery::new().entity("jane").label("sister").value("lydia bennet"),
        RecordQuery::new().entity("jane").fuzzy(2),
        RecordQuery::new().label("age"),
        RecordQuery::new().label("of age"),
        RecordQuery::new().value("lydia the younger").entity_type("person"),
    ] {
        out.push_str(&format!("{:?}\n", snapshot.records(&query).unwrap()));
    }
    out
}

fn run(actions: &[Action], memory: MemoryScope, budget: usize) {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let options = Options::new().memory(memory).memory_budget_bytes(budget).timestamps(false);
    let mut writer = create(&path, &options);
    let mut model = Model::default();
    let mut committed = model.clone();
    for action in actions {
        match action {
            Action::Add(at, record, ordinals) => {
                let added = writer.add_record(DOCUMENTS[*at], record, ordinals).unwrap();
                assert_eq!(added, model.add(DOCUMENTS[*at], record, ordinals), "{action:?}");
            }
            Action::Remove(at, record) => {
                let removed = writer.remove_record(DOCUMENTS[*at], record).unwrap();
                assert_eq!(removed, model.remove(DOCUMENTS[*at], record).is_some(), "{action:?}");
            }
            Action::Correct(at, old, new) => {
                let corrected = writer.correct_record(DOCUMENTS[*at], old, new).unwrap();
                assert_eq!(corrected, model.correct(DOCUMENTS[*at], old, new), "{action:?}");
            }
            Action::Commit | Action::Reopen => {
                writer.commit().unwrap();
                committed = model.clone();
                if matches!(action, Action::Reopen) {
                    drop(writer);
                    writer = Writer::open_with(&path, &options).unwrap();
                }
            }
            Action::Rollback => {
                writer.rollback().unwrap();
                model = committed.clone();
            }
        }
    }
    writer.commit().unwrap();
    drop(writer);
    if memory == MemoryScope::Index {
        // There all three documents are seen; the model hides one by its name.
        let renamed = std::mem::take(&mut model.0).into_iter().map(|((document, identity), value)| {
            let document = if document == "hidden" { "hidden " } else { &document }.to_owned();
            ((document, identity), value)
        });
        model.0 = renamed.collect();
    }
    let index = Index::open(&path).unwrap();
    let snapshot = index.snapshot();
    assert_sound(&snapshot);
    let probe = actions.iter().rev().find_map(|action| match action {
        Action::Add(_, record, _) => Some(record.clone()),
        _ => None,
    });
    if memory == MemoryScope::Document {
        compare(&snapshot, &model, &probe.unwrap_or_default(), "a");
        assert_eq!(snapshot.stat().unwrap().records, model.seen().count() as u64);
    } else {
        assert_eq!(snapshot.look_up(&RecordQuery::new()).unwrap().len(), model.0.len());
        assert_eq!(snapshot.stat().unwrap().records, model.0.len() as u64);
    }
    let lines = exported(&snapshot);
    let (_, again) = stated(lines.as_slice()).unwrap();
    let copy = folder.path("b.plica");
    let mut other = Writer::create(&copy, &Options::new().memory(memory)).unwrap();
    import(&mut other, again, ImportOptions::new()).unwrap();
    let repeated = import(&mut other, lines.as_slice(), ImportOptions::new()).unwrap();
    assert_eq!(repeated.records, 0, "importing again adds nothing");
    let copied = Index::open(&copy).unwrap().snapshot();
    assert_sound(&copied);
    assert!(exported(&copied) == lines, "an imported export is another export");
    assert_eq!(everything(&copied), everything(&snapshot));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn records_answer_as_a_plain_list(actions in prop::collection::vec(action(), 1..120), tiny: bool) {
        run(&actions, MemoryScope::Document, if tiny { 4 << 10 } else { 64 << 20 });
    }

    #[test]
    fn records_survive_under_an_index_wide_memory(actions in prop::collection::vec(action(), 1..120)) {
        run(&actions, MemoryScope::Index, 64 << 20);
    }
}

fn property(entity: &str, label: &str, value: &str) -> RecordUpdate {
    RecordUpdate { entity: entity.into(), label: label.into(), value: value.into(), ..RecordUpdate::default() }
}

#[test]
fn what_is_no_record_is_refused() {
    let folder = Folder::new();
    let mut writer = create(&folder.path("a.plica"), &Options::new());
    let good = property("Jane", "age", "22");
    assert!(matches!(writer.add_record("a", &good, &[]), Err(Error::Invalid { .. })));
    assert!(matches!(writer.add_record("a", &good, &[5]), Err(Error::NotFound { .. })));
    assert!(matches!(writer.add_record("x", &good, &[0]), Err(Error::NotFound { .. })));
    let empty = RecordUpdate { entity: " ".into(), entity_type: "person".into(), ..RecordUpdate::default() };
    assert!(matches!(writer.add_record("a", &empty, &[0]), Err(Error::Invalid { .. })));
    let long = property("Jane", "age", &"x".repeat(1025));
    assert!(matches!(writer.add_record("a", &long, &[0]), Err(Error::Limit { limit: 1024, .. })));
    assert!(!writer.has_changes());
    // At the limits, in scripts that grow when they are compared, and with a zero byte.
    let widest = RecordUpdate {
        entity: "\u{fdfa}".repeat(341),
        entity_type: "é".repeat(512),
        kind: RecordKind::Aspect,
        label: "x".repeat(1024),
        coarse: "y".repeat(1024),
        value: "z\0".repeat(512),
        condition: Some(("c".repeat(1024), "d".repeat(1024))),
        valid: "v".repeat(1024),
    };
    assert!(writer.add_record("a", &widest, &[0, 1]).unwrap());
    assert!(!writer.add_record("a", &widest, &[1]).unwrap());
    assert!(writer.correct_record("a", &widest, &long).is_err());
    writer.commit().unwrap();
    let snapshot = Index::open(folder.path("a.plica")).unwrap().snapshot();
    assert_sound(&snapshot);
    for query in [
        RecordQuery::new().entity(&widest.entity),
        RecordQuery::new().label(&widest.label).value(&widest.value),
        RecordQuery::new().coarse(&widest.coarse),
        RecordQuery::new().value("z\0z").prefix(true),
    ] {
        assert_eq!(snapshot.look_up(&query).unwrap()[0].update(), widest);
    }
}

#[test]
fn records_may_come_before_their_chunks() {
    let folder = Folder::new();
    let lines = concat!(
        r#"{"type":"record","doc":"d","entity":"Jane","kind":"property","label":"age","value":"22","chunks":["d#0","second"]}"#,
        "\n",
        r#"{"type":"document","doc":"d"}"#,
        "\n",
        r#"{"type":"chunk","doc":"d","text":"one"}"#,
        "\n",
        r#"{"type":"record","doc":"d","entity":"Jane","label":"height","value":"tall","chunks":["second"]}"#,
        "\n",
        r#"{"type":"chunk","doc":"d","id":"second","text":"two"}"#,
        "\n",
    );
    let mut writer = Writer::create(folder.path("a.plica"), &Options::new()).unwrap();
    let imported = import(&mut writer, lines.as_bytes(), ImportOptions::new()).unwrap();
    assert_eq!((imported.records, imported.skipped), (2, 0));
    let snapshot = Index::open(folder.path("a.plica")).unwrap().snapshot();
    let chunks: Vec<Vec<u32>> = snapshot.look_up(&RecordQuery::new()).unwrap().into_iter().map(|r| r.chunks).collect();
    assert_eq!(chunks, [vec![0, 1], vec![1]]);
    for (line, said) in [
        (r#"{"type":"record","doc":"d","entity":"J","chunks":[]}"#, "passage"),
        (r#"{"type":"record","doc":"d","entity":"J"}"#, "passage"),
        (r#"{"type":"record","doc":"d","entity":"J","chunks":["third"]}"#, "no chunk \"third\""),
        (r#"{"type":"record","doc":"d","entity":"J","kind":"thing","chunks":["d#0"]}"#, "thing"),
        (r#"{"type":"record","doc":"d","entity":"J","place":"x","chunks":["d#0"]}"#, "place"),
        (r#"{"type":"record","doc":"e","entity":"J","chunks":["e#0"]}"#, "no document \"e\""),
    ] {
        let error = import(&mut writer, line.as_bytes(), ImportOptions::new()).unwrap_err().to_string();
        assert!(error.starts_with("line 1: ") && error.contains(said), "{line}: {error}");
    }
}
