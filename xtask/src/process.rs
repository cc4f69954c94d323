//! Running other programs.

use anyhow::{Context, Result, bail};
use std::process::{Command, Stdio};

/// Runs a program with this one's output, and fails if it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("start {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed: {status}", shown(command));
    }
    Ok(())
}

/// Runs a program and gives what it printed, without the white space around it; its errors go where this one's go.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("start {}", shown(command)))?;
    if !output.status.success() {
        bail!("{} failed: {}", shown(command), output.status);
    }
    let text = String::from_utf8(output.stdout).with_context(|| format!("output of {}", shown(command)))?;
    Ok(text.trim().to_owned())
}

/// Whether a program can be started and is content; for `--version` and the like. Prints nothing.
pub(crate) fn answers(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// The command as it could be typed.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_the_command() {
        assert!(run(&mut Command::new("true")).is_ok());
        let error = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "sh -c exit 3 failed: exit status: 3");
        let error = read(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "sh -c exit 3 failed: exit status: 3");
        let missing = run(&mut Command::new("no-such-program")).unwrap_err();
        assert_eq!(missing.to_string(), "start no-such-program");
    }

    #[test]
    fn output_comes_back_trimmed() {
        assert_eq!(read(Command::new("echo").arg(" a b ")).unwrap(), "a b");
        assert!(answers(&mut Command::new("true")));
        assert!(!answers(&mut Command::new("false")) && !answers(&mut Command::new("no-such-program")));
    }
}
