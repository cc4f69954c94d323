//! Plays one scenario: a stage of its own, and one step after the other.

mod pods;

use super::check::{self, Mismatch, Seen, Started};
use super::hardware::Hardware;
use super::keep;
use super::outcome::{Failure, Outcome, Played, seconds};
use super::patch::patched;
use super::scenario::{Expect, Scenario, Step, Verb};
use crate::stage::{LOOK, Line, Setup, Stage};
use anyhow::{Context, anyhow, bail};
use devgate::exit;
use devgate::status::ask;
use devgate_core::status::State;
use devgate_fake_node::Change;
use devgate_policy::PolicyFile;
use devgate_policy::yaml::Node;
use pods::{done, refused};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long components may take to load: some languages' take long to compile.
const LOADING: Duration = Duration::from_secs(300);
/// How long they may take to be registered; what cannot be, the steps tell.
const REGISTERING: Duration = Duration::from_secs(5);
/// How long the host may take to notice that its node has changed.
const NOTICING: Duration = Duration::from_secs(10);
/// How often the host asks the kubelet who has what, in milliseconds: scenarios do not wait for half a minute until a device is
/// known to be free.
const PODS_EVERY: &str = "200";

/// A scenario that is being played.
pub(super) struct Play {
    stage: Stage,
    hardware: Hardware,
    /// What the host reads.
    text: String,
    started: Vec<Started>,
    /// The policy that is in force.
    policy: String,
    /// How many lines the host's log had when something happened last.
    logged: usize,
}

/// What a scenario needs before it can be played.
pub(super) struct Prepared {
    pub(super) scenario: Scenario,
    policy: String,
    components: PathBuf,
    /// Options of `devgate run` about registries.
    registry: Vec<String>,
}

/// Reads what the scenario names.
///
/// # Errors
/// Where its policy or its node is wrong; the exit code says which.
pub(super) fn prepare(
    scenario: Scenario,
    components: Option<&Path>,
    registry: Vec<String>,
) -> anyhow::Result<Prepared> {
    let policy = policy(&scenario.policy, scenario.patch.as_ref())?;
    let beside = scenario.policy.parent().unwrap_or(Path::new(""));
    let components = components.or(scenario.components.as_deref()).unwrap_or(beside);
    let opened = match scenario.node.is_file() {
        true => Hardware::open(&scenario.node).map(|_| ()),
        false => Err(anyhow!("there is no such file; a scenario plays on a recorded node")),
    };
    opened.map_err(|error| {
        let (file, node) = (scenario.file.display(), scenario.node.display());
        exit::with_code(exit::NODE, format!("scenario {file}: node {node}: {error}"))
    })?;
    Ok(Prepared { policy, components: components.to_owned(), registry, scenario })
}

/// A policy's text, which is one, with the patch over it.
fn policy(file: &Path, patch: Option<&Node>) -> anyhow::Result<String> {
    let name = file.display().to_string();
    let wrong = |text: String| exit::with_code(exit::POLICY, text);
    let text = std::fs::read_to_string(file).map_err(|error| wrong(format!("policy {name}: {error}")))?;
    let parse = |name: &str, text: &str| {
        devgate_policy::parse(&[PolicyFile { name, text }]).map_err(|errors| wrong(errors.to_string()))
    };
    parse(&name, &text)?;
    let Some(patch) = patch else { return Ok(text) };
    let text = patched(&text, patch)?;
    parse(&format!("{name} with policy-patch"), &text)?;
    Ok(text)
}

impl Prepared {
    /// Plays it from its first step to its last, or to the one that fails; keeps what is worth a look in a folder.
    pub(super) async fn play(&self, keep: Option<&Path>) -> Outcome {
        let mut outcome = Outcome::new(&self.scenario);
        outcome.broken = match self.begin().await {
            Ok(mut play) => {
                play.take_all(&self.scenario, &mut outcome).await;
                let ended = play.leave(keep, &mut outcome).await;
                outcome.log = play.stage.lines();
                ended.err()
            }
            Err(error) => Some(error),
        }
        .map(|error| format!("{error:#}"));
        outcome.took = outcome.begun.elapsed();
        outcome
    }

