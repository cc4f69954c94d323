//! The plugin's lines in the host's log: labelled with its name, rate-limited, at most 1,024 bytes each.

#[cfg(target_family = "wasm")]
use crate::bindings::devgate::plugin::log::{Level, write};
#[cfg(not(target_family = "wasm"))]
use crate::native::log::{Level, write};

/// For the vendor.
pub fn debug(message: &str) {
    write(Level::Debug, message);
}

/// For whoever wants to know.
pub fn info(message: &str) {
    write(Level::Info, message);
}

/// Something is odd.
pub fn warn(message: &str) {
    write(Level::Warn, message);
}

/// Something does not work.
pub fn error(message: &str) {
    write(Level::Error, message);
}
