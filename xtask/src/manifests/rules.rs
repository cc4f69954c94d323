//! The alerts of deploy/monitoring, as the Prometheus operator wants them: in the overlay `alerts`, and in the chart.

use super::{chart, kustomize};
use crate::workspace::root;

/// Set to write the files anew instead of comparing them.
const UPDATE: &str = "UPDATE_DOCS";

/// What the operator has around the rules. Helm makes its own.
const AROUND: &str = "\
# Made of deploy/monitoring/alerts.yaml, which is tested: UPDATE_DOCS=1 cargo test -p xtask rules
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: devgate
  namespace: devgate
  labels:
    app.kubernetes.io/name: devgate
    app.kubernetes.io/instance: devgate
spec:
";

#[test]
fn the_rules_are_those_that_are_tested() {
    let alerts = std::fs::read_to_string(root().join("deploy/monitoring/alerts.yaml")).unwrap();
    let rules = &alerts[alerts.find("\ngroups:").expect("groups") + 1..];
    let indented: String = rules.lines().map(indent).collect();
    for (file, fresh) in [
        (
            kustomize().join("overlays/alerts/rules.yaml"),
            format!("{AROUND}{indented}"),
        ),
        (chart().join("files/alerts.yaml"), rules.to_owned()),
    ] {
        if std::env::var_os(UPDATE).is_some() {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, &fresh).unwrap();
        }
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            written == fresh,
            "{} is stale: run `UPDATE_DOCS=1 cargo test -p xtask rules`",
            file.display()
        );
    }
}

/// Two more spaces, but for empty lines.
fn indent(line: &str) -> String {
    let spaces = if line.is_empty() { "" } else { "  " };
    format!("{spaces}{line}\n")
}
