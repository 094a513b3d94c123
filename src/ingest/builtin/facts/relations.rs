//! Relations between named things: "X, Z's sister", "X is the captain of Z", "Z's brother X", "X founded Z".

use super::super::lexicon::{COPULA, FUNCTION, PERSON};
use super::super::names::Span;
use super::super::scan::{Gap, Scan, Shape, Word};

/// Nouns of which somebody is one to somebody, beside those that the lexicon has as people.
const RELATIVES: [&str; 32] = [
    "sister-in-law",
    "brother-in-law",
    "mother-in-law",
    "father-in-law",
    "son-in-law",
    "daughter-in-law",
    "stepmother",
    "stepfather",
    "stepdaughter",
    "stepson",
    "betrothed",
    "fiancé",
    "fiancée",
    "landlady",
    "landlord",
    "colleague",
    "comrade",
    "partner",
    "companion",
    "lover",
    "pupil",
    "assistant",
    "secretary",
    "tutor",
    "governess",
    "cook",
    "maid",
    "valet",
    "guardian",
    "ward",
    "rival",
    "bride",
];
/// Heads of "the Y of Z" that are no relation.
const VAGUE: &str = " one some part kind sort type form man woman people day time end side lot name thing word way case \
    number pair group matter point state front back middle rest top bottom sake member example sense air voice face ";
/// Verbs that relate the name before them to the name behind them.
const VERBS: [(&str, &str); 26] = [
    ("married", "married"),
    ("murdered", "killed"),
    ("killed", "killed"),
    ("founded", "founded"),
    ("built", "built"),
    ("wrote", "wrote"),
    ("invented", "invented"),
    ("painted", "painted"),
    ("owns", "owns"),
    ("owned", "owns"),
    ("employs", "employs"),
    ("employed", "employs"),
    ("defeated", "defeated"),
    ("succeeded", "succeeded"),
    ("loved", "loves"),
    ("loves", "loves"),
    ("hated", "hates"),
    ("hates", "hates"),
    ("despised", "despises"),
    ("met", "met"),
    ("visited", "visited"),
    ("helped", "helped"),
    ("followed", "followed"),
    ("knew", "knows"),
    ("knows", "knows"),
    ("feared", "fears"),
];
/// Verbs with the prepositions by which they relate two names.
const PHRASAL: [(&str, &str, &str); 22] = [
    ("lived", "in", "lives in"),
    ("lives", "in", "lives in"),
    ("lived", "at", "lives in"),
    ("born", "in", "born in"),
    ("died", "in", "died in"),
    ("arrived", "in", "arrived in"),
    ("arrived", "at", "arrived in"),
    ("went", "to", "went to"),
    ("came", "from", "came from"),
    ("came", "to", "came to"),
    ("returned", "to", "returned to"),
    ("wrote", "to", "wrote to"),
    ("spoke", "to", "spoke to"),
    ("belongs", "to", "belongs to"),
    ("belonged", "to", "belongs to"),
    ("married", "to", "married"),
    ("engaged", "to", "engaged to"),
    ("works", "for", "works for"),
    ("worked", "for", "works for"),
    ("lodged", "with", "lodges with"),
    ("stayed", "with", "stays with"),
    ("left", "for", "left for"),
];

/// A relation: from one span to another, words `first..last` saying so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Relation {
    pub(in super::super) from: usize,
    pub(in super::super) to: usize,
    pub(in super::super) label: String,
    pub(in super::super) first: usize,
    pub(in super::super) last: usize,
}

/// Whether a word names somebody by what they are to somebody.
fn is_relative(word: &Word<'_>) -> bool {
    word.shape == Shape::Lower
        && ((word.is(PERSON)
            && !word.is(FUNCTION)
            && !matches!(word.text, "man" | "woman" | "people" | "person" | "model" | "character"))
            || RELATIVES.contains(&word.text))
}

