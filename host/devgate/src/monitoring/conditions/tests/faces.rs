//! The table of conditions in the guide against what each face of a host says. tests/tests/e2e/conditions.rs makes them happen.

use super::{well, with};
use crate::monitoring::conditions::{About, Condition};
use crate::monitoring::{Report, http, metrics};
use crate::output::plain;
use crate::status::{code, text};
use std::collections::BTreeSet;
use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap()
}

/// The cells of each line.
fn table(guide: &str) -> Vec<Vec<&str>> {
    let (_, section) = guide.split_once("\n## When all is well\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn series(report: &Report, family: &str) -> Vec<String> {
    let all = metrics::text(report, &Vec::new());
    let such = |line: &&str| line.split(['{', ' ']).next() == Some(family);
    all.lines().filter(such).map(str::to_owned).collect()
}

#[test]
fn every_condition_has_its_line_in_the_guide_and_no_line_is_without() {
    let guide = read("docs/operate.md");
    let lines: Vec<_> = table(&guide).iter().map(|line| line[0].trim_matches('`')).collect();
    assert_eq!(lines, Condition::ALL.map(Condition::as_str));
}

#[test]
fn every_face_says_of_a_condition_what_its_line_says() {
    let guide = read("docs/operate.md");
    let (rules, runbook) = (read("deploy/monitoring/alerts.yaml"), read("docs/alerts.md"));
    let findings = read("docs/devgatectl.md");
    for (line, condition) in table(&guide).into_iter().zip(Condition::ALL) {
        let [_, _, says, readyz, own, alerts, before, what_to_do] = line[..] else { panic!("{line:?}") };
        let report = with(condition);
        let json = serde_json::to_value(&report).unwrap();
        let shown = plain(&text::of(&report));
        // The page has `summary` and `conditions` of the JSON on top.
        let (rest, next) = shown.trim_end().rsplit_once('\n').unwrap();
        assert!(next.ends_with(&format!(" help {}", condition.as_str())), "{condition:?}: {next}");
        for summary in [rest.lines().last().unwrap(), json["summary"].as_str().unwrap()] {
            assert!(summary.starts_with("NOT well: ") && summary.ends_with(says), "{condition:?}: {summary}");
        }
        assert_eq!(json["conditions"][0]["condition"], condition.as_str());
        assert_eq!(json["conditions"].as_array().unwrap().len(), 1);
        assert_eq!(code(&report), 5, "{condition:?}");
        assert_eq!(http::ready(&report).status().as_str(), readyz, "{condition:?}");
        let healthz = if condition == Condition::Hangs { 503 } else { 200 };
        assert_eq!(http::lives(&report.late).status().as_u16(), healthz, "{condition:?}");
        let label = format!("devgate_condition{{condition=\"{}\"}} ", condition.as_str());
        for line in series(&report, "devgate_condition") {
            assert_eq!(line.starts_with(&label), !line.ends_with(" 0"), "{line}");
        }
        for own in quoted(own) {
            assert_ne!(series(&report, own), series(&well(), own), "{condition:?}: {own}");
        }
        let alerts: BTreeSet<_> = alerts.split(", ").collect();
        for alert in &alerts {
            assert!(runbook.contains(&format!("\n## {alert}\n")), "{alert}");
            let rule = rules.split("- alert: ").find(|rule| rule.lines().next() == Some(alert));
            let rule = rule.unwrap_or_else(|| panic!("there is no alert {alert}"));
            let asks =
                |word: &str| rule.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').any(|w| w == word);
            assert!(
                quoted(own).any(asks) || asks(condition.as_str()) || alert.starts_with("DevgateAllocations"),
                "{condition:?}: {alert} asks for nothing of it"
            );
        }
        for finding in quoted(before) {
            assert!(findings.contains(&format!("`{finding}`")), "{condition:?}: {finding}");
        }
        assert!(!what_to_do.is_empty(), "{condition:?}");
    }
}

/// What is wrong is told where an admin looks: with its plugin and resource, or on top.
#[test]
fn the_text_says_why() {
    for condition in Condition::ALL {
        let (report, before) = (with(condition), plain(&text::of(&well())));
        let shown = plain(&text::of(&report));
        let new: Vec<_> = shown.lines().filter(|line| !before.contains(line)).collect();
        assert!(new.len() >= 2, "{condition:?} ({:?}): {new:#?}", condition.about());
        if condition.about() == About::Host {
            let why = report.conditions[0].why.lines().next().unwrap();
            assert!(shown.contains(why), "{condition:?}: {shown}");
        }
    }
}
