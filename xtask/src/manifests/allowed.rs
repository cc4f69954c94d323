//! What pods may have: `deploy/allowed.yaml`, with a reason for each.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Lists by name: `base`, one for each overlay, `cleanup`.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Allowed(pub(super) BTreeMap<String, Vec<Entry>>);

/// One thing that a pod has, as [`super::pod_rights`] says it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) has: String,
    pub(super) why: String,
    /// What it has no more where both lists count.
    pub(super) instead: Option<String>,
}

/// Reads the file.
pub(super) fn read(file: &Path) -> Result<Allowed> {
    let text = std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    let allowed: Allowed = serde_saphyr::from_str(&text).with_context(|| format!("{}", file.display()))?;
    for entry in allowed.0.values().flatten() {
        // Not a word, but a reason.
        if !entry.why.trim().contains(' ') {
            bail!("{}: \"{}\" has no reason", file.display(), entry.has);
        }
    }
    Ok(allowed)
}

impl Allowed {
    /// What is there and not on these lists, and the other way round.
    pub(super) fn problems(&self, lists: &[&str], found: &BTreeSet<String>) -> Vec<String> {
        let mut expected = BTreeSet::new();
        let mut problems = Vec::new();
        for name in lists {
            let Some(list) = self.0.get(*name) else {
                problems.push(format!("deploy/allowed.yaml has no list {name}"));
                continue;
            };
            for entry in list {
                if let Some(instead) = &entry.instead {
                    expected.remove(instead.as_str());
                }
                expected.insert(entry.has.as_str());
            }
        }
        let extra = found.iter().filter(|fact| !expected.contains(fact.as_str()));
        problems.extend(extra.map(|fact| format!("has, and may not have, \"{fact}\"")));
        let missing = expected.iter().filter(|fact| !found.contains(**fact));
        problems.extend(missing.map(|fact| format!("has not, and should have, \"{fact}\"")));
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::super::choices::{AGENT, OVERLAYS};
    use super::super::profiles::PROFILES;
    use super::*;
    use crate::workspace::root;

    fn allowed() -> Allowed {
        serde_saphyr::from_str(
            "base:\n  - {has: a, why: it must}\n  - {has: b read-only, why: it must}\nmore:\n  - {has: b writable, instead: b read-only, why: it must}\n",
        )
        .unwrap()
    }

    fn problems(lists: &[&str], facts: &[&str]) -> Vec<String> {
        allowed().problems(lists, &facts.iter().map(|fact| (*fact).to_owned()).collect())
    }

    #[test]
    fn what_is_allowed_is_there_and_nothing_else() {
        assert_eq!(problems(&["base"], &["a", "b read-only"]), Vec::<String>::new());
        assert_eq!(problems(&["base", "more"], &["a", "b writable"]), Vec::<String>::new());
        assert_eq!(
            problems(&["base"], &["a", "b writable"]),
            ["has, and may not have, \"b writable\"", "has not, and should have, \"b read-only\""]
        );
        assert_eq!(problems(&["base"], &["a", "b read-only", "c"]), ["has, and may not have, \"c\""]);
        assert_eq!(problems(&["base", "x"], &["a", "b read-only"]), ["deploy/allowed.yaml has no list x"]);
    }

    #[test]
    fn the_file_has_a_list_for_each_choice_and_a_reason_for_each_line() {
        let allowed = read(&root().join("deploy/allowed.yaml")).unwrap();
        let mut wanted: BTreeSet<&str> = OVERLAYS.iter().map(|overlay| overlay.name).collect();
        wanted.extend(["base", AGENT]);
        wanted.extend(PROFILES.iter().flat_map(|profile| profile.lists));
        assert_eq!(allowed.0.keys().map(String::as_str).collect::<BTreeSet<_>>(), wanted);
        for (name, list) in &allowed.0 {
            let has: BTreeSet<&str> = list.iter().map(|entry| entry.has.as_str()).collect();
            assert_eq!(has.len(), list.len(), "{name} says something twice");
        }
    }

    #[test]
    fn what_has_no_reason_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("allowed.yaml");
        std::fs::write(&file, "base: [{has: a, why: \" \"}]").unwrap();
        assert!(read(&file).unwrap_err().to_string().ends_with("\"a\" has no reason"));
        std::fs::write(&file, "base: [{has: a, why: it must, since: 1}]").unwrap();
        assert!(read(&file).is_err(), "an unknown key");
    }
}
