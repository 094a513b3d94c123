//! What goes to standard output: text for people, or JSON, a line an object.
//!
//! Colour is used on a terminal only (and as `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` say). Text from an index is
//! shown with its control characters made visible, so that no document can send commands to a terminal; `cat` and JSON
//! give it as it is.

use crate::failure::Outcome;
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};
use std::io::{self, BufWriter, StdoutLock, Write};

/// Fewest decimals of a number with decimals in JSON.
const DECIMALS: usize = 6;

/// Headings, ranks, ids.
pub const STRONG: Style = Style::new().bold();
/// What a question found.
pub const FOUND: Style = AnsiColor::Green.on_default().bold();
/// What is of less interest.
pub const FAINT: Style = Style::new().dimmed();

/// Standard output, buffered. It is written out when it is dropped; [`Output::flush`] says whether that worked.
#[derive(Debug)]
pub struct Output {
    to: BufWriter<StdoutLock<'static>>,
    colour: bool,
}

impl Output {
    /// Standard output.
    pub fn new() -> Self {
        let stdout = io::stdout();
        let colour = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
        Self { to: BufWriter::with_capacity(64 << 10, stdout.lock()), colour }
    }

    /// Whether styles are shown.
    pub fn has_colour(&self) -> bool {
        self.colour
    }

    /// `text` in a style, where there is colour.
    pub fn styled(&self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// One line for people. It may hold styles; text from an index must have gone through [`visible`].
    pub fn line(&mut self, text: impl AsRef<str>) -> Outcome {
        Ok(writeln!(self.to, "{}", text.as_ref())?)
    }

    /// One JSON value and a line end.
    pub fn json(&mut self, value: &impl Serialize) -> Outcome {
        self.json_part(value)?;
        Ok(self.to.write_all(b"\n")?)
    }

    /// One JSON value without a line end, for output that is written piece by piece.
    pub fn json_part(&mut self, value: &impl Serialize) -> Outcome {
        let mut serializer = Serializer::with_formatter(&mut self.to, Decimals(CompactFormatter));
        value.serialize(&mut serializer).map_err(io::Error::from)?;
        Ok(())
    }

    /// Bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)
    }

    /// Writes out what is buffered.
    pub fn flush(&mut self) -> Outcome {
        Ok(self.to.flush()?)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// JSON whose numbers with decimals have at least six of them and lose nothing.
struct Decimals(CompactFormatter);

impl Formatter for Decimals {
    fn write_f64<W: ?Sized + Write>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        let shortest = value.to_string();
        let decimals = shortest.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        if decimals < DECIMALS { write!(to, "{value:.DECIMALS$}") } else { to.write_all(shortest.as_bytes()) }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(to, first)
    }
}

/// Text on one line with its control characters made visible.
pub fn visible(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// A character as it is shown: white space as a space, any other control or direction character as a sign for it.
pub fn shown(character: char) -> char {
    match character {
        _ if character.is_whitespace() => ' ',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + character as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        _ if character.is_control() => '\u{fffd}',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        _ => character,
    }
}

/// `3 chunks`, `1 chunk`.
pub fn counted(count: u64, one: &str) -> String {
    match (count, one.strip_suffix('y')) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) => format!("{} {stem}ies", grouped(count)),
        (_, None) => format!("{} {one}s", grouped(count)),
    }
}

/// A number with its thousands set apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A table for people: columns as wide as they must be; those that `right` names are set to the right.
pub fn table(out: &mut Output, headings: &[&str], right: &[usize], rows: &[Vec<String>]) -> Outcome {
    use unicode_width::UnicodeWidthStr;
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width());
        cells.chain(headings.get(column).map(|heading| heading.width())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let headings = headings.iter().map(|heading| (*heading).to_owned()).collect();
    for (at, row) in std::iter::once(&headings).chain(rows).enumerate() {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let fill = " ".repeat(width.saturating_sub(cell.width()));
            let parts = if right.contains(&column) { [fill.as_str(), cell] } else { [cell, fill.as_str()] };
            line.extend(parts);
            line.push_str("  ");
        }
        let line = line.trim_end();
        match at {
            0 => out.line(out.styled(STRONG, line))?,
            _ => out.line(line)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: f64) -> String {
        let mut out = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut out, Decimals(CompactFormatter));
        value.serialize(&mut serializer).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn scores_have_six_decimals_and_lose_nothing() {
        assert_eq!(json(1.5), "1.500000");
        assert_eq!(json(0.0), "0.000000");
        assert_eq!(json(-3.0), "-3.000000");
        for value in [1.0 / 3.0, 1e-9, -12_345.678_901_234, f64::MIN_POSITIVE] {
            assert_eq!(json(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }

    #[test]
    fn no_text_sends_commands_to_a_terminal() {
        assert_eq!(visible("a\x1b[31m\tb\u{9b}c\u{202e}d\r\n"), "a\u{241b}[31m b\u{fffd}c\u{fffd}d  ");
    }

    #[test]
    fn counts_read_well() {
        assert_eq!(counted(1, "entity"), "1 entity");
        assert_eq!(counted(0, "entity"), "0 entities");
        assert_eq!(counted(1_234_567, "chunk"), "1,234,567 chunks");
    }
}
