//! Paths as the node's trees know them: relative to the root, without any component that means something else than a
//! name.

use crate::ReadError;

/// The longest path that is looked at, in bytes: the kernel's `PATH_MAX` with its NUL.
pub const MAX_PATH_BYTES: usize = 4096;
/// The longest component, in bytes: the kernel's `NAME_MAX`.
const MAX_NAME_BYTES: usize = 255;

/// What is wrong with a relative path, if anything: it must be names joined by single slashes.
///
/// The kernel is told to stay beneath the root as well; this keeps out what it would understand and others might read
/// in another way: trailing slashes, `.`, empty components.
#[must_use]
pub fn problem(path: &str) -> Option<&'static str> {
    if path.len() > MAX_PATH_BYTES {
        return Some("path is longer than 4096 bytes");
    }
    if path.is_empty() {
        return Some("path is empty");
    }
    if path.starts_with('/') {
        return Some("path must be relative");
    }
    path.split('/').find_map(name_problem)
}

/// A plain absolute path as one below the root.
pub(crate) fn below_root(path: &str) -> Result<&str, ReadError> {
    let below = path.strip_prefix('/').ok_or(ReadError::Invalid("path must be absolute"))?;
    problem(below).map_or(Ok(below), |problem| Err(ReadError::Invalid(problem)))
}

/// What is wrong with one component, if anything.
fn name_problem(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("path has an empty component or a trailing slash"),
        "." | ".." => Some("path has a . or .. component"),
        _ if name.contains('\0') => Some("path contains a NUL"),
        _ if name.len() > MAX_NAME_BYTES => Some("path has a component longer than 255 bytes"),
        _ => None,
    }
}

/// Whether this can be the name of a subsystem, a device or an entry: one component.
#[must_use]
pub fn is_name(name: &str) -> bool {
    !name.contains('/') && name_problem(name).is_none()
}

/// Where a link in directory `dir` leads, as a path below the root; nothing where it is absolute or would leave the
/// root.
///
/// This is arithmetic on text, and right because `dir` is never reached through a link and the result is never opened
/// through one: in sysfs, the kernel writes every link as the shortest way between two real directories.
#[must_use]
pub fn follow(dir: &str, target: &str) -> Option<String> {
    if target.is_empty() || target.starts_with('/') || target.contains('\0') {
        return None;
    }
    let mut path = String::with_capacity(dir.len() + 1 + target.len());
    path.push_str(dir);
    for part in target.split('/') {
        match part {
            "" => return None,
            "." => {}
            ".." if path.is_empty() => return None,
            ".." => path.truncate(above(&path).map_or(0, str::len)),
            name => {
                if !path.is_empty() {
                    path.push('/');
                }
                path.push_str(name);
            }
        }
    }
    (problem(&path).is_none()).then_some(path)
}

/// The last component.
#[must_use]
pub fn base(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The directory above, or nothing at the top.
#[must_use]
pub fn above(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(dir, _)| dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_plain_relative_paths_pass() {
        let longest = "x".repeat(255);
        for good in ["vendor", "power/control", "acmecard!0/serial", "..x", "a..b", "...", &longest] {
            assert_eq!(problem(good), None, "{good}");
        }
        let too_long_name = "x".repeat(256);
        let too_long = "ab/".repeat(1366);
        for bad in [
            "",
            "/",
            "/vendor",
            "vendor/",
            "a//b",
            ".",
            "..",
            "./a",
            "a/.",
            "a/..",
            "../a",
            "a/../b",
            "a\0b",
            "a/\0",
            &too_long_name,
            &too_long,
        ] {
            assert!(problem(bad).is_some(), "{bad:?}");
        }
        let fits = "ab/".repeat(1365) + "x";
        assert_eq!((fits.len(), problem(&fits)), (4096, None));
    }

    #[test]
    fn links_are_followed_within_the_root_only() {
        let dir = "sys/class/misc";
        assert_eq!(follow(dir, "../../devices/virtual/misc/fuse").as_deref(), Some("sys/devices/virtual/misc/fuse"));
        assert_eq!(follow(dir, "./x").as_deref(), Some("sys/class/misc/x"));
        for bad in ["", "/etc/passwd", "../../../..", "../../../../etc/passwd", "../../..", "a/", "a//b", "a\0"] {
            assert_eq!(follow(dir, bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn a_followed_link_is_always_a_plain_path(dir in "[a-z/]{0,12}", target in "[a-z./]{0,24}|\\PC{0,16}") {
            if let Some(path) = follow(&dir, &target) {
                prop_assert_eq!(problem(&path), None);
            }
        }
    }
}
