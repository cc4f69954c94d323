//! What earlier versions of devgate knew of a policy: the JSON Schema that each was released with.

use crate::config_schema;
use anyhow::{Context, anyhow};
use devgate::exit;
use devgate_policy::yaml::{Node, Value, read_as};
use devgate_types::escape;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;

/// Released versions, newest first, each with its schema.
const VERSIONS: [(&str, &str); 1] = [("0.1.0", include_str!("../schemas/policy-0.1.0.json"))];
/// The most that is said of one file, and how much of one of it.
const SHOWN: usize = 100;
const SHOWN_TEXT: usize = 300;

/// What a version would refuse of a file of the policy, by line.
///
/// # Errors
/// For a version that is not among the released ones.
pub(crate) fn look(version: &str, text: &str) -> anyhow::Result<Vec<(u32, String)>> {
    let Some((version, schema)) = VERSIONS.iter().find(|(name, _)| *name == version) else {
        let known = VERSIONS.map(|(name, _)| name).join(", ");
        let why = format!("--for: {} is none of the versions that are known here: {known}", escape(version, 32));
        return Err(exit::with_code(exit::USAGE, why));
    };
    let schema = serde_json::from_str(schema).context("the schema of a policy")?;
    let validator = jsonschema::draft202012::new(&schema).map_err(|error| anyhow!("{error}"))?;
    let file = read_as("a policy", text).map_err(|(_, why)| anyhow!(why))?;
    let json = file.to_json();
    let mut refused = Vec::new();
    for error in validator.iter_errors(&json).take(SHOWN) {
        let at: Vec<_> = error.instance_path().as_str().split('/').skip(1).map(unescaped).collect();
        refused.extend(said(&error, &at).into_iter().map(|(key, why)| {
            let path: Vec<_> = at.iter().chain(&key).map(String::as_str).collect();
            let shown = escape(path.strip_prefix(&["plugins"]).unwrap_or(&path).join(".").as_str(), SHOWN_TEXT);
            (line(&file, &path), format!("{shown}: devgate {version} {why}"))
        }));
    }
    refused.sort();
    Ok(refused)
}

/// What is wrong with a value, by the keys in it that are not known.
fn said(error: &ValidationError<'_>, at: &[String]) -> Vec<(Option<String>, String)> {
    let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() else {
        let value = if at.is_empty() { "would refuse it" } else { "would refuse the value" };
        return vec![(None, format!("{value}: {}", config_schema::said(error)))];
    };
    unexpected.iter().map(|key| (Some(key.clone()), "does not know this key".to_owned())).collect()
}

/// A part of a JSON pointer (RFC 6901).
fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// Where a value was written; where its nearest parent was, if it is not there.
fn line(file: &Node, path: &[&str]) -> u32 {
    let (mut node, mut line) = (file, file.at.line);
    for part in path {
        let next = match &node.value {
            Value::Map(entries) => {
                entries.iter().find(|(key, _)| key.text == *part).map(|(key, value)| (value, key.at.line))
            }
            Value::List(items) => part.parse().ok().and_then(|n: usize| items.get(n)).map(|item| (item, item.at.line)),
            _ => None,
        };
        let Some(next) = next else { break };
        (node, line) = next;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "\
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  a~b/c:
    component: {file: a.wasm}
    resources: [example.com/a]
    containers:
      env: {A: [x]}
      release-hook: true
    exec:
      - {type: gpu}
    replicas: 5000
";

    #[test]
    fn what_came_later_is_named_by_its_line() {
        let refused = look("0.1.0", POLICY).unwrap();
        let lines: Vec<_> = refused.iter().map(|(line, why)| format!("{line}: {why}")).collect();
        assert_eq!(
            lines[..2],
            [
                "9: a~b/c.containers.release-hook: devgate 0.1.0 does not know this key",
                "10: a~b/c.exec: devgate 0.1.0 does not know this key",
            ]
        );
        assert!(lines[2].starts_with("12: a~b/c.replicas: devgate 0.1.0 would refuse the value: "), "{lines:?}");
        assert_eq!(lines.len(), 3, "{lines:?}");
    }

    #[test]
    fn a_version_that_was_never_released_is_refused() {
        let error = look("0.3", POLICY).unwrap_err();
        assert_eq!(error.to_string(), "--for: 0.3 is none of the versions that are known here: 0.1.0");
    }

    #[test]
    fn each_version_of_the_changelog_is_known() {
        let log = include_str!("../../../CHANGELOG.md");
        let released = log.lines().filter_map(|line| line.strip_prefix("## ")).filter(|title| *title != "Unreleased");
        assert!(released.eq(VERSIONS.map(|(name, _)| name)), "copy docs/policy.schema.json of each release");
    }

    #[test]
    fn policies_of_a_version_are_what_it_takes() {
        let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/0.1.0");
        let mut read = 0;
        for entry in walk(kept.as_ref()) {
            let text = std::fs::read_to_string(&entry).unwrap();
            assert_eq!(look("0.1.0", &text).unwrap(), [], "{}", entry.display());
            read += 1;
        }
        assert!(read >= 10, "{read} policies");
    }

    fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        entries
            .flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] })
            .filter(|path| path.file_name().is_some_and(|name| name == "policy.yaml"))
            .collect()
    }
}
