//! A search that passes over what cannot be among the best finds what a search of everything finds, to the bit.

use plica::search::Several;
use plica::search::bm25::{Bm25, idf};
use plica::{Index, NewChunk, Options, Query, Snapshot, TextMode, TextQuery, Weights, Writer};
use proptest::prelude::*;
use std::collections::HashMap;

/// A small generator of its own, so that a seed gives the same texts everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A text of a few words, of which low numbers are common.
fn text(random: &mut Random, words: u64) -> String {
    let count = 1 + random.below(words);
    let word = |random: &mut Random| {
        let most = 1 + random.below(300);
        format!("w{}", random.below(most))
    };
    // Two words are nearly everywhere, so that some lists are long.
    let common = ["w0", "w1"].into_iter().filter(|_| random.below(8) > 0).map(str::to_owned).collect::<Vec<_>>();
    common.into_iter().chain((0..count).map(|_| word(random))).collect::<Vec<_>>().join(" ")
}

/// Documents with their chunks' texts.
type Corpus = Vec<(String, Vec<String>)>;

fn corpus(seed: u64, documents: u64, chunks: u64, words: u64) -> Corpus {
    let mut random = Random(seed);
    (0..documents)
        .map(|at| {
            let count = 1 + random.below(chunks);
            // Ids are in the order of their numbers, or not, or from some number on.
            let id = match (seed % 3, at) {
                (0, _) | (1, 0..2) => format!("d{at:03}"),
                (1, _) => format!("a{at}"),
                _ => format!("d{}", (at * 7 + 3) % 101),
            };
            (id, (0..count).map(|_| text(&mut random, words)).collect())
        })
        .collect()
}

fn write(path: &std::path::Path, corpus: &[(String, Vec<String>)], commit_every: usize) -> Snapshot {
    let mut writer = Writer::create(path, &Options::new()).unwrap();
    let mut waiting = 0;
    for (id, texts) in corpus {
        writer.add_document(id, "", "").unwrap();
        for text in texts {
            writer.append_chunk(id, &NewChunk::text(text)).unwrap();
            waiting += 1;
            if waiting >= commit_every {
                writer.commit().unwrap();
                waiting = 0;
            }
        }
        writer.publish(id).unwrap();
    }
    writer.commit().unwrap();
    Index::open(path).unwrap().snapshot()
}

/// All chunks that match, best first, computed from the texts.
fn everything(corpus: &Corpus, question: &str, mode: TextMode, bm25: Bm25) -> Vec<(String, u32, u64)> {
    let asked: Vec<&str> = question.split(' ').collect();
    let chunks: Vec<(&str, u32, Vec<&str>)> = corpus
        .iter()
        .flat_map(|(id, texts)| (0..).zip(texts).map(move |(at, text)| (id.as_str(), at, text.split(' ').collect())))
        .collect();
    let total: usize = chunks.iter().map(|chunk| chunk.2.len()).sum();
    let average = total as f64 / chunks.len() as f64;
    let with: HashMap<&str, u64> = asked
        .iter()
        .map(|&term| (term, chunks.iter().filter(|chunk| chunk.2.contains(&term)).count() as u64))
        .collect();
    let mut hits: Vec<(String, u32, f64)> = Vec::new();
    for (id, at, words) in &chunks {
        let frequency = |term: &str| words.iter().filter(|&&word| word == term).count() as u32;
        if mode == TextMode::All && asked.iter().any(|term| frequency(term) == 0) {
            continue;
        }
        let mut score = 0.0;
        for term in &asked {
            if frequency(term) > 0 {
                let idf = idf(chunks.len() as u64, with[term]);
                score += bm25.score(idf, frequency(term), words.len() as u32, average);
            }
        }
        if score > 0.0 {
            hits.push((id.to_string(), *at, score));
        }
    }
    hits.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)).then(a.1.cmp(&b.1)));
    hits.into_iter().map(|(id, at, score)| (id, at, score.to_bits())).collect()
}

fn ask(snapshot: &Snapshot, query: &TextQuery) -> Vec<(String, u32, u64)> {
    let hits = snapshot.text_search(query).unwrap();
    hits.into_iter().map(|hit| (hit.document, hit.ordinal, hit.score.to_bits())).collect()
}

