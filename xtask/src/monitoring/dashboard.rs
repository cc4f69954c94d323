//! The dashboard, as far as it can be checked without Grafana.

use super::promql;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How wide Grafana's grid is.
const WIDTH: u64 = 24;
/// Chosen by whoever looks: the dashboard works with any Prometheus.
const SOURCE: &str = "${datasource}";
/// What Grafana itself puts in; with what `promtool` is shown in their place.
const BUILT_IN: [(&str, &str); 3] = [("$__rate_interval", "5m"), ("$__interval", "1m"), ("$__range", "1h")];

/// What tells hosts apart.
const NODES: [&str; 3] = ["node", "instance", "pod"];

/// A dashboard.
pub(super) struct Dashboard(Value);

impl Dashboard {
    /// Of JSON.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let all: Value = serde_json::from_str(text).context("dashboard.json")?;
        if at(&all, "/panels").as_array().is_none_or(Vec::is_empty) {
            bail!("dashboard.json: has no panels");
        }
        Ok(Self(all))
    }

    /// Rows and panels, those within a row that is folded included.
    fn all(&self) -> impl Iterator<Item = &Value> {
        items(at(&self.0, "/panels")).flat_map(|panel| std::iter::once(panel).chain(items(at(panel, "/panels"))))
    }

    /// Panels that show something.
    fn panels(&self) -> impl Iterator<Item = &Value> {
        self.all().filter(|panel| at(panel, "/type") != "row")
    }

    /// Complaints about metrics that no panel shows. A histogram is its buckets, its sum and its count.
    pub(super) fn unseen<'a>(&self, families: impl Iterator<Item = &'a str>) -> Vec<String> {
        let queries = self.panels().flat_map(|panel| items(at(panel, "/targets")));
        let seen: BTreeSet<String> = queries
            .filter_map(|target| promql::scan(text(at(target, "/expr"))).ok())
            .flat_map(|scan| scan.selectors)
            .map(|selector| selector.name)
            .collect();
        let is_seen = |family: &&str| {
            ["", "_bucket", "_sum", "_count"]
                .iter()
                .any(|part| seen.contains(&format!("{family}{part}")))
        };
        let unseen = families.filter(|family| !is_seen(family));
        unseen
            .map(|family| format!("dashboard: no panel shows {family}"))
            .collect()
    }

    /// Each query with the labels that its legend shows, as a query by these labels: whether there are such.
    pub(super) fn legends(&self) -> Vec<(String, String)> {
        let targets = self
            .panels()
            .flat_map(|panel| items(at(panel, "/targets")).map(move |target| (panel, target)));
        let shown = targets.flat_map(|(panel, target)| {
            let labels = text(at(target, "/legendFormat")).split("{{").skip(1);
            labels.map(move |rest| {
                let label = rest.split("}}").next().unwrap_or_default().trim();
                (
                    format!("{}: legend", name(panel)),
                    format!("count by ({label}) ({})", text(at(target, "/expr"))),
                )
            })
        });
        shown.collect()
    }

    /// The names of its variables.
    fn variables(&self) -> BTreeSet<&str> {
        let all = items(at(&self.0, "/templating/list"));
        all.filter_map(|variable| at(variable, "/name").as_str()).collect()
    }

    /// Every query with what it is of, and with something for each variable.
    pub(super) fn queries(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for panel in self.panels() {
            let queries =
                items(at(panel, "/targets")).map(|target| (name(panel), text(at(target, "/expr")).to_owned()));
            all.extend(queries);
        }
        let annotations = items(at(&self.0, "/annotations/list"));
        all.extend(annotations.map(|one| {
            (
                format!("annotation {}", text(at(one, "/name"))),
                text(at(one, "/expr")).to_owned(),
            )
        }));
        for variable in items(at(&self.0, "/templating/list")) {
            let query = text(at(variable, "/query/query"));
            // The same as a query by the label: whether both are there.
            if let Some((metric, label)) = query
                .strip_prefix("label_values(")
                .and_then(|rest| rest.split_once(", "))
            {
                let label = label.trim_end_matches(')');
                all.push((
                    format!("variable {}", text(at(variable, "/name"))),
                    format!("count by ({label}) ({metric})"),
                ));
            }
        }
        for (_, query) in &mut all {
            for (variable, value) in BUILT_IN {
                *query = query.replace(variable, value);
            }
            for variable in self.variables() {
                *query = query.replace(&format!("${variable}"), ".*");
            }
        }
        all
    }

    /// The queries as rules, which is what `promtool` reads. JSON is YAML.
    pub(super) fn as_rules(&self) -> String {
        let rule =
            |(n, (_, query)): (usize, (String, String))| json!({"record": format!("dashboard:{n}"), "expr": query});
        let rules: Vec<_> = self.queries().into_iter().enumerate().map(rule).collect();
        json!({"groups": [{"name": "dashboard", "rules": rules}]}).to_string()
    }

    /// What Grafana would take and show badly.
    pub(super) fn complaints(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut say = |what: &str| all.push(format!("dashboard: {what}"));
        if text(at(&self.0, "/uid")).is_empty() || text(at(&self.0, "/title")).is_empty() {
            say("has no uid or no title");
        }
        if at(&self.0, "/schemaVersion")
            .as_u64()
            .is_none_or(|version| version < 39)
        {
            say("its schemaVersion is older than Grafana 11");
        }
        if !self.variables().contains("datasource") {
            say("has no variable datasource");
        }
        all.extend(self.places());
        let variables = self.variables();
        for panel in self.panels() {
            all.extend(of_panel(panel, &variables).map(|what| format!("{}: {what}", name(panel))));
        }
        let sources = items(at(&self.0, "/templating/list"))
            .filter(|variable| at(variable, "/type") == "query")
            .chain(items(at(&self.0, "/annotations/list")));
        let other = sources.filter(|one| at(one, "/datasource/uid") != SOURCE);
        all.extend(other.map(|one| {
            format!(
                "dashboard: {} is of another data source than {SOURCE}",
                text(at(one, "/name"))
            )
        }));
        all
    }

    /// Complaints about numbers and places.
    fn places(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut taken: Vec<(String, [u64; 4])> = Vec::new();
        let mut ids = BTreeSet::new();
        for panel in self.all() {
            let name = name(panel);
            if at(panel, "/id").as_u64().is_none_or(|id| !ids.insert(id)) {
                all.push(format!("{name}: its id is no number, or another panel's"));
            }
            let place = ["x", "y", "w", "h"].map(|key| at(panel, &format!("/gridPos/{key}")).as_u64());
            let [Some(x), Some(y), Some(w @ 1..), Some(h @ 1..)] = place else {
                all.push(format!("{name}: has no place"));
                continue;
            };
            if x + w > WIDTH {
                all.push(format!("{name}: is wider than the grid"));
            }
            let meets = |[a, b, c, d]: [u64; 4]| x < a + c && a < x + w && y < b + d && b < y + h;
            let over = taken.iter().filter(|(_, place)| meets(*place));
            all.extend(over.map(|(other, _)| format!("{name}: lies over {other}")));
            taken.push((name, [x, y, w, h]));
        }
        all
    }
}