    async fn begin(&self) -> anyhow::Result<Play> {
        let hardware = Hardware::open(&self.scenario.node)?;
        let mut more = vec!["--pod-resources-every", PODS_EVERY];
        more.extend(self.registry.iter().map(String::as_str));
        let setup = Setup {
            policy: &self.policy,
            components: &self.components,
            node_root: &self.scenario.node,
            version: self.scenario.kubelet,
            log: "info,component=debug",
            more: &more,
        };
        let mut play = Play {
            text: hardware.text()?,
            hardware,
            stage: Stage::set(setup).await?,
            started: Vec::new(),
            policy: self.policy.clone(),
            logged: 0,
        };
        play.loaded().await?;
        Ok(play)
    }
}

impl Play {
    /// Waits until the host answers, no plugin is being loaded any more, and the kubelet has what they offer: no step's time is
    /// used up by the start.
    async fn loaded(&mut self) -> anyhow::Result<()> {
        let (begun, mut loaded) = (Instant::now(), None);
        loop {
            if let Ok(report) = ask::ask(&self.stage.status_socket()).await
                && report.plugins.iter().all(|plugin| plugin.state != State::Loading)
            {
                let since = *loaded.get_or_insert_with(Instant::now);
                let mut offered = report.plugins.iter().flat_map(|plugin| &plugin.resources);
                let is_known = |name: &str| self.stage.kubelet.capacity(name).is_some();
                if offered.all(|resource| is_known(&resource.name)) || since.elapsed() > REGISTERING {
                    return Ok(());
                }
            }
            self.wait_on(begun, LOADING, "load its components")?;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Fails where the host has ended, or does not do something in time.
    fn wait_on(&mut self, begun: Instant, most: Duration, what: &str) -> anyhow::Result<()> {
        if let Some(status) = self.stage.ended() {
            bail!("the host ended by itself: {status}; its log:\n{}", self.stage.last_words());
        }
        if begun.elapsed() > most {
            bail!("the host did not {what} within {most:?}; its log:\n{}", self.stage.last_words());
        }
        Ok(())
    }

    /// Keeps what is worth a look, and ends the host of a scenario that has passed.
    async fn leave(&mut self, keep: Option<&Path>, outcome: &mut Outcome) -> anyhow::Result<()> {
        outcome.events = self.stage.kubelet.events();
        if let Some(keep) = keep {
            keep::keep(keep, &self.stage, outcome).await.context("not kept")?;
        }
        if outcome.passed() { self.stage.end().await } else { Ok(()) }
    }

    async fn take_all(&mut self, scenario: &Scenario, outcome: &mut Outcome) {
        for step in &scenario.steps {
            let begun = Instant::now();
            let mut result = self.take(step).await;
            let took = begun.elapsed();
            if let (Ok(()), Some(most)) = (&result, step.at_most)
                && took > most
            {
                let slow = format!("took {}, more than {}", seconds(took), seconds(most));
                result = Err(Failure::of(slow, Vec::new()));
            }
            let failed = result.is_err();
            outcome.steps.push(Played {
                number: step.number,
                line: step.line,
                summary: step.summary.clone(),
                note: step.note.clone(),
                passed: !failed,
                begun,
                took,
                failure: result.err(),
            });
            if failed {
                break;
            }
        }
    }

    /// Takes one step.
    async fn take(&mut self, step: &Step) -> Result<(), Failure> {
        if !matches!(step.verb, Verb::Expect(_) | Verb::Wait(_)) {
            self.logged = self.stage.lines().len();
        }
        match &step.verb {
            Verb::Expect(expect) => return self.expect(expect, step).await,
            Verb::Pod(pod) => return self.pod(pod, step).await,
            Verb::Start(pod) => return self.start(pod, step).await,
            Verb::Reload { policy, patch, force } => {
                return match self.reload(policy.as_deref(), patch.as_ref(), *force).await? {
                    Ok(()) => done("the policy", "it is in force", step),
                    Err(refusal) => refused("the policy", "to be in force", step, &refusal),
                };
            }
            Verb::Stop(pod) => {
                self.containers(pod)?;
                self.stage.kubelet.remove(pod);
            }
            Verb::Restart { kubelet: true, crash } => {
                // What has crashed leaves its socket's file.
                if !crash {
                    self.stage.kubelet.stop().await;
                }
                self.stage.kubelet.start().await.context("start the kubelet")?;
            }
            Verb::Restart { kubelet: false, crash } => {
                // A node's clock goes on while its host is away.
                self.later(Duration::ZERO).await?;
                if *crash {
                    self.stage.kill().await?;
                } else {
                    self.stage.end().await?;
                }
                self.stage.start()?;
                self.loaded().await?;
            }
            Verb::Wait(time) => tokio::time::sleep(*time).await,
            Verb::Later(time) => self.later(*time).await?,
            Verb::Change(change) => self.change(change.clone()).await?,
            Verb::PlugFile(file) => {
                let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
                self.change(Change::AddDevices(text)).await?;
            }
            Verb::PlugAgain(device) => {
                self.hardware.plug_again(device)?;
                self.hand_over().await?;
            }
        }
        Ok(())
    }

    async fn change(&mut self, change: Change) -> anyhow::Result<()> {
        self.hardware.apply(change)?;
        self.hand_over().await
    }

    async fn later(&mut self, time: Duration) -> anyhow::Result<()> {
        self.hardware.pass(time)?;
        self.hand_over().await
    }

    /// Writes the node as it is now, and waits until the host has read it: two changes are never one.
    async fn hand_over(&mut self) -> anyhow::Result<()> {
        let text = self.hardware.text()?;
        if text == self.text {
            return Ok(());
        }
        let read = |line: &Line| line.message.starts_with("recorded node ") && line.message.ends_with("read again");
        let times = |stage: &Stage| stage.lines().iter().filter(|line| read(line)).count();
        let before = times(&self.stage);
        let file = &self.stage.node_root;
        let new = file.with_extension("new");
        std::fs::write(&new, &text).and_then(|()| std::fs::rename(&new, file)).context("write the node")?;
        self.text = text;
        let begun = Instant::now();
        while times(&self.stage) == before {
            self.wait_on(begun, NOTICING, "notice that the node has changed")?;
            tokio::time::sleep(LOOK / 4).await;
        }
        Ok(())
    }

    /// Puts another policy in force, as an admin does who edits it; the inner error is why the host refuses it.
    async fn reload(
        &mut self,
        file: Option<&Path>,
        patch: Option<&Node>,
        force: bool,
    ) -> anyhow::Result<Result<(), String>> {
        let text = match (file, patch) {
            (Some(file), patch) => policy(file, patch)?,
            (None, Some(patch)) => patched(&self.policy, patch)?,
            (None, None) => self.policy.clone(),
        };
        let file = self.stage.dir().join("policy.yaml");
        std::fs::write(&file, &text).context("write the policy")?;
        match ask::reload(&self.stage.status_socket(), force).await? {
            ask::Reload::Done(_) => {
                self.policy = text;
                self.loaded().await.map(Ok)
            }
            ask::Reload::Refused(refusal) => {
                // What is in force is what is written, or the host would try again by itself.
                std::fs::write(&file, &self.policy).context("write the policy")?;
                Ok(Err(refusal))
            }
        }
    }

    /// Waits until all of it holds, and goes on to hold for as long as it should; or looks that it never does.
    async fn expect(&self, expect: &Expect, step: &Step) -> Result<(), Failure> {
        let begun = Instant::now();
        if let Some(time) = step.never {
            while begun.elapsed() <= time {
                if self.wrong(expect).await.is_empty() {
                    let message = format!("must not be so, and was after {}", seconds(begun.elapsed()));
                    return Err(Failure::of(message, Vec::new()));
                }
                tokio::time::sleep(LOOK).await;
            }
            return Ok(());
        }
        // Since when all of it holds.
        let mut since = None;
        let lasting = step.lasting.unwrap_or_default();
        loop {
            let wrong = self.wrong(expect).await;
            if wrong.is_empty() {
                if since.get_or_insert_with(Instant::now).elapsed() >= lasting {
                    return Ok(());
                }
            } else if let Some(since) = since {
                let lasted = format!("lasted {} of {}", seconds(since.elapsed()), seconds(lasting));
                return Err(Failure::of(lasted, wrong));
            } else if begun.elapsed() > step.within {
                let message = format!("did not come within {}", seconds(step.within));
                let message = (!step.within.is_zero()).then_some(message);
                return Err(Failure { message, wrong });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn wrong(&self, expect: &Expect) -> Vec<Mismatch> {
        let mut host = None;
        if expect.asks_the_host() {
            host = ask::ask(&self.stage.status_socket()).await.ok();
        }
        let log = self.stage.lines();
        let seen = Seen {
            kubelet: &self.stage.kubelet,
            host: host.as_ref(),
            started: &self.started,
            log: log.get(self.logged..).unwrap_or_default(),
        };
        check::check(expect, &seen).await
    }
}
