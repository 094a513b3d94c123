//! `plica outline` and `plica navigate`: walking what was compiled.

use crate::failure::{Failure, Outcome};
use crate::opening::{explain, open};
use crate::outline_arguments::{NavigateArguments, OutlineArguments, SubjectArguments, SubjectChange};
use crate::output::{FAINT, Output, STRONG, counted, visible};
use crate::passage::{PassageLine, Terms, passage_line, wrap};
use plica::Writer;
use plica::outline::{EntryKind, Field, Navigate, Navigation, OutlinePage, learn, write_folder};
use serde::Serialize;
use std::io::Write;

/// Columns of a page.
const COLUMNS: usize = 96;
/// Lines of a passage.
const PASSAGE_LINES: usize = 4;

#[derive(Serialize)]
struct PageLine<'a> {
    path: &'a [String],
    title: &'a str,
    summary: &'a str,
    cover: CoverLine<'a>,
    entries: Vec<EntryLine<'a>>,
    fields: Vec<FieldLine<'a>>,
    links: &'a [Vec<String>],
}

#[derive(Serialize)]
struct CoverLine<'a> {
    first: &'a str,
    last: &'a str,
    count: u32,
}

#[derive(Serialize)]
struct EntryLine<'a> {
    title: &'a str,
    summary: &'a str,
    path: &'a [String],
}

#[derive(Serialize)]
struct FieldLine<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<u64>,
}

/// The values of fields, one a line.
fn fields(fields: &[Field]) -> Vec<FieldLine<'_>> {
    let values = fields.iter().flat_map(|field| field.values.iter().map(move |value| (field, value)));
    values
        .map(|(field, value)| {
            let (start, end) = value.span.unzip();
            let text = Some(value.text.as_str()).filter(|text| !text.is_empty());
            FieldLine { name: &field.name, value: text, start, end }
        })
        .collect()
}

fn json(page: &OutlinePage) -> PageLine<'_> {
    PageLine {
        path: &page.path,
        title: &page.title,
        summary: &page.summary,
        cover: CoverLine { first: &page.cover.first, last: &page.cover.last, count: page.cover.count },
        entries: page
            .entries
            .iter()
            .map(|entry| EntryLine { title: &entry.title, summary: &entry.summary, path: &entry.path })
            .collect(),
        fields: fields(&page.fields),
        links: &page.links,
    }
}

/// Shows a page, or writes the outline as files.
pub fn outline(arguments: &OutlineArguments) -> Outcome {
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let mut out = Output::new();
    if let Some(folder) = &arguments.write {
        let written =
            write_folder(&snapshot, &arguments.doc, folder).map_err(|error| explain(&arguments.index, error))?;
        out.line(format!(
            "{}: {} in {}, {} bytes",
            folder.display(),
            counted(written.subjects, "subject"),
            counted(written.categories, "category"),
            written.bytes
        ))?;
        return out.flush();
    }
    let page = snapshot.outline(&arguments.doc, &arguments.path.0).map_err(|error| explain(&arguments.index, error))?;
    match arguments.reading.json {
        true => out.json(&json(&page))?,
        false => show(&mut out, &page)?,
    }
    out.flush()
}

/// A page for people.
fn show(out: &mut Output, page: &OutlinePage) -> Outcome {
    let below = if page.is_subject { "value" } else { "subject" };
    let count = out.styled(FAINT, &counted(u64::from(page.cover.count), below));
    out.line(format!("{}  {count}", out.styled(STRONG, &visible(&page.title))))?;
    paragraph(out, &page.summary, 0)?;
    if !page.entries.is_empty() || !page.fields.is_empty() {
        out.line("")?;
    }
    for entry in &page.entries {
        let place = match entry.kind {
            EntryKind::Range => entry.path.last().map(|step| format!("{step}  ")).unwrap_or_default(),
            _ => String::new(),
        };
        let count = match entry.kind {
            EntryKind::Subject => String::new(),
            _ => out.styled(FAINT, &format!("  {}", counted(u64::from(entry.count), "subject"))),
        };
        out.line(format!("{place}{}{count}", out.styled(STRONG, &visible(&entry.title))))?;
        paragraph(out, &entry.summary, 3)?;
    }
    for line in fields(&page.fields) {
        let place = line.start.zip(line.end).map(|(start, end)| format!("[{start}..{end}]")).unwrap_or_default();
        let text = format!("{}: {}", line.name, line.value.unwrap_or("(in the source)"));
        let lines = wrap(&text, COLUMNS - 3);
        let last = lines.len().saturating_sub(1);
        for (at, line) in lines.iter().enumerate() {
            let end = if at == last { out.styled(FAINT, &format!(" {place}")) } else { String::new() };
            out.line(format!("   {line}{end}"))?;
        }
    }
    if !page.links.is_empty() {
        let links: Vec<String> = page.links.iter().map(|link| visible(&link.join(" / "))).collect();
        for line in wrap(&format!("see {}", links.join("; ")), COLUMNS) {
            out.line(out.styled(FAINT, &line))?;
        }
    }
    Ok(())
}

