//! Merging segments, in bounded steps.
//!
//! Segments of one level are merged, eight at a time, into one of the next. A commit merges at most
//! `max(1 MiB, 4 × its own bytes)`; a merge that needs more goes on with the next commit: the segment in the making
//! holds the keys below a cursor, its inputs count from the cursor on, and together they are what the inputs were. A step
//! passes its bound by one key at most, whose value is some 64 KiB: of a posting list in pieces, what does not change is
//! not written (see [`super::merge_postings`]).

use super::lengths::Lengths;
use super::merge_postings::{has_tombstones, merge_postings};
use super::view::{View, damaged_value};
use super::writer::{Writer, segment_views};
use crate::Result;
use crate::dictionary::{Dictionary, MergeCursor, SegmentBuilder, load_value, store_value};
use crate::store::StoreWriter;
use plica_format::block::Reference;
use plica_format::chunk::{decode_places, decode_texts, encode_places, encode_texts};
use plica_format::entity::{SummaryRow, decode_rows, decode_summary_rows, encode_rows, encode_summary_rows};
use plica_format::key::{self, Field, Merge};
use plica_format::postings::PostingValue;
use plica_format::state::{IndexState, Segment};
use plica_format::{FormatError, idset};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Segments of one level that are merged into one of the next.
pub(super) const FAN_IN: usize = 8;
/// Bytes that any commit may merge.
const STEP_BYTES: u64 = 1 << 20;
/// Up to this many segments may stand after bulk work that merges nothing.
const BULK_SEGMENTS: usize = 32;
/// With this many segments, merging no longer waits; the format allows 256.
const CROWDED: usize = 192;

/// A merge to begin or to go on with: where its segments stand in the state.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plan {
    /// The segment in the making, where the merge has begun.
    output: Option<usize>,
    inputs: Range<usize>,
}

/// Merges as much as a commit that wrote `own_bytes` may. A commit that wrote several segments, each as large as the
/// writer's memory lets it be, leaves them as they are, so that bulk work is written once; later commits merge them.
pub(super) fn step(writer: &mut Writer, own_bytes: u64) -> Result<()> {
    if writer.flushes > 1 && writer.state.segments.len() <= BULK_SEGMENTS {
        return Ok(());
    }
    let start = writer.store.end();
    let budget = STEP_BYTES.max(own_bytes.saturating_mul(4));
    #[cfg(test)]
    let budget = writer.merge_budget.unwrap_or(budget);
    while let Some(plan) = plan(&writer.state) {
        let crowded = writer.state.segments.len() > CROWDED;
        let used = writer.store.end() - start;
        if used >= budget && !crowded {
            break;
        }
        let allowed = if crowded { u64::MAX } else { budget - used };
        run(writer, &plan, allowed)?;
        writer.refresh_dictionary()?;
    }
    Ok(())
}

/// Bytes of the segments that wait to be merged.
pub(crate) fn debt(state: &IndexState) -> u64 {
    let mut debt = 0;
    let mut held = 0;
    for segment in &state.segments {
        if held > 0 {
            held -= 1;
            debt += segment.bytes;
        }
        held = held.max(segment.merging);
    }
    if debt == 0
        && let Some(plan) = plan(state)
    {
        debt = state.segments.get(plan.inputs).unwrap_or_default().iter().map(|segment| segment.bytes).sum();
    }
    debt
}

/// What to merge next: the lowest level that has enough, newest first; else a merge that was begun.
fn plan(state: &IndexState) -> Option<Plan> {
    // Segments behind the last merge that was begun may start a new one.
    let mut begun = Vec::new();
    let mut free = 0;
    let mut at = 0;
    while let Some(segment) = state.segments.get(at) {
        at += 1;
        if segment.merging > 0 {
            let inputs = at..at + usize::from(segment.merging);
            at = inputs.end;
            free = at;
            begun.push(Plan { output: Some(inputs.start - 1), inputs });
        }
    }
    let tail = state.segments.get(free..).unwrap_or_default();
    let deepest = tail.iter().map(|segment| segment.level).max().unwrap_or(0);
    for level in 0..=deepest {
        // The longest run at the end in which no segment is deeper, up to its last segment of this very level.
        let run = tail.iter().rev().take_while(|segment| segment.level <= level).count();
        let first = tail.len() - run;
        let last = tail.iter().rposition(|segment| segment.level == level);
        let Some(last) = last.filter(|&last| last >= first) else { continue };
        let of_level = tail.iter().skip(first).filter(|segment| segment.level == level).count();
        if of_level >= FAN_IN {
            let inputs = last + 1 - first;
            let end = if inputs > usize::from(u8::MAX) { first + usize::from(u8::MAX) } else { last + 1 };
            return Some(Plan { output: None, inputs: free + first..free + end });
        }
    }
    begun.pop()
}

