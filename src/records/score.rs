//! How well a record fits a question: each field from 0 to 1, then their weighted mean.

use super::query::RecordQuery;
use crate::index::records::{label_symbol, symbol};
use plica_format::record::RecordRow;

/// An alias is as good as a name, but the name comes first.
pub(super) const ALIAS: f64 = 0.95;
/// A coarse label that is the one asked for.
const COARSE: f64 = 0.8;
/// A value that holds the one asked for, or is held by it, as whole words.
const CONTAINED: f64 = 0.8;
/// Values that share all words of the question, at most.
const SHARED: f64 = 0.6;
/// Values of which one begins the other, or a word of one a word of the other.
const BEGUN: f64 = 0.3;
/// A word must be this long to count where it only begins another.
const BEGINNING_BYTES: usize = 3;

/// A field of text that is asked for: as it is compared, and its words.
#[derive(Debug, Clone)]
struct Asked {
    symbol: String,
    words: Vec<String>,
}

impl Asked {
    fn value(text: &str) -> Self {
        let symbol = symbol(text);
        Self { words: words(&symbol), symbol }
    }

    fn label(text: &str) -> Self {
        let symbol = label_symbol(text);
        Self { words: words(&symbol), symbol }
    }

    /// How many of its words another list has, of the words that either has.
    fn overlap(&self, others: &[String]) -> f64 {
        let shared = self.words.iter().filter(|word| others.contains(word)).count();
        let all = self.words.len() + others.len() - shared;
        if all == 0 { 0.0 } else { shared as f64 / all as f64 }
    }

    /// Containment, shared word, or beginning.
    fn against(&self, other: &str) -> f64 {
        if self.symbol == other {
            return 1.0;
        }
        if self.symbol.is_empty() || other.is_empty() {
            return 0.0;
        }
        let others = words(other);
        let holds = |a: &[String], b: &[String]| !b.is_empty() && a.windows(b.len()).any(|window| window == b);
        if holds(&others, &self.words) || holds(&self.words, &others) {
            return CONTAINED;
        }
        let shared = self.words.iter().filter(|word| others.contains(word)).count();
        if shared > 0 {
            return SHARED * shared as f64 / self.words.len() as f64;
        }
        let begins = |a: &String, b: &String| {
            a.len().min(b.len()) >= BEGINNING_BYTES && (a.starts_with(b.as_str()) || b.starts_with(a.as_str()))
        };
        let begun = other.starts_with(&self.symbol) || self.symbol.starts_with(other);
        match begun || self.words.iter().any(|word| others.iter().any(|other| begins(word, other))) {
            true => BEGUN,
            false => 0.0,
        }
    }
}

/// The words of a symbol, each once, in order. `_` parts the words of labels, so it does in values.
fn words(symbol: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    crate::text::for_each_token(&symbol.replace('_', " "), |token| {
        if !words.iter().any(|word| word == token) {
            words.push(token.to_owned());
        }
    });
    words
}

/// How a label fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LabelFit {
    /// It is the one, or its coarse label is; or none is asked for.
    Same(f64),
    /// It shares words with it, or the record has no label.
    Near(f64),
    /// It does not fit.
    None,
}

/// What a question weighs.
#[derive(Debug)]
pub(super) struct Scorer {
    entity_type: Option<String>,
    label: Option<Asked>,
    value: Option<Asked>,
    condition_label: Option<Asked>,
    condition_value: Option<Asked>,
    has_entity: bool,
    weights: super::RecordWeights,
    total: f64,
}

impl Scorer {
    pub(super) fn new(query: &RecordQuery) -> Self {
        let weights = query.weights;
        let given = [
            (query.entity.is_some(), weights.entity),
            (query.entity_type.is_some(), weights.entity_type),
            (query.label.is_some(), weights.label),
            (query.value.is_some(), weights.value),
            (query.condition_label.is_some(), weights.condition_label),
            (query.condition_value.is_some(), weights.condition_value),
        ];
        Self {
            entity_type: query.entity_type.as_deref().map(symbol),
            label: query.label.as_deref().map(Asked::label),
            value: query.value.as_deref().map(Asked::value),
            condition_label: query.condition_label.as_deref().map(Asked::label),
            condition_value: query.condition_value.as_deref().map(Asked::value),
            has_entity: query.entity.is_some(),
            weights,
            total: given.iter().filter(|(given, _)| *given).map(|(_, weight)| weight).sum(),
        }
    }

