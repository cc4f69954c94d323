//! What the grants mean on this node, for people: which files, nodes and mounts each entry matches, and how each selector sees a device.

use super::{Facts, Grants, NotGranted, Withheld};
use crate::units::GrantedNode;
use devgate_node::{DevicePath, ReadError};
use devgate_policy::{Origin, Selector, Use};

/// The most paths that are looked at for one pattern, and the deepest that `**` goes.
const MAX_PATHS: usize = 4_096;
const DEEPEST: usize = 12;

/// What one entry of `files` or `host-nodes` matches here.
#[derive(Debug, Clone)]
pub struct PathMatch<T> {
    /// The pattern, as the policy writes it.
    pub pattern: String,
    /// Where it is written.
    pub origin: Origin,
    /// What may be read or given away, sorted by path.
    pub found: Vec<T>,
    /// Those that match and are not, and why.
    pub withheld: Vec<Withheld>,
    /// Whether there are more paths than were looked at.
    pub more: bool,
}

impl Grants {
    /// The files that each pattern of the policy matches here. Looks at no more than 4,096 paths for each.
    #[must_use]
    pub fn files(&self) -> Vec<PathMatch<String>> {
        let policy = &self.policy.files;
        let look = |path: &str| match self.file_at(path, 0, 0) {
            Ok(_) => Ok(Some(path.to_owned())),
            // A directory matches `*` as well, and is no file.
            Err(NotGranted::Read(ReadError::NotFound | ReadError::Invalid(_))) => Ok(None),
            Err(why) => Err(Withheld { what: path.to_owned(), why: why.to_string() }),
        };
        let one = |(pattern, origin)| {
            let is_its = |path: &str| policy.matching(path).any(|matching| matching == pattern);
            self.paths(pattern, origin, is_its, look)
        };
        policy.patterns().map(one).collect()
    }

    /// The nodes that each pattern of `host-nodes` matches here. Looks at no more than 4,096 paths for each.
    #[must_use]
    pub fn host_nodes(&self) -> Vec<PathMatch<GrantedNode>> {
        let policy = &self.policy.host_nodes;
        let look = |path: &str| match self.node_at(path) {
            Ok(node) => Ok(Some(node)),
            Err(NotGranted::Refused(why, _)) => Err(Withheld { what: path.to_owned(), why }),
            // A directory or a link matches as well, and is no node.
            Err(_) => Ok(None),
        };
        let one = |(pattern, _, origin)| {
            let is_its = |path: &str| policy.matching(path).any(|matching| matching == pattern);
            self.paths(pattern, origin, is_its, look)
        };
        policy.patterns().map(one).collect()
    }

    fn paths<T>(
        &self,
        pattern: &str,
        origin: &Origin,
        is_its: impl Fn(&str) -> bool,
        look: impl Fn(&str) -> Result<Option<T>, Withheld>,
    ) -> PathMatch<T> {
        let (paths, more) = self.expand(pattern);
        let (mut found, mut withheld) = (Vec::new(), Vec::new());
        for path in paths.into_iter().filter(|path| is_its(path)) {
            match look(&path) {
                Ok(one) => found.extend(one),
                Err(not) => withheld.push(not),
            }
        }
        PathMatch { pattern: pattern.to_owned(), origin: origin.clone(), found, withheld, more }
    }

    /// Paths among which are all that a pattern matches, sorted, and whether some were left out: each part that has a
    /// wildcard stands for everything in its directory.
    fn expand(&self, pattern: &str) -> (Vec<String>, bool) {
        let mut found = vec![String::new()];
        let mut more = false;
        for part in pattern.split('/').skip(1) {
            if !part.contains(['*', '?', '[', ']', '{', '}', '\\']) {
                for path in &mut found {
                    path.push('/');
                    path.push_str(part);
                }
                continue;
            }
            let mut next = Vec::new();
            // Where `**` is a part of a name it crosses directories as well.
            let depth = if part.contains("**") { DEEPEST } else { 1 };
            for path in &found {
                if depth > 1 {
                    next.push(path.clone());
                }
                self.beneath_path(path, depth, &mut next);
            }
            more |= next.len() > MAX_PATHS;
            next.truncate(MAX_PATHS);
            found = next;
        }
        found.sort();
        found.dedup();
        (found, more)
    }

    /// Adds what is in a directory, and beneath it as deep as asked, until there is too much. Hidden names are left out, as
    /// they are when a component lists the directory.
    fn beneath_path(&self, directory: &str, depth: usize, into: &mut Vec<String>) {
        let mut open = vec![(directory.to_owned(), depth)];
        while let Some((at, depth)) = open.pop() {
            // Nothing, no directory, or not for everybody: nothing in it is read either.
            for name in self.node.file_entries(&at).unwrap_or_default() {
                if into.len() > MAX_PATHS {
                    return;
                }
                let path = format!("{at}/{name}");
                if depth > 1 {
                    open.push((path.clone(), depth - 1));
                }
                into.push(path);
            }
        }
    }
}

/// How one plugin sees one device.
#[derive(Debug, Clone)]
pub struct Sight {
    /// What the plugin may do with it; nothing where it does not even see it.
    pub usage: Option<Use>,
    /// The device above that the selectors match, where they reach down from there.
    pub from: Option<DevicePath>,
    /// Of each selector of the plugin, in the policy's order, the first key that does not hold of the device itself; `None` if
    /// all do.
    pub unmet: Vec<Option<&'static str>>,
    /// The nodes of the device, and of what is beneath it, that may be handed out.
    pub nodes: Vec<GrantedNode>,
    /// Those that the policy offers and the host does not give, and why.
    pub withheld: Vec<Withheld>,
}

impl Grants {
    /// How the plugin sees a device. Fails when what is beneath it cannot be read.
    pub fn sight(&self, device: &DevicePath) -> Result<Sight, ReadError> {
        let facts = Facts::new(&self.node, device);
        let unmet = self.policy.hardware.iter().map(|selector| selector.unmet(&facts)).collect();
        let usage = self.usage(device);
        let from = self.reach(device).map(|(from, _)| from).filter(|from| from != device);
        let (nodes, withheld) = match usage {
            Some(Use::Offer) => self.nodes(device, None)?,
            Some(Use::Read) | None => (Vec::new(), Vec::new()),
        };
        Ok(Sight { usage, from, unmet, nodes, withheld })
    }

    /// How many devices each selector matches by itself, in the policy's order.
    pub fn selector_counts(&self) -> Result<Vec<usize>, ReadError> {
        let count = |selector: &Selector| {
            let devices = self.node.devices(&selector.subsystem)?;
            let matching = |device: &&DevicePath| selector.matches(&Facts::new(&self.node, device));
            Ok(devices.iter().filter(matching).count())
        };
        self.policy.hardware.iter().map(count).collect()
    }
}
