//! Hits, as people and as programs read them.

use crate::failure::Outcome;
use crate::output::{FAINT, Output, STRONG, visible};
use crate::passage::{COLUMNS, Terms, wrap};
use plica::search::{Channel, Explanation, LinkedRecord};
use plica::{Answer, Hit, Snapshot, Statistics};
use serde::Serialize;
use serde_json::Value;

/// Lines of a passage.
const PASSAGE_LINES: usize = 6;
/// Lines of a summary or description.
const REASON_LINES: usize = 2;
/// Linked records that are shown to people.
const RECORDS: usize = 3;
/// Overlap with the question from which on a name or description says why a hit was found: one word that says something.
const MATCH: f64 = 1.0;
/// What the summaries must add to a score for one to be shown.
const SHOWN: f64 = 0.005;

/// The answer to a query, as JSON.
#[derive(Serialize)]
pub struct AnswerLine<'a> {
    #[serde(rename = "_id", skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a Value>,
    pub query: &'a str,
    pub doc: Option<&'a str>,
    pub stats: &'static str,
    pub hits: Vec<HitLine<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

/// A hit, as JSON.
#[derive(Serialize)]
pub struct HitLine<'a> {
    rank: usize,
    id: &'a str,
    chunk: &'a str,
    doc: &'a str,
    ordinal: u32,
    score: f64,
    text: &'a str,
    start: Option<u64>,
    end: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<Explain<'a>>,
}

#[derive(Serialize)]
struct Explain<'a> {
    text: ChannelLine,
    memory: ChannelLine,
    summary: ChannelLine,
    records: Vec<RecordLine<'a>>,
    covering_summary: Option<&'a str>,
}

#[derive(Serialize)]
struct ChannelLine {
    raw: f64,
    z: f64,
    weight: f64,
}

#[derive(Serialize)]
struct RecordLine<'a> {
    name: &'a str,
    aliases: &'a [String],
    descriptions: &'a [String],
    scores: RecordScores,
}

#[derive(Serialize)]
struct RecordScores {
    name: f64,
    aliases: f64,
    descriptions: f64,
}

/// Whose statistics, by name.
pub fn statistics_name(statistics: Statistics) -> &'static str {
    match statistics {
        Statistics::Document => "document",
        Statistics::Collection => "collection",
    }
}

/// An answer as JSON.
pub fn answer_line<'a>(query: &'a str, doc: Option<&'a str>, answer: &'a Answer) -> AnswerLine<'a> {
    AnswerLine {
        id: None,
        query,
        doc,
        stats: statistics_name(answer.statistics),
        hits: answer.hits.iter().map(hit_line).collect(),
        micros: None,
    }
}

fn hit_line(hit: &Hit) -> HitLine<'_> {
    HitLine {
        rank: hit.rank,
        id: &hit.id,
        chunk: &hit.chunk,
        doc: &hit.document,
        ordinal: hit.ordinal,
        score: hit.score,
        text: &hit.text,
        start: hit.span.map(|span| span.0),
        end: hit.span.map(|span| span.1),
        explain: hit.explanation.as_ref().map(explain_line),
    }
}

fn explain_line(explanation: &Explanation) -> Explain<'_> {
    let channel = |channel: &Channel| ChannelLine { raw: channel.raw, z: channel.normalised, weight: channel.weight };
    let record = |record: &'_ LinkedRecord| {
        let [name, aliases, descriptions] = record.scores;
        RecordScores { name, aliases, descriptions }
    };
    Explain {
        text: channel(&explanation.text),
        memory: channel(&explanation.memory),
        summary: channel(&explanation.summary),
        records: explanation
            .records
            .iter()
            .map(|linked| RecordLine {
                name: &linked.name,
                aliases: &linked.aliases,
                descriptions: &linked.descriptions,
                scores: record(linked),
            })
            .collect(),
        covering_summary: explanation.covering_summary.as_deref(),
    }
}

/// Shows an answer to people, with the reason of each hit where it was explained.
pub fn show(out: &mut Output, snapshots: &[Snapshot], question: &str, answer: &Answer) -> Outcome {
    let terms = Terms::of(question);
    if answer.hits.is_empty() {
        let why = if answer.total > 0 {
            "no hits that far down"
        } else {
            "no hits: no passage that was asked shares a word with the question"
        };
        return out.line(why);
    }
    for (at, hit) in answer.hits.iter().enumerate() {
        if at > 0 {
            out.line("")?;
        }
        let rank = out.styled(STRONG, &format!("{}. {}", hit.rank, visible(&hit.id)));
        let score = out.styled(FAINT, &format!("score {:.3}", hit.score));
        out.line(format!("{rank}  {score}"))?;
        if !hit.title.is_empty() {
            out.line(format!("   {}", out.styled(STRONG, &visible(&hit.title))))?;
        }
        let called = match &hit.explanation {
            Some(explanation) => called_here(snapshots, hit, explanation)?,
            None => Vec::new(),
        };
        // What the passage calls those whom the question names is worth showing, too.
        let wanted = called.iter().flatten().fold(terms.and(""), |terms, name| terms.and(name));
        for line in wanted.passage(&hit.text, PASSAGE_LINES) {
            out.line(format!("   {}", wanted.marked(out, &line)))?;
        }
        if let Some(explanation) = &hit.explanation {
            show_reason(out, &terms, explanation, &called)?;
        }
    }
    Ok(())
}

