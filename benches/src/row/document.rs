//! A search of one document of 1,000 chunks: the three channels fused, beside the document's text channel alone, and
//! beside the same work in Python with bm25s.
//!
//! All chunks are scored and ranked; ten hits come back, with their texts. The script `bm25s.py` does the same for the
//! same chunks, entities, summaries and questions, which `--export DIR` writes as JSON; with `--python PYTHON` it is run
//! here, and its median stands in the row.

use super::{Files, Run};
use crate::clock::{Call, interleaved};
use crate::corpus::{Corpus, document_id};
use crate::table::{Column, Row, Table, Target, micros};
use crate::{Random, Result, engine};
use plica::{Query, Weights};
use std::path::Path;

/// Questions.
const QUESTIONS: usize = 100;

/// Times the search of a document in the middle of the file.
pub fn rows(run: &Run, table: &mut Table, files: &Files) -> Result<()> {
    let corpus = &files.corpus;
    let document = corpus.documents().len() / 2;
    let chunks = corpus.documents()[document].len();
    let questions = questions(corpus, document);
    let export = run.folder.join("export");
    let folder = run.export.as_deref().unwrap_or(&export);
    write(corpus, document, &questions, folder)?;
    let python = run.python.as_deref().map(|python| bm25s(python, folder)).transpose()?;

    let mut row = Row::new(format!("fused search of a document of {} chunks, {}", super::count(chunks), run.label(corpus.len())));
    for (column, path) in [(Column::Built, Some(&files.plica)), (Column::Vacuumed, files.vacuumed.as_ref())] {
        let Some(path) = path else { continue };
        let snapshot = engine::open(path)?;
        let segments = engine::segments(&snapshot)?;
        let id = document_id(document);
        let asked: Vec<[Query; 2]> = questions
            .iter()
            .map(|question| {
                let fused = Query::new(question.as_str()).document(id.as_str());
                [fused.clone(), Query { weights: Weights::TEXT, ..fused }]
            })
            .collect();
        let call = |which: usize| -> Call<'_> {
            let (snapshot, asked) = (&snapshot, &asked);
            Box::new(move |at| Ok(snapshot.search(&asked[at][which])?.hits.len() as u64))
        };
        let times = interleaved(questions.len(), run.rounds, run.limit, &mut [call(0), call(1)])?;
        let (fused, text) = (times[0].median(), times[1].median());
        let name = if column == Column::Built { "" } else { ", vacuumed" };
        row = row
            .cell(column, format!("{}, text alone {} ({segments} segments)", micros(fused), micros(text)))
            .ratio(format!("ms{name}"), fused / 1000.0, Some(Target::Most(0.5)))
            .ratio(format!("of the text channel{name}"), fused / text, Some(Target::Most(2.5)));
        if let Some(python) = python {
            row = row.ratio(format!("× bm25s{name}"), python / fused, Some(Target::Least(10.0)));
        }
    }
    if let Some(python) = python {
        row = row.cell(Column::Floor, format!("Python, bm25s: {}", micros(python)));
    }
    table.push(row);
    Ok(())
}

/// Four words of a chunk, and an alias.
fn questions(corpus: &Corpus, document: usize) -> Vec<String> {
    let range = &corpus.documents()[document];
    let entities = corpus.entities(document, range.len());
    let mut random = Random::new(0xD0C);
    (0..QUESTIONS)
        .map(|_| {
            let chunk = corpus.chunk(range.start + (random.next() % range.len() as u64) as usize);
            let words: Vec<&str> = chunk.split_whitespace().collect();
            let mut asked: Vec<&str> =
                (0..4).map(|_| words[(random.next() % words.len() as u64) as usize]).collect();
            let given = &entities[random.zipf(entities.len() as u32) as usize];
            asked.push(&given.entity.aliases[0]);
            asked.join(" ")
        })
        .collect()
}

/// Writes what the script needs.
fn write(corpus: &Corpus, document: usize, questions: &[String], folder: &Path) -> Result<()> {
    use serde_json::json;
    std::fs::create_dir_all(folder)?;
    let range = &corpus.documents()[document];
    let chunks: Vec<_> = range.clone().map(|at| corpus.chunk(at)).collect();
    let entities: Vec<_> = corpus
        .entities(document, range.len())
        .into_iter()
        .map(|given| {
            json!({
                "name": given.entity.name, "aliases": given.entity.aliases,
                "descriptions": given.entity.descriptions, "chunks": given.ordinals,
            })
        })
        .collect();
    let summaries: Vec<_> = corpus
        .summaries(document, range.len())
        .into_iter()
        .filter(|(level, _, _)| *level == 1)
        .map(|(_, _, text)| text)
        .collect();
    let all = json!({
        "chunks": chunks, "entities": entities, "summaries": summaries, "fanout": crate::corpus::FANOUT,
        "questions": questions,
    });
    std::fs::write(folder.join("document.json"), all.to_string())?;
    Ok(())
}

/// Runs the script and gives its median in microseconds.
fn bm25s(python: &Path, folder: &Path) -> Result<f64> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("bm25s_peer.py");
    let out = std::process::Command::new(python).arg(script).arg(folder.join("document.json")).output()?;
    let said = String::from_utf8_lossy(&out.stdout);
    let found = said.lines().find_map(|line| line.strip_prefix("fused median us: ")?.trim().parse().ok());
    Ok(found.ok_or_else(|| format!("the script said {said:?} and {:?}", String::from_utf8_lossy(&out.stderr)))?)
}
