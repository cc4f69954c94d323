//! The `devgate-pull` program: started by devgate, each time that it needs something from a registry.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    devgate_pull::main()
}
