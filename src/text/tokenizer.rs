//! Tokenizer 1: from text to the terms of postings and queries.
//!
//! A text is normalised (NFKC), lower-cased, and ς becomes σ. A token is then a maximal run of letters, numbers and
//! `_`, with the marks inside it. Scripts that are written without spaces, Han, Hiragana and Katakana ([`PAIRED`]), are
//! cut into overlapping pairs instead, so that a word of two characters is found wherever it stands. A token that is
//! too long for a dictionary key is kept as a prefix and a hash ([`LONG_PREFIX_BYTES`]).
//!
//! Two ways lead to the same tokens. ASCII needs no tables: its bytes are scanned where they lie, and a token that has
//! no capital is handed out as a slice of the input. All else goes character by character through the tables. The two
//! may alternate within a text because a cut before an ASCII character never changes its normal form: no ASCII
//! character composes with what precedes it. What follows it may compose with it, so the slow way starts one
//! ASCII character early.
//!
//! The tables are part of the file format. The crates that hold them are pinned, and what the standard library adds
//! (lower case) is taken only for characters that those crates know; see [`lower`].

use plica_format::limits::TOKEN_BYTES;
use unicase::UniCase;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// Number of the tokenizer, as an index file records it.
pub const TOKENIZER: u16 = 1;

/// Version of the Unicode data that tokenizer 1 and keys are defined by.
///
/// The reference runs on Unicode 14.0; it differs in the characters assigned since, and in nothing else.
pub const UNICODE_VERSION: (u8, u8, u8) = (18, 0, 0);

/// Inclusive ranges of code points whose runs give overlapping pairs.
const PAIRED: [(char, char); 6] = [
    ('\u{3040}', '\u{30ff}'),
    ('\u{31f0}', '\u{31ff}'),
    ('\u{3400}', '\u{4dbf}'),
    ('\u{4e00}', '\u{9fff}'),
    ('\u{f900}', '\u{faff}'),
    ('\u{20000}', '\u{3134f}'),
];

/// A token over [`TOKEN_BYTES`] keeps the longest prefix of whole characters within this many bytes, and then
/// [`LONG_HASH_BYTES`] of its hash.
const LONG_PREFIX_BYTES: usize = 224;

/// The first so many bytes of the BLAKE3 hash of a long token follow its prefix, in base 32 (26 characters).
const LONG_HASH_BYTES: usize = 16;

/// Digits of that base 32: the alphabet of RFC 4648 in lower case, without padding.
const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The tokens of `text`, in order. See [`for_each_token`].
pub fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for_each_token(text, |token| tokens.push(token.to_owned()));
    tokens
}

/// Hands the tokens of `text` to `sink`, in order. Each is 1 to 255 bytes long.
///
/// ```
/// let mut terms = Vec::new();
/// plica::text::for_each_token("Mr. Σίσυφος, 東京都", |term| terms.push(term.to_owned()));
/// assert_eq!(terms, ["mr", "σίσυφοσ", "東京", "京都"]);
/// ```
pub fn for_each_token(text: &str, sink: impl FnMut(&str)) {
    Tokenizer::new(sink).text(text);
}

/// Hands the tokens of a unit with a title, a chunk for instance, to `sink`: those of its title, a space, its text.
pub fn for_each_unit_token(title: &str, text: &str, mut sink: impl FnMut(&str)) {
    // A space ends a token and composes with nothing, so the two can be read apart.
    for_each_token(title, &mut sink);
    for_each_token(text, &mut sink);
}

/// What a character is to the tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Letter, number or `_`.
    Word,
    /// A mark: goes with an open run, and is nothing outside one.
    Mark,
    /// All else: ends a run.
    Other,
}

