//! What `devgate-compile` does: reads or compiles one component, and ends.
#![forbid(unsafe_code)]

use devgate_runner::child::compile::{self, Tools};
use devgate_sandbox::Code;
use std::process::ExitCode;

pub use compile::NAME;

/// Does what the host asks for. For a process that is nothing else.
#[must_use]
pub fn main() -> ExitCode {
    compile::main(&Tools {
        scan: devgate_sandbox::scan,
        compile: |component, memory| devgate_sandbox::compile(component, memory).map(Code::into_bytes),
    })
}
