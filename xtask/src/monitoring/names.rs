//! Whether what a query names exists.

use super::catalogue::{Catalogue, SCRAPED};
use super::promql::{self, Selector};
use std::collections::BTreeSet;

/// Everything in a query that there is not. `what` is said before each complaint.
pub(super) fn check(what: &str, query: &str, catalogue: &Catalogue) -> Vec<String> {
    let scan = match promql::scan(query) {
        Ok(scan) => scan,
        Err(error) => return vec![format!("{what}: {error:#}")],
    };
    let mut complaints = Vec::new();
    if scan.selectors.is_empty() {
        complaints.push(format!("{what}: asks for no metric"));
    }
    let mut known = BTreeSet::from(SCRAPED);
    for selector in &scan.selectors {
        match catalogue.labels(&selector.name) {
            None => complaints.push(format!("{what}: there is no metric {}", selector.name)),
            Some(labels) => {
                complaints.extend(matchers(what, selector, &labels, catalogue));
                known.extend(labels);
            }
        }
    }
    let unknown = scan.groupings.iter().filter(|label| !known.contains(label.as_str()));
    complaints.extend(unknown.map(|label| format!("{what}: none of its metrics has a label {label}")));
    complaints
}

fn matchers(what: &str, selector: &Selector, labels: &BTreeSet<&str>, catalogue: &Catalogue) -> Vec<String> {
    let mut complaints = Vec::new();
    let name = &selector.name;
    for matcher in &selector.matchers {
        let label = matcher.label.as_str();
        if !labels.contains(label) && !SCRAPED.contains(&label) {
            complaints.push(format!("{what}: {name} has no label {label}"));
            continue;
        }
        let Some(values) = catalogue.values(name, label) else {
            continue;
        };
        let asked = matcher.value.split(if matcher.is_pattern { '|' } else { '\n' });
        let unknown = asked.filter(|value| !values.contains(value));
        complaints.extend(unknown.map(|value| format!("{what}: {label} of {name} is never {value}")));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::tests::METRICS;
    use super::*;

    fn said(query: &str) -> Vec<String> {
        check("x", query, &Catalogue::parse(METRICS).unwrap())
    }

    #[test]
    fn what_there_is_may_be_named() {
        for good in [
            "thing",
            "sum by (node, plugin) (thing{state=\"on\", node=~\"a.*\"})",
            "thing{state=~\"on|off\"} == 1",
            "histogram_quantile(0.5, sum by (le) (rate(took_seconds_bucket[5m])))",
            "took_seconds_sum / took_seconds_count and on (instance) up",
        ] {
            assert_eq!(said(good), [""; 0], "{good}");
        }
    }

    #[test]
    fn what_is_made_up_is_found() {
        for (bad, expected) in [
            ("things", "x: there is no metric things"),
            ("rate(took_seconds[5m])", "x: there is no metric took_seconds"),
            ("took_seconds_total", "x: there is no metric took_seconds_total"),
            ("thing{resource=\"a\"}", "x: thing has no label resource"),
            ("thing{state=\"once\"}", "x: state of thing is never once"),
            ("thing{state=~\"on|of\"}", "x: state of thing is never of"),
            ("sum by (plugins) (thing)", "x: none of its metrics has a label plugins"),
            ("sum by (le) (thing)", "x: none of its metrics has a label le"),
            ("1 + 1", "x: asks for no metric"),
        ] {
            assert_eq!(said(bad), [expected], "{bad}");
        }
    }
}
