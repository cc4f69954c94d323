//! The example in the chart's README, as its reader would use it.

use super::{Programs, at, render, work};
use crate::process;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

/// Renders with the values that it shows: the policy is there, and no other.
pub(super) fn problems(programs: &Programs, chart: &Path) -> Result<Vec<String>> {
    let page = chart.join("README.md");
    let text = std::fs::read_to_string(&page).with_context(|| format!("read {}", page.display()))?;
    let shown = example(&text).with_context(|| format!("{}: shows no values", page.display()))?;
    let file = work("readme")?.join("values.yaml");
    std::fs::write(&file, shown).with_context(|| format!("write {}", file.display()))?;
    let mut command = render::template(&programs.helm, chart, render::NAME);
    command.arg("--values").arg(&file);
    let documents = render::documents(&process::read(&mut command)?)?;
    Ok(complaints(&documents))
}

/// The first block of YAML.
fn example(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("\n```yaml\n")?;
    Some(rest.split_once("```")?.0)
}

fn complaints(documents: &[Value]) -> Vec<String> {
    let policy = documents.iter().find(|one| at(one, "/kind") == "ConfigMap");
    let files = policy.and_then(|policy| at(policy, "/data").as_object());
    let names: Vec<&str> = files.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    if names == ["fuse.yaml"] {
        return Vec::new();
    }
    vec![format!("chart's README: its example is to have the one policy fuse.yaml, and has {names:?}")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_example_is_the_first_block_of_yaml() {
        assert_eq!(example("a\n```console\nb\n```\n```yaml\nc: d\n```\ne"), Some("c: d\n"));
        assert_eq!(example("```console\n```"), None);
    }

    #[test]
    fn a_policy_that_was_to_go_and_is_there_is_found() {
        let made =
            |data: Value| complaints(&[json!({"kind": "DaemonSet"}), json!({"kind": "ConfigMap", "data": data})]);
        assert_eq!(made(json!({"fuse.yaml": "x"})), [""; 0]);
        assert_eq!(
            made(json!({"fuse.yaml": "x", "serial.yaml": "x"})),
            [
                "chart's README: its example is to have the one policy fuse.yaml, and has [\"fuse.yaml\", \"serial.yaml\"]"
            ]
        );
    }
}
