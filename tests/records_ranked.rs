//! Plans and rankings over a few records whose answers were worked out by hand.

mod common;

use common::Folder;
use plica::ingest::{EntityUpdate, RecordKind, RecordUpdate};
use plica::records::{HopOptions, Plan, RecordQuery};
use plica::{Error, Index, NewChunk, Options, Result, Snapshot, Writer};
use std::path::Path;

fn relation(entity: &str, label: &str, value: &str) -> RecordUpdate {
    RecordUpdate {
        entity: entity.into(),
        entity_type: "person".into(),
        kind: RecordKind::Relation,
        label: label.into(),
        value: value.into(),
        ..RecordUpdate::default()
    }
}

fn property(entity: &str, label: &str, value: &str) -> RecordUpdate {
    RecordUpdate { kind: RecordKind::Property, ..relation(entity, label, value) }
}

/// A few records of a novel, one chunk each, in the order given.
fn novel(path: &Path, records: &[RecordUpdate]) -> Result<Snapshot> {
    let mut writer = Writer::create(path, &Options::new())?;
    writer.add_document("pride", "", "")?;
    for (ordinal, record) in (0..).zip(records) {
        let id = format!("pride:{ordinal}");
        let text = format!("{} {} {}.", record.entity, record.label, record.value);
        writer.append_chunk("pride", &NewChunk { external_id: Some(&id), ..NewChunk::text(&text) })?;
        writer.add_record("pride", record, &[ordinal])?;
    }
    let names = ["Elizabeth Bennet", "Lizzy", "Eliza"];
    let update = EntityUpdate {
        name: names[0].into(),
        aliases: names[1..].iter().map(|name| (*name).to_owned()).collect(),
        ..EntityUpdate::default()
    };
    writer.apply_update("pride", 0, &[update])?;
    writer.publish("pride")?;
    writer.commit()?;
    Ok(Index::open(path)?.snapshot())
}

fn sisters() -> Vec<RecordUpdate> {
    vec![
        relation("Jane Bennet", "sister_of", "Elizabeth Bennet"),
        relation("Jane Bennet", "sister_of", "Lydia Bennet"),
        relation("Elizabeth Bennet", "admired_by", "Mr. Darcy"),
        relation("Lizzy", "admired by", "Mr. Collins"),
        relation("Lydia Bennet", "admired_by", "Mr. Wickham"),
        property("Mr. Darcy", "estate", "Pemberley"),
        property("Mr. Collins", "estate", "Hunsford parsonage"),
        property("Mr. Wickham", "regiment", "the militia"),
        property("Mr. Darcy", "income", "ten thousand a year"),
    ]
}

#[test]
fn a_plan_of_three_hops_binds_what_a_person_finds() {
    let folder = Folder::new();
    let snapshot = novel(&folder.path("a.plica"), &sisters()).unwrap();
    let plan = Plan::parse(
        r#"{"hops":[
            {"id":"h1","match":{"entity":"jane bennet","label":"Sister of"},"mode":"point"},
            {"id":"h2","match":{"entity":"$h1.value","label":"admired_by"},"mode":"all"},
            {"id":"h3","match":{"entity":"$h2.value","label":"estate"},"mode":"point"}]}"#,
    )
    .unwrap();
    let answers = snapshot.hop(&plan, &HopOptions::default()).unwrap();
    let bound: Vec<Vec<(&str, &str)>> = answers
        .iter()
        .map(|hop| hop.bindings.iter().map(|record| (record.entity.as_str(), record.value.as_str())).collect())
        .collect();
    assert_eq!(
        bound,
        [
            // Two sisters are equally good; the first passage in reading order decides.
            vec![("Jane Bennet", "Elizabeth Bennet")],
            // By name first, then by alias.
            vec![("Elizabeth Bennet", "Mr. Darcy"), ("Lizzy", "Mr. Collins")],
            vec![("Mr. Darcy", "Pemberley"), ("Mr. Collins", "Hunsford parsonage")],
        ]
    );
    let passages: Vec<Vec<&str>> =
        answers.iter().map(|hop| hop.passages.iter().map(|passage| passage.id.as_str()).collect()).collect();
    assert_eq!(passages, [vec!["pride:0"], vec!["pride:2", "pride:3"], vec!["pride:5", "pride:6"]]);
    let all = Plan::parse(
        r#"{"hops":[
            {"id":"a","match":{"entity":"Jane Bennet","label":"sister_of"},"mode":"all"},
            {"id":"b","match":{"entity":"$a.value","label":"admired_by"},"mode":"all"},
            {"id":"c","match":{"entity":"$b.value","label":"regiment","type":"person"},"mode":"all"},
            {"id":"d","match":{"entity":"$b.entity","value":"$c.value"},"mode":"all"}]}"#,
    )
    .unwrap();
    let answers = snapshot.hop(&all, &HopOptions { k: 1, ..HopOptions::default() }).unwrap();
    let counts: Vec<(usize, usize)> = answers.iter().map(|hop| (hop.bindings.len(), hop.passages.len())).collect();
    assert_eq!(counts, [(2, 1), (3, 1), (1, 1), (0, 0)]);
    assert_eq!(answers[2].bindings[0].value, "the militia");
}

