//! `plica check`: everything is verified, and what is damaged is named, with what depends on it.

use crate::arguments::Check;
use crate::failure::{Failure, Outcome};
use crate::opening::explain;
use crate::output::{Output, counted, visible};
use crate::signals;
use plica::{CheckOptions, Finding, Limits, Report};
use serde::Serialize;

#[derive(Serialize)]
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

/// A finding, as it is printed.
#[derive(Serialize)]
pub struct FindingLine<'a> {
    offset: u64,
    bytes: u64,
    what: &'a str,
    detail: &'a str,
    depends: &'a [String],
}

impl<'a> FindingLine<'a> {
    /// Of a finding.
    pub fn of(finding: &'a Finding) -> Self {
        let Finding { offset, bytes, what, detail, depends, .. } = finding;
        Self { offset: *offset, bytes: *bytes, what, detail, depends }
    }
}

/// Prints a finding.
pub fn show_finding(out: &mut Output, finding: &Finding) -> Outcome {
    let bytes = if finding.bytes > 0 { format!(", {}", counted(finding.bytes, "byte")) } else { String::new() };
    let (what, detail) = (visible(&finding.what), visible(&finding.detail));
    out.line(format!("damaged {what} at offset {}{bytes}: {detail}", finding.offset))?;
    for dependent in &finding.depends {
        out.line(format!("  needed for {}", visible(dependent)))?;
    }
    Ok(())
}

/// Verifies an index. An index that does not open because it is damaged has that among its findings.
pub fn check(arguments: &Check) -> Outcome {
    let options = CheckOptions::new().quick(arguments.quick).commit(arguments.reading.at);
    let limits = Limits { cancel: Some(signals::shared_stop_flag()), ..Limits::default() };
    let report = plica::check(&arguments.index, &options, &limits).map_err(|error| match error {
        plica::Error::Cancelled => Failure::message("stopped; not everything was looked at"),
        error => explain(&arguments.index, error),
    })?;
    let mut out = Output::new();
    match arguments.reading.json {
        true => out.json(&report_line(&report))?,
        false => show(&mut out, &report, arguments)?,
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
        findings: report.findings.iter().map(FindingLine::of).collect(),
    }
}

fn show(out: &mut Output, report: &Report, arguments: &Check) -> Outcome {
    for finding in &report.findings {
        show_finding(out, finding)?;
    }
    let index = arguments.index.display();
    let advice = format!("restore it from a copy, or `plica salvage {index} NEW` writes a new one with what is left");
    let blocks = format!("{} ({})", counted(report.blocks, "block"), counted(report.bytes, "byte"));
    if !report.opens {
        return out.line(format!("the index does not open; {blocks} were looked at, and nothing else; {advice}"));
    }
    let looked = match arguments.quick {
        true => blocks,
        false => format!(
            "{blocks}, {}, {}, {}, {}, {}",
            counted(report.documents, "document"),
            counted(report.chunks, "chunk"),
            counted(report.entities, "entity"),
            counted(report.subjects, "subject"),
            counted(report.records, "record")
        ),
    };
    match report.findings.len() {
        0 => out.line(format!("sound: {looked}")),
        count => out.line(format!("{} in {looked}; {advice}", counted(count as u64, "finding"))),
    }
}
