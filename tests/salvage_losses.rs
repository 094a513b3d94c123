//! Losses of several kinds at once, in indexes of many leaves: all that is sound comes, and all that is lost is told.

#[path = "common/blocks.rs"]
mod blocks;
mod common;

use blocks::blocks;
use common::{Folder, sentences};
use plica::format::block::BlockKind;
use plica::format::limits::FIRST_BLOCK_OFFSET;
use plica::ingest::RecordUpdate;
use plica::outline::{Field, Subject, Value};
use plica::{Index, Limits, NewChunk, Options, Salvaged, Writer, salvage};
use std::collections::BTreeMap;

fn salvaged(bytes: &[u8]) -> (Salvaged, String) {
    let folder = Folder::new();
    let (damaged, new) = (folder.path("damaged.plica"), folder.path("new.plica"));
    std::fs::write(&damaged, bytes).unwrap();
    let report = salvage(&damaged, &new, &Limits::default()).unwrap();
    let index = Index::open(&new).unwrap();
    let checked = index.snapshot().check(&Limits::default()).unwrap();
    assert_eq!(checked.findings, [], "{report:?}");
    let mut lines = Vec::new();
    plica::interchange::export(&index.snapshot(), &mut lines).unwrap();
    (report, String::from_utf8(lines).unwrap())
}

fn subject(name: &str) -> Subject {
    let value = Value { text: format!("says {name} of the mill"), span: None };
    let fields = vec![Field { name: "says".into(), values: vec![value] }];
    Subject { name: name.to_owned(), fields, ..Subject::default() }
}

fn written(options: &Options, documents: usize, chunks: u32, subjects: usize, step: u32) -> Vec<u8> {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, options).unwrap();
    for at in 0..documents {
        let id = format!("doc-{at}");
        writer.add_document(&id, "A title", "").unwrap();
        writer.publish(&id).unwrap();
    }
    for at in 0..chunks {
        let id = format!("doc-{}", at as usize % documents);
        let text = format!("{} unique{at}x", sentences(at, 3));
        let external = format!("external-{at}");
        let chunk = NewChunk { external_id: Some(&external), ..NewChunk::text(&text) };
        let ordinal = writer.append_chunk(&id, &chunk).unwrap();
        let _ = ordinal;
        let record = RecordUpdate {
            entity: format!("Person {at}"),
            label: format!("label {at}"),
            value: format!("value {at}"),
            ..RecordUpdate::default()
        };
        writer.add_record(&id, &record, &[0]).unwrap();
        if at % step == step - 1 {
            writer.commit().unwrap();
        }
    }
    for at in 0..subjects {
        writer.add_subject("doc-0", &["People".to_owned()], &subject(&format!("Subject {at}"))).unwrap();
    }
    writer.commit().unwrap();
    drop(writer);
    std::fs::read(&path).unwrap()
}

fn options() -> Options {
    Options::new().fanout(2).memory_budget_bytes(100_000)
}

#[test]
fn a_lost_outline_page_is_told_without_slots() {
    let mut bytes = written(&options(), 1, 3, 400, 100);
    let places = blocks(&bytes);
    let (_, place) = places.iter().find(|(kind, _)| *kind == BlockKind::Outline).unwrap().clone();
    bytes[..FIRST_BLOCK_OFFSET as usize].fill(0);
    bytes[place.start + 50] ^= 1;
    let (report, _) = salvaged(&bytes);
    assert!(report.subjects == 400 || report.lost.iter().any(|loss| loss.what == "subject"), "{report:?}");
    assert!(!report.is_whole(), "{report:?}");
}

#[test]
fn commits_that_are_cut_off_are_told() {
    let bytes = written(&options(), 1, 6, 0, 2);
    let places = blocks(&bytes);
    let commits: Vec<_> = places.iter().filter(|(kind, _)| *kind == BlockKind::Commit).collect();
    let cut = commits[commits.len() - 3].1.end;
    let (report, _) = salvaged(&bytes[..cut]);
    assert!(!report.is_whole(), "{report:?}");
}

