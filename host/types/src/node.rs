//! Device nodes: what the kernel identifies one by, and how it may be used.

use std::fmt;
use std::str::FromStr;

/// Whether a node is a character or a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// A character device.
    Character,
    /// A block device.
    Block,
}

/// What a node *is* to the kernel, whatever its path: type, major and minor number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeNumber {
    /// Character or block.
    pub kind: NodeKind,
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

impl fmt::Display for NodeNumber {
    /// As `ls -l` and the device cgroup write it: `c 10:229`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            NodeKind::Character => 'c',
            NodeKind::Block => 'b',
        };
        write!(f, "{kind} {}:{}", self.major, self.minor)
    }
}

/// What a container may do with a node; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    read: bool,
    write: bool,
    mknod: bool,
}

/// An access mode that is not a non-empty subset of `rwm`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("access \"{}\" must be r, w or rw, with m added to allow mknod", crate::escape(.0, 16))]
pub struct InvalidAccess(String);

impl Access {
    /// Read and write.
    pub const READ_WRITE: Self = Self { read: true, write: true, mknod: false };
    /// Read only.
    pub const READ: Self = Self { read: true, write: false, mknod: false };

    /// What both allow, or nothing.
    #[must_use]
    pub fn both(self, other: Self) -> Option<Self> {
        let both =
            Self { read: self.read && other.read, write: self.write && other.write, mknod: self.mknod && other.mknod };
        (both.read || both.write || both.mknod).then_some(both)
    }
}

impl FromStr for Access {
    type Err = InvalidAccess;

    fn from_str(text: &str) -> Result<Self, InvalidAccess> {
        let mut access = Self { read: false, write: false, mknod: false };
        for letter in text.chars() {
            let flag = match letter {
                'r' => &mut access.read,
                'w' => &mut access.write,
                'm' => &mut access.mknod,
                _ => return Err(InvalidAccess(text.to_owned())),
            };
            if std::mem::replace(flag, true) {
                return Err(InvalidAccess(text.to_owned()));
            }
        }
        if !access.read && !access.write && !access.mknod {
            return Err(InvalidAccess(text.to_owned()));
        }
        Ok(access)
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (set, letter) in [(self.read, "r"), (self.write, "w"), (self.mknod, "m")] {
            if set {
                f.write_str(letter)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_is_a_non_empty_subset_of_rwm() {
        for good in ["r", "w", "m", "rw", "rwm"] {
            assert_eq!(good.parse::<Access>().unwrap().to_string(), good);
        }
        let access = |text: &str| text.parse::<Access>().unwrap();
        assert_eq!(access("rwm").both(access("rw")), Some(Access::READ_WRITE));
        assert_eq!(access("r").both(access("w")), None);
        assert_eq!("mwr".parse::<Access>().unwrap().to_string(), "rwm");
        for bad in ["", "x", "rr", "rwx", "r w"] {
            assert!(bad.parse::<Access>().is_err(), "{bad}");
        }
    }
}
