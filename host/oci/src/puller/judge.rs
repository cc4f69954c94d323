//! How a puller ended that had not said all.

use devgate_types::ByteSize;
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// What is said of it, behind its name.
pub(super) fn judge(status: ExitStatus, memory: u64) -> String {
    match status.signal().and_then(Signal::from_named_raw) {
        // Of its own filter, or of one around this process: nothing tells which.
        Some(Signal::SYS) => {
            "tried a system call that a filter forbids: that of this container or service, or its own, which no registry should bring it to"
                .to_owned()
        }
        Some(Signal::XCPU) => "took too much of the processor".to_owned(),
        // An allocator that gets nothing ends its process.
        Some(Signal::ABORT) => format!("took more memory than the {} that it may have", ByteSize(memory)),
        Some(Signal::KILL) => "was killed: the node or its own cgroup is short of memory".to_owned(),
        _ => format!("was ended, or ended without an answer ({status})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_is_told_apart() {
        for (raw, why) in [
            (Signal::SYS.as_raw(), "a filter forbids"),
            (Signal::XCPU.as_raw(), "too much of the processor"),
            (Signal::ABORT.as_raw(), "more memory than the 256MiB"),
            (Signal::KILL.as_raw(), "short of memory"),
            (Signal::SEGV.as_raw(), "was ended"),
            (101 << 8, "without an answer (exit status: 101)"),
            (0, "without an answer (exit status: 0)"),
        ] {
            let said = judge(ExitStatus::from_raw(raw), 256 << 20);
            assert!(said.contains(why), "{said}");
        }
    }
}
