//! Files outside the device tree that a component may read.

mod never;
mod pattern;

use crate::Origin;
use crate::error::Report;
use crate::fields::Item;
use crate::path;
use devgate_types::escape;
use never::never;
use pattern::FilePattern;
use std::fmt;

/// The most patterns of one plugin.
const MOST: usize = 256;

/// The files that a plugin's policy lists: `files:` of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files {
    listed: Vec<(FilePattern, Origin)>,
}

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileDenied {
    /// The policy does not list it.
    NotListed,
    /// No policy can have it read; the reason, to be said after the path.
    Never(&'static str),
}

impl fmt::Display for FileDenied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotListed => f.write_str("is not listed (files)"),
            Self::Never(why) => write!(f, "is never read: it {why}"),
        }
    }
}

impl Files {
    /// Whether the policy lists none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Whether the file at `path` may be read. To be asked for the path as the component wrote it, and again for what it
    /// resolves to.
    ///
    /// # Errors
    /// Why not. A path that is not absolute and plain is not listed.
    pub fn check(&self, path: &str) -> Result<(), FileDenied> {
        self.ask(path, |pattern, parts| pattern.matches(parts))
    }

    /// Whether the names in the directory at `dir` may be told: where the next part of a pattern has a wildcard. To be asked
    /// twice, as [`Self::check`]; which names, says [`Self::lists_entry`].
    ///
    /// # Errors
    /// Why not.
    pub fn lists(&self, dir: &str) -> Result<(), FileDenied> {
        self.ask(dir, |pattern, parts| pattern.lists(parts, None))
    }

    /// Whether a name in a directory that may be listed is told.
    #[must_use]
    pub fn lists_entry(&self, dir: &str, name: &str) -> bool {
        let entry = format!("{dir}/{name}");
        path::problem(&entry).is_none()
            && !name.contains('/')
            && never(&parts(&entry)).is_none()
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
    ///
    /// # Errors
    /// Why not.
    pub fn rule(path: &str) -> Result<(), FileDenied> {
        if path::problem(path).is_some() {
            return Err(FileDenied::NotListed);
        }
        never(&parts(path)).map_or(Ok(()), |why| Err(FileDenied::Never(why)))
    }

    fn ask(&self, path: &str, yes: impl Fn(&FilePattern, &[&str]) -> bool) -> Result<(), FileDenied> {
        if path::problem(path).is_some() {
            return Err(FileDenied::NotListed);
        }
        let parts = parts(path);
        if let Some(why) = never(&parts) {
            return Err(FileDenied::Never(why));
        }
        let listed = self.listed.iter().any(|(pattern, _)| yes(pattern, &parts));
        if listed { Ok(()) } else { Err(FileDenied::NotListed) }
    }

    pub(crate) fn read(item: &Item<'_>, report: &mut Report) -> Self {
        let mut files = Self::default();
        let texts = item.texts(report);
        if texts.len() > MOST {
            item.error(report, format!("must have at most {MOST} entries"));
            return files;
        }
        for (item, text) in texts {
            let shown = escape(text, 80);
            let pattern = match FilePattern::parse(text) {
                Ok(pattern) => pattern,
                Err(problem) => {
                    item.error(report, problem);
                    continue;
                }
            };
            if let Some(why) = never(&parts(&pattern.sample())) {
                item.error(report, format!("has \"{shown}\", which is never read: it {why}"));
            } else if files.listed.iter().any(|(other, _)| *other == pattern) {
                item.error(report, format!("has \"{shown}\" twice"));
            } else {
                files.listed.push((pattern, Origin::new(report, item.node.at)));
            }
        }
        files
    }
}

/// The parts of an absolute path.
fn parts(path: &str) -> Vec<&str> {
    path.split('/').skip(1).collect()
}
