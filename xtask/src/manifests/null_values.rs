//! What the chart makes of `null`, which takes a default away: Helm reads a key without a value so, such as one whose lines below
//! are all comments. Either it is as if it were empty, or it is refused by its name; a template never stumbles.

use super::{Programs, render};
use crate::process;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

/// Renders without each value, and without each value within one, devgate and its cleanup.
pub(super) fn problems(programs: &Programs, chart: &Path) -> Result<Vec<String>> {
    let file = chart.join("values.yaml");
    let text = std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    let values: Value = serde_saphyr::from_str(&text).with_context(|| file.display().to_string())?;
    let mut problems = Vec::new();
    let places = places(&values);
    let places = places.iter();
    let all = places.flat_map(|place| ["cleanup=false", "cleanup=true"].map(|mode| (place, mode)));
    let mut count = 0;
    for (place, mode) in all {
        count += 1;
        let mut command = render::template(&programs.helm, chart, render::NAME);
        command.args(["--set", mode, "--set"]);
        command.arg(format!("{place}=null"));
        let output = command.output().with_context(|| process::shown(&command))?;
        let made = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        let verdict = verdict(place, output.status.success().then_some(&*made), &said);
        problems.extend(verdict.map(|wrong| format!("chart: {mode}, {place}=null: {wrong}")));
    }
    println!("{count} values that are taken away");
    Ok(problems)
}

/// The keys, and those of maps with a key before them, as `--set` takes them.
fn places(values: &Value) -> Vec<String> {
    let escaped = |key: &String| key.replace('.', "\\.");
    let mut all = Vec::new();
    for (key, value) in values.as_object().into_iter().flatten() {
        all.push(escaped(key));
        let inner = value.as_object().into_iter().flatten();
        all.extend(inner.map(|(more, _)| format!("{}.{}", escaped(key), escaped(more))));
    }
    all
}

/// What is wrong with what was made, or with what was said instead.
fn verdict(place: &str, made: Option<&str>, said: &str) -> Option<String> {
    let Some(made) = made else {
        let name = place.split('.').next_back().unwrap_or(place);
        let clear = !said.contains("nil") && !said.contains("executing") && said.contains(name);
        return (!clear).then(|| format!("refused without saying that {name} is missing: {}", said.trim()));
    };
    let documents = match render::documents(made) {
        Ok(documents) => documents,
        Err(error) => return Some(format!("it makes what is no YAML: {error:#}")),
    };
    let empty = documents.iter().find_map(|one| null_in("pod", one.pointer("/spec/template/spec")?));
    empty.map(|place| format!("it makes a {place} that is null"))
}

/// The first place with nothing in it.
fn null_in(place: &str, value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(place.to_owned()),
        Value::Object(map) => map.iter().find_map(|(key, value)| null_in(&format!("{place}.{key}"), value)),
        Value::Array(list) => list.iter().find_map(|value| null_in(place, value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_value_and_every_value_in_one_is_taken_away() {
        let values = json!({"a": {"b": 1, "c.yaml": {"d": 1}}, "e": []});
        assert_eq!(places(&values), ["a", "a.b", "a.c\\.yaml", "e"]);
    }

    #[test]
    fn a_refusal_names_what_is_missing() {
        assert_eq!(verdict("a.b", None, "- at '/a': missing property 'b'"), None);
        for bad in ["executing \"x\" at <.Values.a.b>: nil pointer evaluating", "it does not work"] {
            let wrong = verdict("a.b", None, bad).unwrap();
            assert!(wrong.starts_with("refused without saying that b is missing"), "{wrong}");
        }
    }

    #[test]
    fn what_is_made_has_no_gaps() {
        let pod = |inner: &str| format!("spec: {{template: {{spec: {{containers: [{inner}]}}}}}}");
        assert_eq!(verdict("a", Some(&pod("{image: x}")), ""), None);
        assert_eq!(
            verdict("a", Some(&pod("{image: null}")), "").unwrap(),
            "it makes a pod.containers.image that is null"
        );
        assert!(verdict("a", Some("a: ["), "").unwrap().starts_with("it makes what is no YAML"));
    }
}
