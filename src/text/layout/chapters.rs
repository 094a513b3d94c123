//! The headings of plain-text books: "CHAPTER IV", "Part Two", "BOOK ONE: 1805", "EPILOGUE".
//!
//! Such a line stands alone between blank lines. It starts with the name of a division and a number, or is one of the
//! parts that go without one. A table of contents looks the same, but nothing follows its lines: a heading with no text
//! before the next one that is as high is none.

use super::headings::{HEADING_BYTES, Heading};
use super::{Line, trimmed};
use std::ops::Range;

/// Longest chapter line, in bytes.
const LINE_BYTES: usize = 120;
/// Longest title on a line of its own, in bytes.
const SUBTITLE_BYTES: usize = 90;

/// What a chapter heading opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Division {
    /// A numbered part, under this name.
    Numbered,
    /// A part that has its name for a title ("Epilogue").
    Named,
    /// A number alone.
    Bare,
}

/// Names of divisions, with their ranks.
const NUMBERED: [(&str, u8); 9] = [
    ("volume", 1),
    ("book", 2),
    ("part", 3),
    ("act", 3),
    ("canto", 4),
    ("chapter", 4),
    ("stave", 4),
    ("letter", 4),
    ("scene", 5),
];
/// Parts without a number.
const NAMED: [&str; 9] = [
    "prologue",
    "epilogue",
    "preface",
    "foreword",
    "introduction",
    "conclusion",
    "afterword",
    "postscript",
    "appendix",
];
/// Rank of parts without a number, and of bare numbers.
const NAMED_LEVEL: u8 = 3;
const BARE_LEVEL: u8 = 4;

/// The chapter headings of a text.
pub(super) fn chapters(text: &str, lines: &[Line]) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let mut last_bare = 0;
    let mut i = 0;
    while i < lines.len() {
        let line = &lines[i];
        let alone = !line.is_blank() && !line.fenced && (i == 0 || lines[i - 1].is_blank());
        let parsed = if alone { heading(text, lines, i, last_bare) } else { None };
        if let Some((level, division, title, subtitle, next)) = parsed {
            match division {
                Division::Bare => last_bare += 1,
                _ => last_bare = 0,
            }
            let end = lines.get(next).map_or(text.len(), |l| l.start);
            found.push(Heading { start: line.start, end, level, title, subtitle, division: Some(division) });
            i = next;
        } else {
            i += 1;
        }
    }
    let bare = found.iter().filter(|h| h.division == Some(Division::Bare)).count();
    if bare < 2 {
        found.retain(|h| h.division != Some(Division::Bare));
    }
    with_text(text, found)
}

type Parsed = (u8, Division, Range<usize>, Option<Range<usize>>, usize);

/// Reads a chapter heading that starts on line `i`: its level, kind, title, subtitle and the line behind it.
fn heading(text: &str, lines: &[Line], i: usize, last_bare: u32) -> Option<Parsed> {
    let line = &lines[i];
    let title = trimmed(text, line.start..line.end);
    let words = &text[title.clone()];
    if words.len() > LINE_BYTES {
        return None;
    }
    let closed = lines.get(i + 1).is_none_or(Line::is_blank);
    if closed && bare_number(words) == Some(last_bare + 1) {
        return Some((BARE_LEVEL, Division::Bare, title, None, i + 1));
    }
    let (level, division, titled) = line_of(words)?;
    let next = lines.get(i + 1);
    if !closed {
        // "CHAPTER IV" / "The Storm", the title on the next line.
        let subtitle = next.filter(|l| !titled && is_title(l.text(text), false))?;
        if !lines.get(i + 2).is_none_or(Line::is_blank) {
            return None;
        }
        return Some((level, division, title, Some(trimmed(text, subtitle.start..subtitle.end)), i + 2));
    }
    // A title in capitals below a blank line.
    let below = lines.get(i + 2).filter(|l| !l.is_blank() && lines.get(i + 3).is_none_or(Line::is_blank));
    if !titled
        && let Some(below) = below
        && is_title(below.text(text), true)
        && line_of(below.text(text).trim()).is_none()
        && bare_number(below.text(text).trim()).is_none()
    {
        return Some((level, division, title, Some(trimmed(text, below.start..below.end)), i + 3));
    }
    Some((level, division, title, None, i + 1))
}

/// Whether a line serves as the title of a chapter.
fn is_title(line: &str, loud: bool) -> bool {
    let line = line.trim();
    let letters = line.chars().filter(|c| c.is_alphabetic()).count();
    if line.len() > SUBTITLE_BYTES || letters < 2 || !line.starts_with(|c: char| c.is_alphanumeric() || c == '“') {
        return false;
    }
    if loud {
        return !line.chars().any(char::is_lowercase);
    }
    !line.ends_with([',', ';', '.', '?', '!']) && line.starts_with(|c: char| !c.is_lowercase())
}