    /// How a label fits the one asked for.
    pub(super) fn label(&self, row: &RecordRow<'_>) -> LabelFit {
        let Some(asked) = &self.label else { return LabelFit::Same(0.0) };
        let label = label_symbol(row.label);
        if label == asked.symbol {
            return LabelFit::Same(1.0);
        }
        let coarse = label_symbol(row.coarse);
        if !coarse.is_empty() && coarse == asked.symbol {
            return LabelFit::Same(COARSE);
        }
        if label.is_empty() {
            return LabelFit::Near(0.0);
        }
        match asked.overlap(&words(&label)).max(asked.overlap(&words(&coarse))) {
            0.0 => LabelFit::None,
            overlap => LabelFit::Near(overlap * COARSE),
        }
    }

    /// Whether a label shares a word with the one asked for.
    pub(super) fn is_label_near(&self, symbol: &str) -> bool {
        self.label.as_ref().is_some_and(|asked| asked.overlap(&words(symbol)) > 0.0)
    }

    /// How a value in the form of keys fits the one asked for.
    pub(super) fn value(&self, symbol: &str) -> f64 {
        self.value.as_ref().map_or(0.0, |asked| asked.against(symbol))
    }

    /// The score of a record whose entity and label fit so well, and whether every given field fits at all. `None`
    /// where it is of another type.
    pub(super) fn score(&self, row: &RecordRow<'_>, entity: f64, label: f64) -> Option<(f64, bool)> {
        let entity_type = match &self.entity_type {
            None => 0.0,
            // A record may be partial: one without a type is of no other type.
            Some(_) if row.entity_type.is_empty() => 0.0,
            Some(asked) if symbol(row.entity_type) == *asked => 1.0,
            Some(_) => return None,
        };
        let value = self.value.as_ref().map(|asked| asked.against(&symbol(row.value)));
        let condition_label = self.condition_label.as_ref().map(|asked| {
            let label = label_symbol(row.condition.0);
            if label == asked.symbol { 1.0 } else { asked.overlap(&words(&label)) }
        });
        let condition_value = self.condition_value.as_ref().map(|asked| asked.against(&symbol(row.condition.1)));
        let weights = &self.weights;
        let fits = [
            (self.has_entity.then_some(entity), weights.entity),
            (self.entity_type.as_ref().map(|_| entity_type), weights.entity_type),
            (self.label.as_ref().map(|_| label), weights.label),
            (value, weights.value),
            (condition_label, weights.condition_label),
            (condition_value, weights.condition_value),
        ];
        let sum: f64 = fits.iter().filter_map(|(fit, weight)| fit.map(|fit| fit * weight)).sum();
        let all = fits.iter().all(|(fit, _)| fit.is_none_or(|fit| fit > 0.0));
        Some((if self.total > 0.0 { sum / self.total } else { 1.0 }, all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(asked: &str, other: &str) -> f64 {
        Asked::value(asked).against(&symbol(other))
    }

    #[test]
    fn values_fit_by_containment_shared_word_and_beginning() {
        assert_eq!(value("London", "london"), 1.0);
        assert_eq!(value("London", "the City of London"), CONTAINED);
        assert_eq!(value("the City of London", "London"), CONTAINED);
        assert_eq!(value("red brick house", "a red barn"), SHARED / 3.0);
        assert_eq!(value("admiral", "admiralty board"), BEGUN);
        assert_eq!(value("London", "Paris"), 0.0);
        assert_eq!(value("art", "partial"), 0.0);
    }

    #[test]
    fn labels_are_the_same_or_near() {
        let query = RecordQuery::new().entity("e").label("place of birth");
        let scorer = Scorer::new(&query);
        let row = |label, coarse| RecordRow { label, coarse, ..RecordRow::default() };
        assert_eq!(scorer.label(&row("Place-of-Birth", "")), LabelFit::Same(1.0));
        assert_eq!(scorer.label(&row("born_in", "place_of_birth")), LabelFit::Same(COARSE));
        assert!(matches!(scorer.label(&row("birth_date", "")), LabelFit::Near(fit) if fit > 0.0));
        assert_eq!(scorer.label(&row("height", "size")), LabelFit::None);
        let (score, all) = scorer.score(&row("x", ""), 1.0, 0.0).unwrap();
        assert!((score - 0.25 / 0.47).abs() < 1e-12 && !all);
    }
}
