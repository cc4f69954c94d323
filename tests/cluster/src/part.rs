//! A part of the cluster, which is a process: the kubelet and its like.

use crate::process;
use crate::space::Space;
use crate::wait::until;
use anyhow::{Context, Result, bail};
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

/// How a part is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// It may tidy up.
    Term,
    /// It may not.
    Kill,
}

/// A part that runs, or did.
pub(crate) struct Part {
    name: &'static str,
    space: Space,
    /// Its id inside.
    pid: String,
}

impl Part {
    /// Starts it; what it says goes to its log.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(space: &Space, dir: &Path, name: &'static str, words: &[String]) -> Result<Self> {
        let file = dir.join("work").join(format!("{name}.pid"));
        let _was_there = std::fs::remove_file(&file);
        let log = dir.join("log").join(format!("{name}.log"));
        let log = OpenOptions::new().create(true).append(true).open(log)?;
        let mut command = space.command("sh");
        command.args(["-c", "echo $$ > \"$0\"; exec \"$@\""]).arg(&file).args(words);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        // Ctrl-C is not for it. It is waited for by `nsenter`, and ends with its namespaces.
        let mut child = command.process_group(0).spawn().with_context(|| format!("start {name}"))?;
        std::thread::spawn(move || child.wait());
        until(&format!("{name}'s start"), 10, || Self::of(space, dir, name))
    }

    /// One that was started before.
    ///
    /// # Errors
    /// When it was not.
    pub(crate) fn of(space: &Space, dir: &Path, name: &'static str) -> Result<Self> {
        let pid = std::fs::read_to_string(dir.join("work").join(format!("{name}.pid")))?;
        let pid = pid.trim().to_owned();
        if pid.is_empty() {
            bail!("{name}: its id is not written yet");
        }
        Ok(Self { name, space: space.clone(), pid })
    }

    /// Ends it, and comes back when it has ended.
    ///
    /// # Errors
    /// When it does not end.
    pub(crate) fn stop(&self, signal: Signal) -> Result<()> {
        if !self.runs() {
            return Ok(());
        }
        let signal = match signal {
            Signal::Term => "-TERM",
            Signal::Kill => "-KILL",
        };
        process::read(self.space.command("kill").args([signal, &self.pid]))?;
        until(&format!("{}'s end", self.name), 30, || {
            if self.runs() {
                bail!("it runs");
            }
            Ok(())
        })
    }

    /// Whether it runs.
    pub(crate) fn runs(&self) -> bool {
        crate::process::read(self.space.command("kill").args(["-0", &self.pid])).is_ok()
    }
}
