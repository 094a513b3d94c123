//! What an outline costs as it grows: pages and bytes that a walk to a subject reads, bytes that one insertion writes.
//!
//! `outline [MOST]`: 10², 10³ … up to MOST subjects (1,000,000 unless given), in one category, names in random order.

use plica::outline::{EntryKind, Field, Subject, Value};
use plica::{Index, NewChunk, Options, Writer};
use plica_benches::{Random, text};
use std::time::Instant;

/// A subject whose name depends on its number only.
fn subject(number: u64) -> Subject {
    let mut random = Random::new(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let value = Value { text: text(&mut random, 14, 20_000), span: Some((number % 1_000, number % 1_000 + 40)) };
    let fields = vec![Field { name: "is".into(), values: vec![value] }];
    Subject { name: name(number), summary: text(&mut random, 10, 20_000), fields, links: Vec::new() }
}

fn name(number: u64) -> String {
    format!("subject {}", number.wrapping_mul(0x5851_f42d_4c95_7f2d) >> 20)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn main() -> plica::Result<()> {
    let most: u64 = std::env::args().nth(1).map_or(1_000_000, |most| most.parse().expect("MOST is a number"));
    let folder = std::env::temp_dir().join(format!("plica-outline-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    println!(
        "subjects | pages | levels | file bytes a subject | walk: pages | walk: KiB of pages | walk us | insertion: bytes written, median | worst | commit ms | import s"
    );
    let mut count = 100;
    while count <= most {
        let path = folder.join(format!("{count}.plica"));
        let mut writer = Writer::create(&path, &Options::new())?;
        writer.add_document("d", "", "")?;
        writer.append_chunk("d", &NewChunk::text(&"The source. ".repeat(100)))?;
        writer.publish("d")?;
        writer.commit()?;
        let category = ["Subjects".to_owned()];
        let start = Instant::now();
        for number in 0..count {
            writer.add_subject("d", &category, &subject(number))?;
        }
        writer.commit()?;
        let import = start.elapsed().as_secs_f64();
        let size = |path: &std::path::Path| std::fs::metadata(path).expect("the file is there").len();
        let bytes = size(&path) / count;
        // One subject a commit.
        let (mut written, mut times) = (Vec::new(), Vec::new());
        for number in count..count + 101 {
            let before = size(&path);
            let start = Instant::now();
            writer.add_subject("d", &category, &subject(number))?;
            writer.commit()?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
            written.push((size(&path) - before) as f64);
        }
        let worst = written.iter().fold(0.0, |a: f64, b| a.max(*b));
        let snapshot = Index::open(&path)?.snapshot();
        // From the root down by the entries of each page, as a reader goes.
        let (mut pages, mut kib, mut walks) = (Vec::new(), Vec::new(), Vec::new());
        let mut random = Random::new(3);
        for _ in 0..101 {
            let wanted = name(random.next() % count);
            let start = Instant::now();
            let mut at = snapshot.outline("d", &["Subjects".to_owned()])?;
            let (mut read, mut bytes) = (2.0, at.text().len());
            while let Some(entry) =
                at.entries.iter().rev().find(|entry| number_of(&entry.range.0) <= number_of(&wanted))
            {
                if entry.kind == EntryKind::Subject {
                    assert_eq!(entry.title, wanted);
                    break;
                }
                at = snapshot.outline("d", &entry.path)?;
                read += 1.0;
                bytes += at.text().len();
            }
            pages.push(read);
            kib.push(bytes as f64 / 1024.0);
            let _ = start;
            let start = Instant::now();
            snapshot.outline("d", &["Subjects".to_owned(), wanted])?;
            walks.push(start.elapsed().as_secs_f64() * 1e6);
        }
        let report = snapshot.check(&plica::Limits::default())?;
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        println!(
            "{count} | {} | {} | {bytes} | {:.0} | {:.1} | {:.0} | {:.0} | {worst:.0} | {:.1} | {import:.1}",
            report.outline_pages,
            median(&mut pages) - 1.0,
            median(&mut pages),
            median(&mut kib),
            median(&mut walks),
            median(&mut written),
            median(&mut times),
        );
        count *= 10;
    }
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    Ok(())
}

/// Names sort by their number.
fn number_of(name: &str) -> u64 {
    name.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}
