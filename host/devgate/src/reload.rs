//! Another policy, or other components, while everything runs: noticed, read, and put in force or refused.

mod files;

use crate::cli::RunArgs;
use crate::policy;
use anyhow::Context;
use devgate_plugin::{Plugins, Reloaded};
use devgate_policy::Policy;
use files::{Files, Stamps};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

/// How often the files are looked at. The kubelet itself takes up to a minute to pass a ConfigMap on.
const LOOK: Duration = Duration::from_secs(2);
/// How long after a refusal the same files are tried again: pods that hold devices end, components recover.
const AGAIN: Duration = Duration::from_secs(60);

/// Why the policy is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// A file of the policy, or a component, is another, and was not written for a while.
    Files,
    /// SIGHUP.
    Hangup,
    /// What was refused may be possible by now.
    Again,
}

/// Watches over what is in force.
pub(crate) struct Reloader {
    args: RunArgs,
    hangup: Signal,
    files: Files,
    /// The files as they were last tried.
    tried: Stamps,
    /// What was seen at the last look.
    seen: Stamps,
    next_look: Instant,
    /// What was said when it was refused, and when it is tried again.
    refused: Option<(String, Instant)>,
}

impl Reloader {
    /// Begins with what was read just now.
    pub(crate) fn new(args: &RunArgs, policy: &Policy) -> anyhow::Result<Self> {
        let files = Files::of(args, policy);
        let stamps = files.look();
        Ok(Self {
            args: args.clone(),
            hangup: signal(SignalKind::hangup()).context("listen for SIGHUP")?,
            files,
            seen: stamps.clone(),
            tried: stamps,
            next_look: Instant::now() + LOOK,
            refused: None,
        })
    }

    /// Waits until there is a reason to read the policy again. Loses nothing where it is dropped.
    pub(crate) async fn next(&mut self) -> Trigger {
        loop {
            tokio::select! {
                Some(()) = self.hangup.recv() => return Trigger::Hangup,
                () = tokio::time::sleep_until(self.next_look) => {}
            }
            self.next_look = Instant::now() + LOOK;
            let files = self.files.clone();
            let Ok(now) = tokio::task::spawn_blocking(move || files.look()).await else {
                continue;
            };
            // A file that is being written changes from look to look.
            let settled = now == self.seen;
            self.seen = now;
            if settled && self.seen != self.tried {
                return Trigger::Files;
            }
            if self.refused.as_ref().is_some_and(|(_, again)| Instant::now() >= *again) {
                return Trigger::Again;
            }
        }
    }

    /// Reads the policy and puts it in force, or says why not; then what was in force goes on.
    pub(crate) async fn reload(&mut self, plugins: &mut Plugins, trigger: Trigger) {
        let (files, paths) = (self.files.clone(), self.args.policy.clone());
        let read = tokio::task::spawn_blocking(move || (files.look(), policy::read(&paths))).await;
        let Ok((stamps, read)) = read else {
            tracing::error!(
                family = "host",
                "policy: not reloaded: reading it panicked; what was in force goes on"
            );
            return;
        };
        (self.seen, self.tried) = (stamps.clone(), stamps);
        let result = match read {
            Ok(policy) => {
                // What it names is watched from now on, whether or not it can be put in force yet.
                self.files = Files::of(&self.args, &policy);
                let stamps = self.files.look();
                (self.seen, self.tried) = (stamps.clone(), stamps);
                plugins.reload(&policy, false).await.map_err(|error| error.to_string())
            }
            Err(error) => Err(format!("{error:#}")),
        };
        match result {
            Ok(reloaded) => self.done(&reloaded, trigger),
            Err(why) => self.refuse(why),
        }
    }

    fn done(&mut self, reloaded: &Reloaded, trigger: Trigger) {
        let recovered = self.refused.take().is_some();
        if reloaded.is_nothing() && !recovered && trigger != Trigger::Hangup {
            tracing::debug!("policy: read again; nothing is different");
            return;
        }
        tracing::info!(
            new = reloaded.new.len(),
            changed = reloaded.changed.len(),
            gone = reloaded.gone.len(),
            "policy: {}",
            said(reloaded)
        );
    }

    fn refuse(&mut self, why: String) {
        let again = Instant::now() + AGAIN;
        let known = self.refused.as_ref().is_some_and(|(before, _)| *before == why);
        if known {
            tracing::debug!(family = "refused", "policy: not reloaded: {why}");
        } else {
            tracing::error!(
                family = "refused",
                "policy: not reloaded, what was in force goes on: {why}"
            );
        }
        self.refused = Some((why, again));
    }
}

/// For people: what a reload changed.
fn said(reloaded: &Reloaded) -> String {
    let list = |what: &str, names: &[devgate_model::PluginName]| {
        let names: Vec<_> = names.iter().map(|name| name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
    };
    let parts = [
        list("new", &reloaded.new),
        list("changed", &reloaded.changed),
        list("gone", &reloaded.gone),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return "reloaded; nothing is different".to_owned();
    }
    format!("reloaded: {}", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_said_in_one_line() {
        let name = |name: &str| devgate_model::PluginName::try_new(name).unwrap();
        let reloaded = Reloaded {
            new: vec![name("a")],
            changed: vec![name("b"), name("c")],
            gone: vec![],
        };
        assert_eq!(said(&reloaded), "reloaded: new a; changed b, c");
        assert_eq!(said(&Reloaded::default()), "reloaded; nothing is different");
    }
}
