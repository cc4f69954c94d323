//! What is printed of the scenarios that were played.

use super::outcome::{Outcome, Played, seconds};
use clap::builder::styling::Style;
use devgate::output::{BAD, count, program, quoted};
use devgate_types::escape;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// How many of the log's last lines are shown.
const LAST_LINES: usize = 12;
/// The longest line of what is shown, in characters.
const MAX_LINE: usize = 2_000;

/// One scenario.
pub(super) fn scenario(outcome: &Outcome, verbose: bool) -> String {
    let mut text = String::new();
    let (style, word) = if outcome.passed() { (Style::new(), "passed") } else { (BAD, "FAILED") };
    let _ = writeln!(text, "{style}{word}{style:#}  {} ({})", title(outcome), seconds(outcome.took));
    if outcome.passed() && !verbose {
        return text;
    }
    text.push_str(&steps(outcome));
    if !outcome.passed() {
        text.push_str(&last_words(outcome));
    }
    text
}

/// Its file, and what it is about.
pub(super) fn title(outcome: &Outcome) -> String {
    let file = escape(&outcome.file.display().to_string(), 256);
    match outcome.about.as_str() {
        "" => file,
        about => format!("{file}: {}", escape(about, MAX_LINE)),
    }
}

/// Every step that was taken, with what was wrong.
pub(super) fn steps(outcome: &Outcome) -> String {
    let mut text = String::new();
    for played in &outcome.steps {
        step(&mut text, played);
    }
    let left = match outcome.of.saturating_sub(outcome.steps.len()) {
        0 => String::new(),
        1 => "1 more step was not taken".to_owned(),
        more => format!("{more} more steps were not taken"),
    };
    lines(&mut text, &left);
    lines(&mut text, outcome.broken.as_deref().unwrap_or_default());
    text
}

/// The end of the host's log.
pub(super) fn last_words(outcome: &Outcome) -> String {
    let mut text = String::new();
    if outcome.log.is_empty() {
        return text;
    }
    text.push_str("  the host's log, its last lines:\n");
    for line in outcome.log.iter().skip(outcome.log.len().saturating_sub(LAST_LINES)) {
        // The host's own lines say which plugin they are about.
        let own = line.plugin.is_empty() || line.message.contains(&format!("plugin {}", line.plugin));
        let whose = if own { String::new() } else { format!("plugin {} says: ", line.plugin) };
        let said = escape(&format!("{whose}{}", line.message), MAX_LINE);
        let _ = writeln!(text, "    {:<5} {said}", line.level);
    }
    text
}

fn step(text: &mut String, played: &Played) {
    let (style, word) = if played.failure.is_some() { (BAD, "FAILED") } else { (Style::new(), "ok") };
    let (number, line, took) = (played.number, played.line, seconds(played.took));
    let _ = writeln!(text, "  {style}{word:<6}{style:#}  step {number}, line {line}: {} ({took})", played.summary);
    lines(text, played.note.as_deref().unwrap_or_default());
    let Some(failure) = &played.failure else { return };
    lines(text, failure.message.as_deref().unwrap_or_default());
    for mismatch in &failure.wrong {
        lines(text, &mismatch.what);
        let _ = writeln!(text, "            expected  {}", escape(&mismatch.expected, MAX_LINE));
        let _ = writeln!(text, "            found     {}", escape(&mismatch.found, MAX_LINE));
    }
}

fn lines(text: &mut String, what: &str) {
    for line in what.lines() {
        let _ = writeln!(text, "          {}", escape(line, MAX_LINE));
    }
}

/// At most so many characters of a text.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// All of them, counted.
pub(super) fn summary(outcomes: &[Outcome], took: Duration, components: Option<&Path>) -> String {
    let all = count(outcomes.len(), "scenario");
    let passed = outcomes.iter().filter(|outcome| outcome.passed()).count();
    let failed = outcomes.len() - passed;
    let mut text = format!("\n{all}: {passed} passed, {failed} failed ({})\n", seconds(took));
    if let Some(first) = outcomes.iter().find(|outcome| !outcome.passed()) {
        let components = components.map(|dir| format!(" --components {}", quoted(dir))).unwrap_or_default();
        let _ = writeln!(text, "next: {} simulate {}{components} --trace", program(), quoted(&first.file));
    }
    text
}