fn questions(random: &mut Random) -> Vec<String> {
    let mut out: Vec<String> = (0..12).map(|_| text(random, 5)).collect();
    out.extend((0..4).map(|_| text(random, 12)));
    // Without the words that are everywhere, most of them rare.
    for count in 1..=5 {
        out.push((0..count).map(|_| format!("w{}", random.below(300))).collect::<Vec<_>>().join(" "));
    }
    out.extend(["w0", "w0 w1", "w0 w0 w1", "w299 w0", "w9 w1 w0 w5", "absent w1"].map(str::to_owned));
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_best_are_those_of_a_search_of_everything(
        seed: u64,
        chunks in prop_oneof![2 => 1u64..20, 1 => 200u64..900],
        words in 1u64..40,
        commit_every in prop_oneof![Just(1usize), 7usize..400, Just(usize::MAX)],
        k in prop_oneof![1usize..12, Just(1000)],
        k1 in 0.0f64..2.5,
        b in 0.0f64..1.0,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let corpus = corpus(seed, 4, chunks, words);
        let total: usize = corpus.iter().map(|document| document.1.len()).sum();
        // Thousands of commits take long and show no more than hundreds.
        let snapshot = write(&folder.path().join("a.plica"), &corpus, commit_every.max(total / 150));
        prop_assert!(snapshot.check(&plica::Limits::default()).unwrap().findings.is_empty());
        let bm25 = Bm25 { k1, b };
        for question in questions(&mut Random(seed ^ 1)) {
            for mode in [TextMode::Any, TextMode::All] {
                let query = TextQuery { mode, k, bm25, ..TextQuery::new(&question) };
                let mut expected = everything(&corpus, &question, mode, bm25);
                expected.truncate(k);
                prop_assert_eq!(ask(&snapshot, &query), expected, "{:?} {:?}", question, mode);
            }
        }
    }

    #[test]
    fn several_files_answer_as_one(seed: u64, files in 2usize..5, k in 1usize..30, pool in 1usize..60) {
        let folder = tempfile::tempdir().unwrap();
        let corpus = corpus(seed, 9, 12, 12);
        let whole = write(&folder.path().join("whole.plica"), &corpus, usize::MAX);
        let mut parts: Vec<Corpus> = vec![Vec::new(); files];
        for (at, document) in corpus.iter().enumerate() {
            parts[(at * 5 + seed as usize % 3) % files].push(document.clone());
        }
        let snapshots = parts
            .iter()
            .enumerate()
            .map(|(at, part)| write(&folder.path().join(format!("{at}.plica")), part, 5))
            .collect();
        let several = Several::new(snapshots).unwrap();
        for question in questions(&mut Random(seed ^ 1)) {
            let query = Query { pool, ..Query::new(&question).k(k) };
            for query in [
                query.clone(),
                Query { weights: Weights::TEXT, ..query.clone() },
                Query { statistics: plica::Statistics::Document, ..query.clone() },
                query.document(&corpus[3].0),
            ] {
                prop_assert_eq!(several.search(&query).unwrap(), whole.search(&query).unwrap(), "{:?}", query);
            }
            let query = TextQuery { k, ..TextQuery::new(&question) };
            prop_assert_eq!(several.text_search(&query).unwrap(), whole.text_search(&query).unwrap());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_scores_follow_ids_whatever_was_removed_or_is_not_published(
        seed: u64,
        documents in 1u64..40,
        shuffled in 0u64..3,
        vacuumed: bool,
        rounds in 1usize..40,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.plica");
        let mut random = Random(seed);
        let mut writer = Writer::create(&path, &Options::new()).unwrap();
        let mut left: Vec<(String, u64)> = Vec::new();
        for at in 0..documents {
            // In order, but for some, or in none.
            let is_stray = shuffled == 2 || shuffled == 1 && random.below(12) == 0;
            let id = if is_stray { format!("d{:03}x{at}", random.below(documents)) } else { format!("d{at:03}") };
            let chunks = random.below(5);
            writer.add_document(&id, "", "").unwrap();
            for _ in 0..chunks {
                writer.append_chunk(&id, &NewChunk::text("same words")).unwrap();
            }
            match random.below(6) {
                0 => writer.remove_document(&id).unwrap(),
                1 => {}
                _ => {
                    writer.publish(&id).unwrap();
                    left.push((id, chunks));
                }
            }
            // Some go on where others have begun.
            if let Some((id, chunks)) = left.last_mut() && random.below(8) == 0 {
                writer.append_chunk(id, &NewChunk::text("same words")).unwrap();
                *chunks += 1;
            }
            if random.below(5) == 0 {
                writer.commit().unwrap();
            }
            if !left.is_empty() && random.below(7) == 0 {
                let (id, _) = left.swap_remove(random.below(left.len() as u64) as usize);
                writer.remove_document(&id).unwrap();
            }
        }
        writer.commit().unwrap();
        if vacuumed {
            writer.vacuum(&plica::Limits::default()).unwrap();
        } else {
            drop(writer);
        }
        left.sort();
        let all: Vec<(String, u32)> =
            left.iter().flat_map(|(id, chunks)| (0..*chunks as u32).map(move |at| (id.clone(), at))).collect();
        let index = Index::open(&path).unwrap();
        for round in 0..rounds {
            let k = 1 + random.below(9) as usize * random.below(9) as usize;
            let mode = if round % 2 == 0 { TextMode::Any } else { TextMode::All };
            let query = TextQuery { mode, k, ..TextQuery::new(["same", "words same"][random.below(2) as usize]) };
            let hits = ask(&index.snapshot(), &query).into_iter().map(|(id, at, _)| (id, at)).collect::<Vec<_>>();
            prop_assert_eq!(&hits, &all[..k.min(all.len())], "round {}", round);
        }
    }
}

#[test]
fn files_with_a_document_in_common_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(1, 3, 3, 9);
    let a = write(&folder.path().join("a.plica"), &corpus, 2);
    let b = write(&folder.path().join("b.plica"), &corpus[1..2], 2);
    let error = Several::new(vec![a, b]).unwrap_err().to_string();
    assert!(error.contains(&format!("{:?}", corpus[1].0)), "{error}");
    assert!(Several::new(Vec::new()).is_err());
}
