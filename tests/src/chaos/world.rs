//! Everything that steps are done to, and how each is done.

use super::machine::{Machine, policy, resource, resources};
use super::pods::Pods;
use super::program::{Log, Program, can_be_blind};
use super::step::{Act, Word};
use super::vandal;
use anyhow::Context;
use devgate_fake_kubelet::{Answer, CHECKPOINT, KubeletVersion, Pod, Rejection, StandIn, StandInConfig};
use rustix::process::Signal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::task::JoinSet;

/// A kubelet, a node and the host.
pub(super) struct World {
    dir: TempDir,
    pub(super) kubelet: StandIn,
    pub(super) kubelet_runs: bool,
    pub(super) machine: Machine,
    pub(super) pods: Pods,
    pub(super) log: Arc<Log>,
    pub(super) host: Option<Program>,
    pub(super) second: Option<Program>,
    admissions: JoinSet<(Pod, Result<(), Rejection>)>,
    vandals: JoinSet<()>,
    pub(super) can_be_blind: bool,
    /// How often the kubelet has started, and hosts have.
    pub(super) kubelets: u64,
    pub(super) hosts: u64,
}

impl World {
    /// A new one, with the host running.
    ///
    /// # Errors
    /// When something needed has not been built, or cannot be started.
    pub(super) async fn new(version: KubeletVersion) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("dg-").tempdir()?;
        std::fs::write(dir.path().join("policy.yaml"), policy())?;
        let component = crate::components()?.join("generic.wasm");
        std::fs::copy(&component, dir.path().join("generic.wasm")).context("generic.wasm")?;
        let machine = Machine::default();
        machine.write(&dir.path().join("node.umockdev"))?;
        let config = StandInConfig { version, ..StandInConfig::new(dir.path().join("plugins")) };
        let mut world = Self {
            kubelet: StandIn::new(config).await?,
            kubelet_runs: true,
            dir,
            machine,
            pods: Pods::default(),
            log: Arc::default(),
            host: None,
            second: None,
            admissions: JoinSet::new(),
            vandals: JoinSet::new(),
            can_be_blind: can_be_blind().await,
            kubelets: 1,
            hosts: 0,
        };
        world.start_host(false)?;
        Ok(world)
    }

    /// The kubelet's directory.
    pub(super) fn plugins(&self) -> PathBuf {
        self.dir.path().join("plugins")
    }

    /// Starts the host, unless it runs.
    pub(super) fn start_host(&mut self, blind: bool) -> anyhow::Result<()> {
        if self.host.is_none() {
            let blind = blind && self.can_be_blind;
            self.host = Some(Program::start(self.dir.path(), blind, &self.log)?);
            self.hosts += 1;
        }
        Ok(())
    }

    async fn kill_host(&mut self) -> anyhow::Result<()> {
        match self.host.take() {
            Some(host) => host.kill().await,
            None => Ok(()),
        }
    }

    /// Starts the kubelet, again if it runs.
    pub(super) async fn start_kubelet(&mut self) -> anyhow::Result<()> {
        self.kubelet.start().await.context("the stand-in")?;
        self.kubelets += 1;
        self.kubelet_runs = true;
        Ok(())
    }

    async fn stop_kubelet(&mut self) {
        self.kubelet.stop().await;
        self.kubelet_runs = false;
    }

    /// Does one step. Gives the rules that were seen broken by it.
    ///
    /// # Errors
    /// When it cannot be done, which is a broken rule, too, if the host is why.
    pub(super) async fn act(&mut self, act: &Act) -> anyhow::Result<Vec<String>> {
        let mut broken = self.harvest(false).await;
        match act {
            Act::Restart | Act::Start => self.start_kubelet().await?,
            Act::Flap(times, pause) => {
                for _ in 0..*times {
                    self.start_kubelet().await?;
                    tokio::time::sleep(Duration::from_millis(*pause)).await;
                }
            }
            Act::Crash => {
                self.kubelet.crash().await;
                self.kubelet_runs = false;
            }
            Act::Stop => self.stop_kubelet().await,
            Act::Resocket => {
                if self.kubelet_runs {
                    self.kubelet.recreate_socket().await.context("the stand-in")?;
                }
            }
            Act::Forget => {
                broken.extend(self.drain().await);
                self.stop_kubelet().await;
                vandal::delete(&[self.plugins().join(CHECKPOINT)]);
                self.start_kubelet().await?;
            }
            Act::Answer(word) => self.kubelet.answer(answer(*word)),
            Act::Slow(pace) => self.kubelet.read_slowly(Duration::from_millis(*pace)),
            Act::Cut(kind) => self.kubelet.drop_streams(&resource(*kind)),
            Act::Unlink(kind) => vandal::delete(&vandal::sockets(&self.plugins(), Some(&resource(*kind)))),
            Act::Wipe => vandal::delete(&vandal::sockets(&self.plugins(), None)),
            Act::Rebuild => {
                broken.extend(self.drain().await);
                self.stop_kubelet().await;
                crate::remove_busy(&self.plugins())?;
                self.start_kubelet().await?;
            }
            Act::Admit(wanted) => {
                let (pod, kubelet) = (self.pods.make(wanted), self.kubelet.clone());
                self.admissions.spawn(async move {
                    let admitted = kubelet.admit(&pod).await;
                    (pod, admitted)
                });
            }
            Act::Remove(place) => self.pods.remove(&self.kubelet, *place),
            Act::Again(place) => broken.extend(self.pods.again(&self.kubelet, &self.machine, *place).await),
            Act::Gone(..) | Act::Back => self.change(act)?,
            Act::Kill(pause) | Act::Blind(pause) => {
                self.kill_host().await?;
                tokio::time::sleep(Duration::from_millis(*pause)).await;
                self.start_host(matches!(act, Act::Blind(_)))?;
            }
            Act::Terminate => {
                if let Some(host) = self.host.take() {
                    host.terminate().await?;
                }
                self.start_host(false)?;
            }
            Act::Freeze(time) => self.freeze(Duration::from_millis(*time)).await?,
            Act::Flood => self.flood().await?,
            Act::Clock => vandal::wrong_times(&self.plugins()),
            Act::Strangers(count) => {
                self.vandals.spawn(vandal::strangers(self.plugins(), *count));
            }
            Act::Second => {
                if self.second.is_none() {
                    self.second = Some(Program::start(self.dir.path(), false, &self.log)?);
                    self.hosts += 1;
                }
            }
            Act::SecondLeaves(killed) => leave(self.second.take(), *killed).await?,
            Act::Handover(killed) => {
                if let Some(second) = self.second.take() {
                    leave(self.host.replace(second), *killed).await?;
                }
            }
            Act::Reboot(_) => broken.extend(self.reboot(act).await?),
            Act::Calm => {}
        }
        Ok(broken)
    }

    async fn freeze(&self, time: Duration) -> anyhow::Result<()> {
        if let Some(host) = &self.host {
            host.signal(Signal::STOP)?;
            tokio::time::sleep(time).await;
            host.signal(Signal::CONT)?;
        }
        Ok(())
    }

    async fn flood(&mut self) -> anyhow::Result<()> {
        if let Some(host) = &self.host {
            host.signal(Signal::STOP)?;
            let flooded = vandal::flood(&self.plugins());
            let restarted = self.start_kubelet().await;
            if let Some(host) = &self.host {
                host.signal(Signal::CONT)?;
            }
            flooded?;
            restarted?;
        }
        Ok(())
    }

    fn change(&mut self, act: &Act) -> anyhow::Result<()> {
        if self.machine.change(act) {
            self.machine.write(&self.dir.path().join("node.umockdev"))?;
        }
        Ok(())
    }

    /// All devices are there again.
    pub(super) fn mend(&mut self) -> anyhow::Result<()> {
        self.change(&Act::Back)
    }

    async fn reboot(&mut self, act: &Act) -> anyhow::Result<Vec<String>> {
        self.kill_host().await?;
        leave(self.second.take(), true).await?;
        self.stop_kubelet().await;
        let mut broken = self.harvest(true).await;
        self.change(act)?;
        self.start_host(false)?;
        self.start_kubelet().await?;
        // Pods come as soon as there are devices for them, while others are still looked at.
        let some = |kubelet: &StandIn| resources().any(|(_, name)| kubelet.allocatable(&name).is_some_and(|n| n > 0));
        let _ = self.kubelet.wait_for(Duration::from_secs(20), some).await;
        broken.extend(self.pods.readmit(&self.kubelet, &self.machine).await);
        Ok(broken)
    }

    /// All pods leave the node, as before somebody works on it.
    async fn drain(&mut self) -> Vec<String> {
        let broken = self.harvest(true).await;
        while self.pods.running() > 0 {
            self.pods.remove(&self.kubelet, 0);
        }
        broken
    }

    /// What has become of pods that were asked for: those that are decided, or all of them. Devices that the host does not
    /// give in time are waited for for as long as the kubelet would, which is for ever; the caller has a limit.
    pub(super) async fn harvest(&mut self, all: bool) -> Vec<String> {
        let mut broken = Vec::new();
        loop {
            let next = if all { self.admissions.join_next().await } else { self.admissions.try_join_next() };
            match next {
                None => return broken,
                Some(Err(error)) => broken.push(format!("the stand-in failed: {error}")),
                Some(Ok((pod, Err(_)))) => self.pods.rejected(&self.machine, &pod),
                Some(Ok((pod, Ok(())))) => {
                    broken.extend(self.pods.admitted(&self.kubelet, &self.machine, pod).await);
                }
            }
        }
    }

    /// Strangers have left.
    pub(super) async fn alone(&mut self) {
        while self.vandals.join_next().await.is_some() {}
    }

    /// Hosts that ended although nobody made them.
    pub(super) fn deaths(&mut self) -> Vec<String> {
        let mut dead = Vec::new();
        for host in [&mut self.host, &mut self.second] {
            if let Some(program) = host
                && let Some(how) = program.ended()
            {
                dead.push(format!("host {} ended by itself: {how}", program.pid));
                *host = None;
            }
        }
        dead
    }
}

async fn leave(host: Option<Program>, killed: bool) -> anyhow::Result<()> {
    match host {
        Some(host) if killed => host.kill().await,
        Some(host) => host.terminate().await,
        None => Ok(()),
    }
}

fn answer(word: Word) -> Answer {
    match word {
        Word::Real => Answer::Real,
        Word::Hang => Answer::Hang,
        Word::Refuse => Answer::Refuse("not today".to_owned()),
        Word::Late => Answer::Late(Duration::from_millis(700)),
        Word::HangUp => Answer::HangUp,
        Word::NoDial => Answer::NoDial,
    }
}
