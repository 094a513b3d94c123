//! What was removed is in no answer and no statistic: an index answers to the bit as one in which the removed documents
//! never were.

mod common;
#[path = "common/history.rs"]
mod history;

use history::{Step, answers, difference, id, steps, survivors, write};
use plica::{MemoryScope, Options};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_removed_never_was(steps in steps(), small in any::<bool>()) {
        let options = Options::new().fanout(2).memory_budget_bytes(if small { 20_000 } else { 1 << 20 });
        let (_kept, _, after) = write(&options, &steps);
        let (_other, _, never) = write(&options, &survivors(&steps));
        prop_assert_eq!(difference(&answers(&after), &answers(&never)), None);
    }

    #[test]
    fn an_index_wide_memory_stays_sound(steps in steps()) {
        let options = Options::new().fanout(2).memory(MemoryScope::Index).memory_budget_bytes(30_000);
        let (_kept, _, after) = write(&options, &steps);
        let never = survivors(&steps);
        for document in 0u8..4 {
            let lives = never.iter().any(|step| matches!(step, Step::Chunk { document: of, .. } if *of == document));
            prop_assert_eq!(after.document(&id(document)).is_ok(), lives);
        }
        if never.is_empty() {
            after.entities(None, |entity| panic!("{entity:?}")).unwrap();
        }
    }
}
