//! Why something of the node could not be read.

use devgate_types::{NodeNumber, escape};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

/// Why a question about the node has no answer. The message names no device or path: the caller knows them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No such device, attribute, link, directory or node.
    #[error("not found")]
    NotFound,
    /// The device was there when its path was learnt and is not any more.
    #[error("device is gone")]
    Gone,
    /// The question itself is malformed, or asks for something of another kind: a directory for an attribute.
    #[error("invalid: {0}")]
    Invalid(&'static str),
    /// The thing is there, but is not for everybody to read.
    #[error("denied: {0}")]
    Denied(&'static str),
    /// There is more of it than the caller wants.
    #[error("longer than {most} bytes or entries")]
    TooLarge {
        /// The limit that was exceeded.
        most: usize,
    },
    /// What a link points to is not a device.
    #[error("not a device")]
    NotADevice,
    /// What is at a path under `/dev` is not a device node.
    #[error("not a device node")]
    NotANode,
    /// What is at the path that the kernel names is the node of another device.
    #[error("{path} is {found}, but the kernel says {expected}")]
    NodeDiffers {
        /// The path, absolute.
        path: String,
        /// What the kernel says that it is.
        expected: NodeNumber,
        /// What is there.
        found: NodeNumber,
    },
    /// The kernel answered with an error of its own.
    #[error("{text} ({code})")]
    Io {
        /// The error's name, such as `EIO`; or `E` and its number.
        code: Cow<'static, str>,
        /// The error in words.
        text: String,
    },
}

impl ReadError {
    /// The name of the kernel's error, such as `EIO`; empty where the kernel gave none.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Io { code, .. } => code,
            _ => "",
        }
    }
}

impl From<rustix::io::Errno> for ReadError {
    fn from(errno: rustix::io::Errno) -> Self {
        use rustix::io::Errno;
        match errno {
            // A file where the path needs a directory: nothing of that name can exist below it.
            Errno::NOENT | Errno::NOTDIR => Self::NotFound,
            // With RESOLVE_NO_SYMLINKS and O_NOFOLLOW there is no other cause.
            Errno::LOOP => crate::tree::IS_LINK,
            Errno::XDEV => Self::Invalid("path leaves the node's root"),
            Errno::ACCESS | Errno::PERM => crate::tree::NOT_FOR_HOST,
            _ => Self::Io { code: errno_name(errno), text: io::Error::from(errno).kind().to_string() },
        }
    }
}

/// Writes a table of the names that `errno(3)` gives errors.
macro_rules! names {
    ($($name:ident)*) => {
        /// The name that `errno(3)` gives an error, such as `EIO`; of a rare one `E` and its number.
        #[must_use]
        pub fn errno_name(errno: rustix::io::Errno) -> Cow<'static, str> {
            match errno {
                $(rustix::io::Errno::$name => Cow::Borrowed(concat!("E", stringify!($name))),)*
                other => Cow::Owned(format!("E{}", other.raw_os_error())),
            }
        }
    };
}
names!(AGAIN BADMSG BUSY CANCELED FAULT HOSTDOWN INTR INVAL IO ISDIR MFILE NETDOWN NFILE NODATA NODEV NOENT NOMEM NOSPC
    NOSYS NXIO OPNOTSUPP OVERFLOW PERM PROTO RANGE REMOTEIO ROFS SHUTDOWN STALE TIMEDOUT);

/// What was found; `None` if there is no such thing.
pub(crate) fn found<T>(result: Result<T, ReadError>) -> Result<Option<T>, ReadError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(ReadError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Why a live node could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The root cannot be opened or read.
    #[error("node root {} cannot be opened: {source}", escape(&path.to_string_lossy(), 256))]
    Open {
        /// As given.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The root is a regular file: no live node, and perhaps a recorded one.
    #[error("node root {} is a file, not a directory", escape(&.0.to_string_lossy(), 256))]
    IsFile(PathBuf),
    /// The root is neither a directory nor a regular file.
    #[error("node root {} must be a directory or a recording", escape(&.0.to_string_lossy(), 256))]
    NotARoot(PathBuf),
}

/// How what is at a path differs from a node that was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NodeChanged {
    /// Nothing is there, or nothing that the host can look at.
    #[error("is missing")]
    Missing,
    /// It is another device now.
    #[error("is {0} now")]
    Differs(NodeNumber),
    /// Something is there that is no device node.
    #[error("is no device node any more")]
    NotANode,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn the_kernels_errors_keep_their_names() {
        let error = ReadError::from(Errno::IO);
        assert_eq!(error.code(), "EIO");
        assert!(error.to_string().ends_with("(EIO)"), "{error}");
        assert_eq!(ReadError::from(Errno::XFULL).code(), "E54");
        assert_eq!(ReadError::from(Errno::NOENT), ReadError::NotFound);
        assert_eq!(ReadError::NotFound.code(), "");
    }

    #[test]
    fn a_root_in_a_message_cannot_act_on_a_terminal() {
        let error = NodeError::NotARoot(PathBuf::from("/a\u{1b}[2J"));
        assert_eq!(error.to_string(), "node root /a\\u{1b}[2J must be a directory or a recording");
    }
}
