//! The rules, and whether each alert has its cases.

use super::promql;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// What an alert may be, from what wakes somebody to what is only shown.
const SEVERITIES: [&str; 3] = ["critical", "warning", "info"];

/// A file of rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    groups: Vec<Group>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    #[serde(rename = "name")]
    _name: String,
    rules: Vec<Rule>,
}

/// An alert, or what is recorded.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    #[serde(default)]
    pub(super) alert: Option<String>,
    #[serde(default)]
    record: Option<String>,
    expr: String,
    #[serde(default, rename = "for")]
    wait: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) annotations: BTreeMap<String, String>,
}

impl Rule {
    /// Whom it wakes and when, in the words of the runbook.
    pub(super) fn when(&self) -> String {
        let severity = self.labels.get("severity").map_or("", String::as_str);
        match self.wait.as_deref() {
            None | Some("0m") => format!("{severity}, at once."),
            Some(wait) => format!("{severity}, after {wait}."),
        }
    }
}

impl Rules {
    /// Of YAML.
    pub(super) fn parse(text: &str) -> Result<Self> {
        serde_saphyr::from_str(text).context("alerts.yaml")
    }

    fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.groups.iter().flat_map(|group| &group.rules)
    }

    /// The alerts, with their names.
    pub(super) fn alerts(&self) -> impl Iterator<Item = (&str, &Rule)> {
        self.rules().filter_map(|rule| Some((rule.alert.as_deref()?, rule)))
    }

    /// What is recorded: name and query.
    pub(super) fn recorded(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rules()
            .filter_map(|rule| Some((rule.record.as_deref()?, rule.expr.as_str())))
    }

    /// Every query, with what it is of.
    pub(super) fn queries(&self) -> impl Iterator<Item = (String, String)> {
        self.rules().map(|rule| {
            let what = match (&rule.alert, &rule.record) {
                (Some(name), _) => format!("alert {name}"),
                (None, name) => format!("record {}", name.as_deref().unwrap_or_default()),
            };
            (what, rule.expr.clone())
        })
    }

    /// The metrics that a query is made of, through what is recorded.
    fn metrics(&self, query: &str) -> BTreeSet<String> {
        let Ok(scan) = promql::scan(query) else {
            return BTreeSet::new();
        };
        let mut all = BTreeSet::new();
        for selector in scan.selectors {
            let recorded = self
                .recorded()
                .find(|(name, inner)| *name == selector.name && *inner != query);
            match recorded {
                Some((_, inner)) => all.extend(self.metrics(inner)),
                None => drop(all.insert(selector.name)),
            }
        }
        all
    }
}

/// A file of cases for `promtool test rules`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cases {
    #[serde(rename = "rule_files")]
    _files: Vec<String>,
    #[serde(rename = "evaluation_interval")]
    _every: String,
    tests: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "interval")]
    _interval: String,
    input_series: Vec<Series>,
    alert_rule_test: Vec<Look>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Series {
    series: String,
    #[serde(rename = "values")]
    _values: String,
}

/// What is expected of one alert at one moment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Look {
    #[serde(rename = "eval_time")]
    _at: String,
    alertname: String,
    exp_alerts: Vec<Expected>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    #[serde(rename = "exp_labels")]
    _labels: BTreeMap<String, String>,
    #[serde(rename = "exp_annotations")]
    _annotations: BTreeMap<String, String>,
}

impl Cases {
    /// Of YAML; `name` is said where it cannot be read.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self> {
        serde_saphyr::from_str(text).context(name.to_owned())
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.tests.len()
    }
}

impl Case {
    /// Whether an alert is expected to fire, and whether it is expected to be quiet, at some moment.
    fn expects(&self, alert: &str) -> (bool, bool) {
        let looks = || self.alert_rule_test.iter().filter(|look| look.alertname == alert);
        let is_quiet = |look: &Look| look.exp_alerts.is_empty();
        (looks().any(|look| !is_quiet(look)), looks().any(is_quiet))
    }
}

