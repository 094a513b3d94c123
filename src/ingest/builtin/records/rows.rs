//! Rows of tables as records: the first cell that is no mere number is the entity, the header over each other cell the
//! label. Numbers before the entity ("No.", "Date") are the condition under which the row holds.

use super::super::facts::known::Known;
use super::super::facts::{label_of, plain};
use super::property;
use crate::ingest::RecordUpdate;
use crate::text::layout::{Delimiter, Table, cells};

/// Records of the body rows of a table.
pub(super) fn of_table(text: &str, table: &Table, known: &Known<'_>, found: &mut Vec<(usize, RecordUpdate)>) {
    let names = names_of(&text[table.header.clone()], table.delimiter);
    for row in table.rows.iter().take(super::RECORDS) {
        row_records(row.start, &text[row.clone()], table.delimiter, &names, known, found);
    }
}

/// Records of a row that stands alone under a header that the chunk's title has.
pub(super) fn below(text: &str, header: &str, known: &Known<'_>, found: &mut Vec<(usize, RecordUpdate)>) {
    let row = text.trim();
    if let Some((names, delimiter)) = fitting(header, row) {
        row_records(0, row, delimiter, &names, known, found);
    }
}

/// Whether a line has as many cells as a header.
pub(super) fn agree(header: &str, row: &str) -> bool {
    fitting(header, row).is_some()
}

/// The names of the columns, and what parts the cells of the row.
fn fitting(header: &str, row: &str) -> Option<(Vec<String>, Delimiter)> {
    let piped = header.contains('|');
    let candidates: &[(Delimiter, Delimiter)] = if piped {
        &[
            (Delimiter::Pipe, Delimiter::Pipe),
            (Delimiter::Pipe, Delimiter::Mark(b'\t')),
            (Delimiter::Pipe, Delimiter::Space),
        ]
    } else {
        &[(Delimiter::Mark(b';'), Delimiter::Mark(b';')), (Delimiter::Mark(b','), Delimiter::Mark(b','))]
    };
    candidates.iter().find_map(|&(of_header, of_row)| {
        let names = names_of(header, of_header);
        let fits = names.len() > 1 && names.len() == cells(row, of_row).len() && names.iter().all(|n| !n.is_empty());
        (fits && (piped || names.len() > 2 || of_row == Delimiter::Mark(b';'))).then_some((names, of_row))
    })
}

fn names_of(header: &str, delimiter: Delimiter) -> Vec<String> {
    cells(header, delimiter).into_iter().map(|cell| plain(&header[cell])).collect()
}

fn row_records(
    at: usize,
    row: &str,
    delimiter: Delimiter,
    names: &[String],
    known: &Known<'_>,
    found: &mut Vec<(usize, RecordUpdate)>,
) {
    let values: Vec<String> = cells(row, delimiter).into_iter().map(|cell| plain(&row[cell])).collect();
    let tells = |cell: &&String| !is_number(cell) && !is_empty(cell);
    let entity_at = values.iter().position(|cell| tells(&cell)).unwrap_or(0);
    let Some(entity) = values.get(entity_at).filter(|cell| !cell.is_empty()) else { return };
    let condition = (entity_at > 0)
        .then(|| (names.first().map_or(String::new(), |n| label_of(n)), values[0].clone()))
        .filter(|(label, value)| !label.is_empty() && !is_empty(value));
    for (i, (name, value)) in names.iter().zip(&values).enumerate() {
        let label = label_of(name);
        if i == entity_at || label.is_empty() || is_empty(value) {
            continue;
        }
        let mut record = property(known, entity, &label, value.clone());
        if record.entity_type.is_empty() {
            record.entity_type = label_of(&names[entity_at]);
        }
        // The first cell does not stand under the condition that it is.
        record.condition = condition.clone().filter(|_| i > 0);
        found.push((at, record));
    }
}

/// Whether a cell is a number or a date, and names nothing.
pub(in super::super) fn is_number(cell: &str) -> bool {
    let letters = cell.chars().filter(|c| c.is_alphabetic()).count();
    let digits = cell.chars().filter(|c| c.is_numeric()).count();
    digits > 0
        && (letters == 0
            || (letters <= 4 && cell.split_whitespace().count() > 1 && cell.starts_with(|c: char| c.is_numeric())))
}

/// Whether a cell says nothing.
pub(in super::super) fn is_empty(cell: &str) -> bool {
    matches!(cell, "" | "-" | "–" | "—" | "n/a" | "N/A")
}
