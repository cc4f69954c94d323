//! What the state directory says was handed out, for whoever is about to remove it.

use super::StateDir;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::Path;

const NAME: &str = "handed-out.json";
/// As it was put aside by a host that did not understand it.
const ASIDE: &str = "handed-out.json.unreadable";
/// The largest file that is read; a host writes none that is larger.
const MOST_BYTES: u64 = 256 << 20;

/// Resources of which something was handed out, but for what others than devgate's plugins gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// Of these, and of no others.
    Resources(BTreeSet<String>),
    /// What is kept cannot be understood: of any.
    Any,
}

/// As much of the file as each version has had.
#[derive(Deserialize)]
struct Content {
    handed_out: BTreeMap<String, BTreeMap<String, IgnoredAny>>,
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
        match read(&self.0.join(NAME)) {
            Ok(content) => {
                let given = content.handed_out.into_iter().filter(|(_, ids)| !ids.is_empty());
                Given::Resources(given.map(|(resource, _)| resource).collect())
            }
            // What was put aside is what a host did not understand: it may be of pods that still run. One that has learned what
            // pods have writes anew, and what was put aside says no more then.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.has_aside() => {
                Given::Resources(BTreeSet::new())
            }
            Err(_) => Given::Any,
        }
    }

    fn has_aside(&self) -> bool {
        fs::symlink_metadata(self.0.join(ASIDE)).is_ok()
    }
}

fn read(path: &Path) -> io::Result<Content> {
    let look = fs::symlink_metadata(path)?;
    if !look.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(files: &[(&str, &str)]) -> Given {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        StateDir(dir.path().to_owned()).given()
    }

    #[test]
    fn what_was_handed_out_is_known_by_its_resources_and_any_where_it_is_not_known() {
        let one = r#"{"version": 1, "handed_out": {"a.b/c": {"x": {"nodes": []}}, "a.b/d": {}}}"#;
        let newer = r#"{"version": 9, "handed_out": {"a.b/c": {"x": 7}}, "more": 1}"#;
        for text in [one, newer] {
            let given = given(&[(NAME, text)]);
            assert!(given.has("a.b/c") && !given.has("a.b/d") && !given.is_nothing());
        }
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