/// What is missing: a severity, words for people, a case that fires, one that does not for want of time, one that does not at all.
pub(super) fn complaints(rules: &Rules, cases: &[Cases]) -> Vec<String> {
    let mut all = Vec::new();
    let tests = || cases.iter().flat_map(|cases| &cases.tests);
    for (name, rule) in rules.alerts() {
        let mut say = |what: &str| all.push(format!("alert {name}: {what}"));
        let severity = rule.labels.get("severity").map(String::as_str);
        if !severity.is_some_and(|severity| SEVERITIES.contains(&severity)) {
            say("its severity is none of critical, warning and info");
        }
        for key in ["summary", "description"] {
            if rule.annotations.get(key).is_none_or(String::is_empty) {
                say(&format!("has no {key}"));
            }
        }
        let waits = rule.wait.as_deref().is_some_and(|wait| wait != "0m");
        let fires = |case: &&Case| case.expects(name).0;
        if !tests().any(|case| fires(&case)) {
            say("no case fires it");
        } else if waits && !tests().filter(fires).any(|case| case.expects(name).1) {
            say("no case that fires it is quiet before that, though it waits (for)");
        }
        let metrics = rules.metrics(&rule.expr);
        let is_about = |case: &&Case| {
            let scans = case
                .input_series
                .iter()
                .filter_map(|one| promql::scan(&one.series).ok());
            scans
                .flat_map(|scan| scan.selectors)
                .any(|one| metrics.contains(&one.name))
        };
        if !tests().filter(is_about).any(|case| case.expects(name) == (false, true)) {
            say("no case with its metrics is quiet throughout");
        }
    }
    let known: BTreeSet<_> = rules.alerts().map(|(name, _)| name).collect();
    let looks = tests().flat_map(|case| &case.alert_rule_test);
    let unknown: BTreeSet<_> = looks
        .map(|look| look.alertname.as_str())
        .filter(|name| !known.contains(name))
        .collect();
    all.extend(
        unknown
            .into_iter()
            .map(|name| format!("cases: there is no alert {name}")),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(severity: &str, wait: &str) -> Rules {
        let text = format!(
            "groups:\n  - name: g\n    rules:\n      - {{record: 'a:thing:sum', expr: 'sum by (a) (thing)'}}\n      - alert: Bad\n        \
             expr: 'a:thing:sum > 1'\n        for: {wait}\n        labels: {{severity: {severity}}}\n        \
             annotations: {{summary: s, description: d}}\n"
        );
        Rules::parse(&text).unwrap()
    }

    fn cases(looks: &[(&str, &str, &str)]) -> Vec<Cases> {
        let case = |(series, alert, looks): &(&str, &str, &str)| {
            let looks: Vec<_> = looks
                .chars()
                .map(|fires| {
                    let one = if fires == '!' {
                        "{exp_labels: {}, exp_annotations: {}}"
                    } else {
                        ""
                    };
                    format!("{{eval_time: 1m, alertname: {alert}, exp_alerts: [{one}]}}")
                })
                .collect();
            format!(
                "  - {{name: x, interval: 1m, input_series: [{{series: '{series}', values: '1'}}], alert_rule_test: [{}]}}\n",
                looks.join(", ")
            )
        };
        let text: String = looks.iter().map(case).collect();
        let head = "rule_files: [a]\nevaluation_interval: 1m\ntests:\n";
        vec![Cases::parse("cases", &format!("{head}{text}")).unwrap()]
    }

    #[test]
    fn an_alert_has_a_severity_and_cases_both_ways() {
        let good = [("thing", "Bad", ".!"), ("thing{a=\"b\"}", "Bad", ".")];
        assert_eq!(complaints(&rules("warning", "5m"), &cases(&good)), [""; 0]);
        let at_once = [("thing", "Bad", "!"), ("thing", "Bad", ".")];
        assert_eq!(complaints(&rules("info", "0m"), &cases(&at_once)), [""; 0]);
    }

    #[test]
    fn what_is_missing_is_said() {
        let good = [("thing", "Bad", ".!"), ("thing", "Bad", ".")];
        for (severity, looks, expected) in [
            (
                "page",
                &good[..],
                "alert Bad: its severity is none of critical, warning and info",
            ),
            ("info", &good[1..], "alert Bad: no case fires it"),
            (
                "info",
                &good[..1],
                "alert Bad: no case with its metrics is quiet throughout",
            ),
            (
                "info",
                &[("thing", "Bad", "!"), ("thing", "Bad", ".")],
                "alert Bad: no case that fires it is quiet before that, though it waits (for)",
            ),
            (
                "info",
                &[("thing", "Bad", ".!"), ("other", "Bad", ".")],
                "alert Bad: no case with its metrics is quiet throughout",
            ),
            (
                "info",
                &[good[0], good[1], ("thing", "Worse", ".")],
                "cases: there is no alert Worse",
            ),
        ] {
            assert_eq!(complaints(&rules(severity, "5m"), &cases(looks)), [expected]);
        }
    }
}
