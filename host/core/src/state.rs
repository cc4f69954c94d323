//! Files that the host keeps, in directories that it trusts: whole or not at all, whenever the power goes.

mod dir;
mod file;

pub(crate) use dir::is_temporary;
pub use dir::{Dir, Style, is_passing, put};
pub use file::{Found, StateFile};
