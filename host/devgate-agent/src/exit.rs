//! Exit codes, as those of devgate's other programs.

use std::process::ExitCode;

/// The command line is wrong.
pub(crate) const USAGE: u8 = 2;
/// A directory or file is not as expected.
pub(crate) const NODE: u8 = 4;

/// An error with the exit code that belongs to it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Coded {
    code: u8,
    message: String,
}

/// An error that ends the program with `code`.
pub(crate) fn with_code(code: u8, message: impl Into<String>) -> anyhow::Error {
    Coded { code, message: message.into() }.into()
}

/// Says on standard error what went wrong, with every cause.
pub fn report(error: &anyhow::Error) -> ExitCode {
    use std::io::Write;
    // Nothing is left to do if even this cannot be written.
    let _ = writeln!(std::io::stderr(), "devgate-agent: {error:#}");
    error.downcast_ref::<Coded>().map_or(ExitCode::FAILURE, |coded| ExitCode::from(coded.code))
}
