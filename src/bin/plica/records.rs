//! `plica records`, `plica hop` and `plica record`: symbolic keys to passages.

use crate::failure::{Failure, Outcome};
use crate::opening::{explain, open};
use crate::output::{FAINT, Output, STRONG, counted, grouped, table, visible};
use crate::passage::{PassageLine, Terms, passage_line, wrap};
use crate::record_arguments::{Hop, Record as RecordArguments, RecordChange, Records};
use crate::sources::cannot_read;
use plica::records::{HopAnswer, HopOptions, Passage, Plan, Record, RecordField, RecordQuery, VocabularyQuery};
use plica::{Snapshot, Writer, interchange};
use serde::Serialize;
use std::io::Read;
use std::path::Path;

/// Lines of a passage.
const PASSAGE_LINES: usize = 4;
/// Records that are shown to people.
const SHOWN_RECORDS: usize = 40;
/// Columns of a value.
const VALUE_COLUMNS: usize = 60;
/// Bytes of a plan, or of records on standard input, that are read.
const INPUT_BYTES: u64 = 64 << 20;

#[derive(Serialize)]
struct RecordsLine<'a> {
    records: Vec<RecordLine<'a>>,
    passages: Vec<PassageLine<'a>>,
}

#[derive(Serialize)]
struct RecordLine<'a> {
    entity: &'a str,
    entity_type: &'a str,
    kind: &'static str,
    label: &'a str,
    value: &'a str,
    condition: Option<ConditionLine<'a>>,
    score: f64,
    passages: Vec<String>,
}

#[derive(Serialize)]
struct ConditionLine<'a> {
    label: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct VocabularyLine<'a> {
    field: &'static str,
    values: Vec<ValueLine<'a>>,
}

#[derive(Serialize)]
struct ValueLine<'a> {
    value: &'a str,
    count: u64,
}

#[derive(Serialize)]
struct HopsLine<'a> {
    hops: Vec<HopLine<'a>>,
}

#[derive(Serialize)]
struct HopLine<'a> {
    id: &'a str,
    bindings: Vec<BindingLine<'a>>,
    passages: Vec<PassageLine<'a>>,
}

#[derive(Serialize)]
struct BindingLine<'a> {
    entity: &'a str,
    entity_type: &'a str,
    kind: &'static str,
    label: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct ChangedLine {
    commit: u64,
    records: u64,
}

/// Names of the chunks that support a record.
fn names(snapshot: &Snapshot, record: &Record) -> Outcome<Vec<String>> {
    Ok(record.chunks.iter().map(|&ordinal| snapshot.chunk_name(&record.document, ordinal)).collect::<Result<_, _>>()?)
}

/// Looks records up, or lists a vocabulary.
pub fn records(arguments: &Records) -> Outcome {
    if let Some(field) = arguments.vocabulary {
        return vocabulary(arguments, field.into());
    }
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let mut query = RecordQuery::new().prefix(arguments.prefix).fuzzy(arguments.fuzzy);
    query.document.clone_from(&arguments.doc);
    query.entity.clone_from(&arguments.entity);
    query.entity_type.clone_from(&arguments.entity_type);
    query.kind = arguments.kind.map(Into::into);
    query.label.clone_from(&arguments.label);
    query.value.clone_from(&arguments.value);
    query.condition_label.clone_from(&arguments.condition_label);
    query.condition_value.clone_from(&arguments.condition_value);
    if let Some(k) = arguments.k {
        query = query.k(k.get());
    }
    let answer = snapshot.records(&query)?;
    let mut out = Output::new();
    if arguments.reading.json {
        let mut records = Vec::with_capacity(answer.records.len());
        for scored in &answer.records {
            let record = &scored.record;
            records.push(RecordLine {
                entity: &record.entity,
                entity_type: &record.entity_type,
                kind: record.kind.name(),
                label: &record.label,
                value: &record.value,
                condition: record.condition.as_ref().map(|(label, value)| ConditionLine { label, value }),
                score: scored.score,
                passages: names(&snapshot, record)?,
            });
        }
        out.json(&RecordsLine { records, passages: answer.passages.iter().map(passage_line).collect() })?;
        return out.flush();
    }
    if answer.records.is_empty() {
        out.line("no such record; `plica compile` makes the records of what was built or appended since")?;
        return out.flush();
    }
    for scored in answer.records.iter().take(SHOWN_RECORDS) {
        let score = format!("{:.2}", scored.score);
        show_record(&mut out, &snapshot, &score, &scored.record)?;
    }
    if answer.total > SHOWN_RECORDS {
        let more = (answer.total - answer.records.len().min(SHOWN_RECORDS)) as u64;
        out.line(out.styled(FAINT, &format!("and {} more", counted(more, "record"))))?;
    }
    let mut how = Vec::new();
    if !answer.fallback.names.is_empty() {
        let names: Vec<String> = answer.fallback.names.iter().map(|name| visible(name)).collect();
        how.push(format!("also as {}", names.join(", ")));
    }
    if answer.fallback.similar {
        how.push("similar names were taken".to_owned());
    }
    if answer.fallback.label {
        how.push("there is no such label; labels that share a word were taken".to_owned());
    }
    if !how.is_empty() {
        out.line(out.styled(FAINT, &format!("({})", how.join("; "))))?;
    }
    let asked = [&query.entity, &query.label, &query.value].into_iter().flatten();
    let terms = asked.fold(Terms::default(), |terms, text| terms.and(&text.replace('_', " ")));
    show_passages(&mut out, &terms, &answer.passages)?;
    out.flush()
}