#[test]
fn texts_come_whatever_leaves_are_lost() {
    for (documents, chunks, step) in [(1, 600, 5_000), (100, 500, 5_000), (20, 400, 100)] {
        let bytes = written(&options(), documents, chunks, 10, step);
        let places = blocks(&bytes);
        let leaves: Vec<_> =
            places.iter().filter(|(kind, _)| matches!(kind, BlockKind::Leaf | BlockKind::Separator)).collect();
        let mut sets: Vec<Vec<usize>> = (0..leaves.len()).step_by(1 + leaves.len() / 8).map(|at| vec![at]).collect();
        sets.extend((0..leaves.len().saturating_sub(1)).step_by(1 + leaves.len() / 5).map(|at| vec![at, at + 1]));
        sets.push((0..leaves.len()).step_by(2).collect());
        sets.push((0..leaves.len()).collect());
        let mut bad_sets = Vec::new();
        for set in sets {
            let mut bad = bytes.clone();
            for &at in &set {
                bad[leaves[at].1.start + 50] ^= 1;
            }
            let (report, lines) = salvaged(&bad);
            let all = lines.clone();
            let missing: Vec<u32> = (0..chunks).filter(|at| !all.contains(&format!("unique{at}x"))).collect();
            // Texts may be cut anew.
            let joined: String = lines
                .lines()
                .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
                .filter(|line| line["type"] == "chunk")
                .map(|line| line["text"].as_str().unwrap().to_owned())
                .collect();
            let missing: Vec<u32> =
                missing.into_iter().filter(|at| !joined.contains(&format!("unique{at}x"))).collect();
            if !missing.is_empty() {
                bad_sets.push(format!(
                    "{set:?}: {} missing, first {:?}, chunks {}, documents {}, lost {:?}",
                    missing.len(),
                    missing[0],
                    report.chunks,
                    report.documents,
                    report.lost.iter().take(4).collect::<Vec<_>>()
                ));
            }
            let short =
                report.records < u64::from(chunks) || report.documents < documents as u64 || report.subjects < 10;
            if short && report.lost.is_empty() {
                bad_sets.push(format!("{set:?}: silent {report:?}"));
            }
        }
        assert!(bad_sets.is_empty(), "{}", bad_sets.join("\n"));
    }
}

#[test]
fn a_lost_text_of_a_staged_replacement_is_told() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, &options()).unwrap();
    writer.add_document("notes", "", "").unwrap();
    writer.append_chunk("notes", &NewChunk::text("The old text stands here.")).unwrap();
    writer.publish("notes").unwrap();
    writer.commit().unwrap();
    writer.replace_document("notes", "", "").unwrap();
    writer.append_chunk("notes", &NewChunk::text("The new text comes in its place.")).unwrap();
    writer.commit().unwrap();
    drop(writer);
    let bytes = std::fs::read(&path).unwrap();
    for (_, place) in blocks(&bytes).into_iter().filter(|(kind, _)| *kind == BlockKind::Text) {
        let mut bad = bytes.clone();
        bad[place.start + 40] ^= 1;
        let (report, _) = salvaged(&bad);
        assert!(report.lost.iter().any(|loss| loss.what == "chunk"), "{report:?}");
    }
}

/// Marks of the texts of the live version of a document, and of the staged one.
type Versions = (Option<Vec<String>>, Option<Vec<String>>);

struct Random(u64);
impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

