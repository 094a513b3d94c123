//! The peers: how each is built, opened and asked. Every one is used as its documentation says to, with what this
//! measurement asks of all: the text stored, frequencies without positions, durable commits.

pub mod fts5;
pub mod keyvalue;
pub mod tantivy;

use std::path::Path;

/// Bytes of a file, or of all files of a folder.
pub fn size_of(path: &Path) -> std::io::Result<u64> {
    if path.is_file() {
        return Ok(path.metadata()?.len());
    }
    let mut total = 0;
    for entry in std::fs::read_dir(path)? {
        total += size_of(&entry?.path())?;
    }
    Ok(total)
}

/// Copies a file, or a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_file() {
        return std::fs::copy(from, to).map(|_| ());
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