/// Merges until `allowed` bytes are written or the merge is done.
fn run(writer: &mut Writer, plan: &Plan, allowed: u64) -> Result<()> {
    let start = writer.store.end();
    let dictionary = writer.dictionary.clone();
    let views = segment_views(&writer.state);
    let inputs = views.get(plan.inputs.clone()).unwrap_or_default();
    let output = plan.output.and_then(|at| writer.state.segments.get(at)).cloned();
    let from = output.as_ref().map(|segment| segment.cursor.clone()).unwrap_or_default();
    let mut builder = match &output {
        Some(segment) => SegmentBuilder::resume(&dictionary, segment.root)?,
        None => SegmentBuilder::new(),
    };
    // What is taken away can be forgotten where nothing older can hold it.
    let oldest = plan.output.unwrap_or(plan.inputs.start) == 0;
    let mut cursor = MergeCursor::new(&dictionary, inputs, &from)?;
    let mut stopped = None;
    let state = writer.state.clone();
    let view = View::over(&dictionary, &state, writer.parameters.fanout);
    let lengths = Lengths::default();
    let length = |chunk: u32| lengths.of(view, chunk);
    let mut written = 0u64;
    let mut key = Vec::new();
    let mut taken = Taken::default();
    while cursor.next_key(&mut key) {
        if written >= allowed {
            stopped = Some(key);
            break;
        }
        taken.clear();
        cursor.take(&key, |leaf, stored| {
            taken.push(*leaf, stored);
            Ok(())
        })?;
        let rule = rule_of(&key)?;
        if let Some(stored) = unchanged(&dictionary, rule, &taken, oldest)? {
            written += (key.len() + stored.len()) as u64;
            builder.push(&mut writer.store, &key, stored)?;
            continue;
        }
        let values = taken.load(&dictionary)?;
        let before = writer.store.end();
        if let Some(value) = merge_values(&mut writer.store, &dictionary, (&key, values), oldest, &length)? {
            let stored = store_value(&mut writer.store, &value)?;
            written += (key.len() + stored.len()) as u64 + (writer.store.end() - before);
            builder.push(&mut writer.store, &key, &stored)?;
        }
    }
    let root = builder.finish(&mut writer.store)?;
    let deepest = inputs_level(&writer.state, plan);
    let bytes = writer.store.end() - start + output.as_ref().map_or(0, |segment| segment.bytes);
    let inputs = plan.inputs.len();
    let replaced = plan.output.unwrap_or(plan.inputs.start)..plan.inputs.end;
    let merged = root.map(|root| Segment {
        root,
        bytes,
        level: deepest.saturating_add(1),
        merging: if stopped.is_some() { inputs as u8 } else { 0 },
        cursor: stopped.clone().unwrap_or_default(),
    });
    match stopped {
        // The inputs stay, and count from the cursor on.
        Some(_) => {
            let head = plan.output.unwrap_or(plan.inputs.start);
            let range = if plan.output.is_some() { head..head + 1 } else { head..head };
            writer.state.segments.splice(range, merged);
        }
        None => {
            writer.state.segments.splice(replaced, merged);
        }
    }
    Ok(())
}

fn inputs_level(state: &IndexState, plan: &Plan) -> u8 {
    state.segments.get(plan.inputs.clone()).unwrap_or_default().iter().map(|segment| segment.level).max().unwrap_or(0)
}

