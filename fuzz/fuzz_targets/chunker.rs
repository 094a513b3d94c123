//! Any text: chunks cover it without overlap, end where the rule says, and are the same from any boundary on; with
//! headings and tables, too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plica::text::{CHUNK_TITLE_BYTES, Chunker, Chunking};
use plica_fuzz::rules;

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, bytes)) = bytes.split_first() else { return };
    let text = &rules::text(bytes);
    let words = 1 + u32::from(first & 15);
    let chunker = Chunker::new(words);
    let mut at = 0;
    for chunk in chunker.chunks(text) {
        assert_eq!(chunk.len(), rules::chunk_end(&text[at..], words), "{:?}", &text[at..]);
        assert!(!chunk.is_empty());
        at += chunk.len();
    }
    assert_eq!(at, text.len());
    for chunking in [Chunking::Sentences, Chunking::Sections, Chunking::Rows] {
        let plan = chunking.plan(chunker, text);
        let chunks: Vec<_> = plan.chunks(0).collect();
        let mut at = 0;
        for (number, (place, title)) in chunks.iter().enumerate() {
            assert!(place.start == at && place.end > at && title.len() <= CHUNK_TITLE_BYTES);
            assert!(plica::text::word_count(&text[place.clone()]) <= words);
            at = place.end;
            // From any boundary on they are the same.
            if number < 4 {
                assert!(plan.chunks(at).eq(chunks[number + 1..].iter().cloned()));
            }
        }
        assert_eq!(at, text.len());
    }
});
