//! A sound index whose content is changed block by block, and whose references and checksums are put right again: what
//! no checksum notices, the structures must.
//!
//! An input chooses an index and what is done to it, and goes on with a list of [`edit`]s of eight bytes each: of payloads, of
//! values within leaves, of references and of whole blocks.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plica_fuzz::edit::edit;
use plica_fuzz::forge::Forge;
use plica_fuzz::walk::{choice, sound_indexes, use_part};
use std::sync::OnceLock;

fuzz_target!(|edits: &[u8]| {
    static FORGES: OnceLock<Vec<Forge>> = OnceLock::new();
    let Some((&[which, part], edits)) = edits.split_first_chunk() else { return };
    let forges = FORGES.get_or_init(|| sound_indexes().iter().map(|file| Forge::new(file)).collect());
    let mut forge = forges[choice(which)].clone();
    for bytes in edits.as_chunks::<8>().0.iter().take(32) {
        edit(&mut forge, bytes);
    }
    use_part(forge.build_with_dangling().0, part % 16);
});