/// The values of one key as the leaves of several segments hold them, oldest first.
#[derive(Default)]
struct Taken {
    bytes: Vec<u8>,
    /// Leaf, start and end of each.
    values: Vec<(Reference, usize, usize)>,
}

impl Taken {
    fn clear(&mut self) {
        self.bytes.clear();
        self.values.clear();
    }

    fn push(&mut self, leaf: Reference, stored: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(stored);
        self.values.push((leaf, start, self.bytes.len()));
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = (&Reference, &[u8])> {
        self.values.iter().map(|(leaf, start, end)| (leaf, self.bytes.get(*start..*end).unwrap_or_default()))
    }

    fn load(&self, dictionary: &Dictionary) -> Result<Vec<Vec<u8>>> {
        self.iter()
            .map(|(leaf, stored)| load_value(&dictionary.blocks, leaf, stored, |value| Ok(value.to_vec())))
            .collect()
    }
}

/// What stands for the values of a key as a leaf holds it already, where merging changes nothing in it: it is copied,
/// and if it lies in a block of its own, not even that.
fn unchanged<'a>(dictionary: &Dictionary, rule: Merge, taken: &'a Taken, oldest: bool) -> Result<Option<&'a [u8]>> {
    let Some((leaf, newest)) = taken.iter().next_back() else { return Ok(None) };
    let alone = taken.values.len() == 1;
    let kept = match rule {
        Merge::Newest => true,
        Merge::Standing => !oldest || load_value(&dictionary.blocks, leaf, newest, |value| Ok(!value.is_empty()))?,
        Merge::Postings if alone && oldest => load_value(&dictionary.blocks, leaf, newest, |value| {
            Ok(!has_tombstones(dictionary, &PostingValue::decode(value).map_err(damaged_value(key::POSTINGS))?)?)
        })?,
        // In the oldest segment a set that is empty is dropped, and nothing is left to be replaced.
        Merge::Union => alone && !oldest,
        _ => alone,
    };
    Ok(kept.then_some(newest))
}

/// How the values of a key are merged.
fn rule_of(key: &[u8]) -> Result<Merge> {
    let kind = key.first().copied().unwrap_or_default();
    key::merge_rule(key).ok_or_else(|| {
        damaged_value(kind)(FormatError::new("key", 0, "a known kind of key", format_args!("{kind:#04x}")))
    })
}

/// The one value that stands for several of one key, oldest first; `None` where nothing is left.
fn merge_values(
    store: &mut StoreWriter,
    dictionary: &Dictionary,
    (key, mut values): (&[u8], Vec<Vec<u8>>),
    oldest: bool,
    length: &dyn Fn(u32) -> Result<u32>,
) -> Result<Option<Vec<u8>>> {
    let damaged = damaged_value(key.first().copied().unwrap_or_default());
    let rule = rule_of(key)?;
    if rule == Merge::Standing {
        return Ok(values.pop().filter(|value| !(oldest && value.is_empty())));
    }
    if values.len() == 1 && !matches!(rule, Merge::Postings | Merge::Union) || rule == Merge::Newest {
        return Ok(values.pop());
    }
    let block = key::first_number(key).unwrap_or_default();
    let mut out = Vec::new();
    match rule {
        Merge::Newest | Merge::Standing => {}
        Merge::Union => {
            let mut ids = BTreeSet::new();
            let mut replacing = false;
            for value in &values {
                let (replaces, new) = idset::decode_update(value).map_err(&damaged)?;
                if replaces {
                    ids.clear();
                    replacing = true;
                }
                ids.extend(new);
            }
            let ids: Vec<u16> = ids.into_iter().collect();
            if oldest && ids.is_empty() {
                return Ok(None);
            }
            match replacing && !oldest {
                true => idset::encode_replacing(&ids, &mut out),
                false => idset::encode(&ids, &mut out),
            }
            .map_err(damaged)?;
        }
        Merge::Places => {
            let rows = rows(&values, |value| decode_places(block, value), |row| row.chunk).map_err(damaged)?;
            encode_places(&rows, &mut out);
        }
        Merge::Texts => {
            let rows = rows(&values, |value| decode_texts(block, value), |row| row.chunk).map_err(damaged)?;
            encode_texts(&rows, &mut out);
        }
        Merge::EntityRows => {
            let rows = rows(&values, |value| decode_rows(block, value), |row| row.entity).map_err(damaged)?;
            encode_rows(&rows, &mut out);
        }
        Merge::SummaryRows => {
            let rows: Vec<SummaryRow> =
                rows(&values, |value| decode_summary_rows(block, value), |row| row.unit).map_err(damaged)?;
            encode_summary_rows(&rows, &mut out);
        }
        Merge::Postings => {
            let is_text = Field::of_key(key).is_some_and(|(field, _)| field == Field::Text);
            return merge_postings(store, dictionary, &values, oldest, is_text.then_some(length));
        }
    }
    Ok(Some(out))
}

