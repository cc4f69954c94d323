//! The alerts of deploy/monitoring in the chart, which gives them to the Prometheus operator.

use crate::manifests::chart;
use crate::workspace::root;

/// Set to write the file anew instead of comparing it.
const UPDATE: &str = "UPDATE_DOCS";

#[test]
fn the_rules_are_those_that_are_tested() {
    let alerts = std::fs::read_to_string(root().join("deploy/monitoring/alerts.yaml")).unwrap();
    let fresh = &alerts[alerts.find("\ngroups:").expect("groups") + 1..];
    let file = chart().join("files/alerts.yaml");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, fresh).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == fresh, "{} is stale: run `UPDATE_DOCS=1 cargo test -p xtask rules`", file.display());
}
