//! Ranking the chunks of many documents, in one file or in several.
//!
//! The text channel gives its best chunks without a look at the rest ([`super::text`]); the memory and the summaries are
//! scored over all that match. The pool is the union of the best of each, all three channels are exact on it, and raw
//! scores of the pool are turned into z-scores over the pool. With a pool of all chunks this is the ranking of one
//! document, over the collection. Several files are ranked as one: their numbers are added up before anything is scored.

use super::bm25::{average, idf};
use super::document;
use super::fuse::{Candidate, fuse};
use super::memory::{Memory, MemoryStatistics};
use super::query::Statistics;
use super::scope::Reading;
use super::text::{self, TextMode};
use crate::Result;
use crate::index::view::inconsistent;
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::key::{self, Field};
use plica_format::postings::Posting;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Raw scores of one channel: by chunk, ascending.
type Channel = Vec<(u32, f64)>;

/// The pool, in the order of document id and ordinal, with scores.
pub(super) fn rank(readings: &[Reading<'_>]) -> Result<Vec<Candidate>> {
    let Some(reading) = readings.first() else { return Ok(Vec::new()) };
    let mut pool = match reading.query.statistics {
        Statistics::Collection => pooled(readings)?,
        Statistics::Document => by_document(readings)?,
    };
    for candidate in &mut pool {
        let reading = &readings[candidate.file];
        let head = reading.head(candidate.document)?;
        candidate.covered = reading.is_covered(&head, candidate.ordinal)?;
    }
    fuse(&mut pool, reading.query.weights.array());
    Ok(pool)
}

/// Chunks that each channel adds to the pool.
fn pool_size(reading: &Reading<'_>) -> usize {
    reading.query.pool.max(reading.query.offset.saturating_add(reading.query.k)).max(1)
}

/// The pool, scored with the statistics of the collection.
fn pooled(readings: &[Reading<'_>]) -> Result<Vec<Candidate>> {
    let size = pool_size(&readings[0]);
    let wants = |channel: usize| readings[0].wants(channel);
    // All matching chunks of the memory and the summaries; of the text, the best.
    let mut channels: Vec<[Channel; 3]> = readings.iter().map(|_| Default::default()).collect();
    if wants(0) {
        for (file, best) in text::best_of_all(readings, TextMode::Any, size)?.into_iter().enumerate() {
            let mut best: Channel = best.into_iter().map(|(score, chunk)| (chunk, score)).collect();
            best.sort_unstable_by_key(|entry| entry.0);
            channels[file][0] = best;
        }
    }
    if wants(1) {
        for (file, scores) in memory_channel(readings)?.into_iter().enumerate() {
            channels[file][1] = passing(&readings[file], scores)?;
        }
    }
    if wants(2) {
        for (file, scores) in summary_channel(readings)?.into_iter().enumerate() {
            channels[file][2] = passing(&readings[file], scores)?;
        }
    }
    let chosen = choose(readings, &channels)?;
    let mut pool = candidates(readings, &chosen, &channels)?;
    sort_by_document(readings, &mut pool)?;
    Ok(pool)
}

/// File and chunk of the pool: the best of each channel, filled up.
fn choose(readings: &[Reading<'_>], channels: &[[Channel; 3]]) -> Result<BTreeSet<(usize, u32)>> {
    let size = pool_size(&readings[0]);
    let mut chosen = BTreeSet::new();
    let mut missing = [0; 3];
    for channel in (0..3).filter(|&channel| readings[0].wants(channel)) {
        let matching: Vec<(f64, usize, u32)> = channels
            .iter()
            .enumerate()
            .flat_map(|(file, scores)| scores[channel].iter().map(move |&(chunk, score)| (score, file, chunk)))
            .collect();
        missing[channel] = size.saturating_sub(matching.len());
        chosen.extend(best(readings, matching, size)?.into_iter().map(|(_, file, chunk)| (file, chunk)));
    }
    fill(readings, channels, missing, &mut chosen)?;
    Ok(chosen)
}

/// The first `size` by score; where scores tie at the edge, by document.
fn best(readings: &[Reading<'_>], mut matching: Vec<(f64, usize, u32)>, size: usize) -> Result<Vec<(f64, usize, u32)>> {
    if matching.len() <= size {
        return Ok(matching);
    }
    matching.sort_by(|a, b| b.0.total_cmp(&a.0));
    let least = matching[size - 1].0;
    let better = matching.partition_point(|entry| entry.0 > least);
    let equal = matching.partition_point(|entry| entry.0 >= least);
    // Only where scores tie at the edge of the pool does the order of the documents matter.
    let mut tied = Vec::new();
    for &(score, file, chunk) in &matching[better..equal] {
        let place = readings[file].place(chunk)?;
        let id = readings[file].head(place.document)?;
        tied.push((id, place.ordinal, (score, file, chunk)));
    }
    tied.sort_by(|a, b| a.0.id.as_bytes().cmp(b.0.id.as_bytes()).then(a.1.cmp(&b.1)));
    matching.truncate(better);
    matching.extend(tied.into_iter().take(size - better).map(|(_, _, entry)| entry));
    Ok(matching)
}

/// The score of a chunk in a channel; 0 where it does not match.
fn score_in(channel: &Channel, chunk: u32) -> f64 {
    channel.binary_search_by_key(&chunk, |entry| entry.0).map_or(0.0, |at| channel[at].1)
}

/// Fills the pool up: a channel that matches m < P chunks takes the first P − m others in reading order.
fn fill(
    readings: &[Reading<'_>],
    channels: &[[Channel; 3]],
    missing: [usize; 3],
    chosen: &mut BTreeSet<(usize, u32)>,
) -> Result<()> {
    let mut left: Vec<(usize, usize)> = missing.into_iter().enumerate().filter(|&(_, left)| left > 0).collect();
    if left.is_empty() {
        return Ok(());
    }
    each_chunk(readings, |file, chunk| {
        let mut taken = false;
        for (channel, left) in &mut left {
            // All chunks that match in this channel are known, since there are fewer than the pool takes.
            if *left > 0 && score_in(&channels[file][*channel], chunk) == 0.0 {
                *left -= 1;
                taken = true;
            }
        }
        if taken {
            chosen.insert((file, chunk));
        }
        left.iter().any(|&(_, left)| left > 0)
    })
}

/// The chosen chunks with their exact scores.
fn candidates(
    readings: &[Reading<'_>],
    chosen: &BTreeSet<(usize, u32)>,
    channels: &[[Channel; 3]],
) -> Result<Vec<Candidate>> {
    // Text scores of those that are not among the best by text.
    let mut wanted: Vec<Vec<u32>> = readings.iter().map(|_| Vec::new()).collect();
    if readings[0].wants(0) {
        for &(file, chunk) in chosen {
            if score_in(&channels[file][0], chunk) == 0.0 {
                wanted[file].push(chunk);
            }
        }
    }
    let more: Vec<Channel> = text::scores_of_all(readings, &wanted)?
        .into_iter()
        .zip(&wanted)
        .map(|(scores, chunks)| chunks.iter().copied().zip(scores).collect())
        .collect();
    let mut out = Vec::with_capacity(chosen.len());
    for &(file, chunk) in chosen {
        let place = readings[file].place(chunk)?;
        let text = match score_in(&channels[file][0], chunk) {
            0.0 => more.get(file).map_or(0.0, |channel| score_in(channel, chunk)),
            score => score,
        };
        let raw = [text, score_in(&channels[file][1], chunk), score_in(&channels[file][2], chunk)];
        out.push(Candidate { file, ..Candidate::new(place.document, place.ordinal, chunk, raw, false) });
    }
    Ok(out)
}

/// Those scores whose chunks belong to documents that readers see and the filter lets through.
fn passing(reading: &Reading<'_>, scores: Channel) -> Result<Channel> {
    if reading.view.state.staged == 0 && reading.query.filter.is_empty() {
        return Ok(scores);
    }
    let mut kept = Channel::new();
    for (chunk, score) in scores {
        if reading.takes(reading.place(chunk)?.document)? {
            kept.push((chunk, score));
        }
    }
    Ok(kept)
}

/// The memory channel of each file.
fn memory_channel(readings: &[Reading<'_>]) -> Result<Vec<Channel>> {
    let memories: Vec<Memory> = readings.iter().map(Memory::of_all).collect::<Result<_>>()?;
    let statistics = MemoryStatistics::of(&memories);
    let mut out = Vec::with_capacity(readings.len());
    for (reading, memory) in readings.iter().zip(&memories) {
        reading.query.limits.check()?;
        let mut fields: HashMap<u32, [f64; 3]> = HashMap::new();
        for (entity, scores) in memory.scores(reading, &statistics)? {
            for chunk in reading.view.set(&key::numbered(key::ENTITY_CHUNKS, entity))? {
                let best = fields.entry(chunk).or_default();
                for (best, score) in best.iter_mut().zip(scores) {
                    *best = best.max(score);
                }
            }
        }
        let mut channel: Channel =
            fields.into_iter().map(|(chunk, [name, aliases, more])| (chunk, name + aliases + more)).collect();
        channel.retain(|&(_, score)| score != 0.0);
        channel.sort_unstable_by_key(|entry| entry.0);
        out.push(channel);
    }
    Ok(out)
}

/// The summary channel of each file.
fn summary_channel(readings: &[Reading<'_>]) -> Result<Vec<Channel>> {
    let summaries: u64 =
        readings.iter().map(|reading| reading.view.state.totals.summaries).fold(0, u64::saturating_add);
    let tokens: u64 =
        readings.iter().map(|reading| reading.view.state.totals.summary_tokens).fold(0, u64::saturating_add);
    let average = average(tokens, summaries);
    // Postings of each distinct term in each file, and in how many summaries each stands in all.
    let mut found: HashMap<&str, (Vec<Vec<Posting>>, u64)> = HashMap::new();
    if summaries > 0 {
        for term in readings[0].terms {
            if found.contains_key(term.as_str()) {
                continue;
            }
            readings[0].query.limits.check()?;
            let mut lists = Vec::with_capacity(readings.len());
            for reading in readings {
                let mut list = reading.view.postings(Field::Summary, term, 0, u32::MAX)?;
                if reading.view.state.staged > 0 {
                    let mut kept = Vec::with_capacity(list.len());
                    for posting in list {
                        if reading.is_live(posting.id)? {
                            kept.push(posting);
                        }
                    }
                    list = kept;
                }
                lists.push(list);
            }
            let with = lists.iter().map(|list| list.len() as u64).sum();
            found.insert(term, (lists, with));
        }
    }
    let mut out = Vec::with_capacity(readings.len());
    for (file, reading) in readings.iter().enumerate() {
        // By the first chunk that a summary covers.
        let mut units: HashMap<u32, f64> = HashMap::new();
        for term in reading.terms {
            let Some((lists, with)) = found.get(term.as_str()) else { continue };
            let idf = idf(summaries, *with);
            for posting in lists.get(file).into_iter().flatten() {
                let tokens = reading.summary_tokens(posting.id)?;
                *units.entry(posting.id).or_default() +=
                    reading.query.bm25.score(idf, posting.frequency, tokens, average);
            }
        }
        let mut channel = Channel::with_capacity(units.len() * reading.fanout as usize);
        for (unit, score) in units {
            let place = reading.place(unit)?;
            let head = reading.head(place.document)?;
            for ordinal in place.ordinal..place.ordinal.saturating_add(reading.fanout).min(head.chunks) {
                channel.push((reading.snapshot.chunk_id(&head, ordinal)?, score));
            }
        }
        channel.sort_unstable_by_key(|entry| entry.0);
        out.push(channel);
    }
    Ok(out)
}

/// The pool, where each chunk is scored with its own document's statistics. A chunk matches with these exactly where it
/// matches with the collection's, so only the documents in which something matches are scored.
fn by_document(readings: &[Reading<'_>]) -> Result<Vec<Candidate>> {
    let mut all: Vec<Candidate> = Vec::new();
    for (file, reading) in readings.iter().enumerate() {
        let mut documents = BTreeSet::new();
        let mut chunks = BTreeSet::new();
        for term in reading.terms {
            reading.query.limits.check()?;
            for (channel, field) in [(0, Field::Text), (2, Field::Summary)] {
                if reading.wants(channel) {
                    chunks.extend(reading.view.postings(field, term, 0, u32::MAX)?.iter().map(|posting| posting.id));
                }
            }
        }
        if reading.wants(1) {
            for entity in Memory::of_all(reading)?.matching() {
                chunks.extend(reading.view.set(&key::numbered(key::ENTITY_CHUNKS, entity))?);
            }
        }
        for chunk in chunks {
            documents.insert(reading.place(chunk)?.document);
        }
        for document in documents {
            if reading.takes(document)? {
                let scored = document::score(reading, &*reading.head(document)?)?;
                all.extend(
                    scored
                        .into_iter()
                        .filter(|candidate| candidate.raw.iter().any(|&score| score != 0.0))
                        .map(|candidate| Candidate { file, ..candidate }),
                );
            }
        }
    }
    let mut channels: Vec<[Channel; 3]> = readings.iter().map(|_| Default::default()).collect();
    let mut by_place: BTreeMap<(usize, u32), Candidate> = BTreeMap::new();
    for candidate in all {
        for (channel, &score) in candidate.raw.iter().enumerate() {
            if score != 0.0 {
                channels[candidate.file][channel].push((candidate.chunk, score));
            }
        }
        by_place.insert((candidate.file, candidate.chunk), candidate);
    }
    channels.iter_mut().flatten().for_each(|channel| channel.sort_unstable_by_key(|entry| entry.0));
    let chosen = choose(readings, &channels)?;
    let mut pool = Vec::with_capacity(chosen.len());
    for (file, chunk) in chosen {
        pool.push(match by_place.remove(&(file, chunk)) {
            Some(candidate) => candidate,
            None => {
                let place = readings[file].place(chunk)?;
                Candidate { file, ..Candidate::new(place.document, place.ordinal, chunk, [0.0; 3], false) }
            }
        });
    }
    sort_by_document(readings, &mut pool)?;
    Ok(pool)
}

/// Hands the chunks of all documents that readers see and the filter lets through to `use_it`, in the order of document
/// id and ordinal, until it answers false.
fn each_chunk(readings: &[Reading<'_>], mut use_it: impl FnMut(usize, u32) -> bool) -> Result<()> {
    // The documents of each file are in the order of their ids; the next of each, and whose is the least.
    let orders: Vec<_> =
        readings.iter().map(|reading| reading.snapshot.ordered_documents()).collect::<Result<Vec<_>>>()?;
    let mut next = vec![0usize; readings.len()];
    loop {
        readings[0].query.limits.check()?;
        let mut least: Option<(usize, std::sync::Arc<DocumentHead>)> = None;
        for (file, order) in orders.iter().enumerate() {
            let Some(&number) = order.get(next[file]) else { continue };
            let head = readings[file].head(number)?;
            if least.as_ref().is_none_or(|(_, known)| head.id.as_bytes() < known.id.as_bytes()) {
                least = Some((file, head));
            }
        }
        let Some((file, head)) = least else { return Ok(()) };
        next[file] += 1;
        let reading = &readings[file];
        if head.state != DocumentState::Live || !reading.takes(head.number)? {
            continue;
        }
        let mut ordinal = 0;
        let mut chunk = head.first_chunk;
        // Chunks of other documents may lie between; every step is a chunk whose place was read.
        while ordinal < head.chunks {
            let place = reading.place(chunk)?;
            if place.document == head.number {
                if place.ordinal != ordinal {
                    return Err(inconsistent(format!("chunk {ordinal} of document {} has another place", head.number)));
                }
                if !use_it(file, chunk) {
                    return Ok(());
                }
                ordinal += 1;
            }
            chunk = chunk.saturating_add(1);
        }
    }
}

/// Sorts by document id, then ordinal: the order that breaks ties.
fn sort_by_document(readings: &[Reading<'_>], candidates: &mut [Candidate]) -> Result<()> {
    let mut heads = HashMap::new();
    for candidate in candidates.iter() {
        let place = (candidate.file, candidate.document);
        if let std::collections::hash_map::Entry::Vacant(entry) = heads.entry(place) {
            entry.insert(readings[candidate.file].head(candidate.document)?);
        }
    }
    let id = |candidate: &Candidate| heads.get(&(candidate.file, candidate.document)).map(|head| head.id.as_bytes());
    candidates.sort_by(|a, b| {
        let same = (a.file, a.document) == (b.file, b.document);
        let documents = if same { Ordering::Equal } else { id(a).cmp(&id(b)) };
        documents.then(a.ordinal.cmp(&b.ordinal))
    });
    Ok(())
}
