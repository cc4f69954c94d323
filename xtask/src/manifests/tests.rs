//! What pages and files say of the chart, held to it.

mod page;
mod rules;

use super::*;

#[test]
fn the_chart_has_the_version_of_devgate() {
    let text = std::fs::read_to_string(chart().join("Chart.yaml")).unwrap();
    let chart: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
    for key in ["version", "appVersion"] {
        assert_eq!(chart[key], env!("CARGO_PKG_VERSION"), "{key}");
    }
}
