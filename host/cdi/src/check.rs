//! What is wrong with the files that runtimes read here, devgate's and others': to a runtime a device of a broken file is one that does not
//! exist, and says no more.

use crate::files::is_none_in_yaml;
use crate::name::OURS;
use crate::spec::{DeviceNode, NoSpec, Spec};
use devgate_core::state::Dir;
use devgate_node::{Node, ReadError};
use devgate_types::{NodeKind, escape};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The largest file that is read.
const MAX_BYTES: u64 = 4 << 20;
/// What podman 4.3 reads, that of Debian 12.
const WIDELY_READ: &str = "0.5.0";

/// What was looked at.
#[derive(Debug, Default, Serialize)]
pub struct Checked {
    /// How many files there are.
    pub files: usize,
    /// How many of them have a kind of devgate's.
    pub ours: usize,
    /// The names by which a container can ask for devices.
    pub devices: Vec<String>,
    /// What is wrong, by file.
    pub findings: Vec<Finding>,
}

/// Something that is wrong.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whether a device cannot be had because of it.
    pub is_error: bool,
    /// The file or directory.
    pub path: PathBuf,
    /// What it is: escaped text for people.
    pub what: String,
}

/// Looks at all files of these directories, of which later ones win; one that is not there is empty. Changes nothing.
pub fn check(dirs: &[PathBuf], node: &Node) -> io::Result<Checked> {
    let mut checked = Checked::default();
    // By device, its files with the directory that each is in.
    let mut known = BTreeMap::<String, Vec<(usize, PathBuf)>>::new();
    for (at, dir) in dirs.iter().enumerate() {
        if let Err(problem) = Dir::look(dir) {
            checked.find(false, dir, &problem.to_string());
        }
        if dir.is_symlink() {
            checked.find(true, dir, "is a link, behind which readers do not look");
            continue;
        }
        for file in files(dir)? {
            checked.files += 1;
            match read(&file) {
                Err(why) => checked.find(true, &file, &format!("no device of it can be had: {why}")),
                Ok(spec) => {
                    checked.ours += usize::from(spec.kind.starts_with(OURS));
                    checked.look(&file, &spec, node);
                    for device in &spec.devices {
                        let name = format!("{}={}", spec.kind, device.name);
                        known.entry(name).or_default().push((at, file.clone()));
                    }
                }
            }
        }
    }
    for (name, files) in &known {
        let Some((highest, last)) = files.iter().max_by_key(|(at, _)| at) else {
            continue;
        };
        let mut can_be_had = true;
        for (at, file) in files {
            let in_dir = files.iter().filter(|(other, _)| other == at);
            let Some((_, twin)) = in_dir.max().filter(|(_, twin)| twin != file) else {
                continue;
            };
            can_be_had = false;
            let what = format!("device {name} is in {} as well, so that none can be had", twin.display());
            checked.find(true, file, &what);
        }
        for (_, file) in files.iter().filter(|(at, _)| at < highest && can_be_had) {
            let what = format!("device {name} is in {} as well, which wins", last.display());
            checked.find(false, file, &what);
        }
        if can_be_had {
            checked.devices.push(name.clone());
        }
    }
    checked.findings.sort_by(|a, b| (&a.path, &a.what).cmp(&(&b.path, &b.what)));
    Ok(checked)
}

impl Checked {
    /// Notes that something is wrong; `what` is escaped here.
    pub fn find(&mut self, is_error: bool, path: &Path, what: &str) {
        self.findings.push(Finding { is_error, path: path.to_owned(), what: escape(what, 512).to_string() });
    }

    /// What may be wrong with a file that is one.
    fn look(&mut self, file: &Path, spec: &Spec, node: &Node) {
        let version = &*spec.cdi_version;
        if version > WIDELY_READ {
            let what =
                format!("is CDI {version}: readers of {WIDELY_READ} and older, such as podman 4.3, do not see it");
            self.find(false, file, &what);
        }
        let all =
            std::iter::once(&spec.container_edits).chain(spec.devices.iter().map(|device| &device.container_edits));
        for edit in all.flat_map(|edits| &edits.device_nodes) {
            if let Some(what) = problem_of_node(edit, node) {
                self.find(false, file, &what);
            }
        }
    }
}

/// What is wrong with a node that a container would get.
fn problem_of_node(edit: &DeviceNode, node: &Node) -> Option<String> {
    let path = edit.host_path.as_ref().unwrap_or(&edit.path);
    let now = match node.node_at(path) {
        Ok(now) => now.number,
        Err(ReadError::NotFound) => return Some(format!("node {path} is not there")),
        // Others may name links, and what is not in /dev.
        Err(_) => return None,
    };
    let (major, minor) = (edit.major?, edit.minor.unwrap_or_default());
    let is_block = edit.r#type.as_deref().map_or(now.kind == NodeKind::Block, |kind| kind == "b");
    let is_same = (i64::from(now.major), i64::from(now.minor)) == (major, minor);
    let letter = if is_block { "b" } else { "c" };
    (!is_same || is_block != (now.kind == NodeKind::Block)).then(|| {
        format!("node {path} is {now} today, and {letter} {major}:{minor} in it: another device, or one that is gone")
    })
}

/// The files of a directory that readers take for theirs, sorted.
fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", dir.display()))),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| (ends(path, b".json") || ends(path, b".yaml")) && (path.is_symlink() || !path.is_dir()));
    paths.sort();
    Ok(paths)
}

/// Also where a name is nothing else.
fn ends(path: &Path, with: &[u8]) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(with)
}

/// A file that a reader takes.
pub(crate) fn read(file: &Path) -> Result<Spec, NoSpec> {
    let odd = |why: &dyn Display| NoSpec(why.to_string());
    let opened = File::open(file).map_err(|error| odd(&error))?;
    if !opened.metadata().is_ok_and(|look| look.is_file()) {
        return Err(odd(&"it is no file"));
    }
    let mut text = String::new();
    let read = opened.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| odd(&error))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(odd(&format!("it has more than {MAX_BYTES} bytes")));
    }
    // The mark of its order that some editors put before a text is no part of it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if let Some(none) = text.chars().find(|c| is_none_in_yaml(*c)) {
        return Err(odd(&format!("it has the character {none:?}, which is none in YAML")));
    }
    let json = || serde_json::from_str(text).map_err(|error| odd(&error));
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    // Without the picture of where it is.
    let first_line = |text: String| NoSpec(text.lines().next().unwrap_or_default().to_owned());
    let yaml = || serde_saphyr::from_str_with_options(text, options).map_err(|error| first_line(error.to_string()));
    // Readers take all for YAML; what is wrong with JSON is better said of JSON.
    let is_json = ends(file, b".json") && text.trim_start().starts_with('{');
    if is_json && text.replace(r"\\", "").contains(r"\/") {
        return Err(odd(&r"it has `\/` in a text, which is none in YAML; `/` is the same"));
    }
    let spec: Spec = match is_json {
        true => json().or_else(|why| yaml().map_err(|_| why))?,
        false => yaml()?,
    };
    spec.check().map(|()| spec)
}

#[cfg(test)]
mod tests;
