//! What is printed of the scenarios that were played.

use super::outcome::{Failure, Outcome, Played};
use devgate_model::escape;
use std::fmt::Write;
use std::time::Duration;

/// How many of the log's last lines are shown.
const LAST_LINES: usize = 12;
/// The longest line of what is shown, in characters.
const MOST: usize = 2_000;

/// One scenario.
pub(super) fn scenario(outcome: &Outcome, verbose: bool) -> String {
    let mut text = String::new();
    let word = if outcome.passed() { "passed" } else { "FAILED" };
    let file = escape(&outcome.file.display().to_string(), 256);
    let about = match outcome.about.as_str() {
        "" => String::new(),
        about => format!(": {}", escape(about, MOST)),
    };
    let _ = writeln!(text, "{word}  {file}{about} ({})", seconds(outcome.took));
    if outcome.passed() && !verbose {
        return text;
    }
    for played in &outcome.steps {
        step(&mut text, played);
    }
    match outcome.of.saturating_sub(outcome.steps.len()) {
        0 => {}
        1 => text.push_str("        1 more step was not taken\n"),
        more => {
            let _ = writeln!(text, "        {more} more steps were not taken");
        }
    }
    if let Some(broken) = &outcome.broken {
        for line in broken.lines() {
            let _ = writeln!(text, "        {}", escape(line, MOST));
        }
    }
    if !outcome.log.is_empty() {
        let _ = writeln!(text, "      the host's log, its last lines:");
    }
    for line in outcome.log.iter().skip(outcome.log.len().saturating_sub(LAST_LINES)) {
        let plugin = match line.plugin.as_str() {
            "" => String::new(),
            plugin => format!("{plugin}: "),
        };
        let _ = writeln!(
            text,
            "        {:<5} {}",
            line.level,
            escape(&format!("{plugin}{}", line.message), MOST)
        );
    }
    text
}

fn step(text: &mut String, played: &Played) {
    let word = if played.failure.is_some() { "FAILED" } else { "ok" };
    let _ = writeln!(
        text,
        "  {word:<6}  step {}, line {}: {} ({})",
        played.number,
        played.line,
        played.summary,
        seconds(played.took)
    );
    if let Some(note) = &played.note {
        let _ = writeln!(text, "          {}", escape(note, MOST));
    }
    match &played.failure {
        None => {}
        Some(Failure::Broken(why)) => {
            for line in why.lines() {
                let _ = writeln!(text, "          {}", escape(line, MOST));
            }
        }
        Some(Failure::Unexpected { within, wrong }) => {
            if !within.is_zero() {
                let _ = writeln!(text, "          did not come within {}:", seconds(*within));
            }
            for mismatch in wrong {
                let _ = writeln!(text, "          {}", escape(&mismatch.what, MOST));
                let _ = writeln!(text, "            expected  {}", escape(&mismatch.expected, MOST));
                let _ = writeln!(text, "            found     {}", escape(&mismatch.found, MOST));
            }
        }
    }
}

/// All of them, counted.
pub(super) fn summary(outcomes: &[Outcome], took: Duration) -> String {
    let failed = outcomes.iter().filter(|outcome| !outcome.passed()).count();
    let all = match outcomes.len() {
        1 => "1 scenario".to_owned(),
        n => format!("{n} scenarios"),
    };
    format!(
        "\n{all}: {} passed, {failed} failed ({})\n",
        outcomes.len() - failed,
        seconds(took)
    )
}

fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}
