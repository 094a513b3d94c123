//! `plica stat`: what an index holds, in numbers.

use crate::arguments::Stat as Arguments;
use crate::failure::Outcome;
use crate::opening::open;
use crate::output::{Output, STRONG, counted, grouped, table, visible};
use crate::writing::memory_name;
use plica::{Calls, MemoryScope, Stat};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct StatLine<'a> {
    documents: u64,
    chunks: u64,
    sequence: u64,
    segments: usize,
    merge_debt: u64,
    bytes: BytesLine<'a>,
    calls: CallsLine,
    docs: Vec<DocumentLine<'a>>,
    staged: u64,
    entities: u64,
    summaries: u64,
    subjects: u64,
    values: u64,
    records: u64,
    compile_calls: CompileCallsLine,
    tokens: u64,
    source_bytes: u64,
    fanout: u8,
    chunk_words: u32,
    memory: &'static str,
}

#[derive(Serialize)]
struct BytesLine<'a> {
    total: u64,
    live: u64,
    dead: u64,
    budget: BTreeMap<&'static str, u64>,
    #[serde(flatten)]
    structures: &'a BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct CallsLine {
    accepted: u64,
    expected: u64,
    given: u64,
}

#[derive(Serialize)]
struct DocumentLine<'a> {
    doc: &'a str,
    chunks: u32,
    calls: u64,
    expected: u64,
    given: u64,
    subjects: u32,
    records: u64,
}

#[derive(Serialize)]
struct CompileCallsLine {
    discover: u64,
    extract: u64,
    page_summaries: u64,
    records: u64,
}

/// Shows the numbers.
pub fn stat(arguments: &Arguments) -> Outcome {
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let stat = snapshot.stat()?;
    let parameters = snapshot.parameters();
    let mut out = Output::new();
    if arguments.reading.json {
        let Calls { accepted, expected, given, .. } = stat.calls;
        let [discover, extract, page_summaries, records] = stat.compile_calls;
        out.json(&StatLine {
            documents: stat.documents,
            chunks: stat.chunks,
            sequence: stat.sequence,
            segments: stat.segments,
            merge_debt: stat.merge_debt,
            bytes: BytesLine {
                total: stat.bytes.total,
                live: stat.bytes.live,
                dead: stat.bytes.dead,
                structures: &stat.bytes.structures,
                budget: stat.bytes.budget.parts().into_iter().collect(),
            },
            calls: CallsLine { accepted, expected, given },
            docs: stat
                .docs
                .iter()
                .map(|document| DocumentLine {
                    doc: &document.id,
                    chunks: document.chunks,
                    calls: document.calls.accepted,
                    expected: document.calls.expected,
                    given: document.calls.given,
                    subjects: document.subjects,
                    records: document.records,
                })
                .collect(),
            staged: stat.staged,
            entities: stat.entities,
            summaries: stat.summaries,
            subjects: stat.subjects,
            values: stat.values,
            records: stat.records,
            compile_calls: CompileCallsLine { discover, extract, page_summaries, records },
            tokens: stat.text_tokens,
            source_bytes: stat.bytes.text,
            fanout: parameters.fanout,
            chunk_words: parameters.chunk_words,
            memory: memory_name(parameters.memory),
        })?;
        return out.flush();
    }
    let words = counted(u64::from(parameters.chunk_words), "word");
    let memory = match parameters.memory {
        MemoryScope::Document => "a memory for each document",
        MemoryScope::Index => "one memory for all documents",
    };
    let parameters = format!("fan-out {}, at most {words} a chunk, {memory}", parameters.fanout);
    show(&mut out, &stat, &parameters)?;
    out.flush()
}

fn show(out: &mut Output, stat: &Stat, parameters: &str) -> Outcome {
    out.line(out.styled(STRONG, &format!("commit {}, {parameters}", stat.sequence)))?;
    let documents = counted(stat.documents, "document");
    let staged = if stat.staged > 0 { format!(" ({} in the making)", grouped(stat.staged)) } else { String::new() };
    let chunks = counted(stat.chunks, "chunk");
    out.line(format!("{documents}{staged}, {chunks}, {}", counted(stat.text_tokens, "token")))?;
    let entities = counted(stat.entities, "entity");
    let summaries = if stat.summaries == 1 { "summary" } else { "summaries" };
    let records = counted(stat.records, "record");
    out.line(format!("{entities}, {} level-1 {summaries}, {records}", grouped(stat.summaries)))?;
    if stat.subjects > 0 {
        let values = counted(stat.values, "value");
        out.line(format!("{} of outlines, with {values}", counted(stat.subjects, "subject")))?;
    }
    let debt = grouped(stat.merge_debt);
    out.line(format!("{}, {debt} bytes wait to be merged", counted(stat.segments as u64, "segment")))?;
    let calls = stat.calls;
    out.line(format!(
        "{} of a model accepted of {} expected, {} given",
        counted(calls.accepted, "call"),
        grouped(calls.expected),
        counted(calls.given, "unit")
    ))?;
    out.line("")?;
    let total = stat.bytes.total.max(1) as f64;
    let share = |bytes: u64| format!("{:.1} %", 100.0 * bytes as f64 / total);
    let mut rows = vec![vec!["all".to_owned(), grouped(stat.bytes.total), share(stat.bytes.total)]];
    for (name, bytes) in [("live", stat.bytes.live), ("dead", stat.bytes.dead)] {
        rows.push(vec![name.to_owned(), grouped(bytes), share(bytes)]);
    }
    for (name, bytes) in &stat.bytes.structures {
        rows.push(vec![format!("  {name}"), grouped(*bytes), share(*bytes)]);
    }
    for (name, bytes) in stat.bytes.budget.parts() {
        rows.push(vec![format!("  for {name}"), grouped(bytes), share(bytes)]);
    }
    rows.push(vec!["(sources)".to_owned(), grouped(stat.bytes.text), share(stat.bytes.text)]);
    table(out, &["bytes", "", ""], &[1, 2], &rows)?;
    if stat.docs.is_empty() {
        return Ok(());
    }
    out.line("")?;
    let rows: Vec<Vec<String>> = stat
        .docs
        .iter()
        .map(|document| {
            let numbers =
                [u64::from(document.chunks), document.calls.accepted, document.calls.expected, document.calls.given];
            std::iter::once(visible(&document.id)).chain(numbers.map(grouped)).collect()
        })
        .collect();
    table(out, &["document", "chunks", "calls", "T(N, f)", "given"], &[1, 2, 3, 4], &rows)
}