/// The class of a character beyond ASCII.
fn class(c: char) -> Class {
    // Large blocks that are letters throughout need no search (a test compares them with the table).
    if matches!(c, '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2af}' | '\u{3a3}'..='\u{3f5}'
        | '\u{400}'..='\u{481}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
    {
        return Class::Word;
    }
    match c.general_category_group() {
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number => Class::Word,
        GeneralCategoryGroup::Mark => Class::Mark,
        _ => Class::Other,
    }
}

/// Hands the full lower case of `c` to `push`, without regard to context; ς becomes σ.
///
/// The mapping is the standard library's, held to [`UNICODE_VERSION`]: a character that the pinned tables do not know
/// stays as it is, whatever compiler builds this.
fn lower(c: char, mut push: impl FnMut(char)) {
    if c.is_ascii() {
        return push(c.to_ascii_lowercase());
    }
    if c == 'ς' {
        return push('σ');
    }
    let mapped = c.to_lowercase();
    if mapped.clone().eq([c]) {
        return push(newer_lower(c));
    }
    if c.general_category() == GeneralCategory::Unassigned {
        return push(c);
    }
    mapped.for_each(push);
}

/// The lower case of a character for which the standard library has none.
///
/// A compiler older than [`UNICODE_VERSION`] does not know the newest capitals. For a capital that has no lower case of
/// its own, case folding is lower-casing, and the pinned tables know it.
fn newer_lower(c: char) -> char {
    // No character below this is such a capital (a test says so), which spares most texts the search.
    if c < '\u{a7dd}' || c.general_category() != GeneralCategory::UppercaseLetter {
        return c;
    }
    UniCase::unicode(c.encode_utf8(&mut [0; 4])).to_folded_case().chars().next().unwrap_or(c)
}

/// Whether a character belongs to the pair scripts.
fn is_paired(c: char) -> bool {
    c >= PAIRED[0].0 && PAIRED.iter().any(|&(first, last)| (first..=last).contains(&c))
}

/// Whether an ASCII byte belongs to a token.
fn is_ascii_word(byte: u8) -> bool {
    ASCII_WORD.get(usize::from(byte)).is_some_and(|&word| word)
}

/// Which bytes belong to a token, all of those beyond ASCII left out.
const ASCII_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    table
};

/// The open run, and where its tokens go.
struct Tokenizer<F> {
    /// The open run, or of a paired run only its last character.
    run: String,
    /// Whether the open run is of the pair scripts; means nothing while there is none.
    paired: bool,
    /// Whether the open paired run has given a pair yet.
    gave_pair: bool,
    /// Takes the tokens.
    sink: F,
}

impl<F: FnMut(&str)> Tokenizer<F> {
    fn new(sink: F) -> Self {
        Self { run: String::new(), paired: false, gave_pair: false, sink }
    }

    fn text(mut self, text: &str) {
        if text.is_ascii() {
            self.ascii(text);
            return self.close();
        }
        let mut rest = text;
        while !rest.is_empty() {
            let ascii = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
            let last = ascii == rest.len();
            // The ASCII character before others may compose with them.
            let (fast, slow) = rest.split_at(if last { ascii } else { ascii.saturating_sub(1) });
            self.ascii(fast);
            let own = slow.len().min(ascii - fast.len());
            let length = slow.bytes().skip(own).position(|byte| byte.is_ascii()).map_or(slow.len(), |n| own + n);
            let (slow, after) = slow.split_at(length);
            self.any(slow);
            rest = after;
        }
        self.close();
    }

