//! Measures leaves and posting lists on the words of a text: `cargo run --release -p plica-format --example leaf_sizes
//! FILE [CHUNK_WORDS]`.
//!
//! The text is cut into chunks; the terms are its words in lower case, the values their real posting lists. For the
//! first chunks that have 500, 4,000 and 10,000 words between them (and as many as there are), it prints bytes a term
//! and nanoseconds a look-up of either form of leaf.

use plica_format::FormatError;
use plica_format::leaf::{Leaf, LeafBuilder, LeafForm};
use plica_format::limits::LEAF_RAW_BYTES;
use plica_format::postings::{self, Posting, PostingList};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

type Terms = BTreeMap<String, Vec<Posting>>;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: leaf_sizes FILE [CHUNK_WORDS]");
        std::process::exit(2);
    };
    let chunk_words = arguments.next().and_then(|words| words.parse().ok()).unwrap_or(150);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text.to_lowercase(),
        Err(error) => {
            eprintln!("{path}: {error}");
            std::process::exit(1);
        }
    };
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    println!("{} words, chunks of {chunk_words}", words.len());
    println!(
        "form   terms  leaf bytes  bytes/term  values/term  look-up ns  miss ns  scan ns/term  check us  build us"
    );
    for least_terms in [100, 250, 500, 1000, 2000, 4000, 10_000] {
        let terms = first_terms(&words, chunk_words, least_terms);
        if terms.len() < least_terms {
            break;
        }
        if let Err(error) = leaves(&terms, least_terms) {
            println!("{error}");
        }
    }
    let numbered = (0..10_000).map(|id| (format!("book:{id:06}"), vec![Posting { id, frequency: 1 }])).collect();
    println!("the same for numbered ids");
    if let Err(error) = leaves(&numbered, 10_000) {
        println!("{error}");
    }
    let terms = first_terms(&words, chunk_words, usize::MAX);
    if let Err(error) = lists(&terms) {
        println!("{error}");
    }
}

/// Terms of the first chunks, until there are enough.
fn first_terms(words: &[&str], chunk_words: usize, least_terms: usize) -> Terms {
    let mut terms = Terms::new();
    for (id, chunk) in (0u32..).zip(words.chunks(chunk_words)) {
        for word in chunk {
            let list = terms.entry((*word).to_owned()).or_default();
            match list.last_mut() {
                Some(posting) if posting.id == id => posting.frequency += 1,
                _ => list.push(Posting { id, frequency: 1 }),
            }
        }
        if terms.len() >= least_terms {
            break;
        }
    }
    terms
}

/// A leaf of the first `count` terms, in each form. So that 10,000 fit one leaf, posting lists over 4 bytes are cut
/// there: keys are what is compared, and values cost the same in both forms.
fn leaves(terms: &Terms, count: usize) -> Result<(), FormatError> {
    let mut entries = Vec::new();
    for (term, list) in terms.iter().take(count) {
        let mut value = Vec::new();
        postings::encode(&list[..list.len().min(4)], None, &mut value)?;
        value.truncate(if count > 4000 { 0 } else { 4 });
        entries.push((term.as_bytes(), value));
    }
    let value_bytes: usize = entries.iter().map(|(_, value)| value.len() + 1).sum();
    for form in [LeafForm::Front, LeafForm::Fst] {
        let mut best_build = f64::MAX;
        let mut bytes = None;
        for _ in 0..5 {
            let started = Instant::now();
            let mut builder = LeafBuilder::new();
            for (key, value) in &entries {
                if builder.push(key, value).is_err() {
                    println!("{:5}  {count:5}  over {LEAF_RAW_BYTES} bytes after {}", name(form), builder.len());
                    return Ok(());
                }
            }
            bytes = builder.finish_as(form);
            best_build = best_build.min(started.elapsed().as_secs_f64() * 1e6);
        }
        let Some(bytes) = bytes else {
            println!("{:5}  {count:5}  does not fit {LEAF_RAW_BYTES} bytes", name(form));
            continue;
        };
        let check = best(20, || Leaf::decode(black_box(&bytes)).map(|leaf| leaf.len()));
        let leaf = Leaf::decode(&bytes)?;
        // Neither in order nor at random: a stride that meets every key.
        let stride =
            (1..).map(|i| entries.len() * 5 / 8 + i).find(|stride| gcd(*stride, entries.len()) == 1).unwrap_or(1);
        let order: Vec<&[u8]> = (0..entries.len()).map(|i| entries[i * stride % entries.len()].0).collect();
        let misses: Vec<Vec<u8>> = order.iter().map(|key| [key, &b"~"[..]].concat()).collect();
        let hit =
            best(10, || order.iter().map(|key| leaf.get(key).ok().flatten().map_or(0, <[u8]>::len)).sum::<usize>());
        let miss = best(10, || misses.iter().filter(|key| matches!(leaf.get(key), Ok(Some(_)))).count());
        let scan = best(10, || {
            let (mut cursor, mut sum) = (leaf.seek(b""), 0);
            while let Ok(Some((key, value))) = cursor.next() {
                sum += key.len() + value.len();
            }
            sum
        });
        let each = entries.len() as f64;
        println!(
            "{:5}  {count:5}  {:10}  {:10.2}  {:11.2}  {:10.1}  {:7.1}  {:12.1}  {:8.1}  {:8.1}",
            name(form),
            bytes.len(),
            bytes.len() as f64 / each,
            value_bytes as f64 / each,
            hit * 1e9 / each,
            miss * 1e9 / each,
            scan * 1e9 / each,
            check * 1e6,
            best_build
        );
    }
    Ok(())
}

fn name(form: LeafForm) -> &'static str {
    match form {
        LeafForm::Front => "front",
        LeafForm::Fst => "fst",
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Sizes and reading times of the posting lists of all terms, by length.
fn lists(terms: &Terms) -> Result<(), FormatError> {
    println!("postings a list   lists  postings  bytes/posting  read ns/posting");
    for (least, most) in [(1, 1), (2, 4), (5, 8), (9, 16), (17, 32), (33, 127), (128, 1000), (1001, usize::MAX)] {
        let lists: Vec<&Vec<Posting>> = terms.values().filter(|list| (least..=most).contains(&list.len())).collect();
        let count: usize = lists.iter().map(|list| list.len()).sum();
        let mut encoded = Vec::new();
        for list in &lists {
            let mut bytes = Vec::new();
            postings::encode(list, None, &mut bytes)?;
            encoded.push(bytes);
        }
        let bytes: usize = encoded.iter().map(Vec::len).sum();
        let mut out = Vec::new();
        let read = best(5, || {
            let mut sum = 0;
            for bytes in &encoded {
                out.clear();
                if let Ok(list) = PostingList::decode(bytes) {
                    let _ = list.read_into(0, u32::MAX, &mut out);
                }
                sum += out.len();
            }
            sum
        });
        let each = count as f64;
        let range = format!("{least} to {}", if most == usize::MAX { "more".into() } else { most.to_string() });
        println!("{range:15}  {:6}  {count:8}  {:13.2}  {:15.2}", lists.len(), bytes as f64 / each, read * 1e9 / each);
    }
    Ok(())
}

/// Seconds of the fastest of some runs.
fn best<T>(runs: usize, mut run: impl FnMut() -> T) -> f64 {
    (0..runs)
        .map(|_| {
            let started = Instant::now();
            black_box(run());
            started.elapsed().as_secs_f64()
        })
        .fold(f64::MAX, f64::min)
}