fn paragraph(out: &mut Output, text: &str, indent: usize) -> Outcome {
    for line in wrap(text, COLUMNS - indent) {
        out.line(format!("{}{line}", " ".repeat(indent)))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct NavigationLine<'a> {
    question: &'a str,
    path: Vec<StepLine<'a>>,
    pages: Vec<AnswerLine<'a>>,
    passages: Vec<PassageLine<'a>>,
    fallback: bool,
    level_ups: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    learned: Option<&'a [String]>,
}

#[derive(Serialize)]
struct StepLine<'a> {
    page: &'a [String],
    title: &'a str,
    score: f64,
}

#[derive(Serialize)]
struct AnswerLine<'a> {
    path: &'a [String],
    title: &'a str,
    summary: &'a str,
    fields: Vec<FieldLine<'a>>,
}

/// Takes a question through an outline.
pub fn navigate(arguments: &NavigateArguments) -> Outcome {
    // The one writer comes first, so that what is learned is learned from what is there.
    let mut writer = match arguments.learn {
        true => Some(Writer::open(&arguments.index).map_err(|error| explain(&arguments.index, error))?),
        false => None,
    };
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let asked = Navigate::new(&arguments.doc, &arguments.question).budget(arguments.budget).passages(arguments.k);
    let found = snapshot.navigate(&asked).map_err(|error| explain(&arguments.index, error))?;
    let mut learned = None;
    if let Some(writer) = writer.as_mut().filter(|_| found.fallback && !found.passages.is_empty()) {
        match learn(writer, &snapshot, &arguments.doc, &found) {
            Ok(done) => {
                writer.commit()?;
                learned = Some(done.path);
            }
            // The answer is there all the same.
            Err(error @ (plica::Error::Limit { .. } | plica::Error::Invalid { .. })) => {
                let _ = writeln!(std::io::stderr(), "plica: not learned: {error}");
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mut out = Output::new();
    match arguments.reading.json {
        true => out.json(&NavigationLine {
            question: &found.question,
            path: found
                .path
                .iter()
                .map(|step| StepLine { page: &step.page, title: &step.title, score: step.score })
                .collect(),
            pages: found
                .pages
                .iter()
                .map(|page| AnswerLine {
                    path: &page.path,
                    title: &page.title,
                    summary: &page.summary,
                    fields: fields(&page.fields),
                })
                .collect(),
            passages: found.passages.iter().map(passage_line).collect(),
            fallback: found.fallback,
            level_ups: found.level_ups,
            learned: learned.as_deref(),
        })?,
        false => tell(&mut out, &found, learned.as_deref())?,
    }
    out.flush()
}

/// A navigation for people.
fn tell(out: &mut Output, found: &Navigation, learned: Option<&[String]>) -> Outcome {
    let way: Vec<String> = found.path.iter().map(|step| visible(&step.title)).collect();
    for line in wrap(&format!("way: {}", way.join(" > ")), COLUMNS) {
        out.line(out.styled(FAINT, &line))?;
    }
    if found.fallback {
        let nearest = if found.pages.is_empty() { "" } else { "; the nearest page and " };
        out.line(format!(
            "the outline has no answer{nearest}{}passages of the source:",
            if nearest.is_empty() { "; " } else { "" }
        ))?;
    }
    for page in &found.pages {
        out.line("")?;
        show(out, page)?;
    }
    for passage in &found.passages {
        out.line("")?;
        let place = match passage.id == passage.chunk {
            true => String::new(),
            false => format!("  {}", out.styled(FAINT, &visible(&passage.chunk))),
        };
        out.line(format!("{}{place}", out.styled(STRONG, &visible(&passage.id))))?;
        for line in Terms::of(&found.question).passage(&passage.text, PASSAGE_LINES) {
            out.line(format!("   {line}"))?;
        }
    }
    if let Some(path) = learned {
        out.line("")?;
        out.line(out.styled(FAINT, &format!("learned: {}", visible(&path.join(" / ")))))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct ChangedLine {
    commit: u64,
    subjects: u64,
}

/// Removes or corrects a subject.
pub fn subject(arguments: &SubjectArguments) -> Outcome {
    let (SubjectChange::Remove { index, doc, path, json } | SubjectChange::Correct { index, doc, path, json, .. }) =
        &arguments.change;
    let Some((name, category)) = path.0.split_last().filter(|(_, category)| !category.is_empty()) else {
        return Err(Failure::Usage("the path of a subject is its category and its name".to_owned()));
    };
    let mut writer = Writer::open(index).map_err(|error| explain(index, error))?;
    let what = match &arguments.change {
        SubjectChange::Remove { .. } => {
            if !writer.remove_subject(doc, category, name)? {
                let path = visible(&path.0.join(" / "));
                return Err(Failure::message(format!("document {doc:?} has no subject {path}; nothing was changed")));
            }
            "removed"
        }
        SubjectChange::Correct { line, .. } => {
            let (new_category, subject) = plica::interchange::subject(line)?;
            if new_category
                .iter()
                .map(|name| plica::text::key(name))
                .ne(category.iter().map(|name| plica::text::key(name)))
            {
                return Err(Failure::Usage("a subject stays in its category; the line names another".to_owned()));
            }
            writer.correct_subject(doc, category, name, &subject)?;
            "corrected"
        }
    };
    let commit = writer.commit()?;
    let mut out = Output::new();
    match json {
        true => out.json(&ChangedLine { commit, subjects: 1 })?,
        false => out.line(format!("{}: {what} 1 subject, commit {commit}", index.display()))?,
    }
    out.flush()
}
