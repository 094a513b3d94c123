//! The records of the entity memory, by every name they are known under, and what kinds of things they are.

use super::super::cast::{kind_of, words_of};
use super::super::lexicon::{
    self, EVENT, FUNCTION, HEADING, HONORIFIC, MONTH, ORGANISATION, PERSON, PLACE, UTTERS, WORK,
};
use super::super::names::Span;
use super::super::scan::Scan;
use crate::ingest::KnownEntity;
use crate::text::key;
use std::collections::HashMap;

/// Names of one record that are looked at.
const NAMES: usize = 32;

/// Records by name.
#[derive(Debug)]
pub(in super::super) struct Known<'a> {
    pub(in super::super) entities: &'a [KnownEntity],
    by_key: HashMap<String, usize>,
    /// For each record, the one that it is an other name of; itself where it is none.
    same: Vec<usize>,
}

impl<'a> Known<'a> {
    pub(in super::super) fn new(entities: &'a [KnownEntity]) -> Self {
        let mut by_key = HashMap::new();
        for (i, entity) in entities.iter().enumerate() {
            by_key.entry(key(&entity.name)).or_insert(i);
        }
        // A name that is the alias of one fuller name is that one's.
        let mut fuller: HashMap<usize, Option<usize>> = HashMap::new();
        let mut aliases: HashMap<String, Option<usize>> = HashMap::new();
        for (i, entity) in entities.iter().enumerate() {
            for alias in entity.aliases.iter().take(NAMES).filter(|a| a.starts_with(|c: char| c.is_uppercase())) {
                let alias = key(alias);
                match by_key.get(&alias) {
                    Some(&short) if short != i => {
                        let longer =
                            entity.name.split_whitespace().count() > entities[short].name.split_whitespace().count();
                        if longer {
                            fuller.entry(short).and_modify(|f| *f = None).or_insert(Some(i));
                        }
                    }
                    Some(_) => {}
                    None => {
                        aliases.entry(alias).and_modify(|a| *a = a.filter(|&a| a == i)).or_insert(Some(i));
                    }
                }
            }
        }
        for (alias, entity) in aliases {
            if let Some(entity) = entity {
                by_key.insert(alias, entity);
            }
        }
        let mut same: Vec<usize> = (0..entities.len()).collect();
        for (i, entity) in entities.iter().enumerate() {
            let bare = without_honorific(&entity.name).map(key).and_then(|bare| by_key.get(&bare).copied());
            same[i] = fuller.get(&i).copied().flatten().or(bare).unwrap_or(i);
        }
        // One step more, and no circles: a fuller name of a fuller name.
        for i in 0..same.len() {
            let next = same[same[i]];
            if next != i {
                same[i] = next;
            }
        }
        Self { entities, by_key, same }
    }

    /// The record that a name stands for.
    pub(in super::super) fn find(&self, name: &str) -> Option<usize> {
        let found = self.by_key.get(&key(name));
        let found = found.or_else(|| self.by_key.get(&key(without_honorific(name)?)));
        found.map(|&at| self.same[at])
    }

    /// The record that each span of a text names.
    pub(in super::super) fn of_spans(&self, scan: &Scan<'_>, spans: &[Span]) -> Vec<Option<usize>> {
        spans.iter().map(|span| self.find(scan.slice(span.first, span.last))).collect()
    }

    /// Whether the record goes under a fuller name.
    pub(in super::super) fn is_other_name(&self, at: usize) -> bool {
        self.same[at] != at
    }

    /// The name that the record's subject has: without "Mr." and the like where a single word follows.
    pub(in super::super) fn subject(&self, at: usize) -> &'a str {
        let name = self.entities[at].name.as_str();
        without_honorific(name).unwrap_or(name)
    }
}

/// A name of two words without the "Mr." before it.
fn without_honorific(name: &str) -> Option<&str> {
    let (first, rest) = name.split_once(' ')?;
    (matches!(first.trim_end_matches('.'), "Mr" | "Dr" | "Monsieur" | "M") && !rest.contains(' ')).then_some(rest)
}

