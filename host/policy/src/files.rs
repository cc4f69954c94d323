//! Files outside the device tree that a component may read.

mod never;
mod pattern;

use crate::error::Problem;
use crate::fields::Item;
use crate::{Origin, path};
use never::never;
use pattern::FilePattern;

/// The most patterns of one plugin.
const MAX_PATTERNS: usize = 256;

/// The files that a plugin's policy lists: `files:` of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files {
    listed: Vec<(FilePattern, Origin)>,
}

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FileDenied {
    /// The policy does not list it.
    #[error("is not listed (files)")]
    NotListed,
    /// No policy can have it read; the reason, to be said after the path.
    #[error("is never read: it {0}")]
    Never(&'static str),
}

impl Files {
    /// Whether the policy lists none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Whether the file at `path` may be read. To be asked for the path as the component wrote it, and again for what it
    /// resolves to. The error says why not. A path that is not absolute and plain is not listed.
    pub fn check(&self, path: &str) -> Result<(), FileDenied> {
        self.ask(path, |pattern, parts| pattern.matches(parts))
    }

    /// Whether the names in the directory at `dir` may be told: where the next part of a pattern has a wildcard. To be asked
    /// twice, as [`Self::check`]; which names, says [`Self::lists_entry`].
    pub fn lists(&self, dir: &str) -> Result<(), FileDenied> {
        self.ask(dir, |pattern, parts| pattern.lists(parts, None))
    }

    /// Whether a name in a directory that may be listed is told.
    #[must_use]
    pub fn lists_entry(&self, dir: &str, name: &str) -> bool {
        !name.contains('/')
            && Self::rule(&format!("{dir}/{name}")).is_ok()
            && self.ask(dir, |pattern, parts| pattern.lists(parts, Some(name))).is_ok()
    }

    /// The patterns as the policy writes them, and where.
    pub fn patterns(&self) -> impl Iterator<Item = (&str, &Origin)> {
        self.listed.iter().map(|(pattern, origin)| (pattern.as_str(), origin))
    }

    /// The patterns that a path matches, as the policy writes them.
    pub fn matching<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        let parts = parts(path);
        let matches = move |(pattern, _): &&'a (FilePattern, Origin)| pattern.matches(&parts);
        self.listed.iter().filter(matches).map(|(pattern, _)| pattern.as_str())
    }

    /// Whether the host ever reads the file at `path`, whatever a policy lists.
    pub fn rule(path: &str) -> Result<(), FileDenied> {
        if path::problem(path).is_some() {
            return Err(FileDenied::NotListed);
        }
        never(&parts(path)).map_or(Ok(()), |why| Err(FileDenied::Never(why)))
    }

    fn ask(&self, path: &str, yes: impl Fn(&FilePattern, &[&str]) -> bool) -> Result<(), FileDenied> {
        Self::rule(path)?;
        let parts = parts(path);
        let listed = self.listed.iter().any(|(pattern, _)| yes(pattern, &parts));
        if listed { Ok(()) } else { Err(FileDenied::NotListed) }
    }

    pub(crate) fn read(item: &Item<'_>) -> Self {
        let read = |(item, text): (Item<'_>, &str)| {
            let pattern = FilePattern::parse(text).map_err(|problem| item.error(problem)).ok()?;
            if let Some(why) = never(&parts(&pattern.sample())) {
                item.error(Problem::which(text, format_args!("is never read: it {why}")));
                return None;
            }
            Some((pattern, item.origin()))
        };
        let listed = item.texts_once(MAX_PATTERNS).into_iter().filter_map(read).collect();
        Self { listed }
    }
}

/// The parts of an absolute path.
fn parts(path: &str) -> Vec<&str> {
    path.split('/').skip(1).collect()
}
