//! Another policy, or other components, while everything runs: noticed, read, and put in force or refused.

mod asked;
mod files;

pub(crate) use asked::{InForce, NotReloaded, Refused, Reloads};
pub(crate) use files::{Stamps, Start, stamps};
use files::{look, named};

use crate::cli::{ReloadArgs, RunArgs};
use crate::components::Components;
use crate::policy::Texts;
use crate::status::ask;
use crate::{exit, output, policy};
use asked::Asked;
use devgate_cdi::Releases;
use devgate_cdi::exec::Served;
use devgate_core::status::When;
use devgate_core::{Fewer, Plugins, Reloaded};
use devgate_policy::Policy;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::Signal;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// How often the files are looked at. The kubelet itself takes up to a minute to pass a ConfigMap on.
const LOOK: Duration = Duration::from_secs(2);
/// How long after a refusal the same files are tried again: pods that hold devices end, components recover.
const AGAIN: Duration = Duration::from_secs(60);
/// Resources that lose devices beyond which it is said how many more there are.
const SHOWN: usize = 16;

/// Why the policy is read again.
pub(crate) enum Trigger {
    /// A file of the policy, or a component, is another, and was not written for a while.
    Files,
    /// SIGHUP.
    Hangup,
    /// What was refused may be possible by now.
    Again,
    /// An admin asks over the local socket.
    Asked(Asked),
}

/// Watches over what is in force.
pub(crate) struct Reloader {
    args: RunArgs,
    components: Components,
    /// What is in force: what it names stays in the cache.
    policy: Policy,
    hangup: Signal,
    /// The files that the policy names which was read last.
    named: Vec<PathBuf>,
    /// The files as they were last tried.
    tried: Stamps,
    /// What was seen at the last look.
    seen: Stamps,
    next_look: Instant,
    /// When what was refused is tried again.
    again: Option<Instant>,
    in_force: watch::Sender<InForce>,
    /// What callers of the protocol of 2017 get by it.
    pub(crate) types: watch::Sender<Types>,
    /// Drivers of dynamic resource allocation that it has.
    pub(crate) drivers: watch::Sender<BTreeSet<String>>,
    /// Which leases end with their containers by it.
    pub(crate) releases: watch::Sender<Releases>,
    /// What stands in its files.
    pub(crate) texts: watch::Sender<Arc<Texts>>,
    asked: mpsc::Receiver<Asked>,
    ask: mpsc::Sender<Asked>,
}

impl Reloader {
    /// Begins with a policy that was read after its files were looked at.
    pub(crate) fn new(
        args: &RunArgs,
        (policy, texts): (&Policy, Texts),
        components: Components,
        mut seen: Stamps,
        hangup: Signal,
    ) -> Self {
        let named = named(policy, &components);
        seen.extend(stamps(named.clone()));
        let (ask, asked) = mpsc::channel(1);
        Self {
            args: args.clone(),
            components,
            policy: policy.clone(),
            hangup,
            named,
            tried: seen.clone(),
            seen,
            next_look: Instant::now() + LOOK,
            again: None,
            in_force: watch::Sender::new(InForce::new(When::now())),
            types: watch::Sender::new(types(policy)),
            drivers: watch::Sender::new(drivers(policy)),
            releases: watch::Sender::new(releases(policy)),
            texts: watch::Sender::new(Arc::new(texts)),
            asked,
            ask,
        }
    }

    /// The end of it that others hold.
    pub(crate) fn reloads(&self) -> Reloads {
        Reloads { asked: self.ask.clone(), in_force: self.in_force.subscribe() }
    }

