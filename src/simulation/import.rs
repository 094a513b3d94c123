//! Lines for an import, read from bytes, and what must hold of an import that was taken.

use super::{Disk, NAME};
use crate::interchange::{ImportOptions, export, import};
use crate::{Error, Index, Limits, MemoryScope, Options, Snapshot, Writer};
use serde_json::{Map, Value, json};

/// Lines that are made of bytes at most.
const LINES: usize = 48;
/// Names, ids and texts that are alike, long, empty or odd.
const TEXTS: [&str; 32] = [
    "a",
    "b",
    "A",
    " a ",
    "a#0",
    "a#1",
    "b#0",
    "#",
    "",
    "\0",
    "ß",
    "ss",
    "e\u{301}",
    "é",
    "ſ",
    "Σίσυφος",
    "東京都",
    "a/b",
    "chapter iv",
    "Chapter 4",
    "007",
    "7",
    "~",
    "~=a",
    "The first. The second.",
    "one\ntwo",
    "_ _",
    "\u{202e}x",
    "\u{feff}",
    "day-7",
    "day_7",
    "Of the keeper of the lamp, who kept the lamp, and of the lamp.",
];
/// Numbers likewise.
const NUMBERS: [u64; 8] = [0, 1, 2, 3, 16, 255, u32::MAX as u64, u64::MAX];

/// Bytes as choices; where they end, zeros.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn text(&mut self) -> String {
        match self.next() {
            at @ 0..=223 => TEXTS[usize::from(at) % TEXTS.len()].to_owned(),
            at @ 224..=239 => format!("{} {}", TEXTS[usize::from(at) % 16], self.next()),
            at @ 240..=247 => TEXTS[usize::from(at) % 8].repeat(1 + usize::from(self.next()) * 8),
            at => {
                let (text, rest) = self.0.split_at(self.0.len().min(usize::from(at - 247)));
                self.0 = rest;
                String::from_utf8_lossy(text).into_owned()
            }
        }
    }

    fn texts(&mut self) -> Value {
        (0..self.next() % 4).map(|_| self.text()).collect()
    }

    fn number(&mut self) -> Value {
        let at = usize::from(self.next());
        NUMBERS.get(at % 16).copied().unwrap_or(at as u64).into()
    }

    fn fields(&mut self) -> Value {
        let field = |bytes: &mut Self| {
            let mut field = Map::from_iter([("name".to_owned(), Value::from(bytes.text()))]);
            let has = bytes.next();
            if has & 1 == 0 {
                field.insert("value".into(), bytes.text().into());
            }
            if has & 2 == 0 {
                field.insert("start".into(), bytes.number());
                field.insert("end".into(), bytes.number());
            }
            Value::Object(field)
        };
        (0..self.next() % 4).map(|_| field(self)).collect()
    }

    /// A line of a type with some of the keys it may have.
    fn line(&mut self) -> Value {
        let mut line = Map::new();
        let code = self.next();
        let kind = ["document", "chunk", "chunk", "entity", "summary", "record", "outline", "page_summary"]
            [usize::from(code % 8)];
        line.insert("type".into(), kind.into());
        // Mostly one of two documents, so that lines belong together.
        let document = if code & 128 == 0 { TEXTS[usize::from(code >> 3 & 1)].to_owned() } else { self.text() };
        line.insert("doc".into(), document.into());
        let mut has = self.next();
        let mut put = |bytes: &mut Self, key: &str, value: fn(&mut Self) -> Value| {
            if has & 1 == 1 {
                line.insert(key.into(), value(bytes));
            }
            has = has.rotate_right(1);
        };
        let text: fn(&mut Self) -> Value = |bytes| bytes.text().into();
        match code % 8 {
            0 => {
                put(self, "title", text);
                put(self, "metadata", |bytes| json!({bytes.text(): bytes.number()}));
            }
            1 | 2 => {
                put(self, "id", text);
                put(self, "title", text);
                put(self, "start", Self::number);
                put(self, "end", Self::number);
                line.insert("text".into(), self.text().into());
            }
            3 => {
                put(self, "kind", text);
                put(self, "aliases", Self::texts);
                put(self, "descriptions", Self::texts);
                put(self, "chunks", Self::texts);
                line.insert("name".into(), self.text().into());
            }
            4 => {
                line.insert("level".into(), (1 + self.next() % 3).into());
                line.insert("index".into(), (self.next() % 4).into());
                line.insert("text".into(), self.text().into());
            }
            5 => {
                for key in ["entity", "entity_type", "label", "value", "valid", "coarse"] {
                    put(self, key, text);
                }
                put(self, "condition", |bytes| json!({"label": bytes.text(), "value": bytes.text()}));
                put(self, "kind", |bytes| {
                    ["property", "relation", "aspect", "x"][usize::from(bytes.next() % 4)].into()
                });
                line.insert("chunks".into(), self.texts());
            }
            6 => {
                put(self, "summary", text);
                put(self, "category", |bytes| (bytes.next() & 1 == 1).into());
                put(self, "fields", Self::fields);
                put(self, "links", |bytes| (0..bytes.next() % 3).map(|_| bytes.texts()).collect());
                line.insert("path".into(), self.texts());
            }
            _ => {
                line.insert("hash".into(), format!("{:032x}", self.next()).into());
                line.insert("summary".into(), self.text().into());
            }
        }
        Value::Object(line)
    }
}

