//! Files that whoever started this process left open.

/// Has no program that this process starts get a file that it was started with, but input, output and errors: `make`, `flock` and some
/// terminals leave others open. What runs a vendor's code must have none of them, nor has it room for any.
///
/// Call it before anything is opened that a child is to have. A kernel before 5.11 cannot do this; a child says so
/// then.
pub fn keep_inherited() {
    const FIRST: libc::c_uint = libc::STDERR_FILENO.cast_unsigned() + 1;
    #[expect(unsafe_code, reason = "there is no safe form")]
    // SAFETY: close_range(2) with CLOSE_RANGE_CLOEXEC closes nothing in this process and reads and writes no memory of it.
    let _as_far_as_it_can =
        unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}