/// The rows of several values, the newest of each id, ascending.
fn rows<T>(
    values: &[Vec<u8>],
    decode: impl Fn(&[u8]) -> Result<Vec<T>, FormatError>,
    id: impl Fn(&T) -> u32,
) -> Result<Vec<T>, FormatError> {
    let mut out = BTreeMap::new();
    for value in values {
        for row in decode(value)? {
            out.insert(id(&row), row);
        }
    }
    Ok(out.into_values().collect())
}

#[cfg(test)]
mod tests {
    use crate::ingest::{EntityUpdate, RecordUpdate};
    use crate::{Index, Limits, NewChunk, Options, Query, Writer};

    /// One commit a chunk, each of which may merge `budget` bytes: the export, the bits of a search, and the most merges
    /// that were under way at once.
    fn write(budget: Option<u64>) -> (Vec<u8>, Vec<(String, u64)>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.plica");
        let mut writer = Writer::create(&path, &Options::new().fanout(3)).unwrap();
        writer.merge_budget = budget;
        writer.add_document("a", "", "").unwrap();
        writer.publish("a").unwrap();
        let mut under_way = 0;
        for at in 0..300u32 {
            let words: Vec<String> = (0..30).map(|n| format!("w{}", (at * 31 + n * n * 7) % 400)).collect();
            let id = format!("c{at}");
            let chunk = NewChunk { external_id: Some(&id), ..NewChunk::text("") };
            let appended = writer.append_chunk("a", &NewChunk { text: &words.join(" "), ..chunk }).unwrap();
            let name = format!("Person {}", at % 37);
            let update = EntityUpdate { name, descriptions: vec![words[3].clone()], ..EntityUpdate::default() };
            writer.apply_update("a", appended.ordinal, &[update]).unwrap();
            let record = |at: u32| RecordUpdate {
                entity: format!("Person {}", at % 37),
                label: format!("label {}", at % 5),
                value: words[(at % 7) as usize].clone(),
                ..RecordUpdate::default()
            };
            writer.add_record("a", &record(at), &[appended.ordinal, at / 2]).unwrap();
            writer.remove_record("a", &record(at / 3)).unwrap();
            writer.commit().unwrap();
            let merging = writer.state.segments.iter().filter(|segment| segment.merging > 0).count();
            under_way = under_way.max(merging);
            if at % 60 == 59 {
                let report = Index::open(&path).unwrap().snapshot().check(&Limits::default()).unwrap();
                assert!(report.findings.is_empty(), "{:#?}", report.findings);
            }
        }
        let snapshot = Index::open(&path).unwrap().snapshot();
        let mut export = Vec::new();
        crate::interchange::export(&snapshot, &mut export).unwrap();
        let answer = snapshot.search(&Query::new("w7 w14 w301 person 12").k(300)).unwrap();
        let hits = answer.hits.into_iter().map(|hit| (hit.chunk, hit.score.to_bits())).collect();
        (export, hits, under_way)
    }

    #[test]
    fn a_merge_that_goes_on_over_many_commits_changes_no_answer() {
        let (export, hits, whole) = write(None);
        assert_eq!(whole, 0, "a merge of this size is done at once");
        for budget in [1, 700, 5_000] {
            let (other_export, other_hits, under_way) = write(Some(budget));
            assert!(under_way > 0, "with {budget} bytes a commit no merge was left unfinished");
            assert!(export == other_export && hits == other_hits, "{budget} bytes a commit");
        }
    }
}
