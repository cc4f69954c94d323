//! `syslog(2)`, for which neither the standard library nor rustix has a function.

use std::ffi::c_int;
use std::io;

/// What it is asked for (syslog(2), `SYSLOG_ACTION_*`).
#[derive(Debug, Clone, Copy)]
#[repr(i32)]
pub(super) enum Action {
    /// All that the kernel has, which stays there.
    ReadAll = 3,
    /// Another level for the console: with an empty buffer the kernel refuses it.
    #[cfg(test)]
    ConsoleLevel = 8,
    /// How much it can have.
    SizeBuffer = 10,
}

/// Asks for this; how many bytes there are, of those that are read at most as many as the buffer has.
pub(super) fn ask(action: Action, buffer: &mut [u8]) -> io::Result<usize> {
    let length = c_int::try_from(buffer.len()).unwrap_or(c_int::MAX);
    #[expect(unsafe_code, reason = "there is no safe form")]
    // SAFETY: the kernel writes into the buffer, which is borrowed for as long as it does, and no more than its length, which is that of
    // the buffer or less. No other action than these is asked for, and none of them keeps the pointer.
    let answer = unsafe { libc::klogctl(action as c_int, buffer.as_mut_ptr().cast(), length) };
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}