/// Level and kind of a chapter line, and whether it holds a title beside its number.
fn line_of(line: &str) -> Option<(u8, Division, bool)> {
    if line.len() > HEADING_BYTES {
        return None;
    }
    let mut words = line.split_whitespace();
    let strip = |w: &str| w.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let first_word = words.next()?;
    if !first_word.starts_with(|c: char| c.is_uppercase()) {
        return None;
    }
    let first = strip(first_word);
    let is_loud = !line.chars().any(char::is_lowercase);
    if NAMED.contains(&first.as_str()) {
        let rest = line[line.find(first_word)? + first_word.len()..].trim();
        let parted = first_word.ends_with(|c: char| !c.is_alphanumeric()) || rest.is_empty();
        if parted || is_loud {
            return Some((NAMED_LEVEL, Division::Named, !rest.is_empty()));
        }
    }
    if let Some(&(_, level)) = NUMBERED.iter().find(|(name, _)| *name == first) {
        let number = words.next()?;
        let parted = number.ends_with(|c: char| !c.is_alphanumeric());
        let bare = number.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_article = bare.eq_ignore_ascii_case("the");
        let numeral = if is_article { words.next()? } else { bare };
        number_of(&strip(numeral))?;
        let rest: Vec<&str> = words.collect();
        let dash = rest.first().is_some_and(|w| matches!(*w, "-" | "–" | "—" | ":"));
        let capitals = rest.iter().filter(|w| w.len() > 3).all(|w| w.starts_with(|c: char| !c.is_lowercase()));
        let title = rest.is_empty() || parted || dash || (capitals && !line.ends_with(['.', ',', '?', '!']));
        return title.then_some((level, Division::Numbered, !rest.is_empty()));
    }
    // "FIRST EPILOGUE: 1813 - 20", "THE SECOND PART", "TRANSLATOR’S PREFACE".
    let head = line.split([':', '—']).next().unwrap_or(line);
    let all: Vec<String> = head.split_whitespace().map(strip).filter(|w| !w.is_empty() && w != "the").collect();
    let last = all.last()?;
    if all.len() == 2 && ordinal(&all[0]) {
        let titled = head.len() < line.len();
        if NAMED.contains(&last.as_str()) {
            return Some((NAMED_LEVEL, Division::Named, titled));
        }
        let (_, level) = NUMBERED.iter().find(|(name, _)| name == last)?;
        return Some((*level, Division::Numbered, titled));
    }
    (is_loud && all.len() <= 4 && NAMED.contains(&last.as_str())).then_some((NAMED_LEVEL, Division::Named, false))
}

const ORDINALS: [&str; 10] =
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];

fn ordinal(word: &str) -> bool {
    ORDINALS.contains(&word)
}

/// The number that a line is, in digits or as a Roman numeral.
fn bare_number(line: &str) -> Option<u32> {
    let line = line.trim_end_matches('.');
    if line.is_empty() || line.len() > 8 || line.chars().any(char::is_lowercase) {
        return None;
    }
    line.parse().ok().or_else(|| roman(&line.to_lowercase()))
}

/// The number that a word in small letters says: digits, a Roman numeral, or in words.
pub(super) fn number_of(word: &str) -> Option<u32> {
    const WORDS: [&str; 20] = [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    const TENS: [(&str, u32); 5] = [("twenty-", 20), ("thirty-", 30), ("forty-", 40), ("fifty-", 50), ("sixty-", 60)];
    let unit = |word: &str| WORDS.iter().position(|&w| w == word).map(|at| at as u32 + 1);
    if let Ok(number) = word.parse::<u32>() {
        return Some(number);
    }
    for (tens, value) in TENS {
        if word == &tens[..tens.len() - 1] {
            return Some(value);
        }
        if let Some(rest) = word.strip_prefix(tens) {
            return unit(rest).map(|n| n + value);
        }
    }
    let position = ORDINALS.iter().position(|&w| w == word).map(|at| at as u32 + 1);
    unit(word).or(position).or_else(|| roman(word))
}

/// The value of a Roman numeral in small letters.
fn roman(word: &str) -> Option<u32> {
    if word.is_empty() || word.len() > 8 {
        return None;
    }
    let value = |c| match c {
        b'i' => Some(1),
        b'v' => Some(5),
        b'x' => Some(10),
        b'l' => Some(50),
        b'c' => Some(100),
        _ => None,
    };
    let mut total = 0;
    let mut before = u32::MAX;
    for c in word.bytes() {
        let v: u32 = value(c)?;
        total += if before < v { v.checked_sub(2 * before)? } else { v };
        before = v;
    }
    Some(total)
}

/// Leaves out headings that nothing follows but one as high: those of a table of contents.
fn with_text(text: &str, found: Vec<Heading>) -> Vec<Heading> {
    let mut keep = vec![false; found.len()];
    let mut kept: Option<usize> = None;
    for i in (0..found.len()).rev() {
        let next_start = found.get(i + 1).map_or(text.len(), |h| h.start);
        let has_text = !text[found[i].end.min(next_start)..next_start].trim().is_empty();
        let deeper = kept.is_some_and(|k| k == i + 1 && found[k].level > found[i].level);
        if has_text || deeper {
            keep[i] = true;
            kept = Some(i);
        }
    }
    let mut at = 0;
    let mut found = found;
    found.retain(|_| {
        at += 1;
        keep[at - 1]
    });
    found
}
