//! The hot paths as small workloads whose instructions are counted.
//!
//! A workload has a part that prepares and a part that is counted: the latter runs inside [`measured`], the one function
//! that the counting is switched on for. Files are built before, by a process that is not counted. What a workload does
//! is the same in every run, but for the order of hash maps, which the standard library seeds by chance: it moves a count
//! by less than one per cent.

use crate::corpus::{COMMON, Corpus, RARE, SAMPLE, Shape, document_id};
use crate::{Random, Result, engine};
use plica::format::postings::{Posting, PostingList, encode};
use plica::records::RecordQuery;
use plica::{Index, Query, Writer};
use std::hint::black_box;
use std::path::Path;

/// All workloads: a name, and what is counted.
pub const ALL: [(&str, &str); 15] = [
    ("bm25-or", "top 10 of any of 2 to 4 common terms, 5,000 chunks, 20 questions, warm"),
    ("bm25-and", "top 10 of all of the same terms"),
    ("bm25-or-rare", "top 10 of any of 2 to 4 rare terms, 5,000 chunks, 100 questions, warm"),
    ("bm25-and-rare", "top 10 of all of the same terms"),
    ("document", "fused search of a document of 1,000 chunks, 20 questions, warm"),
    ("alias", "alias to chunks, 200 aliases, warm"),
    ("record", "records of an entity, 100 entities, warm"),
    ("open", "open, and a snapshot, 20 times"),
    ("first", "open, and the first search, for 2 to 4 rare terms, 20 times"),
    ("append", "one chunk appended and committed, 20 times"),
    ("tokenize", "tokens of 1 MiB"),
    ("chunk", "chunks of 1 MiB of paragraphs"),
    ("chunk-unbroken", "chunks of 1 MiB without a line break"),
    ("postings", "decode a list of 10,000 postings, 10 times"),
    ("import", "JSON lines of 1,000 chunks imported"),
];

/// Chunks of the file that is searched, and of the text that is chunked, when instructions are counted.
pub const CHUNKS: usize = 5000;
/// Documents of that file.
const DOCUMENTS: usize = 5;

/// What is counted. The name is what callgrind is told.
#[inline(never)]
pub fn measured<T>(work: impl FnOnce() -> T) -> T {
    black_box(work())
}

fn made(chunks: usize) -> Corpus {
    Corpus::zipf(Shape { chunks, words: 100, vocabulary: 50_000, document: chunks / DOCUMENTS })
}

/// The corpus of prepared files.
fn corpus(folder: &Path) -> Result<Corpus> {
    Ok(made(std::fs::read_to_string(folder.join("chunks"))?.parse()?))
}

/// Builds the files that the workloads need; a test takes fewer chunks than a count.
pub fn prepare(folder: &Path, chunks: usize) -> Result<()> {
    std::fs::write(folder.join("chunks"), chunks.to_string())?;
    let corpus = made(chunks);
    let path = folder.join("searched.plica");
    engine::bulk(&path, &corpus, engine::Channels::All, &mut Default::default())?;
    std::fs::copy(&path, folder.join("appended.plica"))?;
    let bytes = (1 << 20) * chunks / CHUNKS;
    let mut text = String::new();
    for at in 0.. {
        let chunk = corpus.chunk(at);
        if text.len() + chunk.len() > bytes {
            break;
        }
        text.push_str(&chunk);
        text.push_str("\n\n");
    }
    std::fs::write(folder.join("text"), text)?;
    let mut lines = Vec::new();
    corpus.lines(0, &mut lines)?;
    std::fs::write(folder.join("lines"), lines)?;
    for (set, shares, count) in [("questions", COMMON, 20), ("questions-rare", RARE, 100)] {
        let terms: Vec<String> = corpus.questions(shares, count).iter().map(|terms| terms.join(" ")).collect();
        std::fs::write(folder.join(set), terms.join("\n"))?;
    }
    records(&folder.join("records.plica"))
}

fn records(path: &Path) -> Result<()> {
    let mut writer = Writer::create(path, &engine::options())?;
    writer.add_document("book", "", "")?;
    for at in 0..100 {
        writer.append_chunk("book", &plica::NewChunk::text(&format!("Passage {at} of the book.")))?;
    }
    writer.publish("book")?;
    for at in 0..5000u32 {
        let record = plica::ingest::RecordUpdate {
            entity: format!("Person {}", crate::word(at % 500)),
            label: format!("{}_of", crate::word(at % 37)),
            value: crate::word(at),
            ..Default::default()
        };
        writer.add_record("book", &record, &[at % 100])?;
    }
    writer.commit()?;
    Ok(())
}

/// Runs one workload over prepared files.
pub fn run(name: &str, folder: &Path) -> Result<()> {
    match name {
        "bm25-or" => search(folder, "questions", false)?,
        "bm25-and" => search(folder, "questions", true)?,
        "bm25-or-rare" => search(folder, "questions-rare", false)?,
        "bm25-and-rare" => search(folder, "questions-rare", true)?,
        "document" => document(folder)?,
        "alias" => alias(folder)?,
        "record" => record(folder)?,
        "open" => open(folder)?,
        "first" => first(folder)?,
        "append" => append(folder)?,
        "tokenize" => tokenize(folder)?,
        "chunk" => chunk(folder, false)?,
        "chunk-unbroken" => chunk(folder, true)?,
        "postings" => postings()?,
        "import" => import(folder)?,
        _ => return Err(format!("there is no workload {name:?}").into()),
    }
    Ok(())
}

