//! `devgate status`: asks the host that runs here what it does.

pub mod ask;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use crate::cli::{Output, StatusArgs};
use crate::monitoring::Report;
use crate::{exit, output};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// How often `--watch` looks.
const EVERY: Duration = Duration::from_secs(2);
/// Clears a terminal.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Runs the command.
pub(crate) fn status(args: &StatusArgs) -> anyhow::Result<u8> {
    loop {
        let asked = ask::block_on(ask::ask(&args.host.status_socket)).flatten();
        if !args.watch {
            let report = asked?;
            show(&report, args)?;
            return Ok(code(&report));
        }
        match asked {
            Ok(report) => show(&report, args)?,
            // It may be restarting; the admin who watches wants to see that, too.
            Err(error) => exit::say(&error),
        }
        std::thread::sleep(EVERY);
    }
}

/// What the command ends with.
pub(crate) fn code(report: &Report) -> u8 {
    if report.is_well() { exit::OK } else { exit::FOUND }
}

fn show(report: &Report, args: &StatusArgs) -> anyhow::Result<()> {
    match args.output {
        // One line for each look, where several come.
        Output::Json if args.watch => output::print(&format!("{}\n", serde_json::to_string(report)?)),
        Output::Json => output::print_json(report),
        Output::Text => {
            let mut out = std::io::stdout();
            if args.watch && out.is_terminal() {
                // By hand: with NO_COLOR `print` would leave it out.
                out.write_all(CLEAR.as_bytes())?;
            }
            output::print(&text::of(report))
        }
    }
}
