//! A sound index in memory, with bytes changed, cut off or put in: opening, reading, searching and checking it gives
//! typed errors or right answers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plica::{Index, Limits, Query};

const SOUND: &[u8] = include_bytes!("../../format/golden/v1.plica");

fuzz_target!(|edits: &[u8]| {
    let mut bytes = SOUND.to_vec();
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
    if let Ok(documents) = snapshot.documents() {
        for document in documents.iter().take(10) {
            let _ = snapshot.text(&document.id);
            let _ = snapshot.tree(&document.id, &[0]);
            let _ = snapshot.search(&Query::new("lamp").document(&document.id).explain(true));
            let _ = snapshot.entities(Some(&document.id), |_| Ok(()));
        }
    }
});
