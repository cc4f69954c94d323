//! A recorded node with other texts in it: what was in a serial number's place.

use super::world::{Entry, World};
use crate::{RecordedNode, RecordingError};
use devgate_node::path::is_name;
use std::collections::BTreeMap;

/// A text of a recorded node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Text<'t> {
    /// The name of a file, link, node or directory.
    Name(&'t str),
    /// Where a link leads.
    Target(&'t str),
    /// What is in a file.
    Content {
        /// Where it is, without the `/` in front.
        path: &'t str,
        /// All of it.
        bytes: &'t [u8],
    },
    /// A line of the kernel's log, or the words of an announcement.
    Line(&'t str),
}

/// What comes in a text's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instead {
    /// The same.
    Same,
    /// This.
    Bytes(Vec<u8>),
    /// Nothing, and the file or line is not there any more. A name or target stays as it is.
    Nothing,
}

impl RecordedNode {
    /// The node with each of its texts changed; asked in the same order each time, once for each name of a directory.
    ///
    /// # Errors
    /// [`RecordingError::Change`] where two things would have the same name, or one none.
    pub fn rewritten(&self, instead: &mut dyn FnMut(Text<'_>) -> Instead) -> Result<Self, RecordingError> {
        let world = rewritten(&self.recorded().world(), instead);
        Ok(world.map_err(|(what, problem)| RecordingError::Change { what, problem })?.into())
    }
}

fn rewritten(world: &World, instead: &mut dyn FnMut(Text<'_>) -> Instead) -> Result<World, (String, String)> {
    let mut new = World::new();
    // Each old path and its new one; a directory is met before what is in it.
    let mut paths: BTreeMap<String, String> = BTreeMap::from([(String::new(), String::new())]);
    for (directory, entries) in world.all() {
        let into = paths.get(directory).cloned().unwrap_or_else(|| directory.to_owned());
        for (name, entry) in entries {
            let old = join(directory, name);
            let named = match instead(Text::Name(name)) {
                Instead::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Instead::Same | Instead::Nothing => name.clone(),
            };
            let path = join(&into, &named);
            let failed = |problem: &str| (format!("/{old}"), problem.to_owned());
            if !is_name(&named) {
                return Err(failed("would have no name"));
            }
            if named != *name && (new.get(&path).is_ok() || entries.contains_key(&named)) {
                return Err(failed("would have the name of another"));
            }
            paths.insert(old.clone(), path.clone());
            let entry = match entry {
                Entry::File { content, for_all } => {
                    let content = match instead(Text::Content { path: &old, bytes: content }) {
                        Instead::Same => content.clone(),
                        Instead::Bytes(bytes) => bytes.into(),
                        Instead::Nothing => continue,
                    };
                    Entry::File { content, for_all: *for_all }
                }
                Entry::Link(target) => match instead(Text::Target(target)) {
                    Instead::Bytes(bytes) => Entry::Link(String::from_utf8_lossy(&bytes).into_owned()),
                    Instead::Same | Instead::Nothing => Entry::Link(target.clone()),
                },
                other => other.clone(),
            };
            new.put(&path, entry).map_err(|problem| failed(&problem))?;
        }
    }
    for (path, (uid, mode)) in world.rights() {
        if let Some(path) = paths.get(path) {
            // What has gone has no rights either.
            let _ = new.set_rights(path, *uid, *mode);
        }
    }
    new.time = world.time;
    for (location, words) in &world.announced {
        let path = paths.get(&format!("sys/devices/{location}"));
        let Some(location) = path.and_then(|path| path.strip_prefix("sys/devices/")) else {
            continue;
        };
        let words = match instead(Text::Line(words)) {
            Instead::Same => words.clone(),
            Instead::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Instead::Nothing => continue,
        };
        new.announce(location, &words).map_err(|problem| (location.to_owned(), problem))?;
    }
    for line in &world.log {
        let text = match instead(Text::Line(&line.text)) {
            Instead::Same => line.text.clone(),
            Instead::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Instead::Nothing => continue,
        };
        new.say(line.micros, &text).map_err(|problem| (text, problem))?;
    }
    Ok(new)
}

fn join(directory: &str, name: &str) -> String {
    match directory {
        "" => name.to_owned(),
        directory => format!("{directory}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = "P: /devices/x/a1\nN: a1\nE: SUBSYSTEM=misc\nE: MAJOR=1\nE: MINOR=2\nE: DEVNAME=/dev/a1\nA: s=a1\nL: l=../a1\n\
        E: DEVGATE=F: /opt/a1=t\nE: DEVGATE=O: /opt/a1=7 0600\nE: DEVGATE=K: 1 a1 said\n\n";

    fn swap(from: &str, to: &str) -> Result<String, RecordingError> {
        let node = RecordedNode::parse("test", NODE).unwrap();
        let change = |text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            if text.contains("gone") { Instead::Nothing } else { Instead::Bytes(text.replace(from, to).into_bytes()) }
        };
        let node = node.rewritten(&mut |text| match text {
            Text::Name(text) | Text::Target(text) | Text::Line(text) => change(text.as_bytes()),
            Text::Content { bytes, .. } => change(bytes),
        })?;
        let written = node.written(&[]).unwrap();
        assert_eq!(written.unwritten, []);
        Ok(written.text)
    }

    #[test]
    fn a_text_is_another_everywhere() {
        let same = RecordedNode::parse("test", NODE).unwrap().text().unwrap();
        assert_eq!(swap("a1", "b2").unwrap(), same.replace("a1", "b2"));
        assert!(!swap("a1 said", "gone").unwrap().contains("a1 said"));
    }

    #[test]
    fn nothing_takes_another_ones_name() {
        for (from, to) in [("a1", ""), ("a1", "x/y"), ("uevent", "s")] {
            assert!(matches!(swap(from, to), Err(RecordingError::Change { .. })), "{from} {to}");
        }
    }
}
