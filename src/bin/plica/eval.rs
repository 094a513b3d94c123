//! `plica eval`: search measured against judged questions.

use crate::arguments::Eval;
use crate::failure::Outcome;
use crate::opening::open;
use crate::output::{Output, STRONG, counted, table};
use plica::eval::{EvalOptions, evaluate};
use serde_json::Value;

/// Measures.
pub fn eval(arguments: &Eval) -> Outcome {
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let mut options = EvalOptions::default();
    options.ks = arguments.k.iter().map(|k| k.get()).collect();
    options.pool = arguments.pool;
    options.statistics = arguments.stats.into();
    let evaluation = evaluate(&snapshot, &arguments.beir, &options)?;
    let mut out = Output::new();
    if arguments.reading.json {
        out.json(&evaluation)?;
        return out.flush();
    }
    show(&mut out, &serde_json::to_value(&evaluation).unwrap_or_default())?;
    out.flush()
}

/// Shows the measures to people, a row each, in the order of the JSON.
fn show(out: &mut Output, evaluation: &Value) -> Outcome {
    let queries = evaluation.get("queries").and_then(Value::as_u64).unwrap_or_default();
    out.line(out.styled(STRONG, &format!("{}, per cent", counted(queries, "question"))))?;
    let number = |value: Option<&Value>| value.and_then(Value::as_f64);
    let Some(Value::Object(text)) = evaluation.get("text") else { return Ok(()) };
    let rows: Vec<Vec<String>> = text
        .iter()
        .map(|(measure, value)| {
            let at = |column: &str| evaluation.get(column).and_then(|column| column.get(measure));
            let plain = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
            let signed = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:+.1}"));
            let difference = at("difference");
            let part = |name: &str| signed(number(difference.and_then(|difference| difference.get(name))));
            vec![
                measure.clone(),
                plain(value.as_f64()),
                plain(number(at("fused"))),
                part("mean"),
                format!("{} to {}", part("low"), part("high")),
            ]
        })
        .collect();
    table(out, &["measure", "text", "fused", "difference", "95 % interval"], &[1, 2, 3, 4], &rows)
}
