//! The files that a policy consists of and names, what a host begins with of them, and whether they are the same as before.

use crate::cli::RunArgs;
use crate::components::Components;
use crate::policy::{self, Texts};
use devgate_policy::Policy;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What changes when a file does, whether it was written or replaced; nothing where there is none.
type Stamp = Option<(u64, u64, i64, i64, u64)>;

/// The files as they are at one moment.
pub(crate) type Stamps = Vec<(PathBuf, Stamp)>;

/// The files that a policy names: its components, and what says who must have signed them.
pub(super) fn named(policy: &Policy, components: &Components) -> Vec<PathBuf> {
    policy.plugins.values().flat_map(|plugin| components.files(plugin)).collect()
}

/// Looks at those that a policy is read from, and then at those that it names. Links are followed: a ConfigMap's volume swaps one.
pub(super) fn look(policy: &[PathBuf], named: Vec<PathBuf>) -> Stamps {
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in policy {
        // What cannot be listed has no files; that it has none now is seen.
        paths.push(path.clone());
        paths.extend(policy::files(path).unwrap_or_default());
    }
    stamps(paths.into_iter().chain(named))
}

/// Looks at files. Links are followed.
pub(crate) fn stamps(paths: impl IntoIterator<Item = PathBuf>) -> Stamps {
    let stamped = |path: PathBuf| {
        let stamp = stamp(&path);
        (path, stamp)
    };
    paths.into_iter().map(stamped).collect()
}

fn stamp(path: &Path) -> Stamp {
    let at = std::fs::metadata(path).ok()?;
    // A directory's own time says that a name came or went, also of files that are none of ours.
    if at.is_dir() {
        return Some((at.dev(), 0, 0, 0, 0));
    }
    Some((at.dev(), at.ino(), at.mtime(), at.mtime_nsec(), at.len()))
}

/// A policy with what it was read from.
pub(crate) struct Start {
    pub(crate) policy: Policy,
    pub(crate) texts: Texts,
    /// Its files when they were looked at; none where they are to be judged as any other change.
    pub(crate) seen: Stamps,
}

impl Start {
    /// What the files say now. Fails with what is wrong with them.
    pub(crate) fn read(args: &RunArgs) -> anyhow::Result<Self> {
        let seen = look(&args.policy, Vec::new());
        let (policy, texts) = policy::read_texts(&args.policy)?;
        Ok(Self { policy, texts, seen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn look(policy: &Path, component: &Path) -> Stamps {
        super::look(&[policy.to_owned()], vec![component.to_owned()])
    }

    #[test]
    fn a_written_a_replaced_and_a_new_file_are_seen_and_others_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let (policy, component) = (dir.path().join("policy.d"), dir.path().join("p.wasm"));
        fs::create_dir(&policy).unwrap();
        fs::write(policy.join("a.yaml"), "a").unwrap();
        let files = || look(&policy, &component);
        let first = files();
        assert_eq!(files(), first);
        fs::write(policy.join("notes.txt"), "x").unwrap();
        assert_eq!(files(), first, "no file of a policy");
        fs::write(policy.join("a.yaml"), "ab").unwrap();
        let written = files();
        assert_ne!(written, first);
        fs::write(policy.join(".new"), "cd").unwrap();
        fs::rename(policy.join(".new"), policy.join("a.yaml")).unwrap();
        let replaced = files();
        assert_ne!(replaced, written);
        fs::write(&component, "wasm").unwrap();
        assert_ne!(files(), replaced);
        fs::remove_file(policy.join("a.yaml")).unwrap();
        assert!(files().iter().all(|(path, _)| !path.ends_with("a.yaml")));
    }

    /// What was written while the policy was read is another one at the next look.
    #[test]
    fn what_is_written_after_the_look_is_not_taken_for_what_was_read() {
        let dir = tempfile::tempdir().unwrap();
        let (policy, component) = (dir.path().join("policy.yaml"), dir.path().join("p.wasm"));
        fs::write(&policy, "one").unwrap();
        let mut seen = super::look(std::slice::from_ref(&policy), Vec::new());
        fs::write(&policy, "three").unwrap();
        fs::write(&component, "wasm").unwrap();
        seen.extend(stamps([component.clone()]));
        let now = look(&policy, &component);
        assert_ne!(seen[0], now[0]);
        assert_eq!(seen.last(), now.last(), "a component is read later");
    }

    #[test]
    fn a_configmaps_swap_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        for (version, text) in [("..1", "one"), ("..2", "two")] {
            fs::create_dir(dir.path().join(version)).unwrap();
            fs::write(dir.path().join(version).join("policy.yaml"), text).unwrap();
        }
        symlink("..1", dir.path().join("..data")).unwrap();
        symlink("..data/policy.yaml", dir.path().join("policy.yaml")).unwrap();
        let files = || look(dir.path(), &dir.path().join("p.wasm"));
        let first = files();
        symlink("..2", dir.path().join("..data_tmp")).unwrap();
        fs::rename(dir.path().join("..data_tmp"), dir.path().join("..data")).unwrap();
        assert_ne!(files(), first);
    }
}
