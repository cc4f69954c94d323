//! What deploy/monitoring has for Prometheus and Grafana. `promtool` reads the rules and plays their cases; here only names are looked up.
//!
//! A name that is made up makes no query fail, it only never finds anything: that is not noticed before an alert is missed. So every
//! name is looked up in the snapshot of all metrics that a test of the host keeps, and every metric and alert in what is for people.

use crate::process;
use crate::workspace::root;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::process::Command;

const FOLDER: &str = "deploy/monitoring";
/// The metrics of a host where everything has a value.
const SNAPSHOT: &str = "host/devgate/src/monitoring/metrics/snapshots/devgate__monitoring__metrics__tests__every_number_of_a_report_is_a_metric.snap";
/// What a histogram's series are called after its name; others' are called what they are.
const PARTS: [&str; 4] = ["", "_bucket", "_sum", "_count"];
/// Cases for the alerts; those that take days are apart, as `promtool` goes through them in steps of minutes.
const CASES: [&str; 2] = ["alerts.test.yaml", "alerts.days.test.yaml"];

/// What `promtool` says of the rules and of their cases.
pub(crate) fn promtool() -> Result<()> {
    for arguments in [&["check", "rules", "alerts.yaml"][..], &["test", "rules", CASES[0], CASES[1]]] {
        let mut command = Command::new("promtool");
        process::run(command.current_dir(root().join(FOLDER)).args(arguments))?;
    }
    Ok(())
}

/// Fails where a rule or the dashboard names a metric that there is not, a metric is neither shown nor explained, or an alert has
/// no case or no entry in the runbook.
pub(crate) fn names() -> Result<()> {
    let complaints = complaints(&read(SNAPSHOT)?)?;
    if !complaints.is_empty() {
        bail!("{FOLDER}:\n{}", complaints.join("\n"));
    }
    Ok(())
}

fn complaints(snapshot: &str) -> Result<Vec<String>> {
    let of_folder = |file| read(&format!("{FOLDER}/{file}"));
    let (rules, dashboard) = (of_folder("alerts.yaml")?, of_folder("dashboard.json")?);
    let cases = CASES.map(of_folder).into_iter().collect::<Result<String>>()?;
    let (guide, runbook) = (read("docs/operate.md")?, read("docs/alerts.md")?);
    let (asked, shown, played) = (words(&rules), words(&dashboard), words(&cases));
    let series: BTreeSet<_> = snapshot.lines().filter_map(|line| line.split(is_end).next()).collect();
    let mut all = Vec::new();
    let own = |word: &&&str| word.starts_with("devgate_") || word.starts_with("process_");
    let unknown = asked.union(&shown).filter(own).filter(|name| !series.contains(**name));
    all.extend(unknown.map(|name| format!("there is no metric {name}")));
    let families = snapshot.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    for family in families {
        if !PARTS.iter().any(|part| shown.contains(&*format!("{family}{part}"))) {
            all.push(format!("no panel of the dashboard shows {family}"));
        }
        if !guide.contains(&format!("`{family}`")) {
            all.push(format!("docs/operate.md does not say what {family} is"));
        }
    }
    for alert in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        if !played.contains(alert) {
            all.push(format!("no case is about {alert}"));
        }
        if !runbook.contains(&format!("\n## {alert}\n")) {
            all.push(format!("docs/alerts.md has no entry {alert}"));
        } else if !runbook.contains(&format!("\n## {alert}\n\n{}. ", urgency(&rules, alert))) {
            let urgency = urgency(&rules, alert);
            all.push(format!("docs/alerts.md does not begin the entry {alert} with {urgency}"));
        }
    }
    Ok(all)
}

/// How bad an alert is, and how long it must be so before it fires.
fn urgency(rules: &str, alert: &str) -> String {
    let rule = rules.split("- alert: ").find(|rule| rule.lines().next() == Some(alert));
    let lines = rule.unwrap_or_default().lines().map(str::trim);
    let severity = lines.clone().find_map(|line| line.split_once("severity: "));
    let severity = severity.map_or("", |(_, severity)| severity.trim_end_matches('}'));
    let mut after = lines.filter_map(|line| line.strip_prefix("for: "));
    let after = after.next().filter(|after| *after != "0m");
    after.map_or_else(|| severity.to_owned(), |after| format!("{severity}, {after}"))
}

fn is_end(c: char) -> bool {
    !c.is_ascii_alphanumeric() && c != '_' && c != ':'
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split(is_end).collect()
}

fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(root().join(path)).with_context(|| format!("read {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shipped_names_what_there_is() {
        names().unwrap();
    }

    #[test]
    fn a_metric_that_is_renamed_is_missed_by_rules_dashboard_and_guide() {
        let renamed = read(SNAPSHOT).unwrap().replace("devgate_devices_held", "devgate_devices_given");
        let expected = [
            "there is no metric devgate_devices_held",
            "no panel of the dashboard shows devgate_devices_given",
            "docs/operate.md does not say what devgate_devices_given is",
        ];
        assert_eq!(complaints(&renamed).unwrap(), expected);
    }
}
