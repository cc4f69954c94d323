//! Whom a registry's certificate may come from: the files that say so, as they are. Who speaks to the registry reads them.

use crate::error::{Error, read_file};
use crate::message::wire;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The largest file of certificates, and the most of all that the system has.
const MAX_FILE: u64 = 4 * 1024 * 1024;
const MAX_OF_THE_SYSTEM: usize = 16 * 1024 * 1024;
const FILE: &str = "SSL_CERT_FILE";
const DIRECTORIES: &str = "SSL_CERT_DIR";

/// The files that an admin names.
pub(crate) fn named(files: &[PathBuf]) -> Result<Vec<wire::Authorities>, Error> {
    let read = |file: &PathBuf| {
        let pem = read_file(file, MAX_FILE);
        let pem = pem.map_err(|why| Error::Host(format!("{}: {why} (--registry-ca)", file.display())))?;
        let file = file.display().to_string();
        Ok(wire::Authorities { file, pem })
    };
    files.iter().map(read).collect()
}

/// The system's, where OpenSSL would find them: what cannot be read is not there.
pub(crate) fn of_the_system() -> Vec<u8> {
    let variable = std::env::var_os(DIRECTORIES).unwrap_or_default();
    let directories = std::env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty());
    let (mut file, mut directories) = (std::env::var_os(FILE).map(PathBuf::from), directories.collect::<Vec<_>>());
    if file.is_none() && directories.is_empty() {
        let probed = openssl_probe::probe();
        (file, directories) = (probed.cert_file, probed.cert_dir);
    }
    collect(file, &directories)
}

/// Each file once: a directory has several links to each, and often the file itself.
fn collect(file: Option<PathBuf>, directories: &[PathBuf]) -> Vec<u8> {
    let in_directories = directories
        .iter()
        .filter_map(|dir| std::fs::read_dir(dir).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()));
    let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
    for path in file.into_iter().chain(in_directories) {
        let look = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
        if !look.is_some_and(|look| seen.insert((look.dev(), look.ino()))) {
            continue;
        }
        let pem = read_file(&path, MAX_FILE).unwrap_or_default();
        if all.len().saturating_add(pem.len()) < MAX_OF_THE_SYSTEM {
            all.extend(pem);
            all.push(b'\n');
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_named_and_not_there_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let why = named(&[dir.path().join("none.pem")]).unwrap_err().to_string();
        assert!(why.contains("none.pem: No such file") && why.ends_with(" (--registry-ca)"), "{why}");
        assert!(named(&[dir.path().to_owned()]).is_err());
    }

    #[test]
    fn each_file_of_the_system_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("all.pem"), "all").unwrap();
        std::fs::write(at("one.pem"), "one").unwrap();
        std::os::unix::fs::symlink(at("one.pem"), at("0123abcd.0")).unwrap();
        std::os::unix::fs::symlink(at("gone.pem"), at("0123abcd.1")).unwrap();
        let directory = [dir.path().to_owned()];
        assert_eq!(collect(Some(at("all.pem")), &directory), b"all\none\n");
        assert_eq!(collect(Some(at("gone.pem")), &[at("none")]), b"");
    }
}
