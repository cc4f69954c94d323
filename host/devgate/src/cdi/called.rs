//! devgate as a program in `/opt/cdi/bin`, called by the name of a plugin of the protocol of 2017.

use crate::cli::STATUS_SOCKET;
use crate::status::ask;
use devgate_cdi::exec::call::{Call, MAX_CONFIG};
use devgate_cdi::exec::{Request, leave_note};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Where a host that is told nothing else keeps its state.
const STATE_DIR: &str = "/var/lib/devgate";

/// Answers such a call: nothing where this is none, as the program was called by its own name or with arguments.
#[must_use]
pub fn called() -> Option<ExitCode> {
    let program = std::env::args_os().next().map(PathBuf::from)?;
    let program = program.file_name()?.to_str()?.to_owned();
    // The protocol passes no arguments.
    if program.starts_with("devgate") || std::env::args_os().len() > 1 {
        return None;
    }
    let named = |name: &str, usual: &str| std::env::var_os(name).map_or_else(|| PathBuf::from(usual), PathBuf::from);
    let (socket, state_dir) = (named("DEVGATE_STATUS_SOCKET", STATUS_SOCKET), named("DEVGATE_STATE_DIR", STATE_DIR));
    let ask = |request: &Request| ask::order(&socket, "/cdi/exec", request);
    let call = Call {
        program: &program,
        env: &|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()),
        stdin: &|| {
            let mut bytes = Vec::new();
            std::io::stdin().lock().take(MAX_CONFIG as u64 + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        },
        tell: &|note| drop(writeln!(std::io::stderr(), "{program}: {note}")),
    };
    let (line, is_success) = call.answer(ask, |note| leave_note(&state_dir, note));
    // What a caller does not hear it has not got; but an end never fails.
    let is_end = std::env::var("CDI_COMMAND").is_ok_and(|command| command.eq_ignore_ascii_case("DEL"));
    if let Some(line) = &line
        && writeln!(std::io::stdout(), "{line}").is_err()
        && !is_end
    {
        return Some(ExitCode::FAILURE);
    }
    Some(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