#[test]
fn chunks_of_live_and_staged_documents_are_there_or_lost() {
    let mut bad_cases = Vec::new();
    for seed in 0..16u64 {
        let mut random = Random(seed * 7919 + 13);
        let folder = Folder::new();
        let path = folder.path("a.plica");
        let budget = if seed % 2 == 0 { 3_000 } else { 1 << 20 };
        let options = Options::new().fanout(2).memory_budget_bytes(budget);
        let mut writer = Writer::create(&path, &options).unwrap();
        // live, staged
        let mut model: BTreeMap<String, Versions> = Default::default();
        let mut log = Vec::new();
        for at in 0..random.below(40) + 5 {
            let id = format!("d{}", random.below(3));
            let op = random.below(12);
            let entry = model.entry(id.clone()).or_default();
            match op {
                0..=4 => {
                    if entry.0.is_none() && entry.1.is_none() {
                        writer.add_document(&id, "", "").unwrap();
                        entry.1 = Some(Vec::new());
                    }
                    let text = format!("{} unique{at}x", sentences(at as u32, 3));
                    writer.append_chunk(&id, &NewChunk::text(&text)).unwrap();
                    let list = if entry.1.is_some() { entry.1.as_mut() } else { entry.0.as_mut() };
                    list.unwrap().push(format!("unique{at}x"));
                    log.push(format!("append {id}"));
                }
                5 | 6 => {
                    if entry.0.is_some() && entry.1.is_none() {
                        writer.replace_document(&id, "", "").unwrap();
                        entry.1 = Some(Vec::new());
                        log.push(format!("replace {id}"));
                    }
                }
                7 => {
                    if entry.1.is_some() {
                        writer.publish(&id).unwrap();
                        entry.0 = entry.1.take();
                        log.push(format!("publish {id}"));
                    }
                }
                8 => {
                    if entry.0.is_some() || entry.1.is_some() {
                        writer.remove_document(&id).unwrap();
                        *entry = (None, None);
                        log.push(format!("remove {id}"));
                    }
                }
                9 | 10 => {
                    writer.commit().unwrap();
                    log.push("commit".into());
                }
                _ => {
                    writer.commit().unwrap();
                    drop(writer);
                    writer = Writer::open_with(&path, &options).unwrap();
                    // Until it is asked for again, a staged replacement is left alone.
                    for (id, entry) in &model {
                        if entry.0.is_some() && entry.1.is_some() {
                            writer.replace_document(id, "", "").unwrap();
                        }
                    }
                    log.push("reopen".into());
                }
            }
        }
        writer.commit().unwrap();
        drop(writer);
        let bytes = std::fs::read(&path).unwrap();
        let total: usize =
            model.values().map(|(a, b)| a.as_ref().map_or(0, Vec::len) + b.as_ref().map_or(0, Vec::len)).sum();
        let (report, _) = salvaged(&bytes);
        if report.chunks as usize != total || !report.is_whole() {
            bad_cases.push(format!("{seed} sound: total {total} {report:?} {log:?}"));
        }
        for (kind, place) in blocks(&bytes) {
            let mut bad = bytes.clone();
            bad[place.start + 40] ^= 1;
            let (report, _) = salvaged(&bad);
            let lost: u32 =
                report.lost.iter().filter(|l| l.what == "chunk").flat_map(|l| &l.chunks).map(|(a, b)| b - a + 1).sum();
            let have = report.chunks as usize + lost as usize;
            if kind == BlockKind::Text && have != total || have < total && report.is_whole() {
                bad_cases.push(format!("{seed} {kind:?}: total {total} have {have} {report:?} {log:?}"));
            }
            if kind == BlockKind::Text {
                let checked = Index::from_bytes(bad).unwrap().snapshot().check_quick(&Limits::default()).unwrap();
                let depends: usize = checked.findings.iter().map(|f| f.depends.len()).sum();
                if (lost > 0) != (depends > 0) {
                    bad_cases.push(format!("{seed} check: lost {lost}, {checked:?} {log:?}"));
                }
            }
        }
    }
    assert!(
        bad_cases.is_empty(),
        "{} bad\n{}",
        bad_cases.len(),
        bad_cases.iter().take(6).cloned().collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn texts_without_heads_and_places_come_whole() {
    let bytes = written(&Options::new().fanout(2).memory_budget_bytes(1 << 28), 250, 700, 400, 5_000);
    let places = blocks(&bytes);
    let leaves: Vec<_> = places.iter().filter(|(kind, _)| matches!(kind, BlockKind::Leaf)).collect();
    let mut bad_sets = Vec::new();
    for k in (0..leaves.len()).step_by(1 + leaves.len() / 30) {
        let mut bad = bytes.clone();
        for leaf in &leaves[..=k] {
            bad[leaf.1.start + 50] ^= 1;
        }
        let (report, lines) = salvaged(&bad);
        let joined: String = lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .filter(|line| line["type"] == "chunk")
            .map(|line| line["text"].as_str().unwrap().to_owned())
            .collect();
        let missing: Vec<u32> = (0..700).filter(|at| !joined.contains(&format!("unique{at}x"))).collect();
        if !missing.is_empty() {
            bad_sets.push(format!(
                "..={k}: {} missing, chunks {}, documents {}, lost {:?}",
                missing.len(),
                report.chunks,
                report.documents,
                report.lost.iter().filter(|l| l.what == "keys").take(4).collect::<Vec<_>>()
            ));
        }
    }
    assert!(bad_sets.is_empty(), "{}", bad_sets.join("\n"));
}
