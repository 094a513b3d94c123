//! A row of a table is a passage of its own, and is found by the words of its header line, its caption and its section.

mod common;

use common::{Folder, assert_sound};
use plica::ingest::builtin::Builtin;
use plica::ingest::{Built, Reader, Source};
use plica::text::Chunking;
use plica::{Index, Options, Query, Writer};

fn ledger() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/ledger.md")).unwrap()
}

#[test]
fn a_row_is_found_by_its_header_and_the_text_stays_as_it_was() {
    let folder = Folder::new();
    let path = folder.path("ledger.plica");
    let text = ledger();
    let mut writer = Writer::create(&path, &Options::new()).unwrap();
    let mut reader = Reader::new(Some(&Builtin)).chunking(Chunking::Rows);
    let source = Source { id: "ledger", text: &text, ..Source::default() };
    let built = reader.build(&mut writer, source).unwrap();
    assert!(matches!(built, Built::New { chunks } if chunks > 59), "{built:?}");
    assert_eq!(reader.build(&mut writer, source).unwrap(), Built::Unchanged);
    // A text that is appended is cut so, too.
    let more = "\n## Returns\n\n| Lamp | Reason | Day |\n|---|---|---|\n| Desk lamp | cracked glass | 4 May |\n| Ship lantern | late | 9 May |\n";
    assert!(reader.append(&mut writer, "ledger", more).unwrap() >= 2);
    drop(writer);

    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_eq!(snapshot.text("ledger").unwrap(), format!("{text}{more}"));
    let row = text.lines().find(|line| line.contains("No. 137")).unwrap();
    let customer = row.split('|').nth(2).unwrap().trim();
    let found = snapshot.search(&Query::new(format!("customer of order 137 {customer}")).document("ledger")).unwrap();
    let chunk = snapshot.chunk(&found.hits[0].chunk).unwrap();
    assert_eq!(chunk.text.trim(), row);
    assert!(chunk.title.ends_with(
        "Deliveries > Table 1: Lamps delivered, by order > | Order | Customer | Lamp | Pieces | Sum | Paid |"
    ));
    // No row has the word in its text.
    let found = snapshot.search(&Query::new("reason returns lantern").document("ledger")).unwrap();
    assert_eq!(snapshot.chunk(&found.hits[0].chunk).unwrap().text.trim(), "| Ship lantern | late | 9 May |");
    assert_sound(&snapshot);
}

#[test]
fn an_interrupted_build_goes_on_with_the_same_rows() {
    let folder = Folder::new();
    let text = ledger();
    let source = Source { id: "ledger", text: &text, ..Source::default() };
    let whole = folder.path("whole.plica");
    let mut writer = Writer::create(&whole, &Options::new()).unwrap();
    Reader::new(None).chunking(Chunking::Rows).build(&mut writer, source).unwrap();
    let parts = folder.path("parts.plica");
    let mut writer = Writer::create(&parts, &Options::new()).unwrap();
    // The first reading stops in the midst of the table; the text is what is there by then.
    let cut = text.find("| No. 130").unwrap();
    let part = Source { text: &text[..cut], ..source };
    Reader::new(None).chunking(Chunking::Rows).build(&mut writer, part).unwrap();
    Reader::new(None).chunking(Chunking::Rows).build(&mut writer, source).unwrap();
    drop(writer);
    let chunks = |path: &std::path::Path| {
        let snapshot = Index::open(path).unwrap().snapshot();
        let count = snapshot.document("ledger").unwrap().chunks;
        (0..count).map(|i| snapshot.chunk_at("ledger", i).unwrap()).map(|c| (c.title, c.text)).collect::<Vec<_>>()
    };
    assert_eq!(chunks(&parts), chunks(&whole));
}
