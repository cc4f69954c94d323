//! What the state directory says was handed out, for whoever is about to remove it.

use super::StateDir;
use crate::allocations::Recorded;
use std::collections::BTreeSet;
use std::fs;

/// As a host of version 0.1 that did not understand it put it aside.
const ASIDE: &str = "handed-out.json.unreadable";

/// Resources of which something was handed out, but for what others than devgate's plugins gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// Of these, and of no others.
    Resources(BTreeSet<String>),
    /// What is kept cannot be understood: of any.
    Any,
}

impl Given {
    /// Whether something of this resource was handed out, or may have been.
    #[must_use]
    pub fn has(&self, resource: &str) -> bool {
        match self {
            Self::Resources(resources) => resources.contains(resource),
            Self::Any => true,
        }
    }

    /// Whether it is sure that nothing was handed out.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Resources(resources) if resources.is_empty())
    }
}

impl StateDir {
    /// What is kept there of what was handed out. Nothing is written.
    #[must_use]
    pub fn given(&self) -> Given {
        match Recorded::read(&self.0) {
            Ok(recorded) if recorded.incomplete.is_some() => Given::Any,
            // What was put aside is what a host did not understand: it may be of pods that still run. One that has learned what
            // pods have writes anew, and what was put aside says no more then.
            Ok(recorded) if recorded.is_absent && self.has_aside() => Given::Any,
            Ok(recorded) => Given::Resources(recorded.resources()),
            Err(_) => Given::Any,
        }
    }

    fn has_aside(&self) -> bool {
        fs::symlink_metadata(self.0.join(ASIDE)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "handed-out.json";

    fn given(files: &[(&str, &str)]) -> Given {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        StateDir(dir.path().to_owned()).given()
    }

    #[test]
    fn what_was_handed_out_is_known_by_its_resources_and_any_where_it_is_not_known() {
        let one = r#"{"version": 1, "handed_out": {"a.b/c": {"x": {"nodes": [], "backing": []}}, "a.b/d": {}}}"#;
        let of_one = given(&[(NAME, one)]);
        assert!(of_one.has("a.b/c") && !of_one.has("a.b/d") && !of_one.is_nothing());
        let newer = r#"{"version": 9, "handed_out": {"a.b/c": {"x": 7}}, "more": 1}"#;
        assert_eq!(given(&[(NAME, newer)]), Given::Any);
        assert!(given(&[]).is_nothing());
        assert!(given(&[(NAME, r#"{"version": 1, "handed_out": {}}"#)]).is_nothing());
        for odd in ["", "{", "{}", r#"{"handed_out": 7}"#] {
            assert_eq!(given(&[(NAME, odd)]), Given::Any, "{odd}");
        }
        assert_eq!(given(&[(ASIDE, "{")]), Given::Any);
        assert_eq!(given(&[(NAME, "{"), (ASIDE, one)]), Given::Any);
        // A host has learned since then what pods have.
        assert_eq!(given(&[(NAME, one), (ASIDE, "{")]), given(&[(NAME, one)]));
    }
}
