//! An outline as plain-text files: the layout of the paper.
//!
//! One folder a category, one file a subject in it, and `index.txt` at the root with the overview. File names are those
//! of the subjects with what a file system does not take left out; where two fall together the later one has a number.

use super::page::{EntryKind, OutlinePage};
use crate::index::Snapshot;
use crate::{Error, Result};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Files of subjects.
    pub subjects: u64,
    /// Folders of categories.
    pub categories: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// Bytes of a file name without its ending.
const NAME_BYTES: usize = 120;

/// Writes a document's outline into a folder, which must be absent or empty.
///
/// # Errors
/// [`Error::Invalid`] where the folder holds something.
pub fn write_folder(snapshot: &Snapshot, document: &str, folder: &Path) -> Result<Written> {
    let root = snapshot.outline(document, &[])?;
    let io = |action| Error::io(action, Some(folder));
    match std::fs::read_dir(folder) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(Error::invalid(format!(
                    "{} is not empty; give a folder that is empty or not there, so that nothing is overwritten",
                    folder.display()
                )));
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder).map_err(io("create the folder"))?;
        }
        Err(error) => return Err(io("read the folder")(error)),
    }
    let mut written = Written::default();
    let mut overview = format!("{}\n", root.title);
    if !root.summary.is_empty() {
        let _ = write!(overview, "\n{}\n", root.summary);
    }
    category(snapshot, document, &root, folder, 0, &mut overview, &mut written)?;
    write(&folder.join("index.txt"), &overview, &mut written)?;
    Ok(written)
}

fn write(path: &Path, text: &str, written: &mut Written) -> Result<()> {
    std::fs::write(path, text).map_err(Error::io("write the file", Some(path)))?;
    written.bytes += text.len() as u64;
    Ok(())
}

/// Writes what is below a page: subjects as files, sub-categories as folders, both as lines of the overview.
fn category(
    snapshot: &Snapshot,
    document: &str,
    page: &OutlinePage,
    folder: &Path,
    depth: usize,
    overview: &mut String,
    written: &mut Written,
) -> Result<()> {
    let mut names = HashMap::from([("index.txt".to_owned(), 1)]);
    let mut waiting = vec![page.clone()];
    while let Some(page) = waiting.pop() {
        // Pages of the same node, in order.
        let mut ranges = Vec::new();
        for entry in &page.entries {
            let below = || snapshot.outline(document, &entry.path);
            let indent = "  ".repeat(depth);
            match entry.kind {
                EntryKind::Range => ranges.push(below()?),
                EntryKind::Category => {
                    let page = below()?;
                    let _ = write!(overview, "\n{indent}{} ({})\n", entry.title, entry.count);
                    let own = page.summary.trim();
                    if !own.is_empty() {
                        let _ = writeln!(overview, "{indent}  {own}");
                    }
                    let folder = free(folder, &entry.title, "", &mut names);
                    std::fs::create_dir_all(&folder).map_err(Error::io("create the folder", Some(&folder)))?;
                    written.categories += 1;
                    category(snapshot, document, &page, &folder, depth + 1, overview, written)?;
                }
                EntryKind::Subject => {
                    let path = free(folder, &entry.title, ".txt", &mut names);
                    write(&path, &subject(snapshot, below()?)?, written)?;
                    let _ = writeln!(overview, "{indent}- {}", entry.title);
                    written.subjects += 1;
                }
            }
        }
        waiting.extend(ranges.into_iter().rev());
    }
    Ok(())
}

/// A subject as text, whole.
fn subject(snapshot: &Snapshot, page: OutlinePage) -> Result<String> {
    let mut out = format!("{}\n", page.title);
    if !page.summary.is_empty() {
        let _ = write!(out, "\n{}\n", page.summary);
    }
    out.push('\n');
    let document = page.document.clone();
    let mut waiting = vec![page];
    while let Some(page) = waiting.pop() {
        out.push_str(&crate::index::outline::body(&page.fields, &page.links));
        for entry in page.entries.iter().rev() {
            waiting.push(snapshot.outline(&document, &entry.path)?);
        }
    }
    Ok(out)
}

/// A path in `folder` for a name that no other has.
fn free(folder: &Path, name: &str, ending: &str, names: &mut HashMap<String, u32>) -> PathBuf {
    let mut safe: String =
        name.chars()
            .map(|c| {
                if c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | ',' | '(' | ')' | '\'') { c } else { '_' }
            })
            .collect();
    let mut end = NAME_BYTES.min(safe.len());
    while !safe.is_char_boundary(end) {
        end -= 1;
    }
    safe.truncate(end);
    let safe = safe.trim_matches([' ', '.']);
    let safe = if safe.is_empty() { "_" } else { safe };
    // Names that differ only in case are the same on some systems.
    let base = format!("{safe}{ending}").to_lowercase();
    loop {
        let number = names.entry(base.clone()).and_modify(|number| *number += 1).or_insert(1);
        let tried = if *number == 1 { format!("{safe}{ending}") } else { format!("{safe} {number}{ending}") };
        if *number == 1 || names.insert(tried.to_lowercase(), 1).is_none() {
            return folder.join(tried);
        }
    }
}
