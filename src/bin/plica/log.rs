//! `plica log`: the commits, newest first.

use crate::arguments::Log;
use crate::failure::Outcome;
use crate::opening::open;
use crate::output::{Output, grouped, table};
use plica::CommitInfo;
use serde::Serialize;

#[derive(Serialize)]
struct CommitLine {
    commit: u64,
    time: Option<u64>,
    documents: u64,
    chunks: u64,
    segments: usize,
    bytes: u64,
}

fn commit_line(commit: &CommitInfo) -> CommitLine {
    CommitLine {
        commit: commit.sequence,
        time: commit.time,
        documents: commit.documents,
        chunks: commit.chunks,
        segments: commit.segments,
        bytes: commit.end,
    }
}

/// Lists the commits.
pub fn log(arguments: &Log) -> Outcome {
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let mut out = Output::new();
    if arguments.reading.json {
        out.bytes(b"{\"commits\":[")?;
        for (at, commit) in snapshot.log().enumerate() {
            if at > 0 {
                out.bytes(b",")?;
            }
            out.json_part(&commit_line(&commit?))?;
        }
        out.bytes(b"]}\n")?;
        return out.flush();
    }
    let mut rows = Vec::new();
    for commit in snapshot.log() {
        let commit = commit?;
        rows.push(vec![
            commit.sequence.to_string(),
            commit.time.map(date).unwrap_or_else(|| "-".to_owned()),
            grouped(commit.documents),
            grouped(commit.chunks),
            grouped(commit.segments as u64),
            grouped(commit.end),
        ]);
    }
    table(&mut out, &["commit", "time (UTC)", "documents", "chunks", "segments", "bytes"], &[0, 2, 3, 4, 5], &rows)?;
    out.flush()
}

/// Seconds since 1970 as date and time in UTC, by the rules of the Gregorian calendar.
fn date(seconds: u64) -> String {
    const DAY: u64 = 86_400;
    // Days are counted from 1 March of year 0, so that a leap day is the last of its year.
    let days = seconds / DAY + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds % DAY / 3_600, seconds % 3_600 / 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(super::date(seconds), date);
        }
        // Whatever a file says, a date is shown.
        assert!(!super::date(u64::MAX).is_empty());
    }
}