/// What bytes say as lines: as they are, or read as choices.
fn lines(bytes: &[u8]) -> (u8, Vec<u8>) {
    let Some((&first, rest)) = bytes.split_first() else { return (0, Vec::new()) };
    if first & 1 == 0 {
        return (first, rest.to_vec());
    }
    let mut bytes = Bytes(rest);
    let mut out = Vec::new();
    for _ in 0..LINES {
        if bytes.0.is_empty() {
            break;
        }
        out.extend_from_slice(bytes.line().to_string().as_bytes());
        out.push(b'\n');
    }
    (first, out)
}

/// An index of lines, where they are taken.
fn taken(options: &Options, lines: &[u8], every: Option<u32>) -> Result<Snapshot, Error> {
    let disk = Disk::default();
    let mut writer = Writer::create_simulated(&disk, NAME, options)?;
    let how = match every {
        Some(chunks) => ImportOptions::new().commit_every(chunks),
        None => ImportOptions::new(),
    };
    import(&mut writer, lines, how)?;
    drop(writer);
    Ok(Index::from_bytes(disk.bytes(NAME).unwrap_or_default())?.snapshot())
}

fn exported(snapshot: &Snapshot) -> Vec<u8> {
    let mut out = Vec::new();
    export(snapshot, &mut out).unwrap_or_else(|error| panic!("no export: {error}"));
    out
}

/// Imports the lines that `bytes` say. What is taken is sound, and its export makes an index of the same export.
///
/// # Panics
/// Where that is not so, or the error of lines that are not taken is one of damage.
pub fn fuzz_import(bytes: &[u8]) {
    let (first, lines) = lines(bytes);
    let memory = if first & 2 == 0 { MemoryScope::Document } else { MemoryScope::Index };
    let options =
        Options::new().fanout(2 + (first >> 4 & 1)).memory(memory).timestamps(false).file_id([7; 16]).threads(1);
    let snapshot = match taken(&options, &lines, (first & 4 != 0).then_some(1)) {
        Ok(snapshot) => snapshot,
        Err(error) => return assert!(!error.is_damage(), "{error}"),
    };
    let report = snapshot.check(&Limits::default()).unwrap_or_else(|error| panic!("no check: {error}"));
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    let once = exported(&snapshot);
    let again = taken(&options, &once, None).unwrap_or_else(|error| {
        panic!("an export is not taken: {error}\n{}", String::from_utf8_lossy(&once));
    });
    let twice = exported(&again);
    assert!(
        once == twice,
        "the export of an export is another:\n{}\n\n{}",
        String::from_utf8_lossy(&once),
        String::from_utf8_lossy(&twice)
    );
}