    /// Takes a piece that is ASCII throughout.
    fn ascii(&mut self, piece: &str) {
        let bytes = piece.as_bytes();
        let is_word = |at: usize| bytes.get(at).map(|&byte| is_ascii_word(byte));
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            while is_word(at) == Some(true) {
                at += 1;
            }
            let word = piece.get(start..at).unwrap_or_default();
            let ends = at < bytes.len();
            if !word.is_empty() {
                if self.paired && !self.run.is_empty() {
                    self.close();
                }
                self.paired = false;
                if self.run.is_empty() && ends && !word.bytes().any(|byte| byte.is_ascii_uppercase()) {
                    emit(word, &mut self.sink);
                } else {
                    let start = self.run.len();
                    self.run.push_str(word);
                    if let Some(added) = self.run.get_mut(start..) {
                        added.make_ascii_lowercase();
                    }
                }
            }
            if ends {
                self.close();
            }
            while is_word(at) == Some(false) {
                at += 1;
            }
        }
    }

    /// Takes any piece that ends where the text ends or before an ASCII character, and starts with the text or an
    /// ASCII character.
    fn any(&mut self, piece: &str) {
        if is_nfkc_quick(piece.chars()) == IsNormalized::Yes {
            piece.chars().for_each(|c| lower(c, |c| self.character(c)));
        } else {
            piece.nfkc().for_each(|c| lower(c, |c| self.character(c)));
        }
    }

    /// Takes a character that is normalised and lower-cased.
    fn character(&mut self, c: char) {
        let class = match c {
            '\0'..='\x7f' if is_ascii_word(c as u8) => Class::Word,
            '\0'..='\x7f' => Class::Other,
            _ => class(c),
        };
        match class {
            Class::Other => return self.close(),
            Class::Mark if self.run.is_empty() => return,
            Class::Mark => {}
            Class::Word => {
                let paired = is_paired(c);
                if paired != self.paired {
                    self.close();
                    self.paired = paired;
                }
            }
        }
        let first = self.run.len();
        self.run.push(c);
        if self.paired && first > 0 {
            (self.sink)(&self.run);
            self.gave_pair = true;
            self.run.drain(..first);
        }
    }

    /// Ends the open run, if there is one.
    fn close(&mut self) {
        if !self.run.is_empty() && !self.gave_pair {
            emit(&self.run, &mut self.sink);
        }
        self.gave_pair = false;
        self.run.clear();
    }
}

/// Hands out a token, shortened if it is too long.
fn emit(token: &str, sink: &mut impl FnMut(&str)) {
    match token.len() <= TOKEN_BYTES {
        true => sink(token),
        false => sink(&bounded(token)),
    }
}

