//! The scorecard as JUnit's XML, which every CI system shows.

use super::Report;
use super::sheet::{Check, Grade};
use std::fmt::Write;

pub(super) fn of(report: &Report) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"devgate conform\">\n".to_owned();
    for card in &report.plugins {
        for group in &card.groups {
            let _ = writeln!(
                text,
                "  <testsuite name=\"{}.{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">",
                escape(&card.plugin),
                group.name,
                group.checks.len(),
                group.count(Grade::Failed),
                group.count(Grade::Skipped)
            );
            for check in &group.checks {
                case(&mut text, &card.plugin, check);
            }
            text += "  </testsuite>\n";
        }
    }
    text + "</testsuites>\n"
}

fn case(text: &mut String, plugin: &str, check: &Check) {
    let name = format!("{}: {}", check.id, check.title);
    let _ = write!(
        text,
        "    <testcase classname=\"{}\" name=\"{}\"",
        escape(plugin),
        escape(&name)
    );
    match check.result {
        Grade::Passed => *text += "/>\n",
        Grade::Skipped => {
            let _ = writeln!(text, "><skipped message=\"{}\"/></testcase>", escape(&check.evidence));
        }
        Grade::Failed => {
            let first = check.failures.first().map(String::as_str).unwrap_or_default();
            let mut more = format!("expected: {}\ntried: {}\n", check.expected, check.evidence);
            for seen in &check.failures {
                let _ = writeln!(more, "seen: {seen}");
            }
            let _ = writeln!(more, "to do: {}", check.remedy.unwrap_or_default());
            let _ = writeln!(more, "again: {}", check.again.as_deref().unwrap_or_default());
            let _ = writeln!(
                text,
                "><failure message=\"{}\">{}</failure></testcase>",
                escape(first),
                escape(&more)
            );
        }
    }
}

/// XML has no way to say most control characters at all.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.extend(c.escape_default()),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_component_says_ends_the_element() {
        assert_eq!(escape("a<b>&\"\u{1b}\u{0}"), "a&lt;b&gt;&amp;&quot;\\u{1b}\\u{0}");
    }
}
