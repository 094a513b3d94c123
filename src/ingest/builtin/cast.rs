//! The cast of a chunk: its names gathered into entities.
//!
//! Names with the same words are one entity. A shorter name that is the start or the end of exactly one longer name
//! of the chunk ("Porcaro" beside "Jeff Porcaro") is that entity, under conditions that keep towns apart from the
//! clubs named after them.

use super::lexicon::{self, EVENT, FEMALE, HONORIFIC, ORGANISATION, PERSON, PLACE, UTTERS, WORK};
use super::names::Span;
use super::scan::{Gap, Scan, Shape};
use plica_format::limits::KEY_BYTES;
use std::collections::HashMap;
use unicode_normalization::UnicodeNormalization;

/// Most entities of one chunk.
pub(super) const ENTITIES: usize = 400;
/// Mentions kept of one entity; more are only counted.
const MENTIONS: usize = 64;

/// What a thing is; empty where not known.
pub(super) type Kind = &'static str;

/// The kind that the classes of a head noun speak for.
pub(super) fn kind_of(class: u16) -> Kind {
    // "general", "judge" and the like are people before they are anything else.
    for (bit, kind) in
        [(PERSON, "person"), (WORK, "work"), (ORGANISATION, "organisation"), (PLACE, "place"), (EVENT, "event")]
    {
        if class & bit != 0 {
            return kind;
        }
    }
    ""
}

/// An entity of the chunk.
#[derive(Debug, Default)]
pub(super) struct Entity {
    pub(super) name: String,
    /// The words of the name in small letters, honorifics included.
    pub(super) words: Vec<String>,
    pub(super) kind: Kind,
    pub(super) aliases: Vec<String>,
    pub(super) descriptions: Vec<String>,
    /// Its first mentions.
    pub(super) mentions: Vec<Span>,
    pub(super) count: u32,
    /// Mentions as someone who acts or speaks.
    acts: u32,
    /// Mentions as somewhere to be.
    holds: u32,
    /// Mentions within quotation marks.
    quotes: u32,
    /// The entity it turned out to be.
    pub(super) same_as: Option<usize>,
    /// Whether it heads the chunk.
    pub(super) is_title: bool,
}

impl Entity {
    /// Words that are honorifics at the head of the name.
    pub(super) fn honorifics(&self) -> usize {
        let n = self.words.iter().take_while(|w| lexicon::classes(w) & HONORIFIC != 0).count();
        n.min(self.words.len() - 1)
    }

    /// Counts what the words beside a mention speak for.
    fn weigh(&mut self, scan: &Scan<'_>, span: &Span) {
        let words = &scan.words;
        let (first, last) = (&words[span.first], &words[span.last - 1]);
        let before =
            span.first.checked_sub(1).map(|i| &words[i]).filter(|_| first.gap.is_space() || first.gap == Gap::QUOTE);
        let behind = words.get(span.last);
        // "in the house", "at Longbourn", but "in Elizabeth's room".
        let within = before.is_some_and(|w| matches!(w.text, "in" | "at" | "near" | "from" | "to" | "In" | "At"));
        if within && first.gap.is_space() {
            self.holds += u32::from(!last.possessive && before.is_some_and(|w| w.text != "to" && w.text != "from"));
            return;
        }
        // "the actor John Smith", "said Elizabeth", "Elizabeth replied", "“Lizzy,” cried she".
        let titled = before.is_some_and(|w| !w.is_capital() && w.is(PERSON | UTTERS)) && first.gap.is_space();
        let does =
            behind.is_some_and(|w| w.gap.is_space() && !last.possessive && w.shape == Shape::Lower && w.is(UTTERS));
        self.acts += u32::from(titled || does);
        self.quotes += u32::from(span.quoted && behind.is_some_and(|w| w.gap == Gap::QUOTE));
    }

    /// Whether the honorific is one that goes with a first name ("Lady Catherine").
    pub(super) fn is_noble(&self) -> bool {
        self.honorifics() > 0
            && matches!(
                self.words[0].as_str(),
                "lady" | "lord" | "sir" | "dame" | "king" | "queen" | "prince" | "princess" | "count" | "countess"
            )
    }

    pub(super) fn is_female(&self) -> bool {
        self.words.iter().take(self.honorifics()).any(|w| lexicon::classes(w) & FEMALE != 0)
    }
}

/// The entities of a chunk, in the order of their first mention, the title first.
#[derive(Debug, Default)]
pub(super) struct Cast {
    pub(super) entities: Vec<Entity>,
    by_key: HashMap<String, usize>,
}

