//! A corpus of real text: a folder of `.txt` files, chunked by Plica's chunker, and tiled.
//!
//! Copies of one text would compress and count as nothing real does, so every copy after the first has other names: a
//! capitalised word that never occurs in lower case is taken for a name, and each copy calls it differently. So the
//! vocabulary grows with every copy, as it does with every new book.

use crate::corpus::Corpus;
use crate::{Result, word};
use std::collections::HashSet;
use std::path::Path;

/// Words of a chunk.
pub const WORDS: u32 = 250;

/// Reads the texts of a folder, in the order of their names, `copies` times.
pub fn read(folder: &Path, copies: usize) -> Result<(Corpus, Vec<(String, String)>)> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(format!("{} has no .txt file", folder.display()).into());
    }
    let (mut sources, mut documents) = (Vec::new(), Vec::new());
    for copy in 0..copies.max(1) {
        for path in &paths {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let text = renamed(&std::fs::read_to_string(path)?, copy);
            documents.push(plica::text::Chunker::new(WORDS).chunks(&text).map(str::to_owned).collect());
            sources.push((format!("{name}-{copy}"), text));
        }
    }
    Ok((Corpus::given("novels", documents), sources))
}

/// The text as its copy of this number has it.
fn renamed(text: &str, copy: usize) -> String {
    if copy == 0 {
        return text.to_owned();
    }
    let lower: HashSet<&str> = words(text).filter(|word| word.starts_with(char::is_lowercase)).collect();
    let mut out = String::with_capacity(text.len() + text.len() / 50);
    let mut rest = text;
    while let Some(start) = rest.find(char::is_alphabetic) {
        let end = rest[start..].find(|c: char| !c.is_alphabetic()).map_or(rest.len(), |end| start + end);
        let found = &rest[start..end];
        out.push_str(&rest[..start]);
        out.push_str(found);
        let is_name = found.len() > 2 && found.starts_with(char::is_uppercase);
        if is_name && !lower.contains(found.to_lowercase().as_str()) {
            out.push_str(&word(copy as u32));
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_call_names_otherwise_and_nothing_else() {
        let text = "The house of Darcy. Even the cook likes Darcy.";
        assert_eq!(renamed(text, 0), text);
        assert_eq!(renamed(text, 2), "The house of Darcydi. Evendi the cook likes Darcydi.");
    }
}
