//! Any text: tokens and keys are those of the rules, sentences cover it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plica::text::{key, sentences, tokens};
use plica_fuzz::rules;

fuzz_target!(|bytes: &[u8]| {
    let text = &rules::text(bytes);
    assert_eq!(sentences(text).map(|(_, sentence)| sentence).collect::<String>(), *text);
    let found = tokens(text);
    assert!(found.iter().all(|token| !token.is_empty() && token.len() <= 255));
    if rules::can_lower(text) {
        assert_eq!(found, rules::tokens(text));
    }
    assert_eq!(key(text), rules::key(text));
});
