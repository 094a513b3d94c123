//! Sizes: what a file takes for each byte of text, and for what.
//!
//! Plica's file is compared twice: holding the texts and their index alone, as the peers' files do, which is what the
//! target is judged by; and with its two other channels, which no peer has.

use super::{Files, Run};
use crate::peer::{size_of, tantivy};
use crate::table::{Column, Row, Table, Target, bytes, short};
use crate::{Result, engine};

/// Compares sizes.
pub fn rows(run: &Run, table: &mut Table, files: &Files) -> Result<()> {
    let chunks = files.corpus.len();
    let text = files.corpus.bytes();
    let share = |size: u64| format!("{} ({} of the text)", bytes(size), short(size as f64 / text as f64));
    let text_alone = run.folder.join(format!("{chunks}-text.plica"));
    if !text_alone.exists() {
        engine::bulk(&text_alone, &files.corpus, engine::Channels::Text, &mut Default::default())?;
    }
    let zstd = run.path("zstd-tantivy")?;
    tantivy::build(&zstd, &files.corpus, 1, tantivy::Store::Zstd, &mut Default::default())?;
    let (of_tantivy, of_fts5, of_zstd) = (size_of(&files.merged)?, size_of(&files.fts5)?, size_of(&zstd)?);
    super::remove(&zstd)?;

    let row = |what: &str, size: u64, vacuumed: Option<u64>, judged: bool| {
        let target = |bound| (judged && files.corpus.is_made()).then_some(Target::Most(bound));
        Row::new(format!("size, {}: {what}", run.label(chunks)))
            .cell(Column::Built, share(size))
            .maybe(Column::Vacuumed, vacuumed.map(share))
            .cell(Column::Tantivy, format!("{}; with zstd {}", share(of_tantivy), share(of_zstd)))
            .cell(Column::Sqlite, share(of_fts5))
            .ratio("of tantivy", size as f64 / of_tantivy as f64, target(0.75))
            .ratio("of tantivy with zstd", size as f64 / of_zstd as f64, None)
            .ratio("of FTS5", size as f64 / of_fts5 as f64, target(0.5))
    };
    let vacuumed_text = engine::vacuumed(&text_alone)?.map(|path| size_of(&path)).transpose()?;
    table.push(row("text and its index alone", size_of(&text_alone)?, vacuumed_text, true));

    let built = size_of(&files.plica)?;
    let vacuumed = files.vacuumed.as_deref().map(size_of).transpose()?;
    let mut all = row("three channels", built, vacuumed, false);
    if !files.corpus.is_made() {
        all = all.ratio("of the text, as built", built as f64 / text as f64, Some(Target::Most(0.66)));
        if let Some(vacuumed) = vacuumed {
            all = all.ratio("of the text, vacuumed", vacuumed as f64 / text as f64, Some(Target::Most(0.58)));
        }
    }
    table.push(all);
    for (what, path) in [("text and its index alone", &text_alone), ("three channels", &files.plica)] {
        table.push(budget(&format!("size, {}: {what}: by structure", run.label(chunks)), path, text)?);
    }
    Ok(())
}

/// Where the bytes of a file are, as shares of the text.
fn budget(what: &str, path: &std::path::Path, text: u64) -> Result<Row> {
    let stat = engine::open(path)?.stat()?;
    let mut parts: Vec<(&str, u64)> = stat.bytes.budget.parts().to_vec();
    parts.push(("dead", stat.bytes.dead));
    let share = |size: u64| short(size as f64 / text as f64);
    let told: Vec<String> = parts.iter().map(|(name, size)| format!("{name} {}", share(*size))).collect();
    Ok(Row::new(what).cell(Column::Built, format!("{}; {} segments", told.join(", "), stat.segments)))
}
