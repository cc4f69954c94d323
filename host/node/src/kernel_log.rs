//! The kernel's log: what a line is, and how both of its sources write it.
//!
//! Only what the kernel itself says counts (facility 0): a process that writes to `/dev/kmsg` cannot say that it is the kernel.
//! A record is one line, whatever is in it: the name of a process may have a line break, and what follows that was not said by
//! the kernel.

mod klog;
mod record;

pub(crate) use klog::Klog;
pub(crate) use record::{Record, kmsg_record, plain};

/// One record of the kernel's log that the kernel itself wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelLine {
    /// Its place in the log of this boot: grows from line to line, and is the same however often the log is read. The numbers
    /// have holes where others wrote, so a hole says nothing of lines that were missed.
    pub sequence: u64,
    /// When, in microseconds since the computer started.
    pub micros: u64,
    /// The text as `/dev/kmsg` gives it, without time and level: printable ASCII, any other byte and any backslash as `\x0a`,
    /// so that there is no line break in it.
    pub text: String,
}
