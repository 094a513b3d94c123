//! Dates and amounts, where the words beside them say of what.

use super::super::lexicon::MONTH;
use super::super::scan::{Gap, Scan, Sentence, Shape, Word};

/// Units of an amount.
const UNITS: &str = " rouble roubles copeck copecks kopeck kopecks pound pounds shilling shillings guinea guineas dollar \
    dollars cent cents euro euros franc francs crown crowns ducat ducats mark marks penny pence kg g mg t tonne tonnes \
    ton tons kilogram kilograms gram grams mm cm m km metre metres meter meters kilometre kilometres mile miles foot \
    feet inch inches yard yards acre acres hectare hectares versts verst l litre litres liter liters ml bar mbar kpa pa \
    psi v volt volts a amp amps w kw mw watt watts kwh hz khz mhz ghz rpm s ms second seconds minute minutes min h hour \
    hours day days week weeks month months year years percent degrees kb mb gb tb kib mib gib bytes people inhabitants \
    men horses guns souls serfs ";
/// What a verb before an amount speaks of.
const VERBS: [(&str, &str); 21] = [
    ("cost", "price"),
    ("costs", "price"),
    ("weighs", "mass"),
    ("weighed", "mass"),
    ("pays", "payment"),
    ("paid", "payment"),
    ("earns", "income"),
    ("earned", "income"),
    ("owes", "debt"),
    ("owed", "debt"),
    ("measures", "length"),
    ("lent", "loan"),
    ("borrowed", "loan"),
    ("spent", "expense"),
    ("sold", "price"),
    ("offered", "offer"),
    ("gave", "gift"),
    ("lasts", "duration"),
    ("lasted", "duration"),
    ("holds", "capacity"),
    ("inherited", "inheritance"),
];
/// Nouns that an amount may be of ("a salary of 60 roubles", "a height of 3 m").
const NOUNS: &str = " salary price sum debt pension reward income fortune dowry rent fee cost height length width depth \
    mass weight speed pressure temperature capacity volume area distance population budget loan fine wage wages loss \
    profit payment deposit inheritance power voltage duration age diameter thickness yield flow ";
/// What a verb before a date speaks of.
const EVENTS: [(&str, &str); 22] = [
    ("born", "birth"),
    ("died", "death"),
    ("dies", "death"),
    ("married", "marriage"),
    ("founded", "founding"),
    ("built", "construction"),
    ("opened", "opening"),
    ("established", "founding"),
    ("published", "publication"),
    ("released", "release"),
    ("began", "start"),
    ("started", "start"),
    ("ended", "end"),
    ("closed", "closing"),
    ("arrested", "arrest"),
    ("arrived", "arrival"),
    ("invented", "invention"),
    ("discovered", "discovery"),
    ("completed", "completion"),
    ("elected", "election"),
    ("appointed", "appointment"),
    ("moved", "move"),
];
/// How many words a governing word may stand before its number.
const REACH: usize = 5;

/// A date or an amount: words `first..last`, of what, and the word that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Quantity {
    pub(in super::super) label: &'static str,
    pub(in super::super) is_date: bool,
    pub(in super::super) first: usize,
    pub(in super::super) last: usize,
    /// Place of the governing word.
    pub(in super::super) governor: usize,
}

/// The quantities of a sentence whose governing word is clear.
pub(in super::super) fn quantities(scan: &Scan<'_>, sentence: &Sentence) -> Vec<Quantity> {
    let words = &scan.words;
    let mut out = Vec::new();
    let mut at = sentence.first;
    while at < sentence.last {
        if let Some((first, last)) = date(words, sentence, at) {
            if let Some((governor, label)) = governed(words, sentence, first, &EVENTS) {
                out.push(Quantity { label, is_date: true, first, last, governor });
            }
            at = last;
        } else if let Some(last) = amount(words, sentence, at) {
            let verb = governed(words, sentence, at, &VERBS);
            if let Some((governor, label)) = noun(words, sentence, at).or(verb) {
                out.push(Quantity { label, is_date: false, first: at, last, governor });
            }
            at = last;
        } else {
            at += 1;
        }
    }
    out
}

