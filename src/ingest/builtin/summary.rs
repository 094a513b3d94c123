//! Extractive summaries: sentences of the units, chosen for what they name and tell, within the budget.
use super::descriptions::{clean, head};
use super::scan::Scan;

/// First version.
pub(super) fn fold(units: &[&str], limit: usize) -> String {
    let mut out = String::new();
    let share = limit / units.len().max(1);
    for unit in units {
        let scan = Scan::new(unit);
        let Some(s) = scan.sentences.first() else { continue };
        let text = clean(&unit[s.start..s.end], share.saturating_sub(1));
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&text);
    }
    head(&out, limit).to_owned()
}
