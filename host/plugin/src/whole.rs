//! Files that the host keeps: whole or not at all, whenever the power goes.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// What is written first, beside the file; then it gets the file's name.
pub(crate) const NEW: &str = ".new";

/// Replaces a file as a whole, for its owner alone. Its directory is made if it is not there.
///
/// # Errors
/// Where it cannot be written; the file is as it was then.
pub(crate) fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = file.parent().unwrap_or(Path::new(""));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut name = file.as_os_str().to_owned();
    name.push(NEW);
    let new = Path::new(&name);
    let mut options = fs::OpenOptions::new();
    let mut opened = options.write(true).create(true).truncate(true).mode(0o600).open(new)?;
    opened.write_all(bytes)?;
    // The content must be there before the name is.
    opened.sync_all()?;
    fs::rename(new, file)?;
    fs::File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_replaced_whole_and_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deeper/kept.json");
        for text in ["one", "three"] {
            write(&file, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(
            fs::read_dir(dir.path().join("deeper")).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn what_cannot_be_written_leaves_the_file_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kept.json");
        write(&file, b"one").unwrap();
        fs::create_dir(dir.path().join("kept.json.new")).unwrap();
        assert!(write(&file, b"two").is_err());
        assert_eq!(fs::read(&file).unwrap(), b"one");
    }
}
