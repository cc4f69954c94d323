//! The kernel's errors by their names, as a recording has those of attributes that cannot be read.

use devgate_node::tree::NOT_FOR_HOST;
use devgate_node::{ReadError, errno_name};
use rustix::io::Errno;

/// The largest number of an error that the kernel returns (`MAX_ERRNO` of `include/linux/err.h`).
const MAX_ERRNO: i32 = 4095;

/// The error of a name, as [`errno_name`] gives it, or of `E` and its number.
#[must_use]
pub fn errno_of(name: &str) -> Option<Errno> {
    let number = name.strip_prefix('E')?;
    match number.parse() {
        Ok(raw) if number.bytes().all(|b| b.is_ascii_digit()) => {
            (1..=MAX_ERRNO).contains(&raw).then(|| Errno::from_raw_os_error(raw))
        }
        _ => (1..=MAX_ERRNO).map(Errno::from_raw_os_error).find(|errno| errno_name(*errno) == name),
    }
}

/// The kernel's error that became this one, where it was one that came of reading.
pub(crate) fn errno_in(error: &ReadError) -> Option<Errno> {
    match error {
        ReadError::Io { code, .. } => errno_of(code),
        error if *error == NOT_FOR_HOST => Some(Errno::PERM),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_node::tree::{IS_LINK, NOT_FOR_ALL};

    #[test]
    fn an_error_is_found_again_by_its_name() {
        for errno in [Errno::BUSY, Errno::IO, Errno::PERM, Errno::NOENT, Errno::XFULL, Errno::from_raw_os_error(4095)] {
            assert_eq!(errno_of(&errno_name(errno)), Some(errno));
        }
        assert_eq!(errno_of("E16"), Some(Errno::BUSY));
        for bad in ["", "E", "BUSY", "EBUSYY", "ebusy", "E0", "E4096", "E-1", "E+1", "E99999999999"] {
            assert_eq!(errno_of(bad), None, "{bad}");
        }
        for errno in [Errno::BUSY, Errno::XFULL, Errno::PERM] {
            assert_eq!(errno_in(&ReadError::from(errno)), Some(errno));
        }
        for none in [ReadError::NotFound, ReadError::Gone, NOT_FOR_ALL, IS_LINK] {
            assert_eq!(errno_in(&none), None);
        }
    }
}