/// Single words that are written like names and single nobody out: peoples, faiths, and what one swears by.
const COMMON: &str = " god lord heaven heavens jove providence christ jesus devil goodness mercy christmas easter lent bible \
    gospel testament scripture scriptures german germans russian russians french frenchman frenchmen english englishman \
    englishmen italian italians spanish spaniard american americans pole poles polish jew jews jewish christian \
    christians christianity greek greeks roman romans latin european europeans turk turks turkish finn finnish egyptian \
    egyptians swede swedish dutch dutchman chinese japanese indian indians austrian austrians prussian prussians \
    hungarian cossack cossacks hussar hussars british scottish irish welsh asian african catholic protestant muslim \
    orthodox mahometan almighty creator saviour nature fortune fate heavenly majesty highness excellency honour \
    grace ladyship lordship mamma papa mama mother father sister brother grandfather grandmother translated guards \
    tartar tartars siberian persian swiss bavarian saxon pavlograd freemason freemasons masons mason vous que mon les \
    est une pas qui avec bonjour voyons adieu hurrah ";

/// Whether a record is one that no reader would look up: a common noun with a capital, a people, a month.
pub(in super::super) fn is_junk(entity: &KnownEntity) -> bool {
    let words = words_of(&entity.name);
    let classes: Vec<u16> = words.iter().map(|w| lexicon::classes(w)).collect();
    if words.is_empty() || entity.name.len() > 200 || !entity.name.chars().any(char::is_uppercase) {
        return true;
    }
    if classes.iter().all(|c| c & (FUNCTION | MONTH | HEADING | HONORIFIC) != 0) {
        return true;
    }
    let [word] = words.as_slice() else { return entity.name.contains('\n') };
    let fuller = entity.aliases.iter().any(|a| words_of(a).len() > 1 && words_of(a).contains(word));
    let noun = classes[0] & (PERSON | PLACE | ORGANISATION | WORK | EVENT | UTTERS) != 0;
    word.chars().count() < 3 || COMMON.contains(&format!(" {word} ")) || (noun && !fuller)
}

/// Kind of a record: its own, or what its names and descriptions speak for; empty where nothing does.
pub(in super::super) fn kind(entity: &KnownEntity) -> &'static str {
    let words = words_of(&entity.name);
    let last = words.last().map_or("", String::as_str);
    const SITES: [&str; 10] =
        ["market", "prospect", "ostrov", "islands", "yard", "quay", "embankment", "hotel", "house", "tavern"];
    if words.len() > 1 {
        if SITES.contains(&last) {
            return "place";
        }
        let patronymic = ["ovna", "evna", "ovitch", "evitch", "ovich", "evich", "itch", "yevna"];
        if patronymic.iter().any(|end| words[1].ends_with(end) || last.ends_with(end)) {
            return "person";
        }
    }
    for known in ["person", "place", "organisation", "work", "event"] {
        if entity.kind == known {
            return known;
        }
    }
    let honoured = |name: &String| {
        let words = words_of(name);
        words.len() > 1 && lexicon::classes(&words[0]) & HONORIFIC != 0
    };
    if honoured(&entity.name) || entity.aliases.iter().any(honoured) {
        return "person";
    }
    let (mut acts, mut holds) = (0, 0);
    for description in &entity.descriptions {
        let described = words_of(description);
        // A description that is no sentence says what it is by its head.
        if described.len() <= 8
            && matches!(described.first().map(String::as_str), Some("the" | "a" | "an" | "his" | "her"))
        {
            let head =
                described.iter().skip(1).map(|w| lexicon::classes(w) & (PERSON | PLACE | ORGANISATION | WORK | EVENT));
            let mut head = head;
            if let Some(class) = head.find(|c| *c != 0) {
                return kind_of(class);
            }
        }
        for (i, _) in described.iter().enumerate().filter(|(_, w)| *w == last) {
            let next = described.get(i + 1).map_or(0, |w| lexicon::classes(w));
            let first = i.saturating_sub(words.len() - 1);
            let before = first.checked_sub(1).and_then(|b| described.get(b)).map_or("", String::as_str);
            acts += u32::from(next & UTTERS != 0 || lexicon::classes(before) & (UTTERS | PERSON) != 0);
            holds += u32::from(matches!(before, "in" | "at" | "near"));
        }
    }
    if acts > holds {
        "person"
    } else if holds > acts {
        "place"
    } else {
        ""
    }
}