impl Cast {
    /// The entity of that name, made where it is new; `None` when the chunk has too many or the name is too long.
    pub(super) fn enter(&mut self, name: String) -> Option<usize> {
        if !fits_key(&name) {
            return None;
        }
        let words = words_of(&name);
        let key = words.join(" ");
        if key.is_empty() {
            return None;
        }
        if let Some(&at) = self.by_key.get(&key) {
            return Some(at);
        }
        if self.entities.len() >= ENTITIES {
            return None;
        }
        let at = self.entities.len();
        self.by_key.insert(key, at);
        self.entities.push(Entity { name, words, ..Entity::default() });
        Some(at)
    }

    /// The entity that a name stands for, after what was merged.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let at = *self.by_key.get(&words_of(name).join(" "))?;
        Some(self.entities[at].same_as.unwrap_or(at))
    }

    /// The entity entered by that word alone, merged or not.
    pub(super) fn bare(&self, word: &str) -> Option<&Entity> {
        self.entities.get(*self.by_key.get(word)?)
    }

    /// Enters the names of the text.
    pub(super) fn enter_spans(&mut self, scan: &Scan<'_>, spans: &[Span]) {
        for span in spans {
            if let Some(at) = self.enter(squeeze(scan.slice(span.first, span.last))) {
                let entity = &mut self.entities[at];
                entity.count += 1;
                if entity.mentions.len() < MENTIONS {
                    entity.mentions.push(*span);
                }
                if entity.kind.is_empty() {
                    entity.kind = kind_of_name(scan, span);
                }
                entity.weigh(scan, span);
            }
        }
        for entity in self.entities.iter_mut().filter(|e| e.kind.is_empty()) {
            entity.kind = if entity.acts > entity.holds {
                "person"
            } else if entity.holds > entity.acts + 1 {
                "place"
            } else if entity.quotes > 0 && entity.quotes == entity.count {
                "work"
            } else {
                ""
            };
        }
    }

    /// Makes an alias of `at`, unless it is the name or there already.
    pub(super) fn alias(&mut self, at: usize, alias: String) {
        if !fits_key(&alias) {
            return;
        }
        let words = words_of(&alias);
        let entity = &mut self.entities[at];
        if !words.is_empty() && entity.words != words && !entity.aliases.iter().any(|a| words_of(a) == words) {
            entity.aliases.push(alias);
        }
    }

    /// Declares `short` to be `long`: mentions move over.
    pub(super) fn merge(&mut self, short: usize, long: usize) {
        if short == long || self.entities[short].same_as.is_some() {
            return;
        }
        let long = self.entities[long].same_as.unwrap_or(long);
        if short == long {
            return;
        }
        let (mentions, count) = (std::mem::take(&mut self.entities[short].mentions), self.entities[short].count);
        let kind = self.entities[short].kind;
        let room = MENTIONS.saturating_sub(self.entities[long].mentions.len());
        let entity = &mut self.entities[long];
        entity.mentions.extend(mentions.into_iter().take(room));
        entity.mentions.sort_by_key(|m| m.first);
        entity.count += count;
        if entity.kind.is_empty() {
            entity.kind = kind;
        }
        self.entities[short].same_as = Some(long);
    }
}

/// Whether a name stays within the limit of a key however it is normalised: folding case takes a character to three
/// at most, and compatibility forms can be much longer than what they stand for.
fn fits_key(name: &str) -> bool {
    let most = KEY_BYTES / 3;
    name.len() <= most && (name.is_ascii() || name.nfkc().map(char::len_utf8).sum::<usize>() <= most)
}

/// A name on one line, without marks of italics.
pub(super) fn squeeze(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c == '_').filter(|w| !w.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The words of a name in small letters, without punctuation around them and possessive endings.
pub(super) fn words_of(name: &str) -> Vec<String> {
    let strip = |w: &'_ str| -> String {
        let w = w.trim_matches(|c: char| !c.is_alphanumeric());
        let w = w.strip_suffix("'s").or_else(|| w.strip_suffix("’s")).unwrap_or(w);
        w.to_lowercase()
    };
    name.split_whitespace().map(strip).filter(|w| !w.is_empty()).collect()
}

/// What the words of a name say of its kind.
fn kind_of_name(scan: &Scan<'_>, span: &Span) -> Kind {
    let run = &scan.words[span.first..span.last];
    let (first, last) = (&run[0], &run[run.len() - 1]);
    if run.len() == 1 {
        return "";
    }
    let after = scan.words.get(span.last);
    if first.gap.has(Gap::QUOTE) && after.is_some_and(|w| w.gap == Gap::QUOTE) {
        return "work";
    }
    let head = run.iter().position(|w| w.text == "of").map_or(last, |of| &run[of.saturating_sub(1)]);
    let class = head.class & (PLACE | ORGANISATION | EVENT | WORK);
    if class != 0 && head.is_capital() {
        return kind_of(class);
    }
    if first.is(HONORIFIC) {
        return "person";
    }
    if matches!(first.text, "Mount" | "Lake" | "Cape" | "Fort" | "Port" | "River" | "Isle") {
        return "place";
    }
    ""
}
