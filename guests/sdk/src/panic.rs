//! A panic's message in the host's log: a trap alone says where, and not why.

use crate::log;
use std::panic::PanicHookInfo;

/// The linker has what stands in this section called before the first function of an instance.
#[used]
#[expect(unsafe_code, reason = "the section's name is the linker's word for what begins an instance")]
// SAFETY: what stands there must be functions without arguments and results, and this is one.
#[unsafe(link_section = ".init_array")]
static SET_HOOK: extern "C" fn() = set_hook;

extern "C" fn set_hook() {
    std::panic::set_hook(Box::new(tell));
}

/// In one line, where the standard library takes two.
fn tell(panic: &PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or_default();
    match panic.location() {
        Some(place) => log::error(&format!("panicked at {place}: {message}")),
        None => log::error(&format!("panicked: {message}")),
    }
}