/// A date that has the word at `at` in it as its first: "12 May 1805", "May 12, 1805", "1805", "2024-05-01".
pub(in super::super) fn date(words: &[Word<'_>], sentence: &Sentence, at: usize) -> Option<(usize, usize)> {
    let limit = sentence.last;
    let get = |i: usize| words[..limit].get(i);
    let close = |i: usize| get(i).is_some_and(|w| w.gap.is_space() || w.gap == Gap::COMMA);
    let word = get(at)?;
    let is_month = |i: usize| get(i).is_some_and(|w| w.is(MONTH) && w.is_capital() && close(i));
    if word.shape == Shape::Number && is_day(word.text) && is_month(at + 1) {
        let year = get(at + 2).is_some_and(|w| is_year(w.text)) && close(at + 2);
        return Some((at, at + 2 + usize::from(year)));
    }
    if word.is(MONTH) && word.is_capital() {
        let day = get(at + 1).is_some_and(|w| is_day(w.text)) && close(at + 1);
        let next = at + 1 + usize::from(day);
        let year = get(next).is_some_and(|w| is_year(w.text)) && close(next);
        return (day || year).then_some((at, next + usize::from(year)));
    }
    let iso = word.text.len() == 10
        && word.text.bytes().enumerate().all(|(i, b)| if i == 4 || i == 7 { b == b'-' } else { b.is_ascii_digit() });
    let before = at.checked_sub(1).filter(|&b| b >= sentence.first).map(|b| words[b].text);
    let announced = matches!(
        before,
        Some(
            "in" | "In"
                | "since"
                | "Since"
                | "by"
                | "until"
                | "from"
                | "of"
                | "year"
                | "before"
                | "after"
                | "to"
                | "and"
                | "late"
                | "early"
        )
    );
    let unit = get(at + 1).is_some_and(|w| w.gap.is_space() && is_unit(w));
    (iso || (is_year(word.text) && announced && !unit)).then_some((at, at + 1))
}

fn is_day(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    matches!(&text[digits.len()..], "" | "st" | "nd" | "rd" | "th")
        && digits.parse::<u32>().is_ok_and(|d| (1..=31).contains(&d))
}

/// Whether a word is a year of four digits.
pub(in super::super) fn is_year(text: &str) -> bool {
    text.len() == 4 && text.parse::<u32>().is_ok_and(|y| (1000..=2199).contains(&y))
}

fn is_unit(word: &Word<'_>) -> bool {
    UNITS.contains(&format!(" {} ", word.text.trim_end_matches('.').to_lowercase()))
}

/// End of an amount that starts at `at`: a number and its unit.
fn amount(words: &[Word<'_>], sentence: &Sentence, at: usize) -> Option<usize> {
    const NUMBERS: &str = " two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty \
        sixty seventy eighty ninety hundred thousand million ";
    let is_number = |w: &Word<'_>| {
        w.shape == Shape::Number
            || w.text.split('-').all(|part| !part.is_empty() && NUMBERS.contains(&format!(" {part} ")))
    };
    if !is_number(words.get(at)?) {
        return None;
    }
    let mut last = at + 1;
    while last < sentence.last && words[last].gap.is_space() && is_number(&words[last]) {
        last += 1;
    }
    let unit = words[..sentence.last].get(last)?;
    (unit.gap.is_space() && is_unit(unit)).then_some(last + 1)
}

/// "a salary of 60 roubles": the noun before.
fn noun(words: &[Word<'_>], sentence: &Sentence, at: usize) -> Option<(usize, &'static str)> {
    let of =
        at.checked_sub(1).filter(|&i| i > sentence.first && matches!(words[i].text, "of" | "is" | "was" | "at"))?;
    let found = of - 1;
    let word = words[found].text;
    let start = NOUNS.find(&format!(" {word} "))? + 1;
    Some((found, &NOUNS[start..start + word.len()]))
}

/// The nearest governing verb before a word, with no mark between.
fn governed(
    words: &[Word<'_>],
    sentence: &Sentence,
    at: usize,
    table: &[(&str, &'static str)],
) -> Option<(usize, &'static str)> {
    for i in (sentence.first..at).rev().take(REACH) {
        if let Some((_, label)) = table.iter().find(|(verb, _)| *verb == words[i].text) {
            return Some((i, label));
        }
        if !words[i].gap.is_space() && !words[i].gap.has(Gap::SENTENCE) {
            return None;
        }
    }
    None
}
