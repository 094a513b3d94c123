//! The lines: reading them one by one within a bound, and what each may say.
//!
//! A line is one JSON object; `"type"` says which. Keys that a line type does not have are refused by name, since data
//! that is passed over in silence is data lost; `null` is the same as an absent key. Blank lines, CRLF and a byte order
//! mark at the start of the file are harmless and passed over. Line types that come with a later version are refused by
//! name, too.

use super::outline::{OutlineLine, PageSummaryLine};
use crate::index::{MemoryScope, Options};
use crate::ingest::{RecordKind, RecordUpdate};
use crate::{Error, Result};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::io::{BufRead, Chain, Cursor, Read};

/// Longest line that is read, in bytes.
pub const LINE_BYTES: usize = 64 << 20;

/// A document line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DocumentLine {
    #[serde(rename = "type")]
    _type: IgnoredAny,
    pub(super) doc: String,
    pub(super) title: Option<String>,
    pub(super) metadata: Option<serde_json::Map<String, serde_json::Value>>,
    pub(super) fanout: Option<u64>,
    pub(super) chunk_words: Option<u64>,
    pub(super) memory: Option<String>,
}

/// A chunk line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChunkLine {
    #[serde(rename = "type")]
    _type: IgnoredAny,
    pub(super) doc: String,
    pub(super) id: Option<String>,
    pub(super) title: Option<String>,
    pub(super) text: String,
    pub(super) start: Option<u64>,
    pub(super) end: Option<u64>,
}

/// An entity line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntityLine {
    #[serde(rename = "type")]
    _type: IgnoredAny,
    pub(super) doc: Option<String>,
    pub(super) name: String,
    pub(super) kind: Option<String>,
    pub(super) aliases: Option<Vec<String>>,
    pub(super) descriptions: Option<Vec<String>>,
    pub(super) chunks: Option<Vec<String>>,
}

/// A summary line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SummaryLine {
    #[serde(rename = "type")]
    _type: IgnoredAny,
    pub(super) doc: String,
    pub(super) level: u8,
    pub(super) index: u32,
    pub(super) text: String,
}

/// A record line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordLine {
    #[serde(rename = "type")]
    kind_of_line: Option<String>,
    pub(super) doc: String,
    pub(super) entity: Option<String>,
    pub(super) entity_type: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) label: Option<String>,
    pub(super) value: Option<String>,
    pub(super) condition: Option<ConditionLine>,
    pub(super) valid: Option<String>,
    pub(super) coarse: Option<String>,
    pub(super) chunks: Option<Vec<String>>,
}

/// The condition of a record line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConditionLine {
    label: Option<String>,
    value: Option<String>,
}

impl RecordLine {
    /// The record that it says.
    pub(super) fn record(&mut self) -> Result<RecordUpdate> {
        let kind = match self.kind.as_deref() {
            None => RecordKind::default(),
            Some(name) => RecordKind::from_name(name).ok_or_else(|| {
                Error::invalid(format!("a record of kind {name:?}; it is property, relation or aspect"))
            })?,
        };
        let condition = self.condition.take();
        Ok(RecordUpdate {
            entity: self.entity.take().unwrap_or_default(),
            entity_type: self.entity_type.take().unwrap_or_default(),
            kind,
            label: self.label.take().unwrap_or_default(),
            coarse: self.coarse.take().unwrap_or_default(),
            value: self.value.take().unwrap_or_default(),
            condition: condition.map(|of| (of.label.unwrap_or_default(), of.value.unwrap_or_default())),
            valid: self.valid.take().unwrap_or_default(),
        })
    }
}

/// Reads a record line by itself: the id of its document, and the record. `"type"` may be left out; chunks are not
/// looked at. So a line of an export names the record to remove or correct.
///
/// ```
/// let line = r#"{"doc":"pride","entity":"Jane Bennet","label":"sister_of","value":"Lydia Bennet","kind":"relation"}"#;
/// let (document, record) = plica::interchange::record(line)?;
/// assert_eq!((document.as_str(), record.value.as_str()), ("pride", "Lydia Bennet"));
/// # Ok::<(), plica::Error>(())
/// ```
pub fn record(line: &str) -> Result<(String, RecordUpdate)> {
    let mut line: RecordLine = parse(line.trim())?;
    if let Some(other) = line.kind_of_line.as_deref().filter(|kind| *kind != "record") {
        return Err(Error::invalid(format!("a line of type {other:?}; expected a record")));
    }
    Ok((std::mem::take(&mut line.doc), line.record()?))
}

