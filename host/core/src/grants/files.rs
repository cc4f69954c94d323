//! Files outside the device tree: what the policy lists must hold for the path as it is written and for where it leads.

use super::Grants;
use devgate_node::ReadError;
use devgate_policy::FileDenied;
use devgate_types::escape;

/// Why a component does not get a file.
#[derive(Debug)]
pub(crate) enum FileRefused {
    /// The policy, or what no policy can grant. The first text is for the component, the second for the admin alone: it may
    /// name where a link leads.
    Denied(String, Option<String>),
    /// The node.
    Read(ReadError),
}

impl From<ReadError> for FileRefused {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl Grants {
    /// A whole file, at most `most` bytes.
    pub(crate) fn file(&self, path: &str, most: usize) -> Result<Vec<u8>, FileRefused> {
        let path = self.readable(path)?;
        Ok(self.node.file(&path, most)?)
    }

    /// At most `length` bytes of a file from `offset`.
    pub(crate) fn file_at(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>, FileRefused> {
        let path = self.readable(path)?;
        Ok(self.node.file_at(&path, offset, length)?)
    }

    /// The names in a directory that patterns of the policy lead on from, and of them those that the patterns match.
    pub(crate) fn file_entries(&self, path: &str) -> Result<Vec<String>, FileRefused> {
        let files = &self.policy.files;
        let resolved = self.checked(path, |path| files.lists(path))?;
        let mut names = self.node.file_entries(&resolved)?;
        names.retain(|name| files.lists_entry(path, name) && files.lists_entry(&resolved, name));
        Ok(names)
    }

    fn readable(&self, path: &str) -> Result<String, FileRefused> {
        self.checked(path, |path| self.policy.files.check(path))
    }

    /// Where a path leads, if the policy allows both. What is read then is the answer, and through no link: a link that comes
    /// in between is refused by the node.
    fn checked(&self, path: &str, check: impl Fn(&str) -> Result<(), FileDenied>) -> Result<String, FileRefused> {
        check(path).map_err(|denied| FileRefused::Denied(denied.to_string(), None))?;
        let resolved = self.node.resolve(path)?;
        if resolved != path
            && let Err(denied) = check(&resolved)
        {
            let told = "a link on the path leads to what the policy does not list".to_owned();
            let full = format!("it leads to {}, which {denied}", escape(&resolved, 160));
            return Err(FileRefused::Denied(told, Some(full)));
        }
        Ok(resolved)
    }
}
