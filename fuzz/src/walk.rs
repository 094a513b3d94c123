//! Everything that a reader may do to an index, so that no damage stays untouched.

use plica::outline::Navigate;
use plica::records::{RecordField, RecordQuery, VocabularyQuery};
use plica::search::Several;
use plica::{Document, Index, Limits, Query, Result, Snapshot, Statistics, TextMode, TextQuery};

/// Indexes of an earlier version, which together have every kind of block, codec, leaf and key.
pub const GOLDEN: [&[u8]; 5] = [
    include_bytes!("../../format/golden/v1.plica"),
    include_bytes!("../../format/golden/v1-outline.plica"),
    include_bytes!("../../format/golden/v1-records.plica"),
    include_bytes!("../../format/golden/v1-dictionary.plica"),
    include_bytes!("../../format/golden/v1-forms.plica"),
];

/// The indexes to damage: the golden ones, and three small ones, which are quicker.
pub fn sound_indexes() -> Vec<Vec<u8>> {
    let small = (0..3).map(plica::simulation::small_index);
    GOLDEN.iter().map(|file| file.to_vec()).chain(small).collect()
}

/// The number of the index that a byte chooses: mostly a small one.
pub fn choice(byte: u8) -> usize {
    // No small numbers for the large ones, of which a fuzzer's inputs have many.
    match (usize::from(byte % 64) + GOLDEN.len()).checked_sub(64) {
        Some(large) => large,
        None => GOLDEN.len() + usize::from(byte % 3),
    }
}

/// Opens the bytes of an index and uses it: all of it where `part` is 15, else in one of several ways. Every answer and every error
/// is right, but a panic.
pub fn use_part(bytes: Vec<u8>, part: u8) {
    let Ok(index) = Index::from_bytes(bytes) else { return };
    let snapshot = index.snapshot();
    let ways: [fn(&Snapshot) -> Result<()>; 6] = [verify, search, write_out, records, documents, outlines];
    let _ = match part {
        15 => ways.iter().try_for_each(|way| way(&snapshot).or(Ok::<(), plica::Error>(()))),
        way => ways[usize::from(way) % ways.len()](&snapshot),
    };
}

fn verify(snapshot: &Snapshot) -> Result<()> {
    let _ = snapshot.stat();
    let _ = snapshot.log().take(100).count();
    snapshot.check(&Limits::default()).map(|_| ())
}

fn search(snapshot: &Snapshot) -> Result<()> {
    let _ = snapshot.search(&Query::new("the keeper of the lamp").explain(true));
    for mode in [TextMode::Any, TextMode::All] {
        let _ = snapshot.text_search(&TextQuery { mode, ..TextQuery::new("the keeper of the lamp") });
    }
    let several = Several::new(vec![snapshot.clone()])?;
    several.search(&Query { statistics: Statistics::Document, ..Query::new("keeper lamp") }).map(|_| ())
}

fn write_out(snapshot: &Snapshot) -> Result<()> {
    plica::interchange::export(snapshot, &mut std::io::sink()).map(|_| ())
}

fn records(snapshot: &Snapshot) -> Result<()> {
    let _ = snapshot.records(&RecordQuery::new().entity("Ilse").fuzzy(2));
    let _ = snapshot.look_up(&RecordQuery::new().label("keeper_of"));
    snapshot.vocabulary(&VocabularyQuery::new(RecordField::Value)).map(|_| ())
}

fn some_documents(snapshot: &Snapshot) -> Result<Vec<Document>> {
    Ok(snapshot.documents()?.into_iter().take(10).collect())
}

fn documents(snapshot: &Snapshot) -> Result<()> {
    for document in some_documents(snapshot)? {
        let _ = snapshot.text(&document.id);
        let _ = snapshot.tree(&document.id, &[]);
        let _ = snapshot.tree(&document.id, &[0]);
        let _ = snapshot.covering_summaries(&document.id, document.chunks.saturating_sub(1));
        let _ = snapshot.search(&Query::new("lamp").document(&document.id).explain(true));
        let _ = snapshot.linked_chunks(&document.id, "the keeper");
        let _ = snapshot.entities(Some(&document.id), |_| Ok(()));
    }
    Ok(())
}

fn outlines(snapshot: &Snapshot) -> Result<()> {
    for document in some_documents(snapshot)? {
        let mut waiting = vec![Vec::new()];
        for _ in 0..64 {
            let Some(Ok(page)) = waiting.pop().map(|path: Vec<String>| snapshot.outline(&document.id, &path)) else {
                break;
            };
            waiting.extend(page.entries.into_iter().map(|entry| entry.path));
        }
        let _ = snapshot.navigate(&Navigate::new(&document.id, "Where does Ilse keep the lamp?"));
    }
    Ok(())
}
