//! What Landlock can take, by the kernels that learnt it.

use std::fmt;

/// A class of rights that Landlock can take beyond opening files, which all kernels with Landlock know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Right {
    /// To move or link a file into another directory.
    Move,
    /// To cut a file.
    Truncate,
    /// To listen and to connect by TCP.
    Tcp,
    /// To control a device by ioctl.
    Ioctl,
    /// To connect to abstract sockets of others, and to signal others.
    Scope,
    /// To connect to sockets by path.
    UnixSocket,
    /// To send and to receive by UDP.
    Udp,
}

impl Right {
    const ALL: [Self; 7] =
        [Self::Move, Self::Truncate, Self::Tcp, Self::Ioctl, Self::Scope, Self::UnixSocket, Self::Udp];

    /// The first version of Landlock that can take it.
    #[must_use]
    pub fn since(self) -> u32 {
        match self {
            Self::Move => 2,
            Self::Truncate => 3,
            Self::Tcp => 4,
            Self::Ioctl => 5,
            Self::Scope => 6,
            Self::UnixSocket => 9,
            Self::Udp => 10,
        }
    }

    /// What a kernel with this version of Landlock cannot take.
    pub(crate) fn beyond(abi: u32) -> Vec<Self> {
        Self::ALL.into_iter().filter(|right| right.since() > abi).collect()
    }
}

impl fmt::Display for Right {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Move => "move",
            Self::Truncate => "truncate",
            Self::Tcp => "tcp",
            Self::Ioctl => "ioctl",
            Self::Scope => "scope",
            Self::UnixSocket => "unix-socket",
            Self::Udp => "udp",
        })
    }
}
