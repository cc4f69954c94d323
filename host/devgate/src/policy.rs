//! Reads the policy's files; what they say is `devgate-policy`'s business.

use crate::cli::PlaceArgs;
use crate::{exit, output};
use devgate_policy::{Policy, PolicyErrors, PolicyFile};
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest policy file. A larger one is a mistake, or an attempt to fill the memory.
const MAX_BYTES: u64 = 1 << 20;

/// What stands in the files of a policy, in their order, each behind the file's name.
pub type Texts = Vec<(String, String)>;

/// Reads and parses the policy from files and directories. What is wrong is told of all of them, those that can be read.
pub fn read(paths: &[PathBuf]) -> anyhow::Result<Policy> {
    read_texts(paths).map(|(policy, _)| policy)
}

/// The same with what stands in the files.
pub(crate) fn read_texts(paths: &[PathBuf]) -> anyhow::Result<(Policy, Texts)> {
    let (mut texts, mut unread) = (Vec::new(), Vec::new());
    for found in paths.iter().map(|path| files(path)) {
        let read = |file: PathBuf| Ok((file.display().to_string(), read_file(&file)?));
        let read: Vec<anyhow::Result<_>> = match found {
            Ok(files) => files.into_iter().map(read).collect(),
            Err(error) => vec![Err(error)],
        };
        for read in read {
            match read {
                Ok(text) => texts.push(text),
                Err(error) => unread.push(error.to_string()),
            }
        }
    }
    let is_empty = texts.is_empty();
    match parse(texts) {
        Ok(read) if unread.is_empty() => return Ok(read),
        // Without any file there is nothing else to say of it.
        Err(errors) if unread.is_empty() || !is_empty => unread.push(errors.to_string()),
        _ => {}
    }
    Err(exit::with_code(exit::POLICY, unread.join("\n")))
}

/// The same for a command that looks at a policy. Where that is wrong, the last line is the command that says whether it still is.
pub fn read_of(place: &PlaceArgs) -> anyhow::Result<(Policy, Texts)> {
    let next = || format!("next: {} check{}", output::program(), place.options());
    read_texts(&place.policy).map_err(|error| exit::with_code(exit::POLICY, format!("{error:#}\n{}", next())))
}

/// Parses what was read.
pub(crate) fn parse(texts: Texts) -> Result<(Policy, Texts), PolicyErrors> {
    let files: Vec<_> = texts.iter().map(|(name, text)| PolicyFile { name, text }).collect();
    Ok((devgate_policy::parse(&files)?, texts))
}

/// The file itself, or the YAML files of a directory in the order of their names.
pub fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let wrong = |why: &dyn Display| wrong(path, why);
    let metadata = std::fs::metadata(path).map_err(|e| wrong(&e))?;
    if metadata.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if !metadata.is_dir() {
        return Err(wrong(&"is neither a file nor a directory"));
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|e| wrong(&e))? {
        let file = entry.map_err(|e| wrong(&e))?.path();
        let name = file.file_name().unwrap_or_default();
        let hidden = name.as_encoded_bytes().starts_with(b".");
        let yaml = file.extension().is_some_and(|ext| ext == "yaml" || ext == "yml");
        // A ConfigMap's volume holds the real files in hidden directories and links to them: hence is_file, which follows.
        if yaml && !hidden && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(wrong(&"the directory has no .yaml or .yml file"));
    }
    Ok(files)
}

fn read_file(path: &Path) -> anyhow::Result<String> {
    let wrong = |why: &dyn Display| wrong(path, why);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|e| wrong(&e))?;
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| wrong(&e))?;
    if u64::try_from(read).unwrap_or(u64::MAX) > MAX_BYTES {
        return Err(wrong(&"is larger than 1MiB"));
    }
    String::from_utf8(bytes).map_err(|_| wrong(&"is not UTF-8 text"))
}

fn wrong(path: &Path, why: &dyn Display) -> anyhow::Error {
    exit::with_code(exit::POLICY, format!("policy {}: {why}", path.display()))
}