    /// Waits until there is a reason to read the policy again. Loses nothing where it is dropped.
    pub(crate) async fn next(&mut self) -> Trigger {
        loop {
            tokio::select! {
                Some(()) = self.hangup.recv() => return Trigger::Hangup,
                Some(asked) = self.asked.recv() => return Trigger::Asked(asked),
                () = tokio::time::sleep_until(self.next_look) => {}
            }
            self.next_look = Instant::now() + LOOK;
            let (policy, named) = (self.args.policy.clone(), self.named.clone());
            let Ok(now) = tokio::task::spawn_blocking(move || look(&policy, named)).await else {
                continue;
            };
            // A file that is being written changes from look to look.
            let settled = now == self.seen;
            self.seen = now;
            if settled && self.seen != self.tried {
                return Trigger::Files;
            }
            if self.again.is_some_and(|again| Instant::now() >= again) {
                return Trigger::Again;
            }
        }
    }

    /// Reads the policy and puts it in force, or says why not; then what was in force goes on.
    pub(crate) async fn reload(&mut self, plugins: &mut Plugins, trigger: Trigger) {
        let forced = matches!(&trigger, Trigger::Asked(asked) if asked.forced);
        let quiet = matches!(trigger, Trigger::Files | Trigger::Again);
        let result = self.attempt(plugins, forced, quiet).await;
        if let Trigger::Asked(asked) = trigger {
            // The client may have gone away.
            let _ = asked.answer.send(result);
        }
    }

    async fn attempt(&mut self, plugins: &mut Plugins, forced: bool, quiet: bool) -> Result<String, NotReloaded> {
        let paths = self.args.policy.clone();
        // Looked at first: what is written while it is read is seen as another one.
        let read = tokio::task::spawn_blocking(move || (look(&paths, Vec::new()), policy::read_texts(&paths))).await;
        let Ok((mut seen, read)) = read else {
            return Err(self.refuse("host fault: reading it panicked".to_owned()));
        };
        if let Ok((policy, _)) = &read {
            // What it names is watched from now on, whether or not it can be put in force yet.
            self.named = named(policy, &self.components);
        }
        // Components were not read yet.
        seen.extend(stamps(self.named.clone()));
        self.seen = seen;
        self.tried.clone_from(&self.seen);
        let result = match read {
            Ok((policy, texts)) => {
                self.keep(Some(&policy)).await;
                let reloaded = plugins.reload(&policy, forced).await;
                if reloaded.is_ok() {
                    self.types.send_replace(types(&policy));
                    self.drivers.send_replace(drivers(&policy));
                    self.releases.send_replace(releases(&policy));
                    self.texts.send_replace(Arc::new(texts));
                    self.policy = policy;
                }
                self.keep(None).await;
                reloaded.map_err(|error| error.to_string())
            }
            Err(error) => Err(format!("{error:#}")),
        };
        match result {
            Ok(reloaded) => Ok(self.done(&reloaded, quiet)),
            Err(why) => Err(self.refuse(why)),
        }
    }

    /// What is in force, and what is tried beside it, stays in the cache.
    async fn keep(&self, tried: Option<&Policy>) {
        let (components, policies) = (self.components.clone(), [Some(self.policy.clone()), tried.cloned()]);
        // Nothing that runs depends on it.
        drop(tokio::task::spawn_blocking(move || components.keep(policies.iter().flatten())).await);
    }

    fn done(&mut self, reloaded: &Reloaded, quiet: bool) -> String {
        self.again = None;
        let (recovered, mut text) = (self.in_force.borrow().refused.is_some(), said(reloaded));
        if reloaded.is_nothing() && !recovered {
            if quiet {
                tracing::debug!("policy: {text}");
            } else {
                tracing::info!("policy: {text}");
            }
            return text;
        }
        self.in_force.send_modify(|in_force| {
            in_force.refused = None;
            if !reloaded.is_nothing() {
                in_force.since = When::now();
                in_force.fewer.clone_from(&reloaded.fewer);
            }
        });
        tracing::info!(
            new = reloaded.new.len(),
            changed = reloaded.changed.len(),
            gone = reloaded.gone.len(),
            reordered = reloaded.reordered,
            "policy: {text}"
        );
        for fewer in reloaded.fewer.iter().take(SHOWN) {
            let Fewer { resource, before, now, .. } = fewer;
            tracing::warn!(resource, before, now, "policy: {fewer}");
            text += &format!("\n  {fewer}");
        }
        if let Some(more) = output::beyond(reloaded.fewer.len(), SHOWN) {
            tracing::warn!(more, "policy: {more} more resources have fewer devices");
            text += &format!("\n  and {more} more resources have fewer devices");
        }
        text
    }

