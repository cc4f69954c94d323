//! Reads the policy's files; what they say is `devgate-policy`'s business.

use crate::exit;
use devgate_policy::{Policy, PolicyFile};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest policy file. A larger one is a mistake, or somebody's attempt to fill the memory.
const MOST_BYTES: u64 = 1 << 20;

/// Reads and parses the policy from files and directories. What is wrong is told of all of them, those that can be read.
pub fn read(paths: &[PathBuf]) -> anyhow::Result<Policy> {
    let (mut texts, mut unread) = (Vec::new(), Vec::new());
    for path in paths {
        match files(path) {
            Ok(files) => {
                for file in files {
                    match read_file(&file) {
                        Ok(text) => texts.push((file.display().to_string(), text)),
                        Err(error) => unread.push(error.to_string()),
                    }
                }
            }
            Err(error) => unread.push(error.to_string()),
        }
    }
    let files: Vec<_> = texts.iter().map(|(name, text)| PolicyFile { name, text }).collect();
    let wrong = |lines: Vec<String>| exit::with_code(exit::POLICY, lines.join("\n"));
    match devgate_policy::parse(&files) {
        Ok(policy) if unread.is_empty() => Ok(policy),
        Ok(_) => Err(wrong(unread)),
        // Without any file there is nothing else to say of it.
        Err(_) if files.is_empty() && !unread.is_empty() => Err(wrong(unread)),
        Err(errors) => {
            unread.push(errors.to_string());
            Err(wrong(unread))
        }
    }
}

/// The file itself, or the YAML files of a directory in the order of their names.
pub fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let wrong = |why: String| exit::with_code(exit::POLICY, format!("policy {}: {why}", path.display()));
    let metadata = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?;
    if metadata.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if !metadata.is_dir() {
        return Err(wrong("is neither a file nor a directory".into()));
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|e| wrong(e.to_string()))? {
        let file = entry.map_err(|e| wrong(e.to_string()))?.path();
        let hidden = file
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let yaml = file.extension().is_some_and(|ext| ext == "yaml" || ext == "yml");
        // A ConfigMap's volume holds the real files in hidden directories and links to them: hence is_file, which follows.
        if yaml && !hidden && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(wrong("the directory has no .yaml or .yml file".into()));
    }
    Ok(files)
}

fn read_file(path: &Path) -> anyhow::Result<String> {
    let wrong = |why: String| exit::with_code(exit::POLICY, format!("policy {}: {why}", path.display()));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|e| wrong(e.to_string()))?;
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| wrong(e.to_string()))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST_BYTES {
        return Err(wrong("is larger than 1MiB".into()));
    }
    String::from_utf8(bytes).map_err(|_| wrong("is not UTF-8 text".into()))
}