/// A line.
#[derive(Debug)]
pub(super) enum Line {
    Document(DocumentLine),
    Chunk(ChunkLine),
    Entity(EntityLine),
    Summary(SummaryLine),
    Record(RecordLine),
    Outline(OutlineLine),
    PageSummary(PageSummaryLine),
}

impl Line {
    /// Reads one line without its end.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Tag {
            #[serde(rename = "type")]
            kind: Option<String>,
        }
        let text = text(bytes)?;
        // What this engine writes begins with the type. Lines that do not are read twice.
        let leading = text.strip_prefix("{\"type\":\"").and_then(|rest| rest.split_once("\",")).map(|(kind, _)| kind);
        let leading = leading.filter(|kind| kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
        let tag: Tag;
        let kind = match leading {
            Some(kind) => Some(kind),
            None => {
                tag = parse(text)?;
                tag.kind.as_deref()
            }
        };
        match kind {
            Some("document") => Ok(Self::Document(parse(text)?)),
            Some("chunk") => Ok(Self::Chunk(parse(text)?)),
            Some("entity") => Ok(Self::Entity(parse(text)?)),
            Some("summary") => Ok(Self::Summary(parse(text)?)),
            Some("record") => Ok(Self::Record(parse(text)?)),
            Some("outline") => Ok(Self::Outline(parse(text)?)),
            Some("page_summary") => Ok(Self::PageSummary(parse(text)?)),
            Some(other) => Err(Error::invalid(format!(
                "a line of type {other:?}; the types are document, chunk, entity, summary, outline, page_summary and record"
            ))),
            None => Err(Error::invalid(
                "a line without \"type\"; expected one of document, chunk, entity, summary, outline, page_summary and record",
            )),
        }
    }
}

/// A line as text.
pub(super) fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|error| Error::invalid(format!("not UTF-8: a bad byte at column {}", error.valid_up_to() + 1)))
}

/// Parses a JSON object, with errors that name the column and not a line of their own.
pub(super) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    if !text.starts_with('{') {
        return Err(Error::invalid("not a JSON object: a line must begin with \"{\""));
    }
    serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let said = said.strip_suffix(&place).unwrap_or(&said);
        let what = if error.is_data() { "not a line of the interchange" } else { "not a JSON object" };
        Error::invalid(format!("{what}: {said} (column {})", error.column()))
    })
}

/// Lines of a reader, numbered from 1.
pub(super) struct Lines<R> {
    reader: R,
    number: u64,
    buffer: Vec<u8>,
    /// Offsets of the line that was given last, without white space around it, and of the next.
    start: u64,
    end: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, number: 0, buffer: Vec::new(), start: 0, end: 0 }
    }

    /// The next line that is not blank, without its end, and its number.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        loop {
            self.buffer.clear();
            let limit = LINE_BYTES as u64 + 1;
            let read = self.reader.by_ref().take(limit).read_until(b'\n', &mut self.buffer);
            let read = read.map_err(Error::io("read the lines", None))?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            self.end += read as u64;
            if self.number == 1 && self.buffer.starts_with(b"\xef\xbb\xbf") {
                self.buffer.drain(..3);
            }
            if self.buffer.len() > LINE_BYTES {
                let source = Error::Limit { what: "a line in bytes", limit: LINE_BYTES as u64, got: read as u64 };
                return Err(Error::Line { line: self.number, source: Box::new(source) });
            }
            let blank = self.buffer.iter().all(u8::is_ascii_whitespace);
            if !blank {
                break;
            }
        }
        // What is left of the line, from its first visible byte, ends where the next begins.
        self.start = self.end - self.buffer.trim_ascii_start().len() as u64;
        Ok(Some((self.number, self.buffer.trim_ascii())))
    }

    /// Offset in the input of the line that was given last.
    pub(super) fn offset(&self) -> u64 {
        self.start
    }
}

