//! What one-chunk commits cost as the index grows: bytes a commit, time to open, segments.

use plica::ingest::EntityUpdate;
use plica::{Index, NewChunk, Options, Origin, Query, Writer};
use plica_benches::{Random, text, word};
use std::time::Instant;

fn main() -> plica::Result<()> {
    let most: u32 = std::env::args().nth(1).map_or(100_000, |most| most.parse().expect("MOST is a number"));
    let folder = std::env::temp_dir().join(format!("plica-growth-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let path = folder.join("growth.plica");
    let mut writer = Writer::create(&path, &Options::new().chunk_words(150))?;
    writer.add_document("book", "A long book", "")?;
    writer.publish("book")?;
    let mut random = Random::new(7);
    let mut sizes: Vec<u64> = Vec::new();
    let mut before = 0;
    let mut raw = 0u64;
    println!(
        "chunks | bytes/commit median | cumulative bytes/commit | text bytes/chunk | commit ms median | open us | open+search us | segments"
    );
    let mut next = 100;
    let mut times: Vec<f64> = Vec::new();
    for at in 0..most {
        let body = text(&mut random, 150, 5_000 + at / 2);
        raw += body.len() as u64;
        let start = Instant::now();
        let appended = writer.append_chunk("book", &NewChunk::text(&body))?;
        let updates: Vec<EntityUpdate> = (0..4)
            .map(|_| {
                let rank = random.zipf(2_000 + at / 4);
                EntityUpdate {
                    name: format!("Person {}", word(rank)),
                    kind: "person".into(),
                    aliases: vec![format!("the {}", word(rank))],
                    descriptions: if random.next() % 3 == 0 { vec![text(&mut random, 12, 5_000)] } else { vec![] },
                }
            })
            .collect();
        writer.apply_update("book", appended.ordinal, &updates)?;
        for (level, index) in appended.complete {
            writer.set_summary("book", level, index, &text(&mut random, 60, 5_000), Origin::Model)?;
        }
        writer.commit()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        let size = std::fs::metadata(&path).expect("the file is there").len();
        if before > 0 {
            sizes.push(size - before);
        }
        before = size;
        if at + 1 == next {
            next *= 10;
            let mut sorted = sizes.clone();
            sorted.sort_unstable();
            let mut opens = Vec::new();
            let mut searches = Vec::new();
            let mut segments = 0;
            for _ in 0..21 {
                let start = Instant::now();
                let index = Index::open(&path)?;
                let snapshot = index.snapshot();
                opens.push(start.elapsed().as_secs_f64() * 1e6);
                snapshot.chunk_at("book", at / 2)?;
                searches.push(start.elapsed().as_secs_f64() * 1e6);
                segments = snapshot.log().next().expect("a commit")?.segments;
            }
            let median = |list: &mut Vec<f64>| {
                list.sort_by(f64::total_cmp);
                list[list.len() / 2]
            };
            println!(
                "{} | {} | {} | {} | {:.2} | {:.0} | {:.0} | {}",
                at + 1,
                sorted[sorted.len() / 2],
                size / u64::from(at + 1),
                raw / u64::from(at + 1),
                median(&mut times.clone()),
                median(&mut opens),
                median(&mut searches),
                segments
            );
            let start = Instant::now();
            let answer = Index::open(&path)?.snapshot().search(&Query::new("bace dihafo the gumi"))?;
            println!("  a search: {} hits in {:.1} ms", answer.hits.len(), start.elapsed().as_secs_f64() * 1e3);
        }
    }
    std::fs::remove_dir_all(&folder).expect("the temporary folder is removed");
    Ok(())
}
