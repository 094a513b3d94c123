//! `plica search`: one query, or many, a line each.

use crate::arguments::Search;
use crate::failure::{Failure, Outcome};
use crate::hits::{answer_line, show};
use crate::opening::open;
use crate::output::{FAINT, Output, STRONG, visible};
use crate::sources::cannot_read;
use plica::search::{Bm25, Several};
use plica::{Query, Scope};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Longest line of a file of queries, in bytes.
const LINE_BYTES: usize = 1 << 20;

/// A query to answer.
#[derive(Debug, Default, PartialEq)]
struct Asked {
    id: Option<Value>,
    text: String,
    doc: Option<String>,
}

/// Searches.
pub fn search(arguments: &Search) -> Outcome {
    let (files, query) = operands(arguments)?;
    if files.len() > 1 && arguments.reading.at.is_some() {
        return Err(Failure::Usage("--at names a commit of one index; leave it out where several are searched".into()));
    }
    let snapshots = files.iter().map(|file| open(file, &arguments.reading)).collect::<Outcome<Vec<_>>>()?;
    let several = Several::new(snapshots)?;
    let mut out = Output::new();
    if let Some(query) = query {
        let asked = Asked { text: query, doc: arguments.doc.clone(), ..Asked::default() };
        answer(arguments, &several, &asked, &mut out)?;
        return out.flush();
    }
    let Some(path) = &arguments.queries else { return Ok(()) };
    let standard = path == Path::new("-");
    let mut lines: Box<dyn BufRead> = match standard {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(path).map_err(|error| cannot_read(path, &error))?)),
    };
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let read = std::io::Read::take(&mut lines, LINE_BYTES as u64 + 1).read_until(b'\n', &mut line);
        if read.map_err(|error| cannot_read(path, &error))? == 0 {
            break;
        }
        let here = |message: String| Failure::message(format!("{}, line {number}: {message}", path.display()));
        if line.len() > LINE_BYTES {
            return Err(here(format!("a query is at most {LINE_BYTES} bytes long")));
        }
        let asked = read_query(&line, arguments.doc.as_deref()).map_err(here)?;
        if !arguments.reading.json {
            if number > 1 {
                out.line("")?;
            }
            out.line(out.styled(STRONG, &format!("? {}", visible(&asked.text))))?;
        }
        answer(arguments, &several, &asked, &mut out).map_err(|failure| match failure {
            Failure::Engine(error) if !error.is_damage() => here(error.to_string()),
            other => other,
        })?;
        if standard {
            // Who asks through a pipe may wait for the answer before asking on.
            out.flush()?;
        }
    }
    out.flush()
}

/// The indexes to search, and the query, which is the last operand unless there is a file of queries.
fn operands(arguments: &Search) -> Outcome<(Vec<PathBuf>, Option<String>)> {
    let mut files: Vec<PathBuf> = arguments.operands.iter().map(PathBuf::from).collect();
    if arguments.queries.is_some() {
        if let Some(last) = files.last().filter(|last| files.len() > 1 && !last.exists()) {
            return Err(Failure::message(format!(
                "there is no index {}; with --queries, all operands are indexes and none is the query",
                last.display()
            )));
        }
        return Ok((files, None));
    }
    if files.len() == 1 {
        let missing = "a query is missing: plica search INDEX… QUERY, or plica search INDEX… --queries FILE";
        return Err(Failure::Usage(missing.to_owned()));
    }
    if let Some(last) = files.pop().filter(|last| last.extension().is_some_and(|e| e == "plica") && last.exists()) {
        return Err(Failure::Usage(format!(
            "a query is missing: the last operand, {}, is an index (a query that is the name of one goes into --queries)",
            last.display()
        )));
    }
    if let Some(first) = files.iter().skip(1).find(|file| !file.exists() && file.extension().is_none()) {
        return Err(Failure::Usage(format!(
            "there is no index {}; all operands but the last are indexes, so put a query of several words in quotes",
            first.display()
        )));
    }
    let query = arguments.operands.last().and_then(|query| query.to_str()).map(str::to_owned);
    Ok((files, Some(query.ok_or_else(|| Failure::message("the query is not valid UTF-8"))?)))
}

/// A line of a file of queries: a JSON object, or the query itself.
fn read_query(line: &[u8], doc: Option<&str>) -> Result<Asked, String> {
    let line = std::str::from_utf8(line).map_err(|error| format!("expected UTF-8: {error}"))?;
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if !line.starts_with('{') {
        return Ok(Asked { id: None, text: line.to_owned(), doc: doc.map(str::to_owned) });
    }
    let object: Value = serde_json::from_str(line).map_err(|error| format!("expected a JSON object: {error}"))?;
    let text = match object.get("text") {
        Some(Value::String(text)) => text.clone(),
        _ => return Err("expected a string under \"text\"".to_owned()),
    };
    let own = match object.get("metadata").and_then(|metadata| metadata.get("doc_id")) {
        Some(Value::String(own)) => Some(own.clone()),
        None | Some(Value::Null) => doc.map(str::to_owned),
        Some(other) => return Err(format!("expected a string under metadata.doc_id, got {other}")),
    };
    Ok(Asked { id: object.get("_id").cloned(), text, doc: own })
}

/// Answers one query.
fn answer(arguments: &Search, several: &Several, asked: &Asked, out: &mut Output) -> Outcome {
    let mut query = Query::new(asked.text.clone());
    if let Some(doc) = &asked.doc {
        query.scope = Scope::Document(doc.clone());
    }
    query.statistics = arguments.stats.into();
    query.k = arguments.k.get();
    query.offset = arguments.offset;
    query.weights = arguments.weights;
    query.bm25 = Bm25 { k1: arguments.k1, b: arguments.b };
    query.pool = arguments.pool;
    query.all = arguments.all;
    query.explain = arguments.explain;
    query.filter.clone_from(&arguments.filter);
    let started = Instant::now();
    let answer = several.search(&query)?;
    let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    if arguments.reading.json {
        let mut line = answer_line(&asked.text, asked.doc.as_deref(), &answer);
        line.id = asked.id.as_ref();
        line.micros = arguments.timings.then_some(micros);
        return out.json(&line);
    }
    show(out, several.snapshots(), &asked.text, &answer)?;
    if arguments.timings {
        out.line(out.styled(FAINT, &format!("{micros} µs")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_query_or_a_json_object() {
        let plain = read_query(b"who is it?\r\n", Some("a")).unwrap();
        assert_eq!(plain, Asked { id: None, text: "who is it?".into(), doc: Some("a".into()) });
        let json = read_query(br#"{"_id":7,"text":"who?","metadata":{"doc_id":"b"}}"#, Some("a")).unwrap();
        assert_eq!(json, Asked { id: Some(7.into()), text: "who?".into(), doc: Some("b".into()) });
        let json = read_query(br#"{"text":"who?"}"#, Some("a")).unwrap();
        assert_eq!(json.doc.as_deref(), Some("a"));
        for wrong in [&br#"{"text":1}"#[..], b"{", br#"{"text":"a","metadata":{"doc_id":3}}"#, b"\xff"] {
            assert!(read_query(wrong, None).is_err());
        }
    }
}
