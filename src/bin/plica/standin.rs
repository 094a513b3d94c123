//! Stands in for the built-in model until that is there: words with capitals are entities.

use plica::Result;
use plica::ingest::{EntityUpdate, FoldInput, Model, UpdateInput};

#[derive(Debug, Default)]
pub struct Builtin;

impl Model for Builtin {
    fn update(&self, input: &UpdateInput<'_>) -> Result<Vec<EntityUpdate>> {
        let names: std::collections::BTreeSet<&str> = input
            .text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.len() > 3 && word.starts_with(char::is_uppercase))
            .collect();
        Ok(names.into_iter().map(|name| EntityUpdate { name: name.to_owned(), ..Default::default() }).collect())
    }

    fn fold(&self, input: &FoldInput<'_>) -> Result<String> {
        Ok(input.units.iter().map(|unit| unit.get(..unit.floor_char_boundary(100)).unwrap_or(unit)).collect())
    }
}
