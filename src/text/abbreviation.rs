//! Periods that end no sentence.
//!
//! The boundaries of Unicode stand after almost every period that a capital follows. This module vetoes those after
//! titles ("Mr. Darcy"), references ("No. 5", "vol. II"), initials ("J. Austen") and dotted abbreviations ("U.S.
//! Army"). The last two also end sentences ("He lives in the U.S. She does not."), so there a word that usually starts
//! a sentence decides.

/// Never end a sentence.
const ALWAYS: &[&str] = &[
    "adm", "capt", "cf", "cmdr", "col", "dr", "e.g", "fr", "gen", "gov", "hon", "i.e", "lieut", "lt", "maj", "messrs",
    "mlle", "mme", "mr", "mrs", "ms", "mt", "prof", "rep", "rev", "sen", "sgt", "st", "viz", "vs",
];

/// End no sentence before a number, Arabic or Roman.
const BEFORE_NUMBER: &[&str] = &[
    "apr", "art", "aug", "bk", "ch", "chap", "dec", "eq", "feb", "fig", "figs", "jan", "no", "nos", "nov", "oct", "p",
    "pp", "pt", "sec", "sep", "sept", "tab", "vol", "vols",
];

/// End no sentence unless a word of [`STARTERS`] follows.
const BEFORE_NAME: &[&str] = &["al", "bros", "co", "corp", "etc", "inc", "jr", "ltd", "ph.d", "sr"];

/// Words that start sentences far more often than they go on after an abbreviation.
const STARTERS: &[&str] = &[
    "A", "After", "All", "Although", "An", "And", "As", "At", "Before", "But", "By", "For", "From", "He", "Her",
    "Here", "His", "How", "However", "I", "If", "In", "It", "Its", "My", "No", "Not", "Now", "On", "One", "Our", "She",
    "Since", "So", "Some", "That", "The", "Their", "Then", "There", "These", "They", "This", "Those", "Though", "Thus",
    "To", "We", "What", "When", "Where", "While", "Who", "Why", "With", "Yes", "You", "Your",
];

/// No abbreviation, period included, is longer.
const LONGEST_BYTES: usize = 24;

/// Whether the boundary between `before` and `after` is none, because the period that ends `before` (white space apart)
/// belongs to an abbreviation.
pub(super) fn vetoes(before: &str, after: &str) -> bool {
    let Some(before) = before.trim_end().strip_suffix('.') else { return false };
    let tail = &before[before.ceil_char_boundary(before.len().saturating_sub(LONGEST_BYTES))..];
    let word_start = tail
        .char_indices()
        .rev()
        .take_while(|&(_, c)| c.is_alphanumeric() || c == '.')
        .last()
        .map_or(tail.len(), |x| x.0);
    let word = &tail[word_start..];
    if word.is_empty() || word.len() == LONGEST_BYTES {
        return false;
    }
    let next = after.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let lower = word.to_lowercase();
    let within = |list: &[&str]| list.contains(&lower.as_str());
    let names = next.starts_with(char::is_uppercase) && !STARTERS.contains(&next);
    within(ALWAYS)
        || within(BEFORE_NUMBER) && is_number(next)
        || within(BEFORE_NAME) && names
        || (is_initial(word) || is_dotted(word)) && names
}

/// Whether a word is an Arabic or a Roman numeral.
fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        || !word.is_empty() && word.bytes().all(|byte| b"IVXLCDM".contains(&byte))
}

/// Whether a word is one capital, as in "J. Austen". "I" is more often the pronoun.
fn is_initial(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.next().is_none() && word != "I"
}

/// Whether a word is letters with periods between, as in "U.S" or "a.m".
fn is_dotted(word: &str) -> bool {
    word.contains('.')
        && word.split('.').all(|part| {
            let mut letters = part.chars();
            letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
        })
}

#[cfg(test)]
mod tests {
    use super::vetoes;

    #[test]
    fn abbreviations() {
        for (before, after, expected) in [
            ("He met Mr. ", "Darcy", true),
            ("(Mrs. ", "Hurst", true),
            ("as in e.g. ", "Bath", true),
            ("See No. ", "5", true),
            ("No. ", "I will not", true),
            ("No. ", "We will not", false),
            ("vol. ", "II of it", true),
            ("vol. ", "The first", false),
            ("by J. ", "Austen", true),
            ("George R. R. ", "Martin", true),
            ("It was I. ", "Darcy said so", false),
            ("the U.S. ", "Army", true),
            ("the U.S. ", "The army", false),
            ("et al. ", "The", false),
            ("Smith & Co. ", "London", true),
            ("the end. ", "Then", false),
            ("really! ", "Then", false),
            (". ", "Then", false),
            ("", "", false),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaamr. ", "Then", false),
            ("é.éééééééééééééééééééééé. ", "X", false),
        ] {
            assert_eq!(vetoes(before, after), expected, "{before:?} {after:?}");
        }
    }
}
