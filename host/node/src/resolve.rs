//! Where a path leads when every link on it is followed: by the host itself, beneath the node's root.

use crate::ReadError;
use crate::node::Node;
use crate::path::{below_root, problem};
use crate::tree::Kind;

/// The most links that one path may lead through; the kernel's own limit.
const MAX_LINKS: usize = 40;

impl Node {
    /// The path that an absolute path leads to, through at most 40 links: absolute, and without a link when it was looked
    /// at. `/` is the node's root, and nothing is above it.
    ///
    /// Who checks the result and then reads it by a function that follows no link (as all of this crate) has read what was
    /// checked: a link that came in between is refused. The links of `/proc` that are no text (`/proc/1/root`) lead where
    /// their text says, never through them. Fails with [`ReadError::NotFound`] where it leads to nothing, [`ReadError::Invalid`] for a path
    /// that is not plain and absolute or has too many links.
    pub fn resolve(&self, path: &str) -> Result<String, ReadError> {
        let relative = below_root(path)?;
        // Most paths have no link on them.
        if matches!(self.tree().look(relative), Ok(look) if look.kind != Kind::Link) {
            return Ok(path.to_owned());
        }
        let mut ahead: Vec<String> = relative.rsplit('/').map(str::to_owned).collect();
        let mut done: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            match name.as_str() {
                "" | "." => continue,
                // As above the kernel's own root, there is nothing above this one.
                ".." => {
                    done.pop();
                    continue;
                }
                _ => done.push(name),
            }
            let at = done.join("/");
            if let Some(problem) = problem(&at) {
                return Err(ReadError::Invalid(problem));
            }
            match self.tree().look(&at)?.kind {
                Kind::Link => {}
                Kind::Directory => continue,
                _ if ahead.is_empty() => continue,
                // Not even `..` leads on from a file.
                _ => return Err(ReadError::NotFound),
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(ReadError::Invalid("path leads through more than 40 links"));
            }
            let target = self.tree().link(&at)?;
            if target.starts_with('/') {
                done.clear();
            } else {
                done.pop();
            }
            ahead.extend(target.rsplit('/').map(str::to_owned));
        }
        Ok(format!("/{}", done.join("/")))
    }
}
