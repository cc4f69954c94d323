//! The scorecard that people read.

use super::scorecard::{Check, Grade, Group};
use super::{PluginReport, Report};
use devgate::output::columns;
use std::fmt::Write;

pub(super) fn of(report: &Report) -> String {
    let cards = report.plugins.iter().map(|card| scorecard(card, &report.node));
    cards.collect::<Vec<_>>().join("\n")
}

fn scorecard(card: &PluginReport, node: &str) -> String {
    let mut text = format!("{} on the recorded node {node}\n\n", card.plugin);
    let rows: Vec<_> = card.groups.iter().map(summary).collect();
    text += &columns(2, &rows);
    let checks = card.groups.iter().flat_map(|group| &group.checks);
    for check in checks.filter(|check| check.result == Some(Grade::Failed)) {
        failure(&mut text, check);
    }
    let rows: Vec<_> = card.groups.iter().flat_map(skipped).collect();
    if !rows.is_empty() {
        text.push('\n');
        text += &columns(2, &rows);
    }
    let skipped = match card.skipped {
        0 => String::new(),
        n => format!(" ({n} skipped)"),
    };
    let (plugin, passed, total) = (&card.plugin, card.passed, card.passed + card.failed);
    let _ = writeln!(text, "\nconform: {plugin}: {passed} of {total} checks passed{skipped}");
    text
}

fn summary(group: &Group) -> [String; 3] {
    let passed = group.count(Grade::Passed);
    let failed = group.count(Grade::Failed);
    let mut says = group.title.to_owned();
    for (count, what) in [(failed, "FAILED"), (group.count(Grade::Skipped), "skipped")] {
        if count > 0 {
            says += &format!("; {count} {what}");
        }
    }
    [group.name.to_owned(), format!("{passed}/{}", passed + failed), says]
}

/// What was not tried; a group of which nothing was, for one reason, in one line.
fn skipped(group: &Group) -> Vec<[String; 3]> {
    let row = |what: &str, why: &str| ["skipped", what, why].map(str::to_owned);
    if let [first, rest @ ..] = group.checks.as_slice()
        && group.count(Grade::Skipped) == group.checks.len()
        && rest.iter().all(|check| check.evidence == first.evidence)
    {
        return vec![row(group.name, &first.evidence)];
    }
    let checks = group.checks.iter().filter(|check| check.result == Some(Grade::Skipped));
    checks.map(|check| row(check.id, &check.evidence)).collect()
}

fn failure(text: &mut String, check: &Check) {
    let _ = writeln!(text, "\nFAILED {}: {}", check.id, check.title);
    let mut rows = Vec::new();
    let mut row = |name: &str, value: &str| rows.push([name.to_owned(), value.to_owned()]);
    row("expected", check.expected);
    row("tried", &check.evidence);
    for seen in &check.failures {
        // A refusal may have a table in it.
        let lines: Vec<_> = seen.lines().map(str::trim).collect();
        row("seen", &lines.join("; "));
    }
    if check.more > 0 {
        row("", &format!("… and {} more", check.more));
    }
    row("to do", check.remedy.unwrap_or_default());
    row("again", check.again.as_deref().unwrap_or_default());
    *text += &columns(2, &rows);
}
