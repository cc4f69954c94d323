//! What the kernel counts for a child.

use crate::Error;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a child may have at most; a child that was started with less keeps that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of address space: the kernel gives no memory beyond, and a child that takes that badly aborts.
    pub address_space: u64,
    /// Bytes of memory that the child may write to, which is what it can use up: address space that is only reserved does not count.
    pub data: u64,
    /// Seconds of processor time, after which the kernel ends the child; none for a child that stays.
    pub cpu_seconds: Option<u64>,
    /// Descriptors at once: one more than the child holds, which [`drop_files`](crate::drop_files) needs for a moment.
    pub open_files: u64,
    /// Bytes of a file: 0, but for a child that makes images of memories, which are files of no place.
    pub file_size: u64,
    /// How far the child steps back behind others for the processor, 0 to 19.
    pub nice: i32,
}

/// The stack that the kernel grows by itself, which is no data: as much as threads of the standard library have.
const STACK: u64 = 2 << 20;

impl Limits {
    /// Has the kernel apply them; a dump of the child's memory is not made.
    pub(crate) fn apply(&self) -> Result<(), Error> {
        let counted = [
            (Resource::As, Some(self.address_space)),
            (Resource::Data, Some(self.data)),
            (Resource::Stack, Some(STACK)),
            (Resource::Cpu, self.cpu_seconds),
            (Resource::Fsize, Some(self.file_size)),
            (Resource::Core, Some(0)),
            (Resource::Nofile, Some(self.open_files)),
        ];
        for (what, most) in counted {
            if let Some(most) = most {
                lower(what, most)?;
            }
        }
        Ok(())
    }
}

fn lower(what: Resource, most: u64) -> Result<(), Error> {
    // A second after the kernel told a child to end it kills it. What was inherited cannot be raised.
    let hard = match what {
        Resource::Cpu => most.saturating_add(1),
        _ => most,
    };
    let hard = getrlimit(what).maximum.map_or(hard, |inherited| inherited.min(hard));
    let limit = Rlimit { current: Some(most.min(hard)), maximum: Some(hard) };
    setrlimit(what, limit).map_err(Error::forbidden("prlimit64 to limit itself"))
}
