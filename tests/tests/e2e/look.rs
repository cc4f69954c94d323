//! The commands that look and change nothing, run as a shell would.

use devgate_tests::{Host, program};
use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `devgate` with these arguments.
pub(crate) fn look<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> anyhow::Result<Said> {
    let args: Vec<_> = args.into_iter().collect();
    let output = Command::new(program(&args)?).args(args).stdin(Stdio::null()).output()?;
    Ok(Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout)?,
        err: String::from_utf8(output.stderr)?,
    })
}

/// What a host says of itself.
pub(crate) fn status(host: &Host) -> anyhow::Result<serde_json::Value> {
    let socket = host.dir().join("status.sock");
    let options = ["status", "--output", "json", "--status-socket"].map(OsStr::new);
    let said = look(options.into_iter().chain([socket.as_os_str()]))?;
    Ok(serde_json::from_str(&said.out)?)
}

/// Runs `devgate` for a reader that is gone before anything is written, as `| true` is; returns what it ends with and says.
pub(crate) fn unread<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> anyhow::Result<Said> {
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    let args: Vec<_> = args.into_iter().collect();
    let output = Command::new(program(&args)?).args(args).stdin(Stdio::null()).stdout(writer).output()?;
    Ok(Said { code: output.status.code(), out: String::new(), err: String::from_utf8(output.stderr)? })
}
