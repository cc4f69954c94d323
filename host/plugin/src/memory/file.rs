//! The file that the memory is kept in: whole or not at all, and readable for people.

use super::Key;
use super::record::HandedOut;
use crate::whole;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const NAME: &str = "handed-out.json";
/// Behind the name of what is written to see whether anything can be: what counts another host may be writing.
pub(crate) const PROBE: &str = ".probe";
/// Where a file goes that cannot be understood.
const ASIDE: &str = "handed-out.json.unreadable";
/// The format's version.
const VERSION: u32 = 1;
/// The largest file: some 500 bytes for each id.
const MOST_BYTES: u64 = 256 << 20;

pub(super) struct File {
    dir: PathBuf,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    handed_out: BTreeMap<String, BTreeMap<String, HandedOut>>,
}

impl File {
    /// In this directory, which is made if it is not there, for its owner alone.
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        // Found out now, not at the first allocation.
        let probe = dir.join(format!("{NAME}{PROBE}"));
        create(&probe)?;
        match fs::remove_file(&probe) {
            // Another host that starts has done it.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(Self { dir: dir.to_owned() })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What is in it; nothing where it is not there, or cannot be understood and was put aside.
    pub(super) fn read(&self) -> io::Result<Option<BTreeMap<Key, HandedOut>>> {
        let path = self.dir.join(NAME);
        let file = match fs::File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        let problem = match serde_json::from_slice::<Content>(&bytes) {
            Ok(content) if content.version == VERSION => return Ok(Some(content.flat())),
            Ok(content) => format!("it has version {}, this host reads {VERSION}", content.version),
            Err(error) => error.to_string(),
        };
        let aside = self.dir.join(ASIDE);
        fs::rename(&path, &aside)?;
        tracing::error!(
            family = "host",
            "{}: cannot be understood: {problem}; put aside as {ASIDE}: what was handed out before is not known",
            path.display()
        );
        Ok(None)
    }

    /// Replaces the file as a whole.
    pub(super) fn write(&self, known: &BTreeMap<Key, HandedOut>) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(&Content::of(known))?;
        text.push(b'\n');
        if text.len() as u64 > MOST_BYTES {
            return Err(io::Error::other(format!(
                "what was handed out has more than {MOST_BYTES} bytes"
            )));
        }
        whole::write(&self.dir.join(NAME), &text)
    }
}

fn create(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(path)
}

impl Content {
    fn of(known: &BTreeMap<Key, HandedOut>) -> Self {
        let mut handed_out: BTreeMap<String, BTreeMap<_, _>> = BTreeMap::new();
        for ((resource, id), unit) in known {
            let ids = handed_out.entry(resource.clone()).or_default();
            ids.insert(id.clone(), unit.clone());
        }
        Self {
            version: VERSION,
            handed_out,
        }
    }

    fn flat(self) -> BTreeMap<Key, HandedOut> {
        let of = |(resource, ids): (String, BTreeMap<String, HandedOut>)| {
            ids.into_iter().map(move |(id, unit)| ((resource.clone(), id), unit))
        };
        self.handed_out.into_iter().flat_map(of).collect()
    }
}