fn questions(folder: &Path, set: &str) -> Result<Vec<Vec<String>>> {
    let lines = std::fs::read_to_string(folder.join(set))?;
    Ok(lines.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect())
}

fn search(folder: &Path, set: &str, all: bool) -> Result<()> {
    let (corpus, questions) = (corpus(folder)?, questions(folder, set)?);
    let snapshot = engine::open(&folder.join("searched.plica"))?;
    let ask = || questions.iter().try_for_each(|terms| engine::plica_top10(&snapshot, &corpus, terms, all).map(drop));
    ask()?;
    measured(ask)?;
    Ok(())
}

fn document(folder: &Path) -> Result<()> {
    let snapshot = engine::open(&folder.join("searched.plica"))?;
    let queries: Vec<Query> = questions(folder, "questions")?
        .iter()
        .map(|terms| Query::new(terms.join(" ")).document(document_id(2)))
        .collect();
    let ask = || queries.iter().try_for_each(|query| snapshot.search(query).map(|answer| drop(black_box(answer))));
    ask()?;
    Ok(measured(ask)?)
}

fn alias(folder: &Path) -> Result<()> {
    let snapshot = engine::open(&folder.join("searched.plica"))?;
    let corpus = corpus(folder)?;
    let (id, given) = (document_id(1), corpus.entities(1, corpus.len() / DOCUMENTS));
    let aliases: Vec<&str> = given.iter().take(200).map(|given| given.entity.aliases[0].as_str()).collect();
    let ask = || aliases.iter().try_for_each(|alias| engine::chunks_of_alias(&snapshot, &id, alias).map(|_| ()));
    ask()?;
    measured(ask)
}

fn record(folder: &Path) -> Result<()> {
    let snapshot = engine::open(&folder.join("records.plica"))?;
    let queries: Vec<RecordQuery> =
        (0..100).map(|at| RecordQuery::new().entity(format!("Person {}", crate::word(at * 5)))).collect();
    let ask = || queries.iter().try_for_each(|query| snapshot.look_up(query).map(|found| drop(black_box(found))));
    ask()?;
    Ok(measured(ask)?)
}

fn open(folder: &Path) -> Result<()> {
    let path = folder.join("searched.plica");
    let ask = || (0..20).try_for_each(|_| Index::open(&path).map(|index| drop(black_box(index.snapshot()))));
    ask()?;
    Ok(measured(ask)?)
}

fn first(folder: &Path) -> Result<()> {
    let (path, corpus) = (folder.join("searched.plica"), corpus(folder)?);
    let rare = corpus.questions(0.0..2.5 / corpus.len().min(SAMPLE) as f64, 20);
    if rare.is_empty() {
        return Err("no terms are rare enough".into());
    }
    let ask = || {
        rare.iter().cycle().take(20).try_for_each(|terms| {
            let snapshot = engine::open(&path)?;
            engine::plica_top10(&snapshot, &corpus, terms, false).map(drop)
        })
    };
    ask()?;
    measured(ask)
}

fn append(folder: &Path) -> Result<()> {
    let mut writer = Writer::open_with(folder.join("appended.plica"), &engine::options())?;
    let (corpus, mut random) = (corpus(folder)?, Random::new(5));
    let texts: Vec<_> = (0..21).map(|at| corpus.chunk(corpus.len() + at).into_owned()).collect();
    let mut add = |texts: &[String]| {
        texts.iter().try_for_each(|text| {
            engine::append(&mut writer, 4, text, &mut random)?;
            writer.commit().map(|_| ())
        })
    };
    add(&texts[..1])?;
    Ok(measured(|| add(&texts[1..]))?)
}

fn tokenize(folder: &Path) -> Result<()> {
    let text = std::fs::read_to_string(folder.join("text"))?;
    measured(|| {
        let mut count = 0u64;
        plica::text::for_each_token(&text, |token| count += token.len() as u64);
        black_box(count);
    });
    Ok(())
}

fn chunk(folder: &Path, unbroken: bool) -> Result<()> {
    let mut text = std::fs::read_to_string(folder.join("text"))?;
    if unbroken {
        text = text.replace("\n\n", " ");
    }
    measured(|| black_box(plica::text::Chunker::new(250).chunks(&text).count()));
    Ok(())
}

/// Decodes a posting list of the format, without a file.
fn postings() -> Result<()> {
    let mut random = Random::new(9);
    let mut id = 0;
    let list: Vec<Posting> = (0..10_000)
        .map(|_| {
            id += 1 + random.zipf(30);
            Posting { id, frequency: 1 + random.zipf(4) }
        })
        .collect();
    let mut bytes = Vec::new();
    encode(&list, None, &mut bytes)?;
    let mut out = Vec::with_capacity(list.len());
    measured(|| {
        (0..10).try_for_each(|_| {
            out.clear();
            PostingList::decode(&bytes)?.read_into(0, u32::MAX, &mut out)
        })
    })?;
    if out != list { Err("the list came back as another".into()) } else { Ok(()) }
}

fn import(folder: &Path) -> Result<()> {
    let lines = std::fs::read(folder.join("lines"))?;
    let path = folder.join("imported.plica");
    crate::row::remove(&path)?;
    measured(|| engine::import(&path, lines.as_slice(), &mut Default::default()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_workload_runs() {
        let folder = tempfile::tempdir().unwrap();
        super::prepare(folder.path(), 500).unwrap();
        for (name, _) in super::ALL {
            super::run(name, folder.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}
