//! What tests of more than one module use, and what is held over all of them.

pub(crate) mod fake;
mod foreign;
