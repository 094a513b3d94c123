//! A million records: look-up by entity and label, vocabularies, similar names, bytes, time and memory.
//!
//! `records [COUNT [SEGMENTS,… [FOLDER]]]`: indexes that FOLDER has already are not built again, and stay. 0 segments are
//! as many as the writer's default memory budget makes; for other numbers it is as large as it must be.

use plica::ingest::{RecordKind, RecordUpdate};
use plica::records::{RecordField, RecordQuery, VocabularyQuery};
use plica::{Index, NewChunk, Options, Snapshot, Writer};
use plica_benches::{Random, word};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Records of an entity on average.
const AN_ENTITY: u32 = 10;
/// Chunks that support them.
const CHUNKS: u32 = 20_000;
/// Labels.
const LABELS: u32 = 200;

/// The record of a number.
fn record(at: u32, count: u32) -> (RecordUpdate, u32) {
    let mut random = Random::new(u64::from(at) + 1);
    random.next();
    let entity = (random.next() % u64::from((count / AN_ENTITY).max(1))) as u32;
    let label = random.zipf(LABELS);
    let kind = RecordKind::ALL[(random.next() % 3) as usize];
    let value = random.zipf(count);
    let record = RecordUpdate {
        entity: name(entity),
        entity_type: format!("type {}", word(entity % 12)),
        kind,
        label: format!("{}_of", word(label)),
        coarse: if kind == RecordKind::Relation { String::new() } else { word(label % 20) },
        value: format!("{} {}", word(value), word(value / 3)),
        condition: (at % 10 == 0).then(|| ("in".to_owned(), format!("year {}", at % 100))),
        valid: String::new(),
    };
    (record, (random.next() % u64::from(CHUNKS)) as u32)
}

fn name(entity: u32) -> String {
    format!("Person {} {}", word(entity), word(entity / 7 + 3))
}

/// Builds an index of one large segment and `segments` - 1 small ones.
fn build(path: &Path, count: u32, segments: u32) -> plica::Result<f64> {
    let budget = if segments == 0 { Options::new().memory_budget_bytes } else { 8 << 30 };
    let mut writer = Writer::create(path, &Options::new().memory_budget_bytes(budget))?;
    writer.add_document("book", "", "")?;
    for at in 0..CHUNKS {
        writer.append_chunk("book", &NewChunk::text(&format!("Passage {at} of the book.")))?;
    }
    writer.publish("book")?;
    let start = Instant::now();
    let last = segments.saturating_sub(1) * 1000;
    for at in 0..count {
        let (record, chunk) = record(at, count);
        writer.add_record("book", &record, &[chunk])?;
        let left = count - 1 - at;
        if left == last || left < last && left.is_multiple_of(1000) {
            writer.commit()?;
        }
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Median and ninety-ninth percentile of `rounds` calls, in microseconds, after as many to warm up.
fn micros(rounds: u32, mut call: impl FnMut(u32) -> plica::Result<usize>) -> plica::Result<(f64, f64, f64)> {
    let mut found = 0;
    for at in 0..rounds {
        call(at)?;
    }
    let mut times = Vec::with_capacity(rounds as usize);
    for at in 0..rounds {
        let start = Instant::now();
        found += call(at)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok((times[times.len() / 2], times[times.len() * 99 / 100], found as f64 / f64::from(rounds)))
}

fn measure(snapshot: &Snapshot, count: u32, rounds: u32) -> plica::Result<Vec<(&'static str, (f64, f64, f64))>> {
    let asked = |at: u32| record(at.wrapping_mul(7919) % count, count).0;
    // Questions are put together before, so that only answers are measured.
    let questions: Vec<RecordQuery> = (0..rounds)
        .map(|at| asked(at))
        .map(|record| RecordQuery::new().entity(record.entity).label(record.label))
        .collect();
    let ranked = questions.clone();
    let vocabularies: Vec<VocabularyQuery> =
        (0..rounds).map(|at| VocabularyQuery::new(RecordField::Label).entity(asked(at).entity)).collect();
    let similar: Vec<RecordQuery> = (0..rounds)
        .map(|at| {
            let mut name = asked(at).entity;
            name.remove(9);
            RecordQuery::new().entity(name).fuzzy(1)
        })
        .collect();
    let prefixes: Vec<RecordQuery> =
        (0..rounds).map(|at| RecordQuery::new().entity(asked(at).entity).prefix(true)).collect();
    let values: Vec<RecordQuery> = (0..rounds)
        .map(|at| {
            let record = asked(at);
            RecordQuery::new().label(record.label).value(record.value)
        })
        .collect();
    let few = rounds / 50;
    Ok(vec![
        ("look-up, entity and label", micros(rounds, |at| Ok(snapshot.look_up(&questions[at as usize])?.len()))?),
        ("look-up, label and value", micros(rounds / 4, |at| Ok(snapshot.look_up(&values[at as usize])?.len()))?),
        ("look-up, entity by prefix", micros(rounds / 4, |at| Ok(snapshot.look_up(&prefixes[at as usize])?.len()))?),
        ("ranked, with passages", micros(rounds / 4, |at| Ok(snapshot.records(&ranked[at as usize])?.passages.len()))?),
        ("labels of an entity", micros(rounds, |at| Ok(snapshot.vocabulary(&vocabularies[at as usize])?.len()))?),
        ("one edit", micros(few, |at| Ok(snapshot.records(&similar[at as usize])?.records.len()))?),
        ("all labels", micros(few, |_| Ok(snapshot.vocabulary(&VocabularyQuery::new(RecordField::Label))?.len()))?),
    ])
}

/// Peak of the resident memory, in MiB, where the system says it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")).and_then(|n| n.trim().parse::<u64>().ok());
    kilobytes.map_or("unknown".to_owned(), |kilobytes| format!("{} MiB", kilobytes >> 10))
}

fn main() -> plica::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let count: u32 = arguments.next().map_or(1_000_000, |count| count.parse().expect("COUNT is a number"));
    let segments = arguments.next().unwrap_or("0,1,2,4,7".to_owned());
    let kept = arguments.next().map(PathBuf::from);
    let folder = kept.clone().unwrap_or(std::env::temp_dir().join(format!("plica-records-{}", std::process::id())));
    std::fs::create_dir_all(&folder).expect("a folder");
    println!("records | segments | what | median us | 99 % us | found");
    for segments in segments.split(',').map(|segments| segments.parse().expect("SEGMENTS are numbers")) {
        let path = folder.join(format!("{count}-{segments}.plica"));
        let seconds = if path.exists() { 0.0 } else { build(&path, count, segments)? };
        let snapshot = Index::open(&path)?.snapshot();
        let stat = snapshot.stat()?;
        println!(
            "{} | {} | {seconds:.1} s to build, {} bytes a record, peak {}",
            stat.records,
            stat.segments,
            stat.bytes.live / stat.records.max(1),
            peak()
        );
        for (what, (median, late, found)) in measure(&snapshot, count, 20_000)? {
            println!("{} | {} | {what} | {median:.2} | {late:.2} | {found:.1}", stat.records, stat.segments);
        }
        if kept.is_none() {
            std::fs::remove_file(&path).expect("the index is removed");
        }
    }
    if kept.is_none() {
        std::fs::remove_dir_all(&folder).expect("the temporary folder is removed");
    }
    Ok(())
}
