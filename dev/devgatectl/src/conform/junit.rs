//! The scorecard as JUnit's XML.

use super::Report;
use super::scorecard::{Check, Grade, Group};
use crate::junit::{self, Case, Suite};
use std::fmt::Write;

pub(super) fn of(report: &Report) -> String {
    let suite = |plugin: &str, group: &Group| Suite {
        name: format!("{plugin}.{}", group.name),
        cases: group.checks.iter().map(|check| case(plugin, check)).collect(),
    };
    let cards = report.plugins.iter();
    let suites: Vec<_> = cards.flat_map(|card| card.groups.iter().map(|group| suite(&card.plugin, group))).collect();
    junit::xml("devgatectl conform", &suites)
}

fn case(plugin: &str, check: &Check) -> Case {
    Case {
        class: plugin.to_owned(),
        name: format!("{}: {}", check.id, check.title),
        took: None,
        failure: (check.result == Some(Grade::Failed)).then(|| failure(check)),
        skipped: (check.result == Some(Grade::Skipped)).then(|| check.evidence.clone()),
        output: String::new(),
    }
}

fn failure(check: &Check) -> (String, String) {
    let first = check.failures.first().cloned().unwrap_or_default();
    let mut all = format!("expected: {}\ntried: {}\n", check.expected, check.evidence);
    for seen in &check.failures {
        let _ = writeln!(all, "seen: {seen}");
    }
    let _ = writeln!(all, "to do: {}", check.remedy.unwrap_or_default());
    let _ = writeln!(all, "again: {}", check.again.as_deref().unwrap_or_default());
    (first, all)
}
