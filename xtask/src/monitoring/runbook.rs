//! Whether every alert leads to its entry of the runbook.

use super::alerts::Rules;
use std::collections::BTreeSet;

/// Where `runbook_url` leads, before the anchor.
const PAGE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/alerts.md#");
/// What each entry says, in this order.
const PARTS: [&str; 6] = ["Means", "Felt", "First", "Causes", "Do", "Ignore"];

/// What is missing in the runbook, or too much.
pub(super) fn complaints(rules: &Rules, page: &str) -> Vec<String> {
    let entries: Vec<_> = page
        .split("\n## ")
        .skip(1)
        .map(|entry| entry.split_once('\n').unwrap_or((entry, "")))
        .collect();
    let mut all = Vec::new();
    for (name, rule) in rules.alerts() {
        // As GitHub makes anchors of headings that are one word.
        let url = format!("{PAGE}{}", name.to_lowercase());
        if rule.annotations.get("runbook_url") != Some(&url) {
            all.push(format!("alert {name}: its runbook_url is not {url}"));
        }
        match entries.iter().find(|(heading, _)| *heading == name) {
            None => all.push(format!("docs/alerts.md: has no entry {name}")),
            Some((_, text)) => {
                let when = rule.when();
                if text.trim_start().lines().next() != Some(&when) {
                    all.push(format!("docs/alerts.md: {name} does not begin with \"{when}\""));
                }
                let places: Vec<_> = PARTS.iter().map(|part| text.find(&format!("**{part}.**"))).collect();
                if places.contains(&None) || !places.is_sorted() {
                    all.push(format!(
                        "docs/alerts.md: {name} does not say, in this order: {}",
                        PARTS.join(", ")
                    ));
                }
            }
        }
    }
    let known: BTreeSet<_> = rules.alerts().map(|(name, _)| name).collect();
    let unknown = entries
        .iter()
        .filter(|(heading, _)| heading.starts_with("Devgate") && !known.contains(heading));
    all.extend(unknown.map(|(heading, _)| format!("docs/alerts.md: there is no alert {heading}")));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(url: &str, page: &str) -> Vec<String> {
        let rules = format!(
            "groups: [{{name: g, rules: [{{alert: DevgateBad, expr: a, for: 5m, labels: {{severity: info}}, annotations: {{runbook_url: '{url}'}}}}]}}]"
        );
        complaints(&Rules::parse(&rules).unwrap(), page)
    }

    const URL: &str = "https://github.com/devgate/devgate/blob/main/docs/alerts.md#devgatebad";
    const PAGE: &str = "# Alerts\n\n## How to read\n\n## DevgateBad\n\ninfo, after 5m.\n\n**Means.** a\n**Felt.** b\n**First.** c\n**Causes.** d\n**Do.** e\n**Ignore.** f\n";

    #[test]
    fn an_alert_leads_to_its_entry() {
        assert_eq!(said(URL, PAGE), [""; 0]);
    }

    #[test]
    fn what_is_missing_or_too_much_is_said() {
        let not_there = format!("alert DevgateBad: its runbook_url is not {URL}");
        assert_eq!(said("https://example.com", PAGE), [not_there]);
        let other = PAGE.replace("## DevgateBad", "## DevgateWorse");
        let expected = [
            "docs/alerts.md: has no entry DevgateBad",
            "docs/alerts.md: there is no alert DevgateWorse",
        ];
        assert_eq!(said(URL, &other), expected);
        let other = PAGE.replace("info, after 5m.", "info, after 1h.");
        let expected = "docs/alerts.md: DevgateBad does not begin with \"info, after 5m.\"";
        assert_eq!(said(URL, &other), [expected]);
        let at_once = "groups: [{name: g, rules: [{alert: A, expr: a, labels: {severity: info}}]}]";
        let at_once = Rules::parse(at_once).unwrap();
        assert_eq!(at_once.alerts().next().unwrap().1.when(), "info, at once.");
        let less = PAGE.replace("**Ignore.**", "");
        let expected = "docs/alerts.md: DevgateBad does not say, in this order: Means, Felt, First, Causes, Do, Ignore";
        assert_eq!(said(URL, &less), [expected]);
    }
}