/// A small index for a fuzzer to damage: 0 with memories, summaries and a removed document; 1 with an index-wide memory and a replaced
/// document; 2 with an outline and records.
///
/// # Panics
/// Never: it is the same each time.
pub fn small_index(which: usize) -> Vec<u8> {
    let lines = match which {
        0 => concat!(
            r#"{"type":"document","doc":"a","title":"A","metadata":{"year":1901}}"#,
            "\n",
            r#"{"type":"chunk","doc":"a","id":"one","title":"Lamp","text":"Ilse keeps the lamp. ","start":0,"end":21}"#,
            "\n",
            r#"{"type":"chunk","doc":"a","text":"The keeper sleeps. "}"#,
            "\n",
            r#"{"type":"chunk","doc":"a","text":"Anna wakes the keeper. "}"#,
            "\n",
            r#"{"type":"chunk","doc":"a","text":"The lamp is out. "}"#,
            "\n",
            r#"{"type":"chunk","doc":"a","text":"Nobody minds."}"#,
            "\n",
            r#"{"type":"entity","doc":"a","name":"Ilse","kind":"person","aliases":["the keeper"],"descriptions":["Ilse keeps the lamp.","She sleeps."],"chunks":["one","a#1"]}"#,
            "\n",
            r#"{"type":"summary","doc":"a","level":1,"index":0,"text":"Ilse keeps the lamp."}"#,
            "\n",
            r#"{"type":"summary","doc":"a","level":2,"index":0,"text":"The lamp goes out."}"#,
            "\n",
            r#"{"type":"document","doc":"b"}"#,
            "\n",
            r#"{"type":"chunk","doc":"b","text":"Another lamp."}"#,
            "\n",
        ),
        1 => concat!(
            r#"{"type":"document","doc":"a"}"#,
            "\n",
            r#"{"type":"chunk","doc":"a","text":"Ilse keeps the lamp. "}"#,
            "\n",
            r#"{"type":"chunk","doc":"a","text":"The keeper sleeps."}"#,
            "\n",
            r#"{"type":"document","doc":"b"}"#,
            "\n",
            r#"{"type":"chunk","doc":"b","text":"Another lamp of Ilse."}"#,
            "\n",
            r#"{"type":"entity","name":"Ilse","aliases":["the keeper"],"descriptions":["She sleeps."],"chunks":["a#0","b#0"]}"#,
            "\n",
        ),
        _ => concat!(
            r#"{"type":"document","doc":"a"}"#,
            "\n",
            r#"{"type":"chunk","doc":"a","text":"Ilse keeps the lamp. "}"#,
            "\n",
            r#"{"type":"chunk","doc":"a","text":"The keeper sleeps."}"#,
            "\n",
            r#"{"type":"outline","doc":"a","path":["People"],"category":true,"summary":"Who is there."}"#,
            "\n",
            r#"{"type":"outline","doc":"a","path":["People","Ilse"],"summary":"Keeps a lamp.","fields":[{"name":"does","value":"keeps","start":0,"end":4}],"links":[["Things","Lamp"]]}"#,
            "\n",
            r#"{"type":"outline","doc":"a","path":["Things","Lamp"],"summary":"Is out."}"#,
            "\n",
            r#"{"type":"outline","doc":"a","path":["Things","Bed"],"summary":"Is slept in."}"#,
            "\n",
            r#"{"type":"record","doc":"a","entity":"Ilse","entity_type":"person","kind":"relation","label":"keeper_of","value":"lamp","coarse":"keeps","chunks":["a#0"]}"#,
            "\n",
            r#"{"type":"record","doc":"a","entity":"Ilse","label":"sleeps","valid":"1901","condition":{"label":"lamp","value":"out"},"chunks":["a#1"]}"#,
            "\n",
        ),
    };
    let memory = if which == 1 { MemoryScope::Index } else { MemoryScope::Document };
    let options = Options::new().fanout(2).memory(memory).timestamps(false).file_id([which as u8; 16]).threads(1);
    let disk = Disk::default();
    let mut writer = Writer::create_simulated(&disk, NAME, &options).expect("a simulated disk works");
    let mut done = || -> crate::Result<()> {
        import(&mut writer, lines.as_bytes(), ImportOptions::new())?;
        match which {
            0 => writer.remove_document("b")?,
            1 => {
                writer.replace_document("b", "B", "")?;
                writer.append_chunk("b", &crate::NewChunk::text("Ilse has another lamp."))?;
                writer.publish("b")?;
            }
            _ => {}
        }
        writer.commit().map(|_| ())
    };
    done().expect("the lines are right");
    drop(writer);
    disk.bytes(NAME).unwrap_or_default()
}
