//! Landlock: what the kernel has of it, and having it enforced.

use crate::Error;
use crate::error::NOT_ENFORCED;
use landlock::{
    ABI, CreateRulesetError, LandlockStatus, RestrictSelfError, Ruleset, RulesetCreated, RulesetError, RulesetStatus,
};
use rustix::io::Errno;
use std::io;

/// The newest version that the crate knows; what the kernel lacks of it is left out and named.
pub(crate) const KNOWN: ABI = ABI::V10;

/// What Landlock can take beyond opening files, which all kernels with Landlock know, and the first version that can.
const RIGHTS: [(&str, u32); 7] = [
    // To move or link a file into another directory.
    ("move", 2),
    // To cut a file.
    ("truncate", 3),
    // To listen and to connect by TCP.
    ("tcp", 4),
    // To control a device by ioctl.
    ("ioctl", 5),
    // To connect to abstract sockets of others, and to signal others.
    ("scope", 6),
    // To connect to sockets by path.
    ("unix-socket", 9),
    // To send and to receive by UDP.
    ("udp", 10),
];

/// What a kernel with this version of Landlock cannot take.
fn beyond(abi: u32) -> Vec<&'static str> {
    RIGHTS.into_iter().filter(|(_, since)| *since > abi).map(|(right, _)| right).collect()
}

/// What the kernel has of Landlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landlock {
    /// It is in force.
    Enforced {
        /// The version that the kernel has.
        abi: u32,
        /// What that version cannot take: classes of rights, each by a word.
        missing: Vec<&'static str>,
    },
    /// The kernel was built or booted without it.
    Missing,
}

/// Has the kernel refuse the calling thread, and those that it starts later, what the ruleset handles and does not allow. Fails where the
/// kernel may have Landlock and was not let use it.
pub(crate) fn enforce(
    handled: impl FnOnce(Ruleset) -> Result<RulesetCreated, RulesetError>,
) -> Result<Landlock, Error> {
    let (ruleset, probed) = probe();
    let status = handled(ruleset).and_then(RulesetCreated::restrict_self).map_err(name)?;
    match status.landlock {
        LandlockStatus::NotEnabled => Ok(Landlock::Missing),
        LandlockStatus::NotImplemented if probed.raw_os_error() == Some(Errno::NOSYS.raw_os_error()) => {
            Ok(Landlock::Missing)
        }
        LandlockStatus::NotImplemented => Err(Error::Forbidden { call: "landlock_create_ruleset", source: probed }),
        LandlockStatus::Available { .. } if status.ruleset == RulesetStatus::NotEnforced => {
            Err(Error::unable(NOT_ENFORCED))
        }
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            let abi = kernel_abi.and_then(|abi| u32::try_from(abi).ok());
            let abi = abi.unwrap_or(effective_abi as u32);
            Ok(Landlock::Enforced { abi, missing: beyond(abi) })
        }
    }
}

/// Asks the kernel for its version, and keeps what it answered where it has none.
///
/// The crate takes every refusal but EOPNOTSUPP for a kernel without Landlock, also one by a container's filter. Its question is the last
/// system call before this returns, so the C library's errno still holds the answer; without `unsafe` there is no other way to ask.
fn probe() -> (Ruleset, io::Error) {
    let ruleset = Ruleset::default();
    let answer = io::Error::last_os_error();
    (ruleset, answer)
}

fn name(error: RulesetError) -> Error {
    match error {
        RulesetError::CreateRuleset(CreateRulesetError::CreateRulesetCall { source, .. }) => {
            match source.raw_os_error() == Some(Errno::MFILE.raw_os_error()) {
                // As many as it may have are open, and Landlock needs one while it is set up.
                true => Error::unable(
                    "landlock_create_ruleset: no descriptor is left for the ruleset: a caller left files open to \
                     devgate, which a kernel before 5.11 hands on; close them first (in a shell: 3>&-)",
                ),
                false => Error::Forbidden { call: "landlock_create_ruleset", source },
            }
        }
        RulesetError::RestrictSelf(
            RestrictSelfError::RestrictSelfCall { source, .. } | RestrictSelfError::SetNoNewPrivsCall { source, .. },
        ) => Error::Forbidden { call: "landlock_restrict_self", source },
        _ => Error::unable(NOT_ENFORCED),
    }
}
