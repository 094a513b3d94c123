//! Records of small texts, source by source.

use super::*;
use crate::ingest::KnownEntity;

fn known(name: &str, kind: &str) -> KnownEntity {
    KnownEntity { name: name.into(), kind: kind.into(), aliases: vec![], descriptions: vec![], chunks: 3 }
}

fn read(title: &str, text: &str, entities: &[KnownEntity]) -> Vec<RecordUpdate> {
    let input = RecordInput { document: "d", document_title: "The Pump", ordinal: 0, title, text, entities };
    Builtin.records(&input).unwrap()
}

/// The records in short: entity, label, value.
fn short(records: &[RecordUpdate]) -> Vec<(&str, &str, &str)> {
    records.iter().map(|r| (r.entity.as_str(), r.label.as_str(), r.value.as_str())).collect()
}

#[test]
fn labelled_lines_are_of_the_section() {
    let text = "## Rotor\n\n**Mass:** 3 kg\n- Material: cast iron\n\nIt turns: that is all.\n\n```\nKey: value\n```\n";
    let records = read("The Pump > Parts > Rotor", text, &[]);
    assert_eq!(
        short(&records),
        [("Parts", "rotor", "Rotor"), ("Rotor", "mass", "3 kg"), ("Rotor", "material", "cast iron")]
    );
    assert_eq!(records[0].kind, RecordKind::Aspect);
    assert_eq!((records[1].kind, records[1].coarse.as_str()), (RecordKind::Property, "quantity"));
}

#[test]
fn rows_are_read_with_their_table_or_under_a_title() {
    let text = "| Part | Mass | Note |\n|---|---|---|\n| Rotor | 3 kg | - |\n| Seal | 20 g | of rubber |\n";
    let expected = [("Rotor", "mass", "3 kg"), ("Seal", "mass", "20 g"), ("Seal", "note", "of rubber")];
    let records = read("", text, &[]);
    assert_eq!(short(&records), expected);
    assert_eq!(records[0].entity_type, "part");
    let row = read("Parts > Table 1: All parts > | Part | Mass | Note |", "| Seal | 20 g | of rubber |\n", &[]);
    assert_eq!(short(&row), expected[1..]);
    let ledger = read("Ledger > No,Date,Payee,Sum", "7,1865-07-03,Alma Orr,12.50\n", &[]);
    assert_eq!(short(&ledger)[2..], [("Alma Orr", "sum", "12.50")]);
    assert_eq!(ledger[2].condition, Some(("no".into(), "7".into())));
    let aligned = read("Stock: > Lamp | Count", "Storm    12\n", &[]);
    assert_eq!(short(&aligned), [("Storm", "count", "12")]);
}

#[test]
fn relations_keep_their_direction() {
    let entities = [known("Ada Quill", "person"), known("Edgar Vane", "person"), known("Hollin", "place")];
    let text = "Ada Quill is the sister of Edgar Vane. Edgar Vane, the mayor of Hollin, laughed. They met Edgar Vane’s \
                sister Ada Quill. Ada Quill married Edgar Vane in May 1805.";
    let records = read("", text, &entities);
    let expected = [
        ("Ada Quill", "sister_of", "Edgar Vane"),
        ("Edgar Vane", "mayor_of", "Hollin"),
        ("Ada Quill", "married", "Edgar Vane"),
        ("Ada Quill", "marriage", "May 1805"),
    ];
    assert_eq!(short(&records), expected);
    assert!(
        records[..3].iter().all(|r| r.kind == RecordKind::Relation && r.coarse.is_empty() && r.entity_type == "person")
    );
    assert_eq!(records[2].valid, "May 1805");
}

#[test]
fn copulas_dates_and_amounts() {
    let entities = [known("Ada Quill", "person"), known("Hollin", "place")];
    let text = "Ada Quill was a poor student. Ada Quill was born on 12 May 1805. Hollin has a fee of 60 roubles. When it \
                rains, Hollin is a muddy town. Ada Quill was arrested in 1849.";
    let records = read("", text, &entities);
    let expected = [
        ("Ada Quill", "is", "a poor student"),
        ("Ada Quill", "birth", "12 May 1805"),
        ("Hollin", "fee", "60 roubles"),
        ("Ada Quill", "arrest", "1849"),
    ];
    assert_eq!(short(&records), expected);
    assert_eq!(records[0].coarse, "role");
}

#[test]
fn a_chunk_gives_at_most_so_many_and_any_text_is_read() {
    let rows: String = (0..200).map(|i| format!("| Part {i} | {i} kg |\n")).collect();
    let text = format!("| Part | Mass |\n|---|---|\n{rows}");
    assert_eq!(read("", &text, &[]).len(), RECORDS);
    for piece in ["|", "#", "**a:** b\n", "Ada, the ", "a: b\n", "\u{301}", "|a|\n|-|\n", "Ada’s ", "“", "12 May "]
    {
        let text = piece.repeat(60_000 / piece.len());
        read(&piece.repeat(20), &text, &[known("Ada", "person")]);
    }
}
