//! What a piece hands on to the next: the headings, the table and the code fence that are open where that one starts.
//!
//! How much the next piece has in common with this one is known only then, so the last headings are handed on with their
//! distance from the end, one event a line: `distance<TAB>kind<TAB>…`. The first line is the length of the piece.

use super::places::Names;
use crate::text::layout::{Fence, Layout};
use plica_format::limits::KEY_BYTES;

/// Events nearer to the end than this are kept apart; what is further away is one state.
const REACH_BYTES: usize = 16 << 10;
/// Longest context, in bytes.
const CONTEXT_BYTES: usize = KEY_BYTES;
/// More events than this do not fit.
const CONTEXT_EVENTS: usize = CONTEXT_BYTES / 6;

/// Where in the document's structure a piece starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Context {
    /// Levels and names of the open headings, outermost first.
    pub(super) path: Vec<(u8, String)>,
    /// The code fence that is open.
    pub(super) fence: Option<Fence>,
    /// The header line of the table that is open.
    pub(super) table: Option<String>,
    /// Whether the piece is the document's first.
    pub(super) is_first: bool,
}

/// The length of the piece that wrote a context.
pub(super) fn length_before(context: &str) -> Option<usize> {
    context.lines().next()?.strip_suffix("\tn")?.parse().ok()
}

/// Something that changes where one is.
#[derive(Debug, Clone)]
enum Event {
    Heading(u8, String),
    Fence(Option<Fence>),
    Table(Option<String>),
}

impl Context {
    /// The context of a piece that has `overlap` bytes in common with the one that wrote `text`.
    pub(super) fn read(text: &str, overlap: usize) -> Self {
        let mut out = Self { is_first: text.is_empty() && overlap == 0, ..Self::default() };
        for line in text.lines() {
            let mut parts = line.splitn(4, '\t');
            let (distance, kind) = (parts.next().and_then(|d| d.parse::<usize>().ok()), parts.next());
            let (a, b) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            // What stands within the overlap is read again.
            if distance.is_none_or(|distance| distance <= overlap) {
                continue;
            }
            match kind {
                Some("h") => out.apply(Event::Heading(a.parse().unwrap_or(1), b.to_owned())),
                Some("f") => {
                    let mark = b.bytes().next().filter(|m| matches!(m, b'`' | b'~'));
                    let fence = mark.zip(a.parse().ok()).map(|(mark, length)| Fence { mark, length });
                    out.apply(Event::Fence(fence));
                }
                Some("t") => out.apply(Event::Table((!b.is_empty()).then(|| b.to_owned()))),
                _ => {}
            }
        }
        out
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Heading(level, name) => {
                self.path.retain(|(above, _)| *above < level);
                self.path.push((level, name));
                self.table = None;
            }
            Event::Fence(fence) => self.fence = fence,
            Event::Table(header) => self.table = header,
        }
    }

    /// What is handed on behind `piece`, the part of one that is not cut through, which has that layout.
    /// `behind` bytes of the piece, which has `length`, are left out at its end.
    pub(super) fn write(&self, piece: &str, behind: usize, length: usize, layout: &Layout, names: &Names) -> String {
        let mut events: Vec<(usize, Event)> = Vec::new();
        for (heading, name) in layout.headings.iter().zip(&names.own) {
            events.push((heading.start, Event::Heading(heading.level, name.clone())));
        }
        for (at, fence) in &layout.fences {
            // A fence line counts from its start: a piece that starts within it has not seen it.
            events.push((at.saturating_sub(1), Event::Fence(*fence)));
        }
        for table in &layout.tables {
            let header = piece.get(table.header.clone()).unwrap_or_default().to_owned();
            if header.len() <= CONTEXT_BYTES / 2 {
                // The first row needs the header too.
                events.push((table.header.start, Event::Table(Some(header))));
                events.push((table.end(), Event::Table(None)));
            }
        }
        events.sort_by_key(|(at, _)| *at);
        let mut state = self.clone();
        let mut near = Vec::new();
        for (at, event) in events {
            let distance = piece.len().saturating_sub(at) + behind;
            // A table that the piece ends with may go on.
            if matches!(event, Event::Table(None)) && at >= piece.len() {
                continue;
            }
            if distance > REACH_BYTES {
                state.apply(event);
            } else {
                near.push((distance, event));
            }
        }
        // What is nearest to the end is kept apart longest, for most overlaps are short.
        let mut near = std::collections::VecDeque::from(near);
        while near.len() > CONTEXT_EVENTS {
            near.pop_front().into_iter().for_each(|(_, event)| state.apply(event));
        }
        loop {
            let out = state.text(length, near.make_contiguous());
            if out.len() <= CONTEXT_BYTES {
                return out;
            }
            match near.pop_front() {
                Some((_, event)) => state.apply(event),
                // Outer headings go before inner ones.
                None if state.path.is_empty() => return String::new(),
                None => drop(state.path.remove(0)),
            }
        }
    }

    /// The state and what comes after it, a line each.
    fn text(&self, length: usize, near: &[(usize, Event)]) -> String {
        let mut out = format!("{length}\tn\n");
        let mut push = |distance: usize, event: &Event| {
            let line = match event {
                Event::Heading(level, name) => format!("{distance}\th\t{level}\t{name}\n"),
                Event::Fence(Some(fence)) => format!("{distance}\tf\t{}\t{}\n", fence.length, char::from(fence.mark)),
                Event::Fence(None) => format!("{distance}\tf\t\t\n"),
                Event::Table(header) => format!("{distance}\tt\t\t{}\n", header.as_deref().unwrap_or_default()),
            };
            out.push_str(&line);
        };
        let far = usize::MAX;
        for (level, name) in &self.path {
            push(far, &Event::Heading(*level, name.clone()));
        }
        if self.fence.is_some() {
            push(far, &Event::Fence(self.fence));
        }
        if self.table.is_some() {
            push(far, &Event::Table(self.table.clone()));
        }
        for (distance, event) in near {
            push(*distance, event);
        }
        out
    }
}