    fn refuse(&mut self, why: String) -> NotReloaded {
        self.again = Some(Instant::now() + AGAIN);
        let is_news = self.in_force.send_if_modified(|in_force| {
            let is_news = in_force.refused.as_ref().is_none_or(|before| before.why != why);
            if is_news {
                let (why, since) = (why.clone(), When::now());
                in_force.refused = Some(Refused { why, since });
            }
            is_news
        });
        if is_news {
            tracing::error!(family = "refused", "policy: not reloaded, what was in force goes on: {why}");
        } else {
            tracing::debug!(family = "refused", "policy: not reloaded: {why}");
        }
        NotReloaded::Refused(why)
    }
}

/// By type, what callers of the protocol of 2017 get.
pub(crate) type Types = Arc<BTreeMap<String, Served>>;

fn types(policy: &Policy) -> Types {
    let served = |exec: &devgate_policy::Exec| {
        let (resource, nodes_only) = (exec.resource.clone(), exec.nodes_only);
        (exec.kind.clone(), Served { resource, nodes_only })
    };
    let all = policy.plugins.values().filter_map(|plugin| plugin.exec.as_ref());
    Arc::new(all.map(served).collect())
}

fn drivers(policy: &Policy) -> BTreeSet<String> {
    let all = policy.plugins.values().filter_map(|plugin| plugin.dra.as_ref());
    all.map(|dra| dra.driver.clone()).collect()
}

fn releases(policy: &Policy) -> Releases {
    let hooked = policy.plugins.values().filter(|plugin| plugin.containers.release_hook);
    let hooked: Vec<_> = hooked.cloned().collect();
    Arc::new(move |resource| hooked.iter().any(|plugin| plugin.grants_resource(resource)))
}

/// Runs `devgate reload`.
pub(crate) fn command(args: &ReloadArgs) -> anyhow::Result<u8> {
    match ask::block_on(ask::reload(&args.host.status_socket, args.force))?? {
        ask::Reload::Done(text) => {
            output::print(&format!("policy: {text}\n"))?;
            Ok(exit::OK)
        }
        ask::Reload::Refused(why) => {
            output::print(&format!("policy: not reloaded, what was in force goes on:\n{why}\n"))?;
            Ok(exit::FOUND)
        }
    }
}

/// For people: what a reload changed.
fn said(reloaded: &Reloaded) -> String {
    let list = |what: &str, names: &[devgate_types::PluginName]| {
        let names: Vec<_> = names.iter().map(|name| name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
    };
    let parts = [
        list("new", &reloaded.new),
        list("changed", &reloaded.changed),
        list("gone", &reloaded.gone),
        reloaded
            .reordered
            .then(|| "the plugins are in another order, which decides who has what two of them claim".to_owned()),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return "reloaded: it means the same as before, and no component is another; nothing is changed".to_owned();
    }
    format!("reloaded: {}", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_said_in_one_line() {
        let name = |name: &str| devgate_types::PluginName::try_new(name).unwrap();
        let reloaded = Reloaded { new: vec![name("a")], changed: vec![name("b"), name("c")], ..Reloaded::default() };
        assert_eq!(said(&reloaded), "reloaded: new a; changed b, c");
        insta::assert_snapshot!(said(&Reloaded::default()), @"reloaded: it means the same as before, and no component is another; nothing is changed");
        let reordered = Reloaded { reordered: true, ..Reloaded::default() };
        insta::assert_snapshot!(said(&reordered), @"reloaded: the plugins are in another order, which decides who has what two of them claim");
    }
}
