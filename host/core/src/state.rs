//! Files that the host keeps, in directories that it trusts: whole or not at all, whenever the power goes.

mod dir;
mod file;

pub(crate) use dir::{Dir, Style, is_temporary, put};
pub(crate) use file::{Found, StateFile};
