//! One file of the state directory: JSON with a version, readable for people.

use super::{Dir, Style};
use devgate_types::escape;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;

/// What comes after the name of a file that could not be understood.
const ASIDE: &str = ".unreadable";

/// A file. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StateFile {
    /// The directory that it is in.
    pub dir: Dir,
    /// Its name there.
    pub name: &'static str,
    /// The format's version, which its content has as `version`.
    pub version: u32,
    /// The largest one, in bytes.
    pub most: u64,
}

/// What is in a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<T> {
    /// It is not there.
    Nothing,
    /// What this host understands.
    Content(T),
    /// What a newer host wrote, in this version of the format.
    Newer(u32),
    /// What cannot be understood, and why.
    Odd(String),
}

/// What every version of the format has.
#[derive(serde::Deserialize)]
struct Version {
    version: u32,
}

impl StateFile {
    /// Reads it.
    pub fn read<T: DeserializeOwned>(&self) -> io::Result<Found<T>> {
        let Some(bytes) = self.dir.read(self.name, self.most)? else {
            return Ok(Found::Nothing);
        };
        Ok(match serde_json::from_slice::<Version>(&bytes) {
            Ok(Version { version }) if version > self.version => Found::Newer(version),
            Ok(Version { version }) if version < self.version => {
                Found::Odd(format!("it has version {version}, which there never was"))
            }
            _ => match serde_json::from_slice(&bytes) {
                Ok(content) => Found::Content(content),
                Err(error) => Found::Odd(escape(&error.to_string(), 160).to_string()),
            },
        })
    }

    /// What is in it, if anything. One that cannot be understood or read is put aside; `lost` says what is not known then.
    pub fn read_or_put_aside<T: DeserializeOwned>(&self, lost: &str) -> Option<T> {
        let problem = match self.read() {
            Ok(Found::Nothing) => return None,
            Ok(Found::Content(content)) => return Some(content),
            Ok(Found::Newer(version)) => format!("it has version {version}, this host reads {}", self.version),
            Ok(Found::Odd(why)) => why,
            Err(error) => error.to_string(),
        };
        self.put_aside(&problem, lost);
        None
    }

    /// What is in it, if anything, for a program that changes nothing; `stays` says what stays where it cannot be understood.
    pub fn read_or_refuse<T: DeserializeOwned>(&self, stays: &str) -> io::Result<Option<T>> {
        let problem = match self.read()? {
            Found::Nothing => return Ok(None),
            Found::Content(content) => return Ok(Some(content)),
            Found::Newer(version) => format!("it has version {version}"),
            Found::Odd(why) => why,
        };
        Err(io::Error::other(format!("{} cannot be understood: {problem}; {stays}", self.name)))
    }

    /// Puts it aside because of this problem.
    pub(crate) fn put_aside(&self, problem: &str, lost: &str) {
        let aside = format!("{}{ASIDE}", self.name);
        let done = match self.dir.rename(self.name, &aside) {
            Ok(()) => format!("put aside as {aside}"),
            Err(error) => format!("not put aside: {error}"),
        };
        tracing::error!(
            family = "host",
            "{}: cannot be understood: {problem}; {done}: {lost}",
            self.dir.path().join(self.name).display()
        );
    }

    /// Replaces it as a whole. Fails where it is not sure to be on the disk.
    pub fn write<T: Serialize>(&self, content: &T) -> io::Result<()> {
        self.write_as(content, Style::KEPT)
    }

    /// The same in another style.
    pub fn write_as<T: Serialize>(&self, content: &T, style: Style) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(content)?;
        text.push(b'\n');
        if text.len() as u64 > self.most {
            return Err(io::Error::other(format!("{} would have more than {} bytes", self.name, self.most)));
        }
        self.dir.write_as(self.name, &text, style)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn what_is_newer_is_told_from_what_cannot_be_understood() {
        let dir = tempfile::tempdir().unwrap();
        let file = StateFile { dir: Dir::open(dir.path()).unwrap(), name: "kept.json", version: 3, most: 64 };
        let read = || file.read::<BTreeMap<String, u32>>().unwrap();
        assert_eq!(read(), Found::Nothing);
        let content = BTreeMap::from([("version".to_owned(), 3)]);
        file.write(&content).unwrap();
        assert_eq!(read(), Found::Content(content));
        let put = |text: &str| std::fs::write(dir.path().join("kept.json"), text).unwrap();
        put("{\"version\": 4, \"more\": [1]}");
        assert_eq!(read(), Found::Newer(4));
        for odd in ["", "{", "{\"version\": 2}", "{\"version\": 3, \"more\": [1]}", "{\"other\": []}"] {
            put(odd);
            assert!(matches!(read(), Found::Odd(_)), "{odd}");
        }
        put(&" ".repeat(65));
        file.read::<BTreeMap<String, u32>>().unwrap_err();
        assert_eq!(file.read_or_put_aside::<BTreeMap<String, u32>>("x"), None);
        assert!(dir.path().join("kept.json.unreadable").exists() && read() == Found::Nothing);
    }
}
