//! From a driver's devices to its ResourceSlices, and what is to be done where the API server has others. Nothing here speaks to anybody.

mod check;
mod cut;
mod kept;
mod name;
mod plan;
mod seen;
#[cfg(test)]
mod tests;

pub(crate) use check::{check, is_driver};
pub(crate) use cut::{Wanted, cut, pressing};
pub(crate) use kept::{kept, missing};
pub(crate) use name::{is_label, is_subdomain};
pub(crate) use plan::{Next, Pool};
pub(crate) use seen::{Digest, Seen, body};

/// Devices of a slice. More are allowed until the first of them has a taint, which would cut all slices anew.
pub(crate) const DEVICES: usize = 64;
/// Sets of counters of a slice, and counters of a set.
pub(crate) const MAX_SETS: usize = 8;
pub(crate) const MAX_COUNTERS: usize = 32;
/// The capacity of which each claim takes one, where several may have a device.
pub(crate) const SHARES_CAPACITY: &str = "devgate.dev/shares";
/// What says that a slice is devgate's. What has it not is never changed.
pub(crate) const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "devgate");