/// The relation that the phrase `first..last` puts its bearer in: to which span, and as what.
pub(in super::super) fn of_phrase(
    scan: &Scan<'_>,
    spans: &[Span],
    bearer: usize,
    first: usize,
    last: usize,
) -> Option<(usize, String)> {
    let words = &scan.words;
    // Spans are in order; those of the phrase stand near the bearer.
    let from = spans.partition_point(|s| s.first < first);
    for (i, span) in spans.iter().enumerate().skip(from).take_while(|(_, s)| s.last <= last) {
        if i == bearer {
            continue;
        }
        // "Z's elder sister".
        if words[span.last - 1].possessive && span.first <= first + 1 {
            let noun = (span.last..last.min(span.last + 4)).find(|&w| is_relative(&words[w]))?;
            let plain = words[span.last..=noun].iter().all(|w| w.gap.is_space() && w.shape == Shape::Lower);
            // The head of the phrase must end it, or be followed by more than another noun.
            return plain.then(|| (i, format!("{} of", words[noun].text)));
        }
        // "the captain of Z", "the daughter of that unfortunate Z".
        let of = (first + 1..span.first)
            .rev()
            .take(4)
            .find(|&w| words[w].text == "of" || words[w].shape != Shape::Lower)
            .filter(|&w| words[w].text == "of")?;
        let noun = of.checked_sub(1).filter(|&w| w > first)?;
        let head = &words[noun];
        let article = matches!(words[first].text, "the" | "The" | "a" | "an" | "one");
        let direct = words[first + 1..=span.first].iter().all(|w| w.gap.is_space());
        let fits = article && direct && head.shape == Shape::Lower && !head.is(FUNCTION | COPULA) && noun - first <= 4;
        return (fits && !words[span.last - 1].possessive && !VAGUE.contains(&format!(" {} ", head.text)))
            .then(|| (i, format!("{} of", head.text)));
    }
    None
}

/// Relations that no phrase says: "Z's brother X", "X founded Z".
pub(in super::super) fn between(scan: &Scan<'_>, spans: &[Span]) -> Vec<Relation> {
    let words = &scan.words;
    let mut out = Vec::new();
    for (i, pair) in spans.windows(2).enumerate() {
        let (a, b) = (&pair[0], &pair[1]);
        if a.sentence != b.sentence {
            continue;
        }
        let between = &words[a.last..b.first];
        let gap = words[b.first].gap;
        match between {
            [verb] if verb.gap.is_space() && gap.is_space() && !words[a.last - 1].possessive => {
                // "Ada married Edgar": but not "whom Ada married".
                let relative =
                    a.first > 0 && matches!(words[a.first - 1].text, "whom" | "which" | "that" | "who" | "and" | "of");
                if let Some((_, label)) = VERBS.iter().find(|(v, _)| *v == verb.text)
                    && !relative
                    && !words[b.last - 1].possessive
                {
                    out.push(Relation { from: i, to: i + 1, label: (*label).to_owned(), first: a.first, last: b.last });
                }
            }
            // "Ada was born in Hollin", "Ada lived in Hollin".
            [.., verb, preposition]
                if between.len() <= 3
                    && between.iter().all(|w| w.gap.is_space())
                    && gap.is_space()
                    && !words[a.last - 1].possessive
                    && (between.len() == 2 || between[0].is(COPULA) || matches!(between[0].text, "had" | "has")) =>
            {
                let label = PHRASAL.iter().find(|(v, p, _)| *v == verb.text && *p == preposition.text);
                let relative = a.first > 0 && matches!(words[a.first - 1].text, "whom" | "which" | "of" | "and");
                if let Some((_, _, label)) = label.filter(|_| !relative && !words[b.last - 1].possessive) {
                    out.push(Relation { from: i, to: i + 1, label: (*label).to_owned(), first: a.first, last: b.last });
                }
            }
            _ => {}
        }
        let adjectives = between.len().saturating_sub(1);
        if words[a.last - 1].possessive
            && let Some(noun) = between.last()
            && is_relative(noun)
            && adjectives <= 2
            && between
                .iter()
                .all(|w| w.gap.is_space() && w.shape == Shape::Lower && !w.is(FUNCTION & !PERSON) || is_relative(w))
            && (gap.is_space() || gap == Gap::COMMA)
            && !words[b.last - 1].possessive
        {
            // Behind a comma it must be enclosed: "Z's sister, X, came".
            let closed =
                words.get(b.last).is_none_or(|w| w.gap.has(Gap::COMMA.with(Gap::STOP)) || w.gap.has(Gap::PARAGRAPH));
            if gap.is_space() || closed {
                out.push(Relation {
                    from: i + 1,
                    to: i,
                    label: format!("{} of", noun.text),
                    first: a.first,
                    last: b.last,
                });
            }
        }
    }
    out
}
