//! Labels of the node, by way of Node Feature Discovery: a file that its worker reads and makes labels of.
//!
//! After its documentation (`docs/usage/customization-guide.md`, feature files) and `source/local/local.go`: regular files of one
//! directory, dot-files ignored, at most 65,536 bytes each.

mod desk;
mod file;
mod keeper;
mod text;
mod units;

pub(crate) use desk::Desk;
#[cfg(test)]
pub(crate) use file::HEADER;
pub use file::{DEFAULT_DIR, FILE};
pub(crate) use file::{LOCK, TEMPORARY, is_ours};
pub(crate) use keeper::keep;
pub(crate) use units::of;

#[cfg(test)]
mod tests;
