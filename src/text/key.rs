//! Keys: the form in which two names are the same name.

use unicase::UniCase;
use unicode_normalization::UnicodeNormalization;

/// The key of a name: NFKC, then full case folding, then runs of white space as one space, none at either end.
///
/// White space is the property `White_Space` and the four separators U+001C to U+001F. The key may be empty. It is
/// not measured here: `limits::KEY_BYTES` bounds the key, not the name. The Unicode data is that of tokenizer 1.
///
/// ```
/// assert_eq!(plica::text::key("  Straße\tNo. ５ "), "strasse no. 5");
/// ```
pub fn key(name: &str) -> String {
    if name.is_ascii() {
        return squeeze_ascii(name);
    }
    let normalised: String = name.nfkc().collect();
    squeeze(&UniCase::unicode(normalised).to_folded_case())
}

/// Whether `c` parts words in a key.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// The key of an ASCII name, without tables.
fn squeeze_ascii(name: &str) -> String {
    // Mostly words are parted by one space each, and there is nothing to take out.
    let (mut before, mut is_squeezed) = (b' ', true);
    for byte in name.bytes() {
        is_squeezed &= !matches!(byte, b'\t'..=b'\r' | 0x1c..=0x1f) && (byte != b' ' || before != b' ');
        before = byte;
    }
    let lower = name.to_ascii_lowercase();
    if is_squeezed && before != b' ' { lower } else { squeeze(&lower) }
}

fn squeeze(folded: &str) -> String {
    let mut key = String::with_capacity(folded.len());
    for word in folded.split(is_space).filter(|word| !word.is_empty()) {
        if !key.is_empty() {
            key.push(' ');
        }
        key.push_str(word);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::golden::CASES;

    #[test]
    fn keys_are_those_of_the_reference() {
        for &(name, _, expected) in CASES {
            assert_eq!(key(name), expected, "{name:?}");
        }
    }

    #[test]
    fn ascii_needs_no_tables() {
        for c in '\0'..='\x7f' {
            let name = format!("{c}A{c}");
            let slow: String = name.nfkc().collect();
            assert_eq!(key(&name), squeeze(&UniCase::unicode(slow).to_folded_case()), "{c:?}");
        }
    }
}
