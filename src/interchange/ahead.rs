//! Reading lines ahead of the writer.
//!
//! Parsing a line and counting the terms of its text need no writer, and are about half of an import's work. With several
//! threads the caller's reads lines in batches and hands each batch to one of the others, in turn; it takes the results
//! in the same turn, so lines come to the writer in their order, and what is written does not depend on threads. A bound
//! on the bytes under way bounds the memory.

use super::line::{Line, Lines, at};
use crate::index::{ChunkCounts, NewChunk};
use crate::text::{TermCounter, TermHasher};
use crate::{Error, Result};
use std::io::BufRead;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// A batch is closed when it passes this many bytes of lines.
const BATCH_BYTES: usize = 128 << 10;
/// Batches that a thread holds: one that it works on, one that waits, one that is done.
const BATCHES_A_THREAD: usize = 3;
/// No batch is read while more bytes of lines than this are under way.
const AHEAD_BYTES: usize = 4 << 20;
/// More threads than this are not used: the writer alone would not keep up with them.
const THREADS: usize = 5;

/// A line that was read and parsed.
#[derive(Debug)]
pub(super) struct ParsedLine {
    pub(super) number: u64,
    /// Its bytes.
    pub(super) length: usize,
    pub(super) line: Line,
    /// Of a chunk, where it was counted ahead.
    pub(super) counts: Option<ChunkCounts>,
}

/// Lines as they were read.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Number and end of each line.
    lines: Vec<(u64, usize)>,
}

impl Batch {
    /// Parses the lines; one that cannot be taken is the last.
    fn parse(&self, counter: &mut TermCounter) -> Parsed {
        let mut lines = Vec::with_capacity(self.lines.len());
        let mut start = 0;
        for &(number, end) in &self.lines {
            let bytes = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            let line = match Line::parse(bytes) {
                Ok(line) => line,
                Err(error) => return Parsed { lines, error: Some(at(number)(error)) },
            };
            let counts = match &line {
                Line::Chunk(chunk) => {
                    let title = chunk.title.as_deref().unwrap_or_default();
                    ChunkCounts::of(counter, &NewChunk { title, ..NewChunk::text(&chunk.text) })
                }
                _ => None,
            };
            lines.push(ParsedLine { number, length: bytes.len(), line, counts });
        }
        Parsed { lines, error: None }
    }
}

/// The lines of a batch up to the first that cannot be taken, and why it cannot.
#[derive(Debug)]
struct Parsed {
    lines: Vec<ParsedLine>,
    error: Option<Error>,
}

/// Hands every line to `take`, in order.
pub(super) fn each_line<R: BufRead>(
    lines: R,
    threads: usize,
    hasher: &TermHasher,
    mut take: impl FnMut(ParsedLine) -> Result<()>,
) -> Result<()> {
    let mut lines = Lines::new(lines);
    if threads < 2 {
        while let Some((number, bytes)) = lines.next()? {
            let line = Line::parse(bytes).map_err(at(number))?;
            take(ParsedLine { number, length: bytes.len(), line, counts: None })?;
        }
        return Ok(());
    }
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for _ in 1..threads.min(THREADS) {
            let (to, work) = sync_channel::<Batch>(BATCHES_A_THREAD);
            let (done, from) = sync_channel::<Parsed>(BATCHES_A_THREAD);
            let counter = TermCounter::new(hasher.clone());
            let spawned = std::thread::Builder::new().name("plica lines".to_owned());
            spawned
                .spawn_scoped(scope, move || work_on(work, done, counter))
                .map_err(Error::io("start a thread", None))?;
            workers.push((to, from));
        }
        hand_out(&mut lines, &workers, &mut take)
    })
}

/// What a thread does: parses the batches it gets, until there are no more or nobody wants them.
fn work_on(work: Receiver<Batch>, done: SyncSender<Parsed>, mut counter: TermCounter) {
    for batch in work {
        if done.send(batch.parse(&mut counter)).is_err() {
            return;
        }
    }
}

