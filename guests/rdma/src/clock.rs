//! The time, for a component that has no clock: how long the node has been up (`/proc/uptime`, proc(5)), and which boot it is.

use devgate_sdk::{Error, files};

/// A moment of one boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Empty where the policy does not grant it.
    pub(crate) boot: String,
    /// Seconds since boot.
    pub(crate) second: u64,
}

/// Now.
///
/// # Errors
/// Why it cannot be told.
pub(crate) fn now() -> Result<Moment, Error> {
    let text = files::text("/proc/uptime")?;
    let second = seconds(&text).ok_or_else(|| Error::invalid("file /proc/uptime has no number in it"))?;
    let boot = files::text("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Ok(Moment { boot, second })
}

/// The first number of `350735.47 234388.90`.
fn seconds(uptime: &str) -> Option<u64> {
    let first = uptime.split_whitespace().next()?;
    first.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_is_the_time() {
        assert_eq!(seconds("350735.47 234388.90"), Some(350_735));
        assert_eq!(seconds("0.03 0.01"), Some(0));
        assert_eq!(seconds(""), None);
        assert_eq!(seconds("up 3 days"), None);
    }
}
