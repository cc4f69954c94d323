//! How a compiler ended, and whose fault that is.

use super::allowance::Allowance;
use devgate_types::GuestText;
use devgate_types::load::Refusal;
use rustix::process::Signal;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The exit status of a program of Rust that has panicked.
const PANICKED: i32 = 101;

/// What a child said, where it ended as it should.
pub(super) fn judge(answer: io::Result<Vec<u8>>, status: ExitStatus, allowance: Allowance) -> Result<Vec<u8>, Refusal> {
    let host = |why: String| Refusal::Host(format!("the compiler {why}"));
    let limit = |what: &str, most: String| Refusal::Limit { what: format!("component {what}"), most, key: None };
    let answer = match answer {
        Ok(answer) => answer,
        // It computes or has ended: others have the processors.
        Err(error) if error.kind() == ErrorKind::TimedOut => {
            let (waited, seconds) = (allowance.patience().as_secs(), allowance.seconds);
            return Err(host(format!(
                "got less than {seconds} s of the processor within {waited} s: this node is too busy"
            )));
        }
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            return Err(limit("becomes too much machine code", format!("{} bytes", allowance.code())));
        }
        Err(error) => return Err(host(format!("has an answer that cannot be read: {error}"))),
    };
    if status.success() && !answer.is_empty() {
        return Ok(answer);
    }
    Err(
        match (status.signal().and_then(Signal::from_named_raw), status.code()) {
            (Some(Signal::XCPU), _) => limit(
                "takes too long to compile",
                format!("{} s of the processor", allowance.seconds),
            ),
            // An allocator that gets nothing ends its process.
            (Some(Signal::ABORT), _) => limit("takes too much memory to compile", allowance.memory_in_words()),
            // Also where its stack could not grow.
            (Some(Signal::SEGV | Signal::BUS | Signal::ILL), _) | (_, Some(PANICKED)) => {
                Refusal::Invalid(GuestText::new("the compiler crashes on it"))
            }
            // Of its own filter, or of one around this process: nothing tells which.
            (Some(Signal::SYS), _) => host(
                "tried a system call that a filter forbids: that of this container or service, or its own, which no component should come to"
                    .to_owned(),
            ),
            (Some(Signal::KILL), _) => host("was killed: the node or its own cgroup is short of memory".to_owned()),
            _ => host(format!("was ended, or ended without an answer ({status})")),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: Allowance = Allowance::of(0);

    #[test]
    fn each_end_is_told_apart() {
        let said = |answer: io::Result<Vec<u8>>, raw| match judge(answer, ExitStatus::from_raw(raw), ALLOWED) {
            Ok(code) => format!("{} bytes", code.len()),
            Err(why) => why.to_string(),
        };
        let bytes = |bytes: &[u8]| Ok(bytes.to_vec());
        assert_eq!(said(bytes(&[1, 2]), 0), "2 bytes");
        let time = "component takes too long to compile, more than 20 s of the processor";
        assert_eq!(said(bytes(&[]), Signal::XCPU.as_raw()), time);
        let memory = "component takes too much memory to compile, more than 128MiB";
        assert_eq!(said(bytes(&[]), Signal::ABORT.as_raw()), memory);
        let code = "component becomes too much machine code, more than 16777216 bytes";
        assert_eq!(said(Err(ErrorKind::FileTooLarge.into()), Signal::KILL.as_raw()), code);
        let crash = "component is not valid: the compiler crashes on it";
        for raw in [Signal::SEGV.as_raw(), Signal::BUS.as_raw(), PANICKED << 8] {
            assert_eq!(said(bytes(&[]), raw), crash);
        }
        // None of these is the component's fault. One that ends before it has said all is not believed.
        for (answer, raw, why) in [
            (Err(ErrorKind::TimedOut.into()), Signal::KILL.as_raw(), "too busy"),
            (bytes(&[]), Signal::KILL.as_raw(), "short of memory"),
            (bytes(&[]), Signal::TERM.as_raw(), "was ended"),
            (bytes(&[]), Signal::SYS.as_raw(), "a filter forbids"),
            (bytes(&[]), 0, "without an answer"),
            (bytes(&[1]), 1 << 8, "without an answer"),
        ] {
            let said = said(answer, raw);
            assert!(said.starts_with("host fault: the compiler ") && said.contains(why), "{said}");
        }
    }
}
