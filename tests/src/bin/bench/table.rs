//! The benchmark's table: value, budget, met or missed.

use serde_json::{Value, json};

/// All figures of a run.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

struct Row {
    what: String,
    value: f64,
    unit: &'static str,
    /// At most this, where a budget exists.
    budget: Option<f64>,
}

impl Table {
    /// Adds a figure that has a budget: at most `budget`.
    pub(crate) fn budget(&mut self, what: &str, value: f64, unit: &'static str, budget: f64) {
        self.rows.push(Row { what: what.to_owned(), value, unit, budget: Some(budget) });
    }

    /// Adds a figure that has none.
    pub(crate) fn figure(&mut self, what: &str, value: f64, unit: &'static str) {
        self.rows.push(Row { what: what.to_owned(), value, unit, budget: None });
    }

    /// As text.
    pub(crate) fn text(&self) -> String {
        let width = self.rows.iter().map(|row| row.what.chars().count()).max().unwrap_or(0);
        let mut text = format!("{:<width$}  {:>12}  {:>12}", "what", "value", "budget");
        for row in &self.rows {
            let value = format!("{} {}", number(row.value), row.unit);
            let budget = row.budget.map_or(String::new(), |budget| format!("{} {}", number(budget), row.unit));
            let verdict = match row.budget {
                None => "",
                Some(budget) if row.value <= budget => "met",
                Some(_) => "MISSED",
            };
            text += &format!("\n{:<width$}  {value:>12}  {budget:>12}  {verdict}", row.what);
        }
        text
    }

    /// As JSON.
    pub(crate) fn json(&self) -> anyhow::Result<String> {
        let row = |row: &Row| {
            json!({
                "what": row.what,
                "value": row.value,
                "unit": row.unit,
                "budget": row.budget,
                "met": row.budget.map(|budget| row.value <= budget),
            })
        };
        Ok(serde_json::to_string_pretty(&Value::Array(self.rows.iter().map(row).collect()))?)
    }
}

fn number(value: f64) -> String {
    if value.abs() < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}

/// The median and the 99th percentile.
pub(crate) fn median_and_p99(samples: &mut [f64]) -> (f64, f64) {
    samples.sort_by(f64::total_cmp);
    let at = |share: usize| samples.get(samples.len() * share / 100).copied().unwrap_or(f64::NAN);
    (at(50), at(99))
}
