//! What can be asked for: a host's own metrics, and those of others that the rules join.

use super::alerts::Rules;
use super::promql;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};

/// What scraping adds to every metric; docs/watching.md says how.
pub(super) const SCRAPED: [&str; 5] = ["job", "instance", "node", "namespace", "pod"];
/// Labels whose values are words of devgate, all of which the snapshot has.
const WORDS: [&str; 5] = ["state", "health", "result", "kind", "phase"];
/// Metrics of others: of Prometheus itself, and of kube-state-metrics.
const OTHERS: [(&str, &[&str]); 5] = [
    ("up", &[]),
    ("kube_node_spec_unschedulable", &[]),
    ("kube_node_status_condition", &["condition", "status"]),
    ("kube_pod_info", &["uid"]),
    ("kube_pod_status_reason", &["uid", "reason"]),
];

/// By name, the labels of each metric, and the values of these in the snapshot.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    metrics: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// The families as the host declares them: a histogram is one.
    families: BTreeSet<String>,
    recorded: BTreeMap<String, BTreeSet<String>>,
}

impl Catalogue {
    /// Of metrics in Prometheus' text format, after the head of a snapshot.
    pub(super) fn parse(snapshot: &str) -> Result<Self> {
        let mut all = Self::default();
        let text = snapshot.splitn(3, "---\n").last().unwrap_or_default();
        for line in text.lines() {
            if let Some(family) = line.strip_prefix("# TYPE ") {
                all.families.extend(family.split(' ').next().map(str::to_owned));
                continue;
            }
            if line.starts_with('#') || line.is_empty() {
                continue;
            }
            let (series, _) = line
                .rsplit_once(' ')
                .with_context(|| format!("metrics: no value in {line}"))?;
            let scan = promql::scan(series)?;
            let [selector] = scan.selectors.as_slice() else {
                bail!("metrics: no series in {line}");
            };
            let labels = all.metrics.entry(selector.name.clone()).or_default();
            for matcher in &selector.matchers {
                let values = labels.entry(matcher.label.clone()).or_default();
                values.insert(matcher.value.clone());
            }
        }
        if all.metrics.is_empty() {
            bail!("metrics: the snapshot has none");
        }
        Ok(all)
    }

    /// With what rules record. As Prometheus' own guide has it, a name begins with the labels that are left, or here with
    /// `devgate:` where all are.
    pub(super) fn with_recorded(mut self, rules: &Rules) -> Result<Self> {
        for (name, query) in rules.recorded() {
            let (level, _) = name
                .split_once(':')
                .with_context(|| format!("record {name}: a name begins with its labels and a colon"))?;
            let scan = promql::scan(query)?;
            let labels = level.split('_').filter(|_| level != "devgate").map(str::to_owned);
            let labels: BTreeSet<_> = labels.collect();
            let unknown = labels.iter().find(|label| !scan.groupings.contains(*label));
            if let Some(unknown) = unknown {
                bail!("record {name}: its query is by no label {unknown}");
            }
            self.recorded.insert(name.to_owned(), labels);
        }
        Ok(self)
    }

    /// The labels that a metric has besides those of scraping; nothing if there is no such metric.
    pub(super) fn labels(&self, metric: &str) -> Option<BTreeSet<&str>> {
        let other = OTHERS.iter().find(|(name, _)| *name == metric);
        let own = self
            .metrics
            .get(metric)
            .map(|labels| labels.keys().map(String::as_str).collect());
        let recorded = self.recorded.get(metric);
        own.or_else(|| recorded.map(|labels| labels.iter().map(String::as_str).collect()))
            .or_else(|| other.map(|(_, labels)| labels.iter().copied().collect()))
    }

    /// The values that a label can have, where these are words of devgate.
    pub(super) fn values(&self, metric: &str, label: &str) -> Option<BTreeSet<&str>> {
        if !WORDS.contains(&label) {
            return None;
        }
        let own = self.metrics.get(metric).and_then(|labels| labels.get(label));
        let all = || self.metrics.values().filter_map(|labels| labels.get(label)).flatten();
        Some(match own {
            Some(values) => values.iter().map(String::as_str).collect(),
            // What is recorded has the words of what it is made of.
            None => all().map(String::as_str).collect(),
        })
    }

    /// The host's own metrics, by the names that it declares them with.
    pub(super) fn families(&self) -> impl Iterator<Item = &str> {
        self.families.iter().map(String::as_str)
    }

    /// Complaints about metrics that the guide does not name.
    pub(super) fn undocumented(&self, guide: &str) -> Vec<String> {
        let missing = self
            .families
            .iter()
            .filter(|name| !guide.contains(&format!("`{name}`")));
        missing
            .map(|name| format!("docs/watching.md: does not say what {name} is"))
            .collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) const METRICS: &str = "---\nsource: x\n---\n# HELP up_a Up.\n# TYPE up_a gauge\nup_a 1\n# TYPE thing gauge\n\
        thing{plugin=\"edge\",state=\"on\"} 1\nthing{plugin=\"edge\",state=\"off\"} 0\n# TYPE took_seconds histogram\n\
        took_seconds_bucket{plugin=\"edge\",le=\"+Inf\"} 1\ntook_seconds_sum{plugin=\"edge\"} 1\ntook_seconds_count{plugin=\"edge\"} 1\n";

    #[test]
    fn names_labels_and_words_come_from_the_snapshot() {
        let catalogue = Catalogue::parse(METRICS).unwrap();
        assert_eq!(catalogue.labels("up_a"), Some(BTreeSet::new()));
        assert_eq!(catalogue.labels("thing"), Some(BTreeSet::from(["plugin", "state"])));
        assert_eq!(catalogue.values("thing", "state"), Some(BTreeSet::from(["off", "on"])));
        assert_eq!(catalogue.values("thing", "plugin"), None, "the policy's word");
        assert_eq!(
            catalogue.labels("took_seconds"),
            None,
            "a histogram has no series of its own name"
        );
        assert_eq!(
            catalogue.labels("took_seconds_bucket"),
            Some(BTreeSet::from(["le", "plugin"]))
        );
        assert!(Catalogue::parse("---\nsource: x\n---\n").is_err());
    }

    #[test]
    fn the_guide_names_every_family() {
        let catalogue = Catalogue::parse(METRICS).unwrap();
        let said = catalogue.undocumented("| `up_a` | and `took_seconds` | thing");
        assert_eq!(said, ["docs/watching.md: does not say what thing is"]);
    }

    #[test]
    fn a_recorded_name_begins_with_its_labels() {
        let with = |record: &str| {
            let rules =
                format!("groups: [{{name: g, rules: [{{record: '{record}', expr: 'sum by (plugin) (thing)'}}]}}]");
            Catalogue::parse(METRICS)
                .unwrap()
                .with_recorded(&Rules::parse(&rules).unwrap())
        };
        let catalogue = with("plugin:thing:sum").unwrap();
        assert_eq!(catalogue.labels("plugin:thing:sum"), Some(BTreeSet::from(["plugin"])));
        assert_eq!(
            with("node:thing:sum").unwrap_err().to_string(),
            "record node:thing:sum: its query is by no label node"
        );
        assert!(with("thing_sum").is_err());
    }
}
