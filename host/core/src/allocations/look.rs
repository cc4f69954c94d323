//! What a state directory says, for whoever is no host.

use super::journal::{self, Known};
use super::older::{Kept, Older};
use super::store::NAME;
use crate::state::Dir;
use devgate_types::escape;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// What was handed out, as far as a state directory says.
#[derive(Debug)]
pub struct Recorded {
    /// Why that is not all, if so. For people.
    pub incomplete: Option<String>,
    /// Whether nothing is kept there.
    pub is_absent: bool,
    kept: Kept,
}

impl Recorded {
    /// Reads a state directory; nothing in it is written, and a host may be at work there.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read(dir: &Path) -> io::Result<Self> {
        let Some(dir) = Dir::look(dir)? else {
            return Ok(Self {
                incomplete: None,
                is_absent: true,
                kept: Kept::default(),
            });
        };
        let mut is_absent = false;
        let (mut kept, mut incomplete) = match dir.inner(NAME, false)? {
            None => {
                is_absent = true;
                (Kept::default(), None)
            }
            Some(journal) => match journal::look(&journal)? {
                (_, Known::Newer(format)) => (
                    Kept::default(),
                    Some(format!("{NAME} has format {format}, of a newer devgate")),
                ),
                (contents, Known::Incomplete(why)) => (Kept::of(&contents), Some(format!("{NAME}: {why}"))),
                (_, Known::Nothing) => {
                    is_absent = true;
                    (Kept::default(), None)
                }
                (contents, Known::All) => (Kept::of(&contents), None),
            },
        };
        match Older::of(dir).peek() {
            Ok(None) => {}
            Ok(Some(older)) => {
                is_absent = false;
                kept.add(older);
            }
            Err(why) => incomplete = incomplete.or(Some(why)),
        }
        Ok(Self {
            incomplete,
            is_absent,
            kept,
        })
    }

    /// The resources of which something was handed out, but for what others than devgate's plugins gave.
    #[must_use]
    pub fn resources(&self) -> BTreeSet<&str> {
        let given = self.kept.handed_out.iter().filter(|(_, unit)| !unit.others);
        given.map(|((resource, _), _)| resource.as_str()).collect()
    }

    /// All of it as JSON, as hosts of version 0.1 keep it.
    ///
    /// # Errors
    /// Where it is more than such a file may have.
    pub fn to_json(&self) -> io::Result<String> {
        let text = Older::text(self.kept.clone())?;
        String::from_utf8(text).map_err(|error| io::Error::other(escape(&error.to_string(), 80)))
    }
}