/// Reads batches, hands them to the workers in turn, and takes what they give back in the same turn.
fn hand_out<R: BufRead>(
    lines: &mut Lines<R>,
    workers: &[(SyncSender<Batch>, Receiver<Parsed>)],
    take: &mut impl FnMut(ParsedLine) -> Result<()>,
) -> Result<()> {
    let gone = || Error::Unusable { reason: "a thread that reads lines has ended before its work" };
    // The bytes of the batches that are under way, oldest first.
    let mut under_way = std::collections::VecDeque::new();
    let (mut sent, mut taken) = (0, 0);
    let mut end: Option<Result<()>> = None;
    loop {
        while end.is_none()
            && under_way.len() < workers.len() * BATCHES_A_THREAD
            && (under_way.is_empty() || under_way.iter().sum::<usize>() < AHEAD_BYTES)
        {
            let (batch, ended) = read_batch(lines);
            end = ended;
            under_way.push_back(batch.bytes.len());
            let Some((to, _)) = workers.get(sent % workers.len()) else { return Err(gone()) };
            to.send(batch).map_err(|_| gone())?;
            sent += 1;
        }
        if under_way.pop_front().is_none() {
            return end.unwrap_or(Ok(()));
        }
        let Some((_, from)) = workers.get(taken % workers.len()) else { return Err(gone()) };
        let parsed = from.recv().map_err(|_| gone())?;
        taken += 1;
        parsed.lines.into_iter().try_for_each(&mut *take)?;
        if let Some(error) = parsed.error {
            return Err(error);
        }
    }
}

/// Reads the lines of a batch; also how the lines ended, where they did.
fn read_batch<R: BufRead>(lines: &mut Lines<R>) -> (Batch, Option<Result<()>>) {
    let mut batch = Batch::default();
    while batch.bytes.len() < BATCH_BYTES {
        match lines.next() {
            Ok(Some((number, bytes))) => {
                batch.bytes.extend_from_slice(bytes);
                batch.lines.push((number, batch.bytes.len()));
            }
            Ok(None) => return (batch, Some(Ok(()))),
            Err(error) => return (batch, Some(Err(error))),
        }
    }
    (batch, None)
}

#[cfg(test)]
mod tests {
    use crate::interchange::{ImportOptions, import};
    use crate::{Options, Writer};

    /// Lines of some documents, long enough for several batches.
    fn lines() -> String {
        let mut out = String::new();
        for document in 0..3 {
            out += &format!("{{\"type\":\"document\",\"doc\":\"d{document}\",\"title\":\"Ä {document}\"}}\n\n");
            for at in 0..400u32 {
                let words: Vec<String> = (0..60).map(|n| format!("wörd{}", (at * 7 + n * n) % 900)).collect();
                let text = words.join(" ");
                out +=
                    &format!("{{\"text\":\"{text}\",\"type\":\"chunk\",\"doc\":\"d{document}\",\"id\":\"{at}\"}}\r\n");
                out += &format!(
                    "{{\"type\":\"entity\",\"doc\":\"d{document}\",\"name\":\"N{}\",\"descriptions\":[\"{at}\"],\"chunks\":[\"{}\"]}}\n",
                    at % 37,
                    (at + 3) % 400
                );
                if at % 5 == 4 {
                    let (level, index) = (1, at / 5);
                    out += &format!(
                        "{{\"type\":\"summary\",\"doc\":\"d{document}\",\"level\":{level},\"index\":{index},\"text\":\"s {at}\"}}\n"
                    );
                }
            }
        }
        out
    }

    fn imported(lines: &str, threads: usize, every: u32) -> (Vec<u8>, Option<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.plica");
        let options = Options::new().file_id([3; 16]).timestamps(false).memory_budget_bytes(1 << 20).threads(threads);
        let mut writer = Writer::create(&path, &options).unwrap();
        let result = import(&mut writer, lines.as_bytes(), ImportOptions::new().commit_every(every));
        drop(writer);
        (std::fs::read(&path).unwrap(), result.err().map(|error| error.to_string()))
    }

    #[test]
    fn threads_change_no_byte_and_no_error() {
        let good = lines();
        let mut bad = good.clone();
        bad.insert(good.len() * 2 / 3, '\u{1}');
        let missing = good.replace("\"type\":\"chunk\",\"doc\":\"d2\"", "\"type\":\"chunk\",\"doc\":\"d7\"");
        for (lines, fails) in [(&good, false), (&bad, true), (&missing, true)] {
            for every in [300, u32::MAX] {
                let (bytes, error) = imported(lines, 1, every);
                assert_eq!(error.is_some(), fails, "{error:?}");
                for threads in [2, 4] {
                    let (other, said) = imported(lines, threads, every);
                    assert_eq!(said, error, "{threads} threads");
                    assert!(other == bytes, "{threads} threads, a commit every {every} chunks");
                }
            }
        }
    }
}