fn of_panel(panel: &Value, variables: &BTreeSet<&str>) -> impl Iterator<Item = String> {
    let mut all = Vec::new();
    let mut say = |what: String| all.push(what);
    if text(at(panel, "/title")).is_empty() || text(at(panel, "/description")).is_empty() {
        say("has no title or no description".into());
    }
    if text(at(panel, "/fieldConfig/defaults/unit")).is_empty() {
        say("has no unit".into());
    }
    let targets: Vec<_> = items(at(panel, "/targets")).collect();
    if targets.is_empty() {
        say("has no query".into());
    }
    let of_source = |value: &&Value| at(value, "/datasource/uid") == SOURCE;
    if !of_source(&panel) || !targets.iter().all(of_source) {
        say(format!("is of another data source than {SOURCE}"));
    }
    let mut ids = BTreeSet::new();
    for target in targets {
        if !ids.insert(text(at(target, "/refId"))) {
            say("two queries have one refId".into());
        }
        if let Some(what) = too_many(text(at(panel, "/type")), text(at(target, "/expr"))) {
            say(what);
        }
        for variable in asked(text(at(target, "/expr"))) {
            let built_in = BUILT_IN
                .iter()
                .any(|(name, _)| name.trim_start_matches('$') == variable);
            if !built_in && !variables.contains(variable) {
                say(format!("there is no variable {variable}"));
            }
        }
    }
    all.into_iter()
}

