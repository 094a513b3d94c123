//! The built-in model: proper names, their other names, what is said of them, and extractive summaries.
//!
//! It needs no network and no weights and keeps nothing between calls: what it answers depends on its input alone. It
//! reads a text once into words and sentences (`scan`), takes the runs of capitals that are names (`names`), gathers
//! them into the entities of the chunk (`cast`), finds short forms, acronyms and other names (`aliases`), appositions
//! and definitions (`apposition`), has recalled records say whom a
//! description or a first name means (`recall`), and describes each entity by the sentence that first tells of it
//! (`descriptions`). `summary` folds. The history is not read. Everything is linear in the length of the input.

mod aliases;
mod apposition;
mod cast;
mod descriptions;
mod facts;
mod lexicon;
mod names;
mod outline;
mod recall;
mod records;
mod scan;
mod summary;
mod title;

use super::{EntityUpdate, FoldInput, Model, UpdateInput};
use crate::Result;
use cast::{Cast, squeeze};
use descriptions::{DESCRIPTION_BYTES, clean, sentence_around};
use names::Usage;
use scan::Scan;
use std::collections::HashSet;

/// A model of rules, for English first: names are found by their capitals, so other languages that write names so work
/// too, with fewer kinds and relations; scripts without capitals give entities for titles only.
#[derive(Debug, Clone, Copy, Default)]
pub struct Builtin;

impl Model for Builtin {
    fn update(&self, input: &UpdateInput<'_>) -> Result<Vec<EntityUpdate>> {
        Ok(update(input))
    }

    fn fold(&self, input: &FoldInput<'_>) -> Result<String> {
        Ok(summary::fold(input.units, input.limit_bytes))
    }

    fn answers_are_free(&self) -> bool {
        true
    }
}

fn update(input: &UpdateInput<'_>) -> Vec<EntityUpdate> {
    let scan = Scan::new(input.text);
    let heading = Scan::new(input.title);
    let mut usage = Usage::default();
    usage.add(&scan);
    usage.add_capitals(&heading);
    for record in input.recalled {
        usage.add_name(&record.name);
    }
    let spans = names::spans(&scan, &usage);
    let mut cast = Cast::default();
    let subject = title::enter(&mut cast, input.title, &heading);
    cast.enter_spans(&scan, &spans);
    if let Some(subject) = subject {
        title::opening(&mut cast, &scan, &spans, subject);
    }
    let place = |cast: &Cast, s: usize| cast.find(scan.slice(spans[s].first, spans[s].last));
    for (target, alias) in aliases::given(&scan, &spans) {
        if let (Some(target), Some(short)) = (place(&cast, target), place(&cast, alias)) {
            let name = squeeze(scan.slice(spans[alias].first, spans[alias].last));
            if !cast.entities[short].is_title {
                cast.merge(short, target);
            }
            cast.alias(target, name);
        }
    }
    aliases::acronyms(&scan, &mut cast, input.recalled);
    let phrases = apposition::phrases(&scan, &spans);
    for phrase in &phrases {
        if let Some(at) = place(&cast, phrase.span)
            && (cast.entities[at].kind.is_empty() || (phrase.defines && cast.entities[at].is_title))
            && !phrase.kind.is_empty()
        {
            cast.entities[at].kind = phrase.kind;
        }
    }
    aliases::without_honorifics(&mut cast);
    aliases::short_forms(&mut cast, subject.is_some(), input.recalled);
    recall::resolve(&mut cast, &scan, input.recalled, subject.is_some());
    for phrase in &phrases {
        // Of another kind, it is the next of a list and no apposition.
        if let Some(at) = place(&cast, phrase.span)
            && (phrase.defines || cast.entities[at].kind == phrase.kind)
        {
            let text = clean(scan.slice(phrase.first, phrase.last), DESCRIPTION_BYTES);
            if phrase.singles_out {
                cast.alias(at, clean(scan.slice(phrase.first, phrase.name_end), DESCRIPTION_BYTES));
            }
            cast.entities[at].descriptions.push(text);
        }
    }
    apposition::roles(&scan, &spans, &phrases, &mut cast);
    describe(&mut cast, &scan, input.title);
    let mut out: Vec<EntityUpdate> = Vec::new();
    let mut seen = HashSet::new();
    for e in cast.entities.into_iter().filter(|e| e.same_as.is_none()) {
        if seen.insert(e.name.clone()) {
            out.push(EntityUpdate {
                name: e.name,
                kind: e.kind.to_owned(),
                aliases: e.aliases,
                descriptions: e.descriptions,
            });
        }
    }
    out
}

/// Adds to each entity the sentence of its first mention.
fn describe(cast: &mut Cast, scan: &Scan<'_>, title: &str) {
    let title = clean(title, DESCRIPTION_BYTES);
    // Those who are named in one sentence share its text, where it is short and has no brackets.
    let mut last: Option<(usize, String)> = None;
    for e in cast.entities.iter_mut().filter(|e| e.same_as.is_none() && !e.is_title) {
        if let Some(m) = e.mentions.first() {
            let s = &scan.sentences[m.sentence];
            let text = match &last {
                Some((sentence, text)) if *sentence == m.sentence => text.clone(),
                _ => sentence_around(scan, m.sentence, m.first, DESCRIPTION_BYTES),
            };
            if s.end - s.start <= DESCRIPTION_BYTES && last.as_ref().is_none_or(|l| l.0 != m.sentence) {
                last = (!scan.text[s.start..s.end].contains('(')).then(|| (m.sentence, text.clone()));
            }
            e.descriptions.push(if title.is_empty() { text } else { format!("{title}: {text}") });
        }
    }
}

#[cfg(test)]
mod tests;
