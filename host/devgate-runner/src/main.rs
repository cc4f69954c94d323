//! The `devgate-runner` program: started by devgate, once for each plugin.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    devgate_runner_program::main()
}
