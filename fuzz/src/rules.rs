//! The rules of text, written once more from the format's description, as plainly as they can be.

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

/// Scripts whose runs are cut into pairs.
const PAIRED: [std::ops::RangeInclusive<u32>; 6] =
    [0x3040..=0x30ff, 0x31f0..=0x31ff, 0x3400..=0x4dbf, 0x4e00..=0x9fff, 0xf900..=0xfaff, 0x20000..=0x3134f];

/// Whether the compiler's tables can lower-case all of the text; they may be older than those of the format.
pub fn can_lower(text: &str) -> bool {
    let is_new = |c: char| c.general_category() == GeneralCategory::UppercaseLetter && c.to_lowercase().eq([c]);
    !text.nfkc().any(|c| c >= '\u{a7dd}' && is_new(c))
}

/// Tokenizer 1.
pub fn tokens(text: &str) -> Vec<String> {
    let mut lower = Vec::new();
    for c in text.nfkc() {
        match c.general_category() {
            GeneralCategory::Unassigned => lower.push(c),
            _ => lower.extend(c.to_lowercase().map(|c| if c == 'ς' { 'σ' } else { c })),
        }
    }
    let is_paired = |c: char| PAIRED.iter().any(|range| range.contains(&(c as u32)));
    let mut runs: Vec<(bool, Vec<char>)> = Vec::new();
    let mut is_open = false;
    for c in lower {
        match c.general_category_group() {
            GeneralCategoryGroup::Mark => {
                if is_open {
                    runs.last_mut().unwrap().1.push(c);
                }
                continue;
            }
            GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number => {}
            _ if c == '_' => {}
            _ => {
                is_open = false;
                continue;
            }
        }
        if !is_open || runs.last().unwrap().0 != is_paired(c) {
            runs.push((is_paired(c), Vec::new()));
        }
        runs.last_mut().unwrap().1.push(c);
        is_open = true;
    }
    let mut tokens: Vec<String> = Vec::new();
    for (is_paired, run) in runs {
        match is_paired && run.len() >= 2 {
            true => tokens.extend(run.windows(2).map(|pair| pair.iter().collect::<String>())),
            false => tokens.push(run.into_iter().collect()),
        }
    }
    tokens.into_iter().map(bounded).collect()
}

/// The key of a name.
pub fn key(name: &str) -> String {
    let normal: String = name.nfkc().collect();
    let folded = unicase::UniCase::unicode(normal).to_folded_case();
    let words = folded.split(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A token that is too long, as a prefix and a hash.
fn bounded(token: String) -> String {
    if token.len() <= 255 {
        return token;
    }
    let mut end = 224;
    while !token.is_char_boundary(end) {
        end -= 1;
    }
    let hash = blake3::hash(token.as_bytes());
    let bits: Vec<u8> =
        hash.as_bytes()[..16].iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let digit = |bits: &[u8]| (0..5).fold(0, |digit, at| digit << 1 | bits.get(at).copied().unwrap_or(0));
    let digits = bits.chunks(5).map(|bits| char::from(b"abcdefghijklmnopqrstuvwxyz234567"[usize::from(digit(bits))]));
    token[..end].chars().chain(digits).collect()
}

/// Where the first chunk of a text ends, for texts below the limit of bytes of a chunk.
pub fn chunk_end(text: &str, words: u32) -> usize {
    let words = words as usize;
    let found: Vec<(usize, &str)> = text
        .split_word_bound_indices()
        .filter(|(_, word)| {
            word.chars().any(|c| {
                let group = c.general_category_group();
                c.is_alphanumeric() || matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
            })
        })
        .take(words + 1)
        .collect();
    let reach = found.get(words).map_or(text.len(), |word| word.0);
    if reach == text.len() {
        return reach;
    }
    let most = (words * 7 / 8).max(1);
    let (mut end, mut last, mut last_paragraph) = (0, 0, 0);
    for (_, sentence) in plica::text::sentences(text) {
        end += sentence.len();
        if end > reach {
            break;
        }
        last = end;
        let before = &text[..end];
        let space = &before[before.trim_end().len()..];
        let breaks = space.replace("\r\n", "\n").chars().filter(|c| matches!(c, '\n' | '\r')).count();
        let is_paragraph = breaks >= 2 || space.ends_with('\u{2029}');
        let complete = found.iter().filter(|(start, word)| start + word.len() <= end).count();
        if is_paragraph && complete >= most {
            last_paragraph = end;
        }
    }
    match (last_paragraph, last) {
        (0, 0) => reach,
        (0, last) => last,
        (paragraph, _) => paragraph,
    }
}

/// Pieces of text that rules are about.
const PIECES: [&str; 96] = [
    "a",
    "b",
    "A",
    "Z",
    "é",
    "e\u{301}",
    "\u{301}",
    "\u{308}",
    "ß",
    "ſ",
    "ς",
    "Σ",
    "σ",
    "İ",
    "ı",
    "ﬁ",
    "Ⅳ",
    "５",
    "_",
    "x7",
    "漢",
    "字",
    "か",
    "ガ",
    "カ\u{3099}",
    "ｶﾞ",
    "ー",
    "\u{3099}",
    "ㇰ",
    "\u{20000}",
    "\u{f900}",
    "한",
    "각",
    "ภาษา",
    "ا",
    "\u{64b}",
    "\u{200d}",
    "\u{feff}",
    "\u{ad}",
    "\0",
    "\u{1f469}",
    "\u{1f1e6}",
    "\u{fe0f}",
    "\u{20e3}",
    "☺",
    "½",
    "²",
    "№",
    "™",
    "ǅ",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    "\u{a0}",
    "\u{3000}",
    "\u{200b}",
    "\u{b}",
    ".",
    "!",
    "?",
    "。",
    "…",
    ",",
    ";",
    ":",
    "'",
    "’",
    "\"",
    ")",
    "(",
    "-",
    "|",
    "|---|---|\n",
    "| a | b |\n",
    "# ",
    "## ",
    "=====\n",
    "> ",
    "* ",
    "1. ",
    "Mr. ",
    "No. 7 ",
    "U.S. ",
    "e.g. ",
    "The ",
    "Chapter IV\n",
    "word ",
    "One two three. ",
    "Table 1:\n",
];

/// Text from a fuzzer: its bytes as they are, or each byte a piece.
pub fn text(bytes: &[u8]) -> String {
    match bytes.split_first() {
        Some((first, rest)) if first & 1 == 1 => {
            rest.iter().map(|&at| PIECES[usize::from(at) % PIECES.len()]).collect()
        }
        Some((_, rest)) => String::from_utf8_lossy(rest).into_owned(),
        None => String::new(),
    }
}