/// A record on one or two lines.
fn show_record(out: &mut Output, snapshot: &Snapshot, start: &str, record: &Record) -> Outcome {
    let of = if record.entity_type.is_empty() { String::new() } else { format!(" ({})", visible(&record.entity_type)) };
    let entity = if record.entity.is_empty() { "-".to_owned() } else { visible(&record.entity) };
    let label = if record.label.is_empty() { "-".to_owned() } else { visible(&record.label) };
    let mut rest = Vec::new();
    if let Some((label, value)) = &record.condition {
        rest.push(format!("where {} is {}", visible(label), visible(value)));
    }
    if !record.valid.is_empty() {
        rest.push(visible(&record.valid));
    }
    rest.push(visible(&names(snapshot, record)?.join(", ")));
    let value = wrap(&record.value, VALUE_COLUMNS);
    let value = match value.as_slice() {
        [] => "-".to_owned(),
        [line] => line.clone(),
        [line, ..] => format!("{line} …"),
    };
    let entity = out.styled(STRONG, &entity);
    let rest = out.styled(FAINT, &rest.join("; "));
    out.line(format!("{start}  {entity}{of}  {label}: {value}  {rest}"))
}

fn show_passages(out: &mut Output, terms: &Terms, passages: &[Passage]) -> Outcome {
    for passage in passages {
        out.line("")?;
        let id = out.styled(STRONG, &visible(&passage.id));
        let title = if passage.title.is_empty() { String::new() } else { format!("  {}", visible(&passage.title)) };
        out.line(format!("{id}  {:.2}{}", passage.score, out.styled(FAINT, &title)))?;
        for line in terms.passage(&passage.text, PASSAGE_LINES) {
            out.line(format!("   {}", terms.marked(out, &line)))?;
        }
    }
    Ok(())
}

fn vocabulary(arguments: &Records, field: RecordField) -> Outcome {
    let given = match field {
        RecordField::Entity => &arguments.entity,
        RecordField::Type => &arguments.entity_type,
        RecordField::Label => &arguments.label,
        RecordField::Value => &arguments.value,
        RecordField::Kind | RecordField::Coarse => &None,
    };
    if arguments.prefix && given.is_none() {
        return Err(Failure::Usage(format!(
            "--prefix with --vocabulary {0} needs the beginning as --{0}",
            field.name()
        )));
    }
    if arguments.value.is_some() && field != RecordField::Value {
        return Err(Failure::Usage(
            "--vocabulary does not go with --value, but for the beginning of values".to_owned(),
        ));
    }
    let mut query = VocabularyQuery::new(field);
    query.document.clone_from(&arguments.doc);
    query.entity.clone_from(&arguments.entity);
    query.entity_type.clone_from(&arguments.entity_type);
    query.label.clone_from(&arguments.label);
    if arguments.prefix {
        query.prefix.clone_from(given);
        match field {
            RecordField::Entity => query.entity = None,
            RecordField::Type => query.entity_type = None,
            RecordField::Label => query.label = None,
            _ => {}
        }
    } else if arguments.value.is_some() {
        return Err(Failure::Usage("--value with --vocabulary value is a beginning: add --prefix".to_owned()));
    }
    if let Some(k) = arguments.k {
        query = query.limit(k.get());
    }
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let values = snapshot.vocabulary(&query)?;
    let mut out = Output::new();
    if arguments.reading.json {
        let values = values.iter().map(|value| ValueLine { value: &value.value, count: value.count }).collect();
        out.json(&VocabularyLine { field: field.name(), values })?;
        return out.flush();
    }
    if values.is_empty() {
        out.line("no values")?;
        return out.flush();
    }
    let rows: Vec<Vec<String>> = values.iter().map(|value| vec![grouped(value.count), visible(&value.value)]).collect();
    table(&mut out, &["records", field.name()], &[0], &rows)?;
    out.flush()
}

