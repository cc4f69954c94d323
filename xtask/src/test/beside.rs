//! A program that runs beside the stages which follow its own.

use crate::process::shown;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that runs, what it prints, and since when.
#[derive(Debug)]
pub(super) struct Beside {
    child: Child,
    shown: String,
    output: File,
    start: Instant,
}

impl Beside {
    /// Starts it. What it prints is shown when it has ended, so that it does not mix with what other stages print.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let shown = shown(command);
        let output = tempfile::tempfile().context("make a file for what it prints")?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
        let child = command.spawn().with_context(|| format!("start {shown}"))?;
        println!("{shown}: runs beside the stages that follow; what it prints is shown at the end");
        Ok(Self { child, shown, output, start: Instant::now() })
    }

    /// Waits until it has ended, shows what it printed, and fails if it does.
    pub(super) fn end(mut self) -> Result<()> {
        let waited = Instant::now();
        let status = self.child.wait().with_context(|| format!("wait for {}", self.shown))?;
        io::Seek::rewind(&mut self.output)?;
        io::copy(&mut self.output, &mut io::stdout())?;
        println!(
            "(ran beside others for {:?}, and was waited for {:?})",
            whole(self.start.elapsed()),
            whole(waited.elapsed())
        );
        if !status.success() {
            bail!("{} failed: {status}", self.shown);
        }
        Ok(())
    }
}

fn whole(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_beside_others_fails_when_it_is_waited_for() {
        let run = |line: &str| Beside::start(Command::new("sh").args(["-c", line])).unwrap().end();
        assert!(run("echo a line of it").is_ok());
        assert_eq!(run("exit 3").unwrap_err().to_string(), "sh -c exit 3 failed: exit status: 3");
        assert!(Beside::start(&mut Command::new("no-such-program")).is_err());
    }
}
