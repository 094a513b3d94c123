//! The table: one row a measured thing, Plica and its peers side by side, losses included.
//!
//! Every cell is text that its measurer made, since units and remarks differ by row; the ratio is a number, and it is
//! the ratio alone that is compared with the target. A row without a target is there to explain another.

use std::fmt::Write;

/// The columns of values, in the order in which they are printed.
pub const COLUMNS: [&str; 8] =
    ["Plica vacuumed", "Plica as built", "Plica, worst history", "tantivy", "FTS5 / SQLite", "redb", "heed", "raw floor"];

/// Index of a column of [`COLUMNS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// A vacuumed file.
    Vacuumed,
    /// As bulk imported, or as a row says.
    Built,
    /// One-chunk commits.
    History,
    /// tantivy.
    Tantivy,
    /// SQLite, with FTS5 where text is searched.
    Sqlite,
    /// redb.
    Redb,
    /// heed (LMDB).
    Heed,
    /// What the machine does without an engine.
    Floor,
}

/// What a ratio must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// This or more.
    Least(f64),
    /// This or less.
    Most(f64),
}

impl Target {
    fn is_hit(self, value: f64) -> bool {
        match self {
            Self::Least(bound) => value >= bound,
            Self::Most(bound) => value <= bound,
        }
    }
}

/// One row.
#[derive(Debug, Clone, Default)]
pub struct Row {
    what: String,
    cells: [Option<String>; COLUMNS.len()],
    judged: Vec<(String, f64, Option<Target>)>,
}

impl Row {
    /// A row that tells `what`.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), ..Self::default() }
    }

    /// Fills a cell.
    pub fn cell(mut self, column: Column, text: impl Into<String>) -> Self {
        self.cells[column as usize] = Some(text.into());
        self
    }

    /// Fills a cell, where there is something to fill it with.
    pub fn maybe(self, column: Column, text: Option<String>) -> Self {
        match text {
            Some(text) => self.cell(column, text),
            None => self,
        }
    }

    /// Adds a ratio, named by what it is of, and its target.
    pub fn ratio(mut self, of: impl Into<String>, value: f64, target: Option<Target>) -> Self {
        self.judged.push((of.into(), value, target));
        self
    }
}

/// Rows, printed as they are found and once more at the end as a table in Markdown.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds a row, and says it on standard error, so that a long run shows what it has.
    pub fn push(&mut self, row: Row) {
        eprintln!("{}", line(&row));
        self.rows.push(row);
    }

    /// How many targets were hit and missed.
    pub fn verdicts(&self) -> (usize, usize) {
        let judged = self.rows.iter().flat_map(|row| &row.judged);
        let hits = judged.filter_map(|(_, value, target)| target.map(|target| target.is_hit(*value)));
        hits.fold((0, 0), |(hit, missed), is_hit| if is_hit { (hit + 1, missed) } else { (hit, missed + 1) })
    }

    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("| what | {} | ratio | target | |\n|", COLUMNS.join(" | "));
        out.push_str(&"---|".repeat(COLUMNS.len() + 4));
        for row in &self.rows {
            let _ = write!(out, "\n{}", line(row));
        }
        out
    }
}

fn line(row: &Row) -> String {
    let mut out = format!("| {}", row.what);
    for cell in &row.cells {
        let _ = write!(out, " | {}", cell.as_deref().unwrap_or("–"));
    }
    let ratios = row.judged.iter().map(|(of, value, _)| format!("{} {of}", short(*value)));
    let targets = row.judged.iter().map(|(_, _, target)| match target {
        Some(Target::Least(bound)) => format!("≥ {bound}"),
        Some(Target::Most(bound)) => format!("≤ {bound}"),
        None => "–".to_owned(),
    });
    let verdicts = row.judged.iter().map(|(_, value, target)| match target {
        Some(target) if target.is_hit(*value) => "hit",
        Some(_) => "**miss**",
        None => "–",
    });
    for list in [ratios.collect::<Vec<_>>(), targets.collect(), verdicts.map(str::to_owned).collect()] {
        let _ = write!(out, " | {}", if list.is_empty() { "–".to_owned() } else { list.join("; ") });
    }
    out.push_str(" |");
    out
}

/// A number with three digits that matter.
pub fn short(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Microseconds, in the unit that reads best.
pub fn micros(value: f64) -> String {
    if value >= 1000.0 { format!("{} ms", short(value / 1000.0)) } else { format!("{} µs", short(value)) }
}

/// Bytes, in the unit that reads best.
pub fn bytes(value: u64) -> String {
    match value {
        0..10_240 => format!("{value} B"),
        10_240..10_485_760 => format!("{} KiB", short(value as f64 / 1024.0)),
        _ => format!("{} MiB", short(value as f64 / 1_048_576.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_judged_and_a_cell_without_a_value_is_a_dash() {
        let mut table = Table::default();
        table.push(Row::new("a").cell(Column::Redb, "7 µs").ratio("of redb", 1.5, Some(Target::Least(1.5))));
        table.push(Row::new("b").ratio("of redb", 1.5, Some(Target::Most(1.0))).ratio("alone", 2.0, None));
        assert_eq!(table.verdicts(), (1, 1));
        let text = table.markdown();
        assert_eq!(text.lines().nth(2), Some("| a | – | – | – | – | – | 7 µs | – | – | 1.50 of redb | ≥ 1.5 | hit |"));
        assert!(text.ends_with("| 1.50 of redb; 2.00 alone | ≤ 1; – | **miss**; – |"));
    }
}
