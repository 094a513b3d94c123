//! A sound index in memory, with bytes changed, cut off or put in: opening, reading, searching and checking it gives
//! typed errors or right answers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plica_fuzz::walk::{choice, sound_indexes, use_part};
use std::sync::OnceLock;

fuzz_target!(|edits: &[u8]| {
    static SOUND: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let Some((&which, edits)) = edits.split_first() else { return };
    let mut bytes = SOUND.get_or_init(sound_indexes)[choice(which)].clone();
    for edit in edits.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) * 16 + usize::from(edit[2] & 15);
        match (edit[2] >> 4, bytes.len()) {
            (0, length) if length > 0 => bytes.truncate(at % length),
            (1, _) => bytes.extend_from_slice(&[edit[3]; 16]),
            (_, length) if length > 0 => bytes[at % length] ^= edit[3],
            _ => {}
        }
    }
    use_part(bytes, which / 16);
});
