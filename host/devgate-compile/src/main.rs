//! The `devgate-compile` program: started by devgate, for each component that it has not compiled before.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    devgate_compile::main()
}
