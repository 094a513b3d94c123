//! Which documents a build reads: files, folders, and the ids they get.

use crate::failure::{Failure, Outcome};
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// File name extensions that are taken from a folder.
const EXTENSIONS: [&str; 3] = ["txt", "md", "markdown"];
/// How every index starts.
const INDEX_MAGIC: &[u8] = &plica::format::page::FILE_MAGIC;

/// A file that is to become a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Id of the document.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// Its length when it was listed, for progress.
    pub bytes: u64,
    /// Whether it was found in a folder, not named itself.
    pub found: bool,
}

/// Lists the files that `paths` stand for. Nothing of them is read.
pub fn list(paths: &[PathBuf], id: Option<&str>) -> Outcome<Vec<SourceFile>> {
    let mut files = Vec::new();
    for path in paths {
        let metadata = std::fs::metadata(path).map_err(|error| cannot_read(path, &error))?;
        if metadata.is_dir() {
            if id.is_some() {
                return Err(Failure::Usage(format!("--doc names one file, and {} is a folder", path.display())));
            }
            let before = files.len();
            list_folder(path, "", &mut files)?;
            if files.len() == before {
                return Err(Failure::message(format!(
                    "{} holds no *.txt, *.md or *.markdown file; name other files themselves",
                    path.display()
                )));
            }
        } else {
            let id = match id {
                Some(id) => id.to_owned(),
                None => name_of(path)?,
            };
            files.push(SourceFile { id, path: path.clone(), bytes: metadata.len(), found: false });
        }
    }
    if id.is_some() && files.len() > 1 {
        return Err(Failure::Usage(format!("--doc names one file, got {}", files.len())));
    }
    let mut seen: HashMap<&str, &Path> = HashMap::new();
    for file in &files {
        if let Some(other) = seen.insert(&file.id, &file.path) {
            return Err(Failure::message(format!(
                "{} and {} would both be document {:?}; build one of them with --doc and another id",
                other.display(),
                file.path.display(),
                file.id
            )));
        }
    }
    Ok(files)
}

/// The documents of a folder and of those within it, by path. Links to files are followed, links to folders are not.
fn list_folder(folder: &Path, prefix: &str, files: &mut Vec<SourceFile>) -> Outcome {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| cannot_read(folder, &error))? {
        let entry = entry.map_err(|error| cannot_read(folder, &error))?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let kind = entry.file_type().map_err(|error| cannot_read(&entry.path(), &error))?;
        if kind.is_dir() {
            names.push((format!("{prefix}{}/", name_of(&entry.path())?), entry.path()));
        } else if entry.path().extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known)) {
            names.push((format!("{prefix}{}", name_of(&entry.path())?), entry.path()));
        }
    }
    names.sort();
    for (id, path) in names {
        if id.ends_with('/') {
            list_folder(&path, &id, files)?;
            continue;
        }
        let metadata = std::fs::metadata(&path).map_err(|error| cannot_read(&path, &error))?;
        if metadata.is_file() {
            files.push(SourceFile { id, path, bytes: metadata.len(), found: true });
        }
    }
    Ok(())
}

/// The name of a file, which must be UTF-8 to serve as an id.
pub fn name_of(path: &Path) -> Outcome<String> {
    let Some(name) = path.file_name() else {
        return Err(Failure::message(format!("{} has no file name; give an id with --doc", path.display())));
    };
    let name = name.to_str().map(str::to_owned);
    name.ok_or_else(|| {
        Failure::message(format!("the name of {} is not UTF-8; give an id with --doc, or rename it", path.display()))
    })
}

/// The text of a file, whole; `-` is standard input.
pub fn read_text(path: &Path) -> Outcome<String> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| Failure::message(format!("cannot read standard input: {error}")))?;
    } else {
        bytes = std::fs::read(path).map_err(|error| cannot_read(path, &error))?;
    }
    let what = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    if bytes.starts_with(INDEX_MAGIC) {
        return Err(Failure::message(format!("{what} is an index, not a text; `plica search` asks an index")));
    }
    plica::text::utf8(&bytes, &what)?;
    // It was found to be UTF-8 just now.
    String::from_utf8(bytes).map_err(|_| Failure::message(format!("{what}: expected UTF-8 text")))
}

/// An error for a file that cannot be read.
pub fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    Failure::message(format!("cannot read {}: {error}", path.display()))
}

/// The first heading of a Markdown file, or nothing.
pub fn title_of(path: &Path, text: &str) -> String {
    let markdown = path.extension().is_some_and(|extension| extension == "md" || extension == "markdown");
    if !markdown {
        return String::new();
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let line = line.trim_end();
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if fence.is_some() {
            continue;
        }
        let heading = line.trim_start_matches('#');
        let level = line.len() - heading.len();
        if (1..=6).contains(&level) && heading.starts_with([' ', '\t']) {
            let heading = heading.trim();
            // A heading may end with signs that do not belong to it.
            let open = heading.trim_end_matches('#');
            let title = if open.is_empty() || open.ends_with([' ', '\t']) { open.trim_end() } else { heading };
            if !title.is_empty() {
                return limited(title).to_owned();
            }
        }
    }
    String::new()
}

/// A title within the format's limit.
fn limited(title: &str) -> &str {
    title.get(..title.floor_char_boundary(plica::format::limits::TITLE_BYTES)).unwrap_or(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_heading() {
        let markdown = Path::new("a.md");
        assert_eq!(title_of(markdown, "Text\n```sh\n# no\n```\n## The *Light* ##\n# Later"), "The *Light*");
        assert_eq!(title_of(markdown, "\u{feff}# C#\n"), "C#");
        assert_eq!(title_of(markdown, "#none\n####### seven\n"), "");
        assert_eq!(title_of(Path::new("a.txt"), "# Not Markdown"), "");
    }

    #[test]
    fn folders_are_listed_in_order_and_ids_are_paths() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.txt", "a/z.md", "a/y.markdown", ".hidden.txt", "c.rs", ".git/d.txt"] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "text").unwrap();
        }
        let files = list(&[dir.path().to_owned()], None).unwrap();
        let ids: Vec<&str> = files.iter().map(|file| file.id.as_str()).collect();
        assert_eq!(ids, ["a/y.markdown", "a/z.md", "b.txt"]);
        assert!(list(&[dir.path().to_owned()], Some("id")).is_err());
        let twice = [dir.path().join("b.txt"), dir.path().to_owned()];
        assert!(list(&twice, None).unwrap_err().text().unwrap().contains("--doc"));
    }
}
