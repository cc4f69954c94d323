//! The scorecard that people read.

use super::scorecard::{Check, Grade, Group};
use super::{PluginReport, Report};
use clap::builder::styling::Style;
use devgate::output::{BAD, columns, program};
use std::fmt::Write;

/// All scorecards, those with failures first, and how to try the first failure again: with these options.
pub(super) fn of(report: &Report, options: &str) -> String {
    let (failing, others): (Vec<_>, Vec<_>) = report.plugins.iter().partition(|card| card.failed > 0);
    let cards = failing.iter().chain(&others).map(|card| scorecard(card, &report.node));
    let mut text = cards.collect::<Vec<_>>().join("\n");
    if let Some(card) = failing.first() {
        let checks = card.groups.iter().flat_map(|group| &group.checks);
        let again = checks.filter_map(|check| check.again.as_ref()).next().map(String::as_str).unwrap_or_default();
        let plugin = if report.plugins.len() > 1 { format!(" --plugin {}", card.plugin) } else { String::new() };
        let _ = writeln!(text, "next: {} conform{options}{plugin} {again}", program());
    }
    text
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
    for (count, style, what) in [(failed, BAD, "FAILED"), (group.count(Grade::Skipped), Style::new(), "skipped")] {
        if count > 0 {
            says += &format!("; {count} {style}{what}{style:#}");
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
    let checks: Vec<_> = group.checks.iter().filter(|check| check.result == Some(Grade::Skipped)).collect();
    let same = checks.chunk_by(|a, b| a.evidence == b.evidence);
    let folded = same.filter_map(|same| {
        let (first, more) = same.split_first()?;
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        Some(row(&format!("{}{more}", first.id), &first.evidence))
    });
    folded.collect()
}

fn failure(text: &mut String, check: &Check) {
    let _ = writeln!(text, "\n{BAD}FAILED{BAD:#} {}: {}", check.id, check.title);
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
