//! Sentences as summaries.

use super::super::facts::plain;

/// Longest summary, in bytes and words.
const SUMMARY_BYTES: usize = 440;
const SUMMARY_WORDS: usize = 60;

/// A text as a summary: on one line, without marks, cut at a word, with a sign where it was cut.
pub(super) fn summary(text: &str) -> String {
    let head = &text[..text.floor_char_boundary(4 * SUMMARY_BYTES)];
    let text = plain(unquoted(head.trim()));
    let mut out = String::new();
    let mut words = text.split_whitespace();
    for word in words.by_ref().take(SUMMARY_WORDS) {
        if out.len() + 1 + word.len() > SUMMARY_BYTES {
            if out.is_empty() {
                out.push_str(&word[..word.floor_char_boundary(SUMMARY_BYTES)]);
            }
            out.push('…');
            return out;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    if words.next().is_some() {
        out.push('…');
    }
    out
}

/// A sentence without a quotation mark at its end that opens before it, or at its start that closes behind it.
fn unquoted(text: &str) -> &str {
    let mut text = text;
    for (open, close) in [('“', '”'), ('‘', '’')] {
        if !text.contains(open) {
            text = text.trim_end_matches(close);
        }
        if !text.contains(close) {
            text = text.trim_start_matches(open);
        }
    }
    if text.matches('"').count() == 1 { text.trim_matches('"') } else { text }
}

/// Names as a list: "a, b and c", the rest as a number.
pub(super) fn list(names: &[String], most: usize) -> String {
    let shown = &names[..names.len().min(most)];
    match (shown, names.len() - shown.len()) {
        ([], _) => String::new(),
        ([one], 0) => one.clone(),
        ([first @ .., last], 0) => format!("{} and {last}", first.join(", ")),
        (all, more) => format!("{} and {more} more", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_short_and_say_when_they_are_cut() {
        assert_eq!(summary("**One**\n  two."), "One two.");
        let long = summary(&"word ".repeat(1000));
        assert!(long.ends_with('…') && long.split(' ').count() <= SUMMARY_WORDS);
        assert!(summary(&"é".repeat(5000)).len() <= SUMMARY_BYTES + 3);
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!((list(&names, 3), list(&names, 2)), ("a, b and c".into(), "a, b and 1 more".into()));
    }
}
