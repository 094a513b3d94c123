//! Any text: chunks cover it, sentences cover it, tokens are within their limit, keys are stable.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plica::text::{Chunker, key, sentences, tokens};

fuzz_target!(|text: &str| {
    assert_eq!(sentences(text).map(|(_, sentence)| sentence).collect::<String>(), text);
    let chunks: Vec<&str> = Chunker::new(7).chunks(text).collect();
    assert_eq!(chunks.concat(), text);
    assert!(chunks.iter().all(|chunk| !chunk.is_empty()));
    assert!(tokens(text).iter().all(|token| !token.is_empty() && token.len() <= 255));
    let folded = key(text);
    assert_eq!(key(&folded), folded);
});
