//! Paths as the policy writes them.

/// What is wrong with an absolute path, to be said after it; nothing where it is plain.
pub(crate) fn problem(path: &str) -> Option<&'static str> {
    let Some(rest) = path.strip_prefix('/') else {
        return Some("must be absolute");
    };
    if rest.split('/').any(|component| matches!(component, "" | "." | "..")) {
        return Some("must be a plain path, without \"//\", \".\" and \"..\"");
    }
    path.contains(char::is_control).then_some("must not contain control characters")
}

/// Whether `path` is `directory` or lies beneath it; both plain.
pub(crate) fn beneath(path: &str, directory: &str) -> bool {
    match path.strip_prefix(directory.trim_end_matches('/')) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}
