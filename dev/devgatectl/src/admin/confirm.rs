//! Asks whether to go on.

use devgate::output;
use std::io::{IsTerminal, stdin};

/// How a command ends that was not confirmed.
pub(super) const NOT_CONFIRMED: u8 = 10;

/// Whether it is confirmed: by `yes`, or by a `y` on a terminal. Says that nothing was written where it is not.
pub(super) fn confirm(yes: bool, question: &str) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    let mut answer = String::new();
    if stdin().is_terminal() {
        output::print(&format!("{question} [y/N] "))?;
        stdin().read_line(&mut answer)?;
    }
    let confirmed = matches!(answer.trim(), "y" | "Y" | "yes");
    if !confirmed {
        output::print("nothing was written; --yes goes on without a question\n")?;
    }
    Ok(confirmed)
}