/// Runs a plan.
pub fn hop(arguments: &Hop) -> Outcome {
    let plan = match arguments.plan == Path::new("-") {
        true => standard_input()?,
        false => std::fs::read_to_string(&arguments.plan).map_err(|error| cannot_read(&arguments.plan, &error))?,
    };
    let plan = Plan::parse(&plan)?;
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let answers = snapshot.hop(&plan, &HopOptions { k: arguments.k.get(), ..HopOptions::default() })?;
    let mut out = Output::new();
    if arguments.reading.json {
        out.json(&HopsLine { hops: answers.iter().map(hop_line).collect() })?;
        return out.flush();
    }
    for (at, answer) in answers.iter().enumerate() {
        if at > 0 {
            out.line("")?;
        }
        let count = counted(answer.bindings.len() as u64, "binding");
        out.line(format!("{}  {}", out.styled(STRONG, &visible(&answer.id)), out.styled(FAINT, &count)))?;
        for record in answer.bindings.iter().take(SHOWN_RECORDS) {
            show_record(&mut out, &snapshot, " ", record)?;
        }
        if answer.bindings.len() > SHOWN_RECORDS {
            let more = counted((answer.bindings.len() - SHOWN_RECORDS) as u64, "binding");
            out.line(out.styled(FAINT, &format!("   and {more} more")))?;
        }
        let terms = answer
            .bindings
            .iter()
            .fold(Terms::default(), |terms, record| terms.and(&format!("{} {}", record.entity, record.value)));
        show_passages(&mut out, &terms, &answer.passages)?;
    }
    out.flush()
}

fn hop_line(answer: &HopAnswer) -> HopLine<'_> {
    HopLine {
        id: &answer.id,
        bindings: answer
            .bindings
            .iter()
            .map(|record| BindingLine {
                entity: &record.entity,
                entity_type: &record.entity_type,
                kind: record.kind.name(),
                label: &record.label,
                value: &record.value,
            })
            .collect(),
        passages: answer.passages.iter().map(passage_line).collect(),
    }
}

fn standard_input() -> Outcome<String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(INPUT_BYTES).read_to_string(&mut text);
    read.map_err(|error| cannot_read(Path::new("-"), &error))?;
    Ok(text)
}

/// Removes or corrects records.
pub fn record(arguments: &RecordArguments) -> Outcome {
    match &arguments.change {
        RecordChange::Remove { index, record, json } => {
            let lines = if record == "-" { standard_input()? } else { record.clone() };
            let mut writer = Writer::open(index).map_err(|error| explain(index, error))?;
            let mut removed = 0;
            for line in lines.lines().filter(|line| !line.trim().is_empty()) {
                let (document, record) = interchange::record(line)?;
                if !writer.remove_record(&document, &record)? {
                    return Err(not_there(&document, line));
                }
                removed += 1;
            }
            done(index, &mut writer, removed, "removed", *json)
        }
        RecordChange::Correct { index, old, new, json } => {
            let (document, record) = interchange::record(old)?;
            let (new_document, new_record) = interchange::record(new)?;
            if document != new_document {
                return Err(Failure::Usage("a record stays in its document; the two name different ones".to_owned()));
            }
            let mut writer = Writer::open(index).map_err(|error| explain(index, error))?;
            if !writer.correct_record(&document, &record, &new_record)? {
                return Err(not_there(&document, old));
            }
            done(index, &mut writer, 1, "corrected", *json)
        }
    }
}

fn not_there(document: &str, line: &str) -> Failure {
    Failure::message(format!("document {document:?} has no record {}; nothing was changed", visible(line)))
}

fn done(index: &Path, writer: &mut Writer, records: u64, what: &str, json: bool) -> Outcome {
    let commit = writer.commit()?;
    let mut out = Output::new();
    match json {
        true => out.json(&ChangedLine { commit, records })?,
        false => out.line(format!("{}: {what} {}, commit {commit}", index.display(), counted(records, "record")))?,
    }
    out.flush()
}
