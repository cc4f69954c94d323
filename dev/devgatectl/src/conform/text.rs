//! The scorecard that people read.

use super::sheet::{Check, Grade};
use super::{Report, Scorecard};
use devgate::output::columns;
use devgate_types::ByteSize;
use std::fmt::Write;

pub(super) fn of(report: &Report) -> String {
    let mut text = String::new();
    for (n, card) in report.plugins.iter().enumerate() {
        if n > 0 {
            text.push('\n');
        }
        scorecard(&mut text, card, &report.node);
    }
    text
}

fn scorecard(text: &mut String, card: &Scorecard, node: &str) {
    let _ = writeln!(text, "{} on the recorded node {node}\n", card.plugin);
    let rows: Vec<_> = card
        .groups
        .iter()
        .map(|group| {
            let (passed, failed, skipped) = (
                group.count(Grade::Passed),
                group.count(Grade::Failed),
                group.count(Grade::Skipped),
            );
            let mut says = group.title.to_owned();
            if failed > 0 {
                says += &format!("; {failed} FAILED");
            }
            if skipped > 0 {
                says += &format!("; {skipped} skipped");
            }
            [group.name.to_owned(), format!("{passed}/{}", passed + failed), says]
        })
        .collect();
    *text += &columns(2, &rows);
    let checks = || card.groups.iter().flat_map(|group| &group.checks);
    for check in checks().filter(|check| check.result == Grade::Failed) {
        failure(text, check);
    }
    skipped(text, card);
    figures(text, card);
    let total = card.passed + card.failed;
    let skipped = match card.skipped {
        0 => String::new(),
        n => format!(" ({n} skipped)"),
    };
    let _ = writeln!(
        text,
        "\nconform: {}: {} of {total} checks passed{skipped}",
        card.plugin, card.passed
    );
}

/// What was not tried; a group of which nothing was, for one reason, in one line.
fn skipped(text: &mut String, card: &Scorecard) {
    let mut rows = Vec::new();
    for group in &card.groups {
        let mut skipped: Vec<_> = group
            .checks
            .iter()
            .filter(|check| check.result == Grade::Skipped)
            .collect();
        let whole = skipped.len() == group.checks.len()
            && skipped
                .iter()
                .all(|check| Some(&check.evidence) == skipped.first().map(|first| &first.evidence));
        skipped.truncate(if whole { 1 } else { usize::MAX });
        rows.extend(skipped.into_iter().map(|check| {
            let what = if whole { group.name } else { check.id };
            ["skipped".to_owned(), what.to_owned(), check.evidence.clone()]
        }));
    }
    if !rows.is_empty() {
        text.push('\n');
        *text += &columns(2, &rows);
    }
}

fn failure(text: &mut String, check: &Check) {
    let _ = writeln!(text, "\nFAILED {}: {}", check.id, check.title);
    let mut rows = vec![
        ["expected".to_owned(), check.expected.to_owned()],
        ["tried".to_owned(), check.evidence.clone()],
    ];
    rows.extend(check.failures.iter().map(|seen| ["seen".to_owned(), one_line(seen)]));
    if check.more > 0 {
        rows.push([String::new(), format!("… and {} more", check.more)]);
    }
    rows.extend(check.remedy.map(|remedy| ["to do".to_owned(), remedy.to_owned()]));
    rows.extend(check.again.clone().map(|again| ["again".to_owned(), again]));
    *text += &columns(2, &rows);
}

/// A refusal may have a table in it.
fn one_line(seen: &str) -> String {
    seen.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

fn figures(text: &mut String, card: &Scorecard) {
    let component = &card.component;
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push([name.to_owned(), value]);
    row(
        "component",
        format!("{}, {} bytes", component.file, component.size.unwrap_or_default()),
    );
    row("imports", component.imports.join(", "));
    row("exports", component.exports.join(", "));
    if component.wasi {
        row(
            "WASI",
            "imported; a component without it is called on the host's own threads".to_owned(),
        );
    }
    if !component.unused.is_empty() {
        row(
            "unused",
            format!("granted and never imported: {}", component.unused.join(", ")),
        );
    }
    if let Some(figures) = &card.figures {
        let units = figures.units;
        let unit = if units == 1 { "unit" } else { "units" };
        row(
            "enumerate",
            format!(
                "{} µs for {units} {unit}, {} calls to the host",
                figures.enumerate_us, figures.host_calls
            ),
        );
        if let Some(allocate) = figures.allocate_us {
            row("allocate", format!("{allocate} µs for one unit"));
        }
        row("memory", format!("{} at most", ByteSize(figures.memory)));
    }
    text.push('\n');
    *text += &columns(2, &rows);
}
