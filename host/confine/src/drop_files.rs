//! Files and networks, by Landlock: a second fence behind the filters of system calls.

use crate::error::NOT_ENFORCED;
use crate::landlock::{KNOWN, enforce};
use crate::{Error, Landlock};
use ::landlock::{Access, AccessFs, AccessNet, Ruleset, RulesetAttr, Scope};

/// What becomes of networks when a process gives up files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The kernel refuses each connection, as far as it knows the kind.
    Refused,
    /// They stay, for a process that fetches something.
    Kept,
}

/// Has the kernel refuse this process every file, every signal to others and, where it is told so, every connection, from here on.
///
/// The kernel does that for the calling thread and those that it starts later: call it before there are others. Fails where the kernel may
/// have Landlock and was not let use it.
pub fn drop_files(network: Network) -> Result<Landlock, Error> {
    enforce(|ruleset| {
        ruleset
            .handle_access(AccessFs::from_all(KNOWN))
            .and_then(|ruleset| match network {
                Network::Refused => ruleset.handle_access(AccessNet::from_all(KNOWN)),
                Network::Kept => Ok(ruleset),
            })
            .and_then(|ruleset| ruleset.scope(Scope::from_all(KNOWN)))
            .and_then(Ruleset::create)
    })
}

impl Landlock {
    /// Asks the kernel what it has, by a thread that is confined and ends.
    pub fn probe() -> Result<Self, Error> {
        let confined = std::thread::spawn(|| drop_files(Network::Refused));
        confined.join().unwrap_or_else(|_| Err(Error::unable(NOT_ENFORCED)))
    }
}
