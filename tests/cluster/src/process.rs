//! Running other programs.

use anyhow::{Context, Result, bail};
use std::io::Write;
use std::process::{Command, Stdio};

/// Runs a program with this input, and gives what it printed without the white space around it. What it said of errors is in the error.
pub(crate) fn read_with(command: &mut Command, input: &str) -> Result<String> {
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("start {}", shown(command)))?;
    if let Some(mut pipe) = child.stdin.take() {
        // A program that reads nothing says itself what is wrong.
        let _told_by_its_status = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = [said.trim(), &text].iter().filter(|text| !text.is_empty()).copied().collect::<Vec<_>>();
        bail!("{} failed: {}: {}", shown(command), output.status, said.join("; "));
    }
    Ok(text)
}

/// The same without input.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    read_with(command, "")
}

/// The command as it could be typed; of the way into the namespaces nothing.
fn shown(command: &Command) -> String {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let from = words.iter().position(|word| word == "--").map_or(0, |at| at + 1);
    words.get(from..).unwrap_or_default().join(" ")
}
