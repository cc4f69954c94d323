//! What one call of a component may use up.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A size in bytes, written with a unit: `16MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// `n` KiB.
    #[must_use]
    pub const fn kib(n: u64) -> Self {
        Self(n * 1024)
    }

    /// `n` MiB.
    #[must_use]
    pub const fn mib(n: u64) -> Self {
        Self(n * 1024 * 1024)
    }

    /// As `usize`, for lengths in memory; saturates.
    #[must_use]
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n != 0 && n.is_multiple_of(1 << 30) => write!(f, "{}GiB", n >> 30),
            n if n != 0 && n.is_multiple_of(1 << 20) => write!(f, "{}MiB", n >> 20),
            n if n != 0 && n.is_multiple_of(1 << 10) => write!(f, "{}KiB", n >> 10),
            n => write!(f, "{n}B"),
        }
    }
}

/// A text that is no size; with the text, escaped and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("size \"{0}\" needs a number and a unit: B, KiB, MiB or GiB")]
pub struct InvalidSize(String);

impl FromStr for ByteSize {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<Self, InvalidSize> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let factor = match unit.trim_start() {
            "B" => 1,
            "KiB" | "Ki" => 1 << 10,
            "MiB" | "Mi" => 1 << 20,
            "GiB" | "Gi" => 1 << 30,
            _ => return Err(InvalidSize(crate::escape(text, 40))),
        };
        let size = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
        size.map(Self).ok_or_else(|| InvalidSize(crate::escape(text, 40)))
    }
}

/// What one call of one component may use up, and what a component may be. All of it is enforced for every call.
///
/// The defaults are the policy's, too; those that depend on how much hardware is granted grow with it (see
/// [`Limits::for_devices`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Processor time of a call. Stops a loop.
    pub cpu: Duration,
    /// Wall-clock time of a call. Stops a wait.
    pub deadline: Duration,
    /// All linear memories of an instance together.
    pub memory: ByteSize,
    /// Core instances in a component; some languages need dozens.
    pub instances: u32,
    /// Linear memories in a component.
    pub memories: u32,
    /// Tables in a component.
    pub tables: u32,
    /// Elements in each table.
    pub table_elements: u32,
    /// Handles that an instance may hold at once.
    pub handles: u32,
    /// Bytes that one call may pass between component and host, in results and in arguments.
    pub transfer: ByteSize,
    /// Calls from the component to the host.
    pub host_calls: u32,
    /// Bytes that the host reads from the node for one call.
    pub read: ByteSize,
    /// Bytes that one call may write to the log, where each line counts 128 besides; what is over is dropped and counted.
    pub log: ByteSize,
    /// The component's file.
    pub component_size: ByteSize,
    /// Functions in the component, all its modules together.
    pub functions: u32,
    /// One function's code; compile time grows faster than it.
    pub function_size: ByteSize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu: Duration::from_millis(100),
            deadline: Duration::from_millis(500),
            memory: ByteSize::mib(16),
            instances: 8,
            memories: 1,
            tables: 4,
            table_elements: 10_000,
            handles: 1_024,
            transfer: ByteSize::mib(1),
            host_calls: 10_000,
            read: ByteSize::mib(4),
            log: ByteSize::kib(16),
            component_size: ByteSize::mib(4),
            functions: 20_000,
            function_size: ByteSize::kib(256),
        }
    }
}

impl Limits {
    /// What is added for each granted device, so that the same policy serves a node with 8 and one with 5,000 of them.
    /// Measured: a tuned Rust component spends about 25 µs and 5 host calls on a device when it enumerates.
    #[must_use]
    pub fn for_devices(&self, granted: usize) -> Self {
        let n = u32::try_from(granted).unwrap_or(u32::MAX);
        Self {
            cpu: self.cpu + Duration::from_micros(500).saturating_mul(n),
            deadline: self.deadline + Duration::from_micros(1_000).saturating_mul(n),
            handles: self.handles.saturating_add(n.saturating_mul(16)),
            transfer: ByteSize(self.transfer.0 + 4_096 * u64::from(n)),
            host_calls: self.host_calls.saturating_add(n.saturating_mul(64)),
            read: ByteSize(self.read.0 + 16_384 * u64::from(n)),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written_with_units() {
        for text in ["1B", "4KiB", "16MiB", "2GiB", "0B"] {
            assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
        }
        assert_eq!("16Mi".parse::<ByteSize>().unwrap(), ByteSize::mib(16));
        for bad in ["", "16", "MiB", "-1MiB", "1.5MiB", "99999999999999999999B", "99999999999GiB"] {
            assert!(bad.parse::<ByteSize>().is_err(), "{bad}");
        }
    }

    #[test]
    fn limits_grow_with_the_hardware_and_never_overflow() {
        let limits = Limits::default();
        assert_eq!(limits.for_devices(0), limits);
        assert!(limits.for_devices(8).handles > limits.handles);
        let huge = limits.for_devices(usize::MAX);
        assert_eq!((huge.handles, huge.host_calls, huge.memory), (u32::MAX, u32::MAX, limits.memory));
    }
}