/// What shows a line, a bar or a row for each node: of some, it can be read; of thousands, neither read nor drawn.
fn too_many(kind: &str, query: &str) -> Option<String> {
    // What cannot be read is said elsewhere.
    let scan = promql::scan(query).ok()?;
    if kind == "table" {
        let bounded = query.starts_with("topk(");
        return (!bounded).then(|| "is a table with a row for each node: say topk first".to_owned());
    }
    let node = NODES.iter().find(|label| scan.groupings.contains(**label));
    match node {
        Some(label) => Some(format!(
            "has a line for each {label}: sum it, or show the most and the middle"
        )),
        None if scan.aggregates => None,
        None => Some("has a line for each host: sum it, or show the most and the middle".to_owned()),
    }
}

/// The names after each `$` of a query.
fn asked(query: &str) -> impl Iterator<Item = &str> {
    query.split('$').skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
    })
}

/// What is at a place, such as `/templating/list`; null where there is nothing.
fn at<'a>(value: &'a Value, place: &str) -> &'a Value {
    value.pointer(place).unwrap_or(&Value::Null)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn name(panel: &Value) -> String {
    format!("panel {} ({})", at(panel, "/id"), text(at(panel, "/title")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(id: u64, x: u64) -> Value {
        let source = json!({"uid": SOURCE});
        json!({
            "id": id, "type": "stat", "title": "T", "description": "D", "datasource": source,
            "gridPos": {"x": x, "y": 0, "w": 12, "h": 4}, "fieldConfig": {"defaults": {"unit": "s"}},
            "targets": [{"refId": "A", "datasource": source, "expr": "sum(rate(thing{node=~\"$node\"}[$__rate_interval]))"}],
        })
    }

    fn dashboard(panels: &[Value]) -> Dashboard {
        let node = json!({"name": "node", "type": "query", "datasource": {"uid": SOURCE},
            "query": {"query": "label_values(thing, node)"}});
        Dashboard(json!({
            "uid": "u", "title": "t", "schemaVersion": 41, "panels": panels,
            "templating": {"list": [{"name": "datasource", "type": "datasource"}, node]},
        }))
    }

    #[test]
    fn queries_are_those_of_panels_and_variables_with_something_for_each_variable() {
        let good = dashboard(&[panel(1, 0), panel(2, 12)]);
        assert_eq!(good.complaints(), [""; 0]);
        let mut with_legend = panel(1, 0);
        with_legend["targets"][0]["legendFormat"] = json!("{{node}} on {{ pod }}");
        let shown: Vec<_> = dashboard(&[with_legend]).legends();
        let expr = "sum(rate(thing{node=~\"$node\"}[$__rate_interval]))";
        let legend = |label: &str| ("panel 1 (T): legend".to_owned(), format!("count by ({label}) ({expr})"));
        assert_eq!(shown, [legend("node"), legend("pod")]);
        let queries: Vec<_> = good.queries().into_iter().map(|(_, query)| query).collect();
        let rate = "sum(rate(thing{node=~\".*\"}[5m]))";
        assert_eq!(queries, [rate, rate, "count by (node) (thing)"]);
        assert!(
            good.as_rules().contains("\"record\":\"dashboard:2\""),
            "{}",
            good.as_rules()
        );
    }

    #[test]
    fn what_would_be_shown_badly_is_said() {
        type Spoil = fn(&mut Value);
        let cases: [(Spoil, &str); 12] = [
            (
                |p| p["id"] = json!(1),
                "panel 1 (T): its id is no number, or another panel's",
            ),
            (|p| p["gridPos"]["x"] = json!(11), "panel 2 (T): lies over panel 1 (T)"),
            (|p| p["gridPos"]["w"] = json!(13), "panel 2 (T): is wider than the grid"),
            (|p| p["gridPos"]["h"] = json!(0), "panel 2 (T): has no place"),
            (
                |p| p["description"] = json!(""),
                "panel 2 (T): has no title or no description",
            ),
            (|p| p["fieldConfig"] = json!({}), "panel 2 (T): has no unit"),
            (|p| p["targets"] = json!([]), "panel 2 (T): has no query"),
            (
                |p| p["targets"][0]["datasource"]["uid"] = json!("abc"),
                "panel 2 (T): is of another data source than ${datasource}",
            ),
            (
                |p| p["targets"][0]["expr"] = json!("sum(thing{node=\"$nod\"})"),
                "panel 2 (T): there is no variable nod",
            ),
            (
                |p| p["targets"][0]["expr"] = json!("histogram_quantile(0.9, thing)"),
                "panel 2 (T): has a line for each host: sum it, or show the most and the middle",
            ),
            (
                |p| p["targets"][0]["expr"] = json!("max by (node, plugin) (thing)"),
                "panel 2 (T): has a line for each node: sum it, or show the most and the middle",
            ),
            (
                |p| p["type"] = json!("table"),
                "panel 2 (T): is a table with a row for each node: say topk first",
            ),
        ];
        for (spoil, expected) in cases {
            let mut other = panel(2, 12);
            spoil(&mut other);
            assert_eq!(dashboard(&[panel(1, 0), other]).complaints(), [expected]);
        }
        let mut old = dashboard(&[panel(1, 0)]);
        old.0["schemaVersion"] = json!(16);
        assert_eq!(
            old.complaints(),
            ["dashboard: its schemaVersion is older than Grafana 11"]
        );
        old.0["templating"]["list"][1]["datasource"]["uid"] = json!("abc");
        assert_eq!(old.complaints().len(), 2);
    }

    #[test]
    fn a_table_of_the_highest_may_name_nodes() {
        let mut table = panel(2, 12);
        table["type"] = json!("table");
        table["targets"][0]["expr"] = json!("topk(20, sum by (node) (thing))");
        assert_eq!(dashboard(&[panel(1, 0), table]).complaints(), [""; 0]);
    }

    #[test]
    fn what_is_in_a_folded_row_counts() {
        let row = |inner: Value| json!({"id": 9, "type": "row", "title": "R", "collapsed": true, "gridPos": {"x": 0, "y": 9, "w": 24, "h": 1}, "panels": [inner]});
        let mut inner = panel(2, 0);
        inner["gridPos"]["y"] = json!(10);
        let good = dashboard(&[panel(1, 0), row(inner.clone())]);
        assert_eq!(good.complaints(), [""; 0]);
        assert_eq!(good.queries().len(), 3);
        inner["id"] = json!(1);
        inner["fieldConfig"] = json!({});
        assert_eq!(
            dashboard(&[panel(1, 0), row(inner)]).complaints(),
            [
                "panel 1 (T): its id is no number, or another panel's",
                "panel 1 (T): has no unit"
            ]
        );
    }

    #[test]
    fn a_metric_that_no_panel_shows_is_found() {
        let mut other = panel(2, 12);
        other["targets"][0]["expr"] = json!("sum by (le) (rate(took_seconds_bucket[5m]))");
        let shown = dashboard(&[panel(1, 0), other]);
        assert_eq!(shown.unseen(["thing", "took_seconds"].into_iter()), [""; 0]);
        assert_eq!(
            shown.unseen(["thing_total", "took"].into_iter()),
            [
                "dashboard: no panel shows thing_total",
                "dashboard: no panel shows took"
            ]
        );
    }

    #[test]
    fn a_dashboard_without_panels_is_none() {
        assert!(Dashboard::parse("{\"panels\": []}").is_err() && Dashboard::parse("{").is_err());
    }
}
