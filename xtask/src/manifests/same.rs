//! Whether the chart makes what the kustomization makes.

use super::at;
use serde_json::Value;

/// Labels that Helm's own tools want on everything.
const HELMS: [&str; 2] = ["app.kubernetes.io/managed-by", "helm.sh/chart"];

/// How they differ, where nothing else decides: the namespace is Helm's `--create-namespace`, and order in a pod means nothing.
pub(super) fn differences(ours: &[Value], theirs: &[Value]) -> Vec<String> {
    let is_compared = |document: &&Value| at(document, "/kind") != "Namespace";
    let mut ours: Vec<Value> = ours.iter().filter(is_compared).map(normal).collect();
    let mut theirs: Vec<Value> = theirs.iter().filter(is_compared).map(normal).collect();
    let mut found = Vec::new();
    ours.retain(|document| {
        let Some(at) = theirs.iter().position(|other| name(other) == name(document)) else {
            found.push(format!("{} is not made", name(document)));
            return false;
        };
        compare(&name(document), document, &theirs.swap_remove(at), &mut found);
        false
    });
    found.extend(
        theirs
            .iter()
            .map(|other| format!("{} is made by it alone", name(other))),
    );
    found
}

fn name(document: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!(
        "{} {}",
        text(at(document, "/kind")),
        text(at(document, "/metadata/name"))
    )
}

fn compare(place: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let (a, b) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                compare(&format!("{place}.{key}"), a, b, found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                compare(&format!("{place}[{at}]"), a, b, found);
            }
        }
        _ if ours == theirs => {}
        _ => found.push(format!("{place}: it has {theirs}, the kustomization has {ours}")),
    }
}

/// Without Helm's labels, and with lists of things with names in the order of these.
fn normal(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| !HELMS.contains(&key.as_str()));
            Value::Object(kept.map(|(key, value)| (key.clone(), normal(value))).collect())
        }
        Value::Array(list) => {
            let mut list: Vec<Value> = list.iter().map(normal).collect();
            let key = |value: &Value| {
                let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
                text("mountPath").or_else(|| text("name"))
            };
            if list.iter().all(|value| key(value).is_some()) {
                list.sort_by_key(key);
            }
            Value::Array(list)
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(args: &[&str], path: &str) -> Value {
        json!({"kind": "DaemonSet", "metadata": {"name": "d", "labels": {"helm.sh/chart": "c", "a": "b"}},
            "spec": {"args": args, "mounts": [{"mountPath": "/b", "name": "x"}, {"mountPath": path, "name": "y"}]}})
    }

    #[test]
    fn what_is_the_same_but_for_helms_own_and_order_is_the_same() {
        let ours = json!({"kind": "DaemonSet", "metadata": {"name": "d", "labels": {"a": "b"}},
            "spec": {"args": ["run"], "mounts": [{"mountPath": "/a", "name": "y"}, {"mountPath": "/b", "name": "x"}]}});
        let namespace = json!({"kind": "Namespace", "metadata": {"name": "d"}});
        assert_eq!(
            differences(&[ours, namespace], &[pod(&["run"], "/a")]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_differs_is_named_with_its_place() {
        let ours = [
            pod(&["run"], "/a"),
            json!({"kind": "Secret", "metadata": {"name": "s"}}),
        ];
        let theirs = [
            pod(&["run", "--x"], "/c"),
            json!({"kind": "Role", "metadata": {"name": "r"}}),
        ];
        let found = differences(&ours, &theirs);
        assert_eq!(
            found,
            [
                r#"DaemonSet d.spec.args: it has ["run","--x"], the kustomization has ["run"]"#,
                r#"DaemonSet d.spec.mounts[0].mountPath: it has "/b", the kustomization has "/a""#,
                r#"DaemonSet d.spec.mounts[0].name: it has "x", the kustomization has "y""#,
                r#"DaemonSet d.spec.mounts[1].mountPath: it has "/c", the kustomization has "/b""#,
                r#"DaemonSet d.spec.mounts[1].name: it has "y", the kustomization has "x""#,
                "Secret s is not made",
                "Role r is made by it alone",
            ]
        );
        assert_eq!(
            differences(&[pod(&["a", "b"], "/a")], &[pod(&["b", "a"], "/a")]).len(),
            2,
            "arguments have an order"
        );
    }
}