/// `text`, or, where that is over [`TOKEN_BYTES`], a prefix and the hash of it: at most 250 bytes.
pub(crate) fn bounded(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= TOKEN_BYTES {
        return text.into();
    }
    let mut short = text[..text.floor_char_boundary(LONG_PREFIX_BYTES)].to_owned();
    let hash = blake3::hash(text.as_bytes());
    let (mut bits, mut count) = (0u32, 0);
    for &byte in &hash.as_bytes()[..LONG_HASH_BYTES] {
        bits = bits << 8 | u32::from(byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            short.push(char::from(BASE32[(bits >> count & 31) as usize]));
        }
    }
    short.push(char::from(BASE32[(bits << (5 - count) & 31) as usize]));
    short.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::golden::CASES;
    use crate::text::key;
    use proptest::prelude::*;

    /// Tokenizer 1 as the specification states it, in the plainest words.
    fn plain_tokens(text: &str) -> Vec<String> {
        let mut characters = Vec::new();
        text.nfkc().for_each(|c| lower(c, |c| characters.push(c)));
        let mut runs: Vec<(bool, Vec<char>)> = Vec::new();
        let mut open = false;
        for c in characters {
            let group = c.general_category_group();
            let word = matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number) || c == '_';
            let paired = PAIRED.iter().any(|range| range.0 <= c && c <= range.1);
            match runs.last_mut() {
                Some(run) if open && (group == GeneralCategoryGroup::Mark || word && paired == run.0) => run.1.push(c),
                _ if word => runs.push((paired, vec![c])),
                _ => {}
            }
            open = word || open && group == GeneralCategoryGroup::Mark;
        }
        let mut tokens = Vec::new();
        for (paired, run) in runs {
            if paired && run.len() > 1 {
                tokens.extend(run.windows(2).map(|pair| pair.iter().collect()));
            } else {
                emit(&run.iter().collect::<String>(), &mut |token: &str| tokens.push(token.to_owned()));
            }
        }
        tokens
    }

    #[test]
    fn tokens_are_those_of_the_reference() {
        for &(text, expected, _) in CASES {
            assert_eq!(tokens(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_long_token_is_a_prefix_and_a_hash() {
        let whole = "x".repeat(255);
        assert_eq!(tokens(&whole), [whole.as_str()]);
        let long = "X".repeat(256);
        // The first 16 bytes of BLAKE3 of 256 times "x", in base 32 by an independent implementation.
        assert_eq!(tokens(&long), [format!("{}borntpcoqwkoniio5rqry5myum", "x".repeat(224))]);
        let wide = "я".repeat(113) + &"漢".repeat(2);
        assert_eq!(tokens(&wide), ["я".repeat(113), "漢漢".to_owned()]);
        for length in [128, 1000, 100_000] {
            let [token] = &tokens(&format!("x{}", "Я".repeat(length)))[..] else { panic!() };
            assert_eq!(token.len(), 1 + 2 * 111 + 26);
        }
        assert_ne!(tokens(&"x".repeat(300)), tokens(&"x".repeat(301)));
    }

    #[test]
    fn shortcuts_agree_with_the_table() {
        for c in '\u{80}'..=char::MAX {
            let expected = match c.general_category_group() {
                GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number => Class::Word,
                GeneralCategoryGroup::Mark => Class::Mark,
                _ => Class::Other,
            };
            assert_eq!(class(c), expected, "{c:?}");
            if c < '\u{a7dd}' && c.general_category() == GeneralCategory::UppercaseLetter && c.to_lowercase().eq([c]) {
                assert_eq!(UniCase::unicode(c.to_string()).to_folded_case(), c.to_string());
            }
        }
    }

    /// Whatever compiler and crates build this, tokenizer 1 and keys must stay what they are: a digest of what becomes
    /// of each character, alone and decomposed.
    #[test]
    fn the_data_is_that_of_tokenizer_1() {
        let (a, b, c) = unicode_properties::UNICODE_VERSION;
        assert_eq!((a, b, c), (UNICODE_VERSION.0.into(), UNICODE_VERSION.1.into(), UNICODE_VERSION.2.into()));
        assert_eq!(unicode_normalization::UNICODE_VERSION, UNICODE_VERSION);
        let mut hash = blake3::Hasher::new();
        let mut outcome = String::new();
        for c in '\0'..=char::MAX {
            outcome.clear();
            outcome.extend(c.nfkc());
            lower(c, |c| outcome.push(c));
            outcome.push_str(&UniCase::unicode(c.encode_utf8(&mut [0; 4])).to_folded_case());
            outcome.extend(c.nfd().nfkc());
            hash.update(outcome.as_bytes());
            hash.update(&[class(c) as u8, unicode_normalization::char::canonical_combining_class(c)]);
        }
        assert_eq!(
            hash.finalize().to_hex().as_str(),
            "6f58f8327d1cffc488d8a5cc4dc45216e7c5b63890ee8f1a2810fe9842da35de"
        );
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[ -~]{0,8}",
            "[a-zA-Z0-9_]{1,5}",
            "\\PC{0,4}",
            "[あ-んア-ン一-丂ー\u{3099}]{0,4}",
            "[\u{300}-\u{330}]{0,2}",
            prop::sample::select(vec![
                "Σ",
                "İ",
                "ß",
                "ﬃ",
                "e\u{301}",
                "ﾊﾟ",
                "한",
                "\u{1100}\u{1161}",
                "\0",
                "ς_",
                "\u{345}"
            ])
            .prop_map(str::to_owned),
        ];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn the_fast_way_is_the_plain_way(text in text()) {
            prop_assert_eq!(tokens(&text), plain_tokens(&text));
        }

        #[test]
        fn a_title_can_be_read_apart(title in text(), text in text()) {
            let mut apart = Vec::new();
            for_each_unit_token(&title, &text, |token| apart.push(token.to_owned()));
            prop_assert_eq!(apart, tokens(&format!("{title} {text}")));
        }

        #[test]
        fn tokens_and_keys_fit(text in text()) {
            for token in tokens(&text) {
                prop_assert!((1..=TOKEN_BYTES).contains(&token.len()));
            }
            prop_assert!(!key(&text).contains("  "));
        }
    }
}