/// For each linked record that is shown, the longest of its names that the passage uses, where it is not the one by
/// which the record goes.
fn called_here(snapshots: &[Snapshot], hit: &Hit, explanation: &Explanation) -> Outcome<Vec<Option<String>>> {
    let text = format!(" {} ", plica::text::tokens(&hit.text).join(" "));
    let stands = |name: &String| {
        let tokens = plica::text::tokens(name);
        !tokens.is_empty() && text.contains(&format!(" {} ", tokens.join(" ")))
    };
    let mut called = Vec::new();
    for record in explanation.records.iter().take(RECORDS) {
        if stands(&record.name) {
            called.push(None);
            continue;
        }
        // The document is in one of the indexes; in the others it is not found.
        let mut entities = Vec::new();
        for snapshot in snapshots {
            match snapshot.entity(&record.name, Some(&hit.document)) {
                Ok(found) => entities.extend(found),
                Err(plica::Error::NotFound { .. }) => {}
                Err(other) => return Err(other.into()),
            }
        }
        let names = entities.into_iter().filter(|entity| entity.name == record.name).flat_map(|entity| entity.aliases);
        called.push(names.filter(stands).max_by_key(String::len));
    }
    Ok(called)
}

/// Why a hit was found: what the channels gave, and through which records and summary.
fn show_reason(out: &mut Output, terms: &Terms, explanation: &Explanation, called: &[Option<String>]) -> Outcome {
    let channels = [("text", &explanation.text), ("memory", &explanation.memory), ("summary", &explanation.summary)];
    let matched = channels.iter().filter(|(_, channel)| channel.raw != 0.0);
    let given: Vec<String> =
        matched.map(|(name, channel)| format!("{name} {:+.2}", channel.weight * channel.normalised)).collect();
    let given = if given.is_empty() { "nothing matched".to_owned() } else { given.join(", ") };
    out.line(format!("   {} {given}", out.styled(FAINT, "why:")))?;
    for (record, called) in explanation.records.iter().zip(called) {
        let named = terms.overlap(&record.name) >= MATCH;
        // A name that matches says why; else it is an alias or a description that led here.
        let (what, led) = match best(terms, &record.aliases) {
            Some(alias) => ("alias:", Some(alias)),
            None => ("known:", best(terms, &record.descriptions)),
        };
        if !named && led.is_none() {
            continue;
        }
        let mut line = format!("tells of {}", visible(&record.name));
        if let Some(name) = called {
            line.push_str(&format!(", here called \"{}\"", visible(name)));
        }
        reason(out, "entity:", &line)?;
        if let Some(led) = led.filter(|_| !named) {
            reason(out, what, led)?;
        }
    }
    match &explanation.covering_summary {
        Some(summary) if explanation.summary.weight * explanation.summary.normalised >= SHOWN => {
            let lines = terms.passage(summary, REASON_LINES);
            reason(out, "summary:", &lines.join(" "))
        }
        _ => Ok(()),
    }
}

/// The text that shares most with the question, the shortest of several; `None` where none shares anything that says
/// something.
fn best<'a>(terms: &Terms, texts: &'a [String]) -> Option<&'a String> {
    let sharing = texts.iter().map(|text| (terms.overlap(text), text)).filter(|(overlap, _)| *overlap >= MATCH);
    sharing.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.len().cmp(&a.1.len()))).map(|(_, text)| text)
}

/// A part of a reason, wrapped and set in.
fn reason(out: &mut Output, what: &str, text: &str) -> Outcome {
    let indent = " ".repeat(3 + what.len() + 1);
    let mut lines = wrap(text, COLUMNS - what.len() - 1);
    if lines.len() > REASON_LINES {
        lines.truncate(REASON_LINES);
        if let Some(last) = lines.last_mut() {
            last.push_str(" …");
        }
    }
    for (at, line) in lines.iter().enumerate() {
        match at {
            0 => out.line(format!("   {} {line}", out.styled(FAINT, what)))?,
            _ => out.line(format!("{indent}{line}"))?,
        }
    }
    Ok(())
}
