//! Exit codes: one for each kind of thing that an admin has to do about it. `devgate --help` lists them.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

/// All went well.
pub const OK: u8 = 0;
/// Something failed at run time.
pub const FAILED: u8 = 1;
/// The command line is wrong; clap ends with it, too.
pub const USAGE: u8 = 2;
/// The policy is wrong; nothing was started.
pub const POLICY: u8 = 3;
/// This node is not as expected: a directory is missing or may not be used.
pub const NODE: u8 = 4;
/// What was looked at has errors; what the command shows says which.
pub const FOUND: u8 = 5;

/// What `--help` says about them.
pub const HELP: &str = "\
Exit codes:
  0  all went well; `run` was asked to stop, and did
  1  something failed at run time; the message says what
  2  the command line is wrong
  3  the policy is wrong; nothing was started
  4  a directory or file of this node is missing or may not be used
  5  what was looked at has errors, is not well or is refused, which is shown";

/// An error with the exit code that belongs to it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Coded {
    /// One of the constants here.
    pub code: u8,
    /// What happened, and what to do.
    pub message: String,
}

/// An error that ends the command with `code`.
pub fn with_code(code: u8, message: impl Into<String>) -> anyhow::Error {
    Coded { code, message: message.into() }.into()
}

/// The same about the state directory.
pub(crate) fn of_state_dir(code: u8, dir: &Path, why: impl Display) -> anyhow::Error {
    with_code(code, format!("state directory {}: {why} (--state-dir)", dir.display()))
}

/// Says on standard error what went wrong, with every cause, and goes on.
pub fn say(error: &anyhow::Error) {
    use std::io::Write;
    // Nothing is left to do if even this cannot be written.
    let _ = writeln!(std::io::stderr(), "devgate: {error:#}");
}

/// Says on standard error what went wrong, with every cause.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let code = error.downcast_ref::<Coded>().map_or(FAILED, |coded| coded.code);
    say(error);
    ExitCode::from(code)
}
