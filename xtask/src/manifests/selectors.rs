//! Whether what selects pods selects those that there are: one that misses them is no error to anybody, and a network policy that
//! misses them lets everything through.

use super::at;
use serde_json::{Map, Value};

/// Kinds that select pods, and where.
const SELECTORS: [(&str, &str); 3] =
    [("DaemonSet", "/spec/selector"), ("NetworkPolicy", "/spec/podSelector"), ("PodMonitor", "/spec/selector")];

/// Every selector that is not of the pods of its namespace, or of more than labels.
pub(super) fn problems(documents: &[Value]) -> Vec<String> {
    let mut problems = Vec::new();
    for document in documents {
        let kind = at(document, "/kind").as_str().unwrap_or_default();
        let Some((_, place)) = SELECTORS.iter().find(|(known, _)| *known == kind) else {
            continue;
        };
        let name = at(document, "/metadata/name").as_str().unwrap_or_default();
        let Some(wanted) = labels(at(document, place)) else {
            problems.push(format!("{kind} {name}: it selects by something else than labels, or everything"));
            continue;
        };
        let here = at(document, "/metadata/namespace");
        let pods: Vec<&Value> = documents
            .iter()
            .filter(|other| at(other, "/metadata/namespace") == here)
            .map(|other| at(other, "/spec/template/metadata/labels"))
            .filter(|labels| labels.is_object())
            .collect();
        let is_missed = |pod: &&Value| wanted.iter().any(|(key, value)| pod.get(key) != Some(value));
        if pods.is_empty() || pods.iter().any(is_missed) {
            problems.push(format!("{kind} {name}: it does not select the pods of its namespace"));
        }
    }
    problems
}

/// The labels of a selector, where these are all that it has, and there are any.
fn labels(selector: &Value) -> Option<&Map<String, Value>> {
    let selector = selector.as_object().filter(|selector| selector.len() == 1)?;
    let labels = selector.get("matchLabels")?.as_object()?;
    (!labels.is_empty()).then_some(labels)
}

/// Whether the pods of cleanup go to no node that has one of devgate's, in whatever namespace, and to those that have their own.
pub(super) fn apart(cleanup: &[Value], devgate: &[Value]) -> Vec<String> {
    const TERM: &str = "/spec/template/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0";
    let set = |documents: &[Value]| {
        let found = documents.iter().find(|one| at(one, "/kind") == "DaemonSet");
        found.cloned().unwrap_or_default()
    };
    let (cleanup, devgate) = (set(cleanup), set(devgate));
    let term = at(&cleanup, TERM);
    let wanted = labels(at(term, "/labelSelector"));
    let chooses = |of: &Value| {
        let has = at(of, "/spec/template/metadata/labels");
        wanted.as_ref().is_some_and(|wanted| wanted.iter().all(|(key, value)| has.get(key) == Some(value)))
    };
    let mut problems = Vec::new();
    let mut hold = |holds: bool, wrong: &str| {
        if !holds {
            problems.push(format!("cleanup: {wrong}"));
        }
    };
    hold(chooses(&devgate), "it does not keep away from pods of devgate");
    hold(!chooses(&cleanup), "it keeps away from itself");
    hold(at(term, "/topologyKey") == "kubernetes.io/hostname", "it keeps away from more or less than a node");
    // Groups may have namespaces of their own.
    hold(
        at(term, "/namespaceSelector").as_object().is_some_and(Map::is_empty),
        "it does not keep away from those in every namespace",
    );
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(kind: &str, spec: Value) -> Vec<String> {
        let pods = json!({"kind": "DaemonSet", "metadata": {"name": "d", "namespace": "n"}, "spec": {
            "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b", "c": "d"}}}}});
        problems(&[pods, json!({"kind": kind, "metadata": {"name": "s", "namespace": "n"}, "spec": spec})])
    }

    #[test]
    fn cleanup_keeps_away_from_pods_of_devgate() {
        let pods = |name: &str, wanted: &str, spaces: Value| {
            let term = json!({"labelSelector": {"matchLabels": {"a": wanted}}, "namespaceSelector": spaces,
                "topologyKey": "kubernetes.io/hostname"});
            let affinity = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
            let template = json!({"metadata": {"labels": {"a": name}}, "spec": {"affinity": affinity}});
            [json!({"kind": "DaemonSet", "spec": {"template": template}})]
        };
        let devgate = pods("devgate", "-", json!({}));
        let said = |name, wanted, spaces| apart(&pods(name, wanted, spaces), &devgate);
        assert_eq!(said("cleanup", "devgate", json!({})), [""; 0]);
        for (name, wanted, spaces, word) in [
            ("cleanup", "else", json!({}), "does not keep away"),
            ("devgate", "devgate", json!({}), "from itself"),
            ("cleanup", "devgate", Value::Null, "every namespace"),
        ] {
            let problems = said(name, wanted, spaces);
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].contains(word), "{problems:?}");
        }
        assert_eq!(apart(&devgate, &[]).len(), 1, "no pods of devgate");
    }

    #[test]
    fn what_selects_the_pods_is_fine() {
        assert_eq!(said("NetworkPolicy", json!({"podSelector": {"matchLabels": {"a": "b"}}})), [""; 0]);
        assert_eq!(said("PodMonitor", json!({"selector": {"matchLabels": {"a": "b", "c": "d"}}})), [""; 0]);
        assert_eq!(said("ConfigMap", json!({})), [""; 0]);
    }

    #[test]
    fn what_misses_them_is_found() {
        let missed = "NetworkPolicy s: it does not select the pods of its namespace";
        let strange = "NetworkPolicy s: it selects by something else than labels, or everything";
        for (selector, expected) in [
            (json!({"matchLabels": {"a": "c"}}), missed),
            (json!({"matchLabels": {"a": "b", "e": "f"}}), missed),
            (json!({}), strange),
            (json!({"matchLabels": {}}), strange),
            (
                json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "DoesNotExist"}]}),
                strange,
            ),
        ] {
            assert_eq!(said("NetworkPolicy", json!({"podSelector": selector})), [expected]);
        }
        let elsewhere =
            json!({"kind": "PodMonitor", "metadata": {"name": "s"}, "spec": {"selector": {"matchLabels": {"a": "b"}}}});
        assert_eq!(problems(&[elsewhere]), ["PodMonitor s: it does not select the pods of its namespace"]);
    }
}
