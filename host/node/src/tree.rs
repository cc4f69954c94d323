//! What a source of a node must answer. Everything else (devices, subsystems, nodes) is made of these few questions,
//! once, for live and recorded nodes alike.

use crate::ReadError;
use devgate_types::NodeNumber;

/// The most entries of one directory that are looked at. `/sys/class/block` of a large storage server has some ten
/// thousand.
pub const MAX_ENTRIES: usize = 262_144;

/// The most bytes that one read returns, whatever the caller asks for.
pub const MAX_READ_BYTES: usize = 16 << 20;

/// A file system, asked by paths relative to its root that [`crate::path::problem`] finds nothing wrong with.
///
/// No link is followed, neither on the way nor at the end: a path through one is [`ReadError::Invalid`]. Each function fails where
/// nothing is there or something of another kind, with the error that a constant of this module names, wherever one of them fits,
/// so that no caller can tell two sources apart.
pub trait Tree: Send + Sync {
    /// At most `length` bytes of a regular file from `offset`; fewer only at its end. Refuses anything else than a
    /// regular file, without blocking on it.
    fn read(&self, path: &str, offset: u64, length: usize, readers: Readers) -> Result<Vec<u8>, ReadError>;
    /// The entries of a directory, in any order; without `.`, `..` and names that are not UTF-8. The empty path is the
    /// root.
    fn list(&self, path: &str) -> Result<Vec<(String, Kind)>, ReadError>;
    /// The text of a link.
    fn link(&self, path: &str) -> Result<String, ReadError>;
    /// Names and texts of all links in a directory, in any order.
    fn links(&self, path: &str) -> Result<Vec<(String, String)>, ReadError>;
    /// What something is and who may do what with it. The empty path is the root.
    fn look(&self, path: &str) -> Result<Look, ReadError>;
    /// Writes to a regular file that is there, at once and as a whole: one write, whatever the kernel says.
    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), ReadError>;

    /// What something is.
    fn stat(&self, path: &str) -> Result<Kind, ReadError> {
        Ok(self.look(path)?.kind)
    }

    /// Whether it stands for another computer than the one that this runs on: a recording, on which no kernel acts.
    fn is_recorded(&self) -> bool {
        false
    }
}

/// For whom a file must be readable for the host to read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Everybody: the kernel itself sees no harm in the content, nor in the reading.
    World,
    /// The host alone is enough.
    Host,
}

/// What an entry of a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A device node.
    Node(NodeNumber),
    /// A socket.
    Socket,
    /// A FIFO, or what else there may be.
    Other,
}

/// What something is, whose it is, and who may do what with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// What it is.
    pub kind: Kind,
    /// The owner's number.
    pub uid: u32,
    /// The twelve bits of the mode.
    pub mode: u32,
}

impl Look {
    /// Whether another user than its owner may write to it. With an access control list, the group's bits are the most
    /// that the list gives anybody, so they cover it.
    #[must_use]
    pub fn others_write(self) -> bool {
        self.mode & 0o022 != 0
    }

    /// Whether everybody may reach what is in this directory by name.
    #[must_use]
    pub fn all_may_pass(self) -> bool {
        self.mode & 0o001 != 0
    }

    /// Whether everybody may read it, or list it.
    #[must_use]
    pub fn all_may_read(self) -> bool {
        self.mode & 0o004 != 0
    }
}

/// That a file is not for everybody, in one wording for both sources.
pub const NOT_FOR_ALL: ReadError = ReadError::Denied("only root may read it");
/// That the kernel refuses a file that is for everybody.
pub const NOT_FOR_HOST: ReadError = ReadError::Denied("the kernel does not let the host read it");
/// That a file may not be written, in one wording for both sources.
pub const NOT_WRITABLE: ReadError = ReadError::Denied("the kernel does not let the host write it");
/// That a directory was asked for as a file.
pub const IS_DIRECTORY: ReadError = ReadError::Invalid("a directory");
/// That something was asked for as a file that is none.
pub const IS_NO_FILE: ReadError = ReadError::Invalid("not a regular file");
/// That something else was asked for as a link.
pub const IS_NO_LINK: ReadError = ReadError::Invalid("not a link");
/// That a link is in the way.
pub const IS_LINK: ReadError = ReadError::Invalid("a link, or one on the way");