/// The error of a line, where it is what the line says that cannot be taken. An error that names its line keeps it.
pub(super) fn at(line: u64) -> impl FnOnce(Error) -> Error {
    move |source| match source {
        Error::Invalid { .. }
        | Error::Limit { .. }
        | Error::NotFound { .. }
        | Error::Ambiguous { .. }
        | Error::Unsupported { .. } => Error::Line { line, source: Box::new(source) },
        other => other,
    }
}

/// The creation parameters that the first document line of an export states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stated {
    /// Fan-out, where stated.
    pub fanout: Option<u8>,
    /// Words of a chunk, where stated.
    pub chunk_words: Option<u32>,
    /// Scope of the entity memory, where stated.
    pub memory: Option<MemoryScope>,
}

impl Stated {
    /// `options` with what is stated in their place.
    pub fn options(self, options: Options) -> Options {
        Options {
            fanout: self.fanout.unwrap_or(options.fanout),
            chunk_words: self.chunk_words.unwrap_or(options.chunk_words),
            memory: self.memory.unwrap_or(options.memory),
            ..options
        }
    }
}

impl DocumentLine {
    /// The creation parameters that the line states.
    pub(super) fn stated(&self) -> Result<Stated> {
        let fanout = self.fanout.map(|fanout| {
            u8::try_from(fanout).map_err(|_| Error::invalid(format!("a fan-out of {fanout}; it is 2 to 16")))
        });
        let words = self.chunk_words.map(|words| {
            u32::try_from(words).map_err(|_| Error::invalid(format!("{words} words a chunk; that is over the limit")))
        });
        let memory = self.memory.as_deref().map(|memory| match memory {
            "document" => Ok(MemoryScope::Document),
            "index" => Ok(MemoryScope::Index),
            other => Err(Error::invalid(format!("memory {other:?}; it is \"document\" or \"index\""))),
        });
        Ok(Stated { fanout: fanout.transpose()?, chunk_words: words.transpose()?, memory: memory.transpose()? })
    }
}

/// Lines whose first was looked at: all of them, from the first on.
pub type Again<R> = Chain<Cursor<Vec<u8>>, R>;

/// Looks at the first line for the creation parameters it states, so that a new index can be created with them, and
/// gives all lines back to be imported. Nothing is stated where the first line is no document line; what is wrong with
/// it is left for [`import`](super::import) to say.
pub fn stated<R: BufRead>(mut lines: R) -> Result<(Stated, Again<R>)> {
    let mut first = Vec::new();
    let mut start = 0;
    loop {
        let read = lines.by_ref().take(LINE_BYTES as u64 + 1).read_until(b'\n', &mut first);
        let read = read.map_err(Error::io("read the lines", None))?;
        let line = first.get(start..).unwrap_or_default();
        let line = if start == 0 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        if read > 0 && line.trim_ascii().is_empty() && first.len() < LINE_BYTES {
            start = first.len();
            continue;
        }
        let stated = match Line::parse(line.trim_ascii()) {
            Ok(Line::Document(line)) => line.stated().unwrap_or_default(),
            _ => Stated::default(),
        };
        return Ok((stated, Cursor::new(first).chain(lines)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn lines_are_numbered_and_placed() {
        let input = "\u{feff}{1}\r\n\n  {2} \n{3}".as_bytes();
        let mut lines = Lines::new(input);
        for (number, text) in [(1, "{1}"), (3, "{2}"), (4, "{3}")] {
            let (at, bytes) = lines.next().unwrap().unwrap();
            assert_eq!((at, bytes), (number, text.as_bytes()));
            let start = lines.offset() as usize;
            assert_eq!(&input[start..start + 3], text.as_bytes());
        }
        assert!(lines.next().unwrap().is_none());
    }

    #[test]
    fn an_endless_line_ends_at_the_limit() {
        let mut lines = Lines::new(BufReader::new(b"\n".chain(std::io::repeat(b'x'))));
        match lines.next().unwrap_err() {
            Error::Line { line: 2, source } => assert!(matches!(*source, Error::Limit { .. })),
            other => panic!("{other}"),
        }
    }
}
