//! What deploy/monitoring has for Prometheus and Grafana, held against what a host says of itself, and against the runbook.
//!
//! A name that is made up makes no query fail, it only never finds anything: nobody notices before an alert is missed. So every
//! name is looked up in the snapshot of all metrics that a test of the host keeps.

mod alerts;
mod catalogue;
mod dashboard;
mod names;
mod promql;
mod runbook;

use crate::process;
use crate::workspace::root;
use alerts::{Cases, Rules};
use anyhow::{Context, Result, bail};
use catalogue::Catalogue;
use dashboard::Dashboard;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The metrics of a host where everything has a value.
const SNAPSHOT: &str = "host/devgate/src/watching/metrics/snapshots/devgate__watching__metrics__tests__every_number_of_a_report_is_a_metric.snap";
/// Cases for the alerts; those that take days are apart, as `promtool` goes through them in steps of minutes.
const CASES: [&str; 2] = ["alerts.test.yaml", "alerts.days.test.yaml"];

/// Everything that can be said without `promtool`.
pub(crate) fn check() -> Result<()> {
    let all = All::read(&root())?;
    let complaints = all.complaints();
    if !complaints.is_empty() {
        bail!("{} things are wrong:\n{}", complaints.len(), complaints.join("\n"));
    }
    println!(
        "{} alerts, {} cases and {} queries of the dashboard name what there is",
        all.rules.alerts().count(),
        all.cases.iter().map(Cases::count).sum::<usize>(),
        all.dashboard.queries().len(),
    );
    Ok(())
}

/// Whether [`promtool`] can run.
pub(crate) fn has_promtool() -> bool {
    process::answers(Command::new("promtool").arg("--version"))
}

/// What `promtool` says of the rules, of their cases, and of the dashboard's queries, which it takes for rules.
pub(crate) fn promtool() -> Result<()> {
    let run = |arguments: &[&str]| {
        let mut command = Command::new("promtool");
        process::run(command.current_dir(folder(&root())).args(arguments))
    };
    run(&["check", "rules", "alerts.yaml"])?;
    run(&["test", "rules", CASES[0], CASES[1]])?;
    let queries = crate::workspace::target()?.join("dashboard-queries.yaml");
    std::fs::write(&queries, All::read(&root())?.dashboard.as_rules()).context("write the dashboard's queries")?;
    let shown = queries.to_string_lossy();
    run(&["check", "rules", &shown])
}

fn folder(root: &Path) -> PathBuf {
    root.join("deploy/monitoring")
}

/// Everything that is held against each other.
struct All {
    catalogue: Catalogue,
    rules: Rules,
    cases: Vec<Cases>,
    dashboard: Dashboard,
    runbook: String,
    /// Of the metrics.
    guide: String,
}

impl All {
    fn read(root: &Path) -> Result<Self> {
        let text = |path: &Path| std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()));
        let folder = folder(root);
        let rules = Rules::parse(&text(&folder.join("alerts.yaml"))?)?;
        let cases = |name| Cases::parse(name, &text(&folder.join(name))?);
        Ok(Self {
            catalogue: Catalogue::parse(&text(&root.join(SNAPSHOT))?)?.with_recorded(&rules)?,
            cases: CASES.into_iter().map(cases).collect::<Result<_>>()?,
            dashboard: Dashboard::parse(&text(&folder.join("dashboard.json"))?)?,
            runbook: text(&root.join("docs/alerts.md"))?,
            guide: text(&root.join("docs/watching.md"))?,
            rules,
        })
    }

    fn complaints(&self) -> Vec<String> {
        let mut all = self.catalogue.undocumented(&self.guide);
        for (what, query) in self.rules.queries() {
            all.extend(names::check(&what, &query, &self.catalogue));
        }
        all.extend(alerts::complaints(&self.rules, &self.cases));
        all.extend(runbook::complaints(&self.rules, &self.runbook));
        all.extend(self.dashboard.complaints());
        all.extend(self.dashboard.unseen(self.catalogue.families()));
        for (what, query) in self.dashboard.queries().into_iter().chain(self.dashboard.legends()) {
            all.extend(names::check(&what, &query, &self.catalogue));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shipped_names_what_there_is() {
        let all = All::read(&root()).unwrap();
        assert_eq!(all.complaints(), [""; 0]);
        assert!(all.rules.alerts().count() > 30 && all.dashboard.queries().len() > 30);
    }

    #[test]
    fn a_legend_that_shows_no_label_is_found() {
        let mut all = All::read(&root()).unwrap();
        let text = std::fs::read_to_string(folder(&root()).join("dashboard.json")).unwrap();
        all.dashboard = Dashboard::parse(&text.replace("\"{{version}}\"", "\"{{release}}\"")).unwrap();
        let complaints = all.complaints();
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(
            complaints[0].ends_with(": legend: none of its metrics has a label release"),
            "{complaints:?}"
        );
    }

    #[test]
    fn a_metric_that_is_renamed_is_missed_by_rules_dashboard_and_guide() {
        let mut all = All::read(&root()).unwrap();
        let snapshot = std::fs::read_to_string(root().join(SNAPSHOT)).unwrap();
        let renamed = snapshot.replace("devgate_devices_held", "devgate_devices_given");
        all.catalogue = Catalogue::parse(&renamed).unwrap().with_recorded(&all.rules).unwrap();
        let complaints = all.complaints();
        for start in [
            "alert DevgateHeldDeviceUnhealthy: there is no metric devgate_devices_held",
            "panel ",
            "docs/watching.md: does not say what devgate_devices_given is",
            "dashboard: no panel shows devgate_devices_given",
        ] {
            assert!(
                complaints.iter().any(|said| said.starts_with(start)),
                "{start}: {complaints:?}"
            );
        }
    }
}
