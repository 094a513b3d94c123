//! Descriptions: what a chunk says of an entity, in its own words.
//!
//! Three sources. A definition or an apposition says what the thing is. Where the chunk only mentions it, the sentence
//! of the first mention is kept, with the chunk's title before it: so a record names the things it was met with, and a
//! question that names those finds its way to the chunks of this entity (a step that the words of those chunks alone
//! do not offer).

use super::scan::Scan;

/// Bytes of one description.
pub(super) const DESCRIPTION_BYTES: usize = 320;

/// Text on one line, without marks of italics and doubled quotes, cut at a word so that it fits.
pub(super) fn clean(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit));
    for word in text.split(|c: char| c.is_whitespace() || c == '_').filter(|w| !w.is_empty()) {
        let word = word.trim_start_matches("``").trim_end_matches("''");
        if word.is_empty() {
            continue;
        }
        let need = word.len() + usize::from(!out.is_empty());
        if out.len() + need > limit {
            if out.is_empty() {
                out.push_str(head(word, limit));
            }
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The longest start of a text that fits, in whole characters.
pub(super) fn head(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The sentence at `place`, or the part of a long one around the word `at`.
pub(super) fn sentence_around(scan: &Scan<'_>, place: usize, at: usize, limit: usize) -> String {
    let sentence = &scan.sentences[place];
    let text = &scan.text[sentence.start..sentence.end];
    if text.len() <= limit {
        return clean(text, limit);
    }
    // Start so many words back that the mention stands in the middle.
    let centre = scan.words[at].start;
    let mut first = at;
    while first > sentence.first && centre - scan.words[first - 1].start < limit / 2 {
        first -= 1;
    }
    let end = sentence.end.min(scan.words[first].start + 2 * limit);
    clean(head(&scan.text[scan.words[first].start..sentence.end], end - scan.words[first].start), limit)
}