#[test]
fn keys_come_first_and_fall_back_only_where_there_are_none() {
    let folder = Folder::new();
    let mut records = sisters();
    records.push(RecordUpdate { coarse: "wealth".into(), ..property("Mr. Bingley", "yearly income", "five thousand") });
    let snapshot = novel(&folder.path("a.plica"), &records).unwrap();
    let found = |query: RecordQuery| {
        let answer = snapshot.records(&query).unwrap();
        let records: Vec<String> = answer.records.iter().map(|scored| scored.record.value.clone()).collect();
        (records, answer)
    };
    // The entity has the label: labels that share a word are left alone.
    let (values, answer) = found(RecordQuery::new().entity("Mr. Darcy").label("estate"));
    assert_eq!((values, answer.fallback.label), (vec!["Pemberley".to_owned()], false));
    assert!((answer.records[0].score - 1.0).abs() < 1e-12);
    // It has none such: a shared word does.
    let (values, answer) = found(RecordQuery::new().entity("Mr. Darcy").label("yearly_income"));
    assert_eq!((values, answer.fallback.label), (vec!["ten thousand a year".to_owned()], true));
    // Nor is there a shared word.
    assert!(found(RecordQuery::new().entity("Mr. Darcy").label("height")).0.is_empty());
    // A coarse label, and without an entity.
    assert_eq!(found(RecordQuery::new().label("wealth")).0, ["five thousand"]);
    assert_eq!(found(RecordQuery::new().entity("mr. bingley").label("wealth")).0, ["five thousand"]);
    // Aliases lead both ways.
    let (values, answer) = found(RecordQuery::new().entity("Eliza").label("admired_by"));
    assert_eq!(values, ["Mr. Darcy", "Mr. Collins"]);
    assert_eq!(answer.fallback.names, ["Elizabeth Bennet", "Lizzy"]);
    // A type that is another's, a kind that is another's.
    assert!(found(RecordQuery::new().entity("Mr. Darcy").entity_type("place")).0.is_empty());
    assert!(found(RecordQuery::new().entity("Mr. Darcy").kind(RecordKind::Aspect)).0.is_empty());
    // A value that does not fit leaves the record in, lower; one that does, above it.
    let (values, answer) = found(RecordQuery::new().entity("Jane Bennet").label("sister_of").value("Miss Lydia"));
    assert_eq!(values, ["Lydia Bennet", "Elizabeth Bennet"]);
    assert!(answer.records[0].score > answer.records[1].score);
    assert_eq!(answer.passages[0].id, "pride:1");
    // Similar names only where asked for.
    assert!(found(RecordQuery::new().entity("Mr. Darcey").label("estate")).0.is_empty());
    let (values, answer) = found(RecordQuery::new().entity("Mr. Darcey").label("estate").fuzzy(1));
    assert_eq!((values, answer.fallback.similar), (vec!["Pemberley".to_owned()], true));
    assert_eq!(found(RecordQuery::new().entity("Mr. D").prefix(true)).0.len(), 2);
    assert_eq!(found(RecordQuery::new().value("parsonage")).0, ["Hunsford parsonage"]);
    // The floor, the number of passages, reading order.
    let (values, answer) = found(RecordQuery::new().entity_type("person").k(3));
    assert_eq!((values.len(), answer.passages.len()), (10, 3));
    assert_eq!(answer.passages[2].id, "pride:2");
    let high = RecordQuery { floor: 1.0, ..RecordQuery::new().entity("Eliza").label("admired_by") };
    assert!(found(high).0.is_empty());
    assert!(matches!(snapshot.records(&RecordQuery::new().entity("x").fuzzy(3)), Err(Error::Limit { .. })));
    assert!(matches!(snapshot.records(&RecordQuery::new().document("x")), Err(Error::NotFound { .. })));
}
