//! Descriptions: what a chunk says of an entity, in its own words.
//!
//! Three sources. A definition or an apposition says what the thing is. Where the chunk only mentions it, the sentence
//! of the first mention is kept, with the chunk's title before it: so a record names the things it was met with, and a
//! question that names those finds its way to the chunks of this entity (a step that the words of those chunks alone
//! do not offer).

use super::scan::Scan;

/// Bytes of one description, and again of the title before it.
pub(super) const DESCRIPTION_BYTES: usize = 160;

/// Text on one line, without marks of italics and doubled quotes, cut at a word so that it fits.
pub(super) fn clean(text: &str, limit: usize) -> String {
    let bytes = text.as_bytes();
    let plain = bytes.iter().zip(bytes.iter().skip(1).chain(&[0])).all(|(&b, &next)| match b {
        b' ' => next != b' ',
        b'\'' => next != b'\'',
        _ => b > b' ' && b != b'_' && b != b'`',
    });
    if plain {
        let cut = head(text.trim(), limit);
        let whole = cut.len() == text.trim().len() || cut.len() < limit && text.trim().as_bytes()[cut.len()] == b' ';
        return if whole { cut } else { cut.rsplit_once(' ').map_or(cut, |(words, _)| words) }.to_owned();
    }
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

/// The sentence at `place` without its brackets (but for one that holds the word `at`), or the part of a long one around
/// that word.
pub(super) fn sentence_around(scan: &Scan<'_>, place: usize, at: usize, limit: usize) -> String {
    let sentence = &scan.sentences[place];
    let centre = scan.words[at].start;
    // A window around the mention bounds the work on a sentence without end.
    let reach = 2 * limit;
    let mut first = at;
    while first > sentence.first && centre - scan.words[first - 1].start < reach {
        first -= 1;
    }
    let start = scan.words[first].start;
    let window = head(&scan.text[start..sentence.end], centre - start + reach);
    let (text, centre) = without_brackets(window, centre - start);
    if text.len() <= limit {
        return clean(&text, limit);
    }
    let mut from = centre.saturating_sub(limit / 2);
    if from > 0 {
        from = text[..centre]
            .char_indices()
            .filter(|&(i, c)| i >= from && c == ' ')
            .map(|(i, _)| i)
            .next()
            .unwrap_or(centre);
    }
    clean(&text[from..], limit)
}

/// Drops bracketed parts that do not hold the byte `keep`; says where that byte is now.
fn without_brackets(text: &str, keep: usize) -> (String, usize) {
    let (mut out, mut centre, mut from) = (String::with_capacity(text.len()), keep, 0);
    while let Some(open) = text[from..].find('(').map(|i| from + i) {
        let Some(close) = text[open..].find(')').map(|i| open + i + 1) else { break };
        if (open..close).contains(&keep) {
            out.push_str(&text[from..close]);
        } else {
            out.push_str(text[from..open].trim_end_matches(' '));
            if close <= keep {
                centre = out.len() + keep - close;
            }
        }
        from = close;
    }
    out.push_str(&text[from..]);
    while !out.is_char_boundary(centre) {
        centre -= 1;
    }
    (out, centre)
}
