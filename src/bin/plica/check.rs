//! `plica check`: everything is verified, and what is damaged is named.

use crate::arguments::Check;
use crate::failure::{Failure, Outcome};
use crate::opening::explain;
use crate::output::{Output, counted, visible};
use plica::{Index, Limits, Report};
use serde::Serialize;

#[derive(Default, Serialize)]
struct ReportLine<'a> {
    blocks: u64,
    bytes: u64,
    documents: u64,
    chunks: u64,
    entities: u64,
    subjects: u64,
    records: u64,
    findings: Vec<FindingLine<'a>>,
}

#[derive(Serialize)]
struct FindingLine<'a> {
    offset: u64,
    what: &'a str,
    detail: &'a str,
}

/// Verifies an index. An index that does not open because it is damaged has that as its finding.
pub fn check(arguments: &Check) -> Outcome {
    let opened = match arguments.reading.at {
        Some(commit) => Index::open_at(&arguments.index, commit),
        None => Index::open(&arguments.index),
    };
    let checked = opened.and_then(|index| index.snapshot().check(&Limits::default()));
    let report = match &checked {
        Ok(report) => report_line(report),
        Err(plica::Error::Damaged { offset, what, detail }) => {
            ReportLine { findings: vec![FindingLine { offset: *offset, what, detail }], ..ReportLine::default() }
        }
        Err(_) => ReportLine::default(),
    };
    if report.findings.is_empty()
        && let Err(error) = checked
    {
        return Err(explain(&arguments.index, error));
    }
    let mut out = Output::new();
    match arguments.reading.json {
        true => out.json(&report)?,
        false => show(&mut out, &report, checked.is_ok())?,
    }
    out.flush()?;
    if report.findings.is_empty() { Ok(()) } else { Err(Failure::Findings) }
}

fn report_line(report: &Report) -> ReportLine<'_> {
    ReportLine {
        blocks: report.blocks,
        bytes: report.bytes,
        documents: report.documents,
        chunks: report.chunks,
        entities: report.entities,
        subjects: report.subjects,
        records: report.records,
        findings: report
            .findings
            .iter()
            .map(|finding| FindingLine { offset: finding.offset, what: &finding.what, detail: &finding.detail })
            .collect(),
    }
}

fn show(out: &mut Output, report: &ReportLine<'_>, whole: bool) -> Outcome {
    for finding in &report.findings {
        out.line(format!(
            "damaged {} at offset {}: {}",
            visible(finding.what),
            finding.offset,
            visible(finding.detail)
        ))?;
    }
    if !whole {
        return out.line("the index does not open, so nothing else was looked at; restore it from a copy");
    }
    let looked = format!(
        "{} ({}), {}, {}, {}, {}, {}",
        counted(report.blocks, "block"),
        counted(report.bytes, "byte"),
        counted(report.documents, "document"),
        counted(report.chunks, "chunk"),
        counted(report.entities, "entity"),
        counted(report.subjects, "subject"),
        counted(report.records, "record")
    );
    match report.findings.len() {
        0 => out.line(format!("sound: {looked}")),
        count => out.line(format!("{} in {looked}; restore the index from a copy", counted(count as u64, "finding"))),
    }
}
