//! A sound index in memory, with bytes changed, cut off or put in: opening, reading, searching and checking it gives
//! typed errors or right answers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plica::outline::Navigate;
use plica::records::{RecordField, RecordQuery, VocabularyQuery};
use plica::search::Several;
use plica::{Index, Limits, Query, Statistics, TextMode, TextQuery};

const SOUND: [&[u8]; 2] =
    [include_bytes!("../../format/golden/v1.plica"), include_bytes!("../../format/golden/v1-outline.plica")];

fuzz_target!(|edits: &[u8]| {
    let Some((&which, edits)) = edits.split_first() else { return };
    let mut bytes = SOUND[usize::from(which & 1)].to_vec();
    for edit in edits.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) * 16 + usize::from(edit[2] & 15);
        match (edit[2] >> 4, bytes.len()) {
            (0, length) if length > 0 => bytes.truncate(at % length),
            (1, _) => bytes.extend_from_slice(&[edit[3]; 16]),
            (_, length) if length > 0 => bytes[at % length] ^= edit[3],
            _ => {}
        }
    }
    let Ok(index) = Index::from_bytes(bytes) else { return };
    let snapshot = index.snapshot();
    let _ = snapshot.check(&Limits::default());
    let _ = snapshot.stat();
    let _ = snapshot.log().take(100).count();
    let _ = snapshot.search(&Query::new("the keeper of the lamp").explain(true));
    for mode in [TextMode::Any, TextMode::All] {
        let _ = snapshot.text_search(&TextQuery { mode, ..TextQuery::new("the keeper of the lamp") });
    }
    if let Ok(several) = Several::new(vec![snapshot.clone()]) {
        let _ = several.search(&Query { statistics: Statistics::Document, ..Query::new("keeper lamp") });
    }
    let _ = plica::interchange::export(&snapshot, &mut std::io::sink());
    let _ = snapshot.records(&RecordQuery::new().entity("Ilse").fuzzy(2));
    let _ = snapshot.look_up(&RecordQuery::new().label("keeper_of"));
    let _ = snapshot.vocabulary(&VocabularyQuery::new(RecordField::Value));
    if let Ok(documents) = snapshot.documents() {
        for document in documents.iter().take(10) {
            let _ = snapshot.text(&document.id);
            let _ = snapshot.tree(&document.id, &[0]);
            let _ = snapshot.search(&Query::new("lamp").document(&document.id).explain(true));
            let _ = snapshot.linked_chunks(&document.id, "the keeper");
            let _ = snapshot.entities(Some(&document.id), |_| Ok(()));
            let mut waiting = vec![Vec::new()];
            for _ in 0..64 {
                let Some(Ok(page)) = waiting.pop().map(|path: Vec<String>| snapshot.outline(&document.id, &path))
                else {
                    break;
                };
                waiting.extend(page.entries.into_iter().map(|entry| entry.path));
            }
            let _ = snapshot.navigate(&Navigate::new(&document.id, "Where does Ilse keep the lamp?"));
        }
    }
});
