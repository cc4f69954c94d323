//! Plays one scenario: a stage of its own, and one step after the other.

use super::check::{self, Mismatch, Seen, Started};
use super::hardware::Hardware;
use super::outcome::{Failure, Outcome, Played};
use super::scenario::{Expect, PodSpec, Reload, Scenario, Step, Verb};
use super::{keep, patch};
use crate::stage::{LOOK, Line, Setup, Stage};
use anyhow::{Context, bail};
use devgate::exit;
use devgate::status::ask;
use devgate::watching::Report;
use devgate_core::status::State;
use devgate_fake_kubelet::StandIn;
use devgate_fake_node::Change;
use devgate_policy::{PolicyFile, yaml};
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
    let beside = || scenario.policy.parent().map(Path::to_owned).unwrap_or_default();
    let components = components
        .map(Path::to_owned)
        .or_else(|| scenario.components.clone())
        .unwrap_or_else(beside);
    let node = |error: String| {
        let (file, node) = (scenario.file.display(), scenario.node.display());
        exit::with_code(exit::NODE, format!("scenario {file}: node {node}: {error}"))
    };
    if !scenario.node.is_file() {
        return Err(node(
            "there is no such file; a scenario plays on a recorded node".to_owned(),
        ));
    }
    Hardware::open(&scenario.node).map_err(|error| node(error.to_string()))?;
    Ok(Prepared {
        scenario,
        policy,
        components,
        registry,
    })
}

/// A policy's text, which is one, with the patch over it.
fn policy(file: &Path, patch: Option<&yaml::Node>) -> anyhow::Result<String> {
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

fn patched(text: &str, patch: &yaml::Node) -> anyhow::Result<String> {
    let tree = yaml::read_as("a policy", text).map_err(|(_, message)| exit::with_code(exit::POLICY, message))?;
    patch::patched(tree, patch)
}

impl Prepared {
    /// Plays it from its first step to its last, or to the one that fails; keeps what is worth a look in a folder.
    pub(super) async fn play(&self, keep: Option<&Path>) -> Outcome {
        let mut outcome = Outcome::new(&self.scenario);
        match self.begin().await {
            Ok(mut play) => {
                play.take_all(&self.scenario, &mut outcome).await;
                outcome.events = play.stage.kubelet.events();
                if let Some(keep) = keep
                    && let Err(error) = keep::keep(keep, &play.stage, &mut outcome).await
                {
                    outcome.broken = Some(format!("not kept: {error:#}"));
                }
                if outcome.passed()
                    && let Err(error) = play.stage.end().await
                {
                    outcome.broken = Some(format!("{error:#}"));
                }
                outcome.log = play.stage.lines();
            }
            Err(error) => outcome.broken = Some(format!("{error:#}")),
        }
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
    async fn loaded(&mut self) -> anyhow::Result<Report> {
        let (deadline, mut loaded) = (Instant::now() + LOADING, None);
        loop {
            if let Ok(report) = ask::ask(&self.stage.status_socket()).await
                && report.plugins.iter().all(|plugin| plugin.state != State::Loading)
            {
                let since = *loaded.get_or_insert_with(Instant::now);
                let mut offered = report.plugins.iter().flat_map(|plugin| &plugin.resources);
                let is_known = |name: &str| self.stage.kubelet.capacity(name).is_some();
                if offered.all(|resource| is_known(&resource.name)) || since.elapsed() > REGISTERING {
                    return Ok(report);
                }
            }
            if let Some(status) = self.stage.ended() {
                bail!(
                    "the host ended by itself: {status}; its log:\n{}",
                    self.stage.last_words()
                );
            }
            if Instant::now() > deadline {
                bail!(
                    "a component was not loaded within {LOADING:?}; the host's log:\n{}",
                    self.stage.last_words()
                );
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn take_all(&mut self, scenario: &Scenario, outcome: &mut Outcome) {
        for step in &scenario.steps {
            let begun = Instant::now();
            let mut result = self.take(step).await;
            let took = begun.elapsed();
            if let (Ok(()), Some(most)) = (&result, step.at_most)
                && took > most
            {
                result = Err(Failure::Slow { took, most });
            }
            let failed = result.is_err();
            outcome.steps.push(Played {
                number: step.number,
                line: step.at.line,
                summary: step.summary.clone(),
                note: step.note.clone(),
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
        let done = match &step.verb {
            Verb::Expect(expect) => return self.expect(expect, step).await,
            Verb::Pod(spec) => return self.pod(spec, step).await,
            Verb::Start(pod) => return self.start(pod, step).await,
            Verb::Stop(pod) => self.stop(pod),
            Verb::RestartKubelet => self.stage.kubelet.restart().await.context("restart the kubelet"),
            Verb::RestartHost => self.restart_host().await,
            Verb::CrashKubelet => {
                self.stage.kubelet.crash().await;
                self.stage.kubelet.start().await.context("start the kubelet")
            }
            Verb::CrashHost => self.crash_host().await,
            Verb::Reload(reload) => return self.reload(reload, step).await,
            Verb::Wait(time) => {
                tokio::time::sleep(*time).await;
                Ok(())
            }
            change => match self.change(change) {
                Ok(()) => self.hand_over().await,
                Err(error) => Err(error),
            },
        };
        done.map_err(|error| Failure::Broken(format!("{error:#}")))
    }

    /// Does what happens to the node.
    fn change(&mut self, verb: &Verb) -> anyhow::Result<()> {
        let hardware = &mut self.hardware;
        match verb {
            Verb::Set {
                device,
                attribute,
                value,
            } => hardware.apply(Change::SetAttribute {
                location: hardware.location(device)?,
                path: attribute.clone(),
                value: value.clone(),
            }),
            Verb::RemoveAttribute { device, attribute } => hardware.apply(Change::RemoveAttribute {
                location: hardware.location(device)?,
                path: attribute.clone(),
            }),
            Verb::Link { device, path, target } => hardware.apply(Change::SetLink {
                location: hardware.location(device)?,
                path: path.clone(),
                target: target.clone(),
            }),
            Verb::Unplug(device) => hardware.unplug(device),
            Verb::PlugAgain(device) => hardware.plug_again(device),
            Verb::Plug(text) => hardware.apply(Change::AddDevices(text.clone())),
            Verb::PlugFile(file) => {
                let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
                hardware.apply(Change::AddDevices(text))
            }
            Verb::File { path, text } => hardware.apply(Change::SetFile {
                path: path.clone(),
                value: text.clone(),
            }),
            Verb::RemoveFile(path) => hardware.apply(Change::RemoveFile(path.clone())),
            Verb::Node { path, number } => hardware.add_node(path, number),
            Verb::NodeGone(path) => hardware.apply(Change::RemoveNode(path.clone())),
            Verb::Kernel(text) => hardware.say(text),
            Verb::Announce(device) => hardware.apply(Change::Announce(hardware.location(device)?)),
            _ => bail!("is no change of the node"),
        }
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
        std::fs::write(&new, &text)
            .and_then(|()| std::fs::rename(&new, file))
            .context("write the node")?;
        self.text = text;
        let deadline = Instant::now() + NOTICING;
        while times(&self.stage) == before {
            if let Some(status) = self.stage.ended() {
                bail!("the host ended by itself: {status}");
            }
            if Instant::now() > deadline {
                bail!("the host did not notice within {NOTICING:?} that the node has changed");
            }
            tokio::time::sleep(LOOK / 4).await;
        }
        Ok(())
    }

    async fn restart_host(&mut self) -> anyhow::Result<()> {
        self.stage.end().await?;
        self.stage.start()?;
        self.loaded().await.map(|_| ())
    }

    async fn crash_host(&mut self) -> anyhow::Result<()> {
        self.stage.kill().await?;
        self.stage.start()?;
        self.loaded().await.map(|_| ())
    }

    /// Puts another policy in force, as somebody does who edits it.
    async fn reload(&mut self, reload: &Reload, step: &Step) -> Result<(), Failure> {
        match self.put_in_force(reload).await {
            Ok(Ok(())) => match &step.refused {
                None => Ok(()),
                Some(text) => Err(Failure::now(Mismatch {
                    what: "the policy".to_owned(),
                    expected: format!("to be refused with \"{text}\""),
                    found: "it is in force".to_owned(),
                })),
            },
            Ok(Err(refusal)) => refused("the policy", "to be in force", step, &refusal),
            Err(error) => Err(Failure::Broken(format!("{error:#}"))),
        }
    }

    async fn put_in_force(&mut self, reload: &Reload) -> anyhow::Result<Result<(), String>> {
        let text = match (&reload.policy, &reload.patch) {
            (Some(file), patch) => policy(file, patch.as_ref())?,
            (None, Some(patch)) => patched(&self.policy, patch)?,
            (None, None) => self.policy.clone(),
        };
        let file = self.stage.dir().join("policy.yaml");
        std::fs::write(&file, &text).context("write the policy")?;
        match ask::reload(&self.stage.status_socket(), reload.force).await? {
            ask::Reload::Done(_) => {
                self.policy = text;
                self.loaded().await.map(|_| Ok(()))
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
                    return Err(Failure::Happened { after: begun.elapsed() });
                }
                tokio::time::sleep(LOOK).await;
            }
            return Ok(());
        }
        loop {
            let wrong = self.wrong(expect).await;
            if wrong.is_empty() {
                break;
            }
            if begun.elapsed() > step.within {
                return Err(Failure::Unexpected {
                    within: step.within,
                    wrong,
                });
            }
            tokio::time::sleep(LOOK).await;
        }
        let Some(of) = step.lasting else { return Ok(()) };
        let since = Instant::now();
        while since.elapsed() <= of {
            let wrong = self.wrong(expect).await;
            if !wrong.is_empty() {
                let lasted = since.elapsed();
                return Err(Failure::Brief { lasted, of, wrong });
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    async fn wrong(&self, expect: &Expect) -> Vec<Mismatch> {
        let host = match expect.asks_the_host() {
            true => ask::ask(&self.stage.status_socket()).await.ok(),
            false => None,
        };
        let log = self.stage.lines();
        let seen = Seen {
            kubelet: &self.stage.kubelet,
            host: host.as_ref(),
            started: &self.started,
            log: log.get(self.logged..).unwrap_or_default(),
        };
        check::check(expect, &seen).await
    }

    /// Admits a pod and starts its containers, as soon as a scheduler would place it here.
    async fn pod(&mut self, spec: &PodSpec, step: &Step) -> Result<(), Failure> {
        let pod = &spec.pod;
        let wanted = wanted(spec);
        let enough = |kubelet: &StandIn| {
            wanted.iter().all(|(resource, count)| match step.refused {
                Some(_) => kubelet.capacity(resource).is_some(),
                None => kubelet.allocatable(resource).is_some_and(|there| there >= *count),
            })
        };
        let scheduled = self.stage.kubelet.wait_for(step.within, enough).await.is_ok();
        if !scheduled && step.refused.is_none() {
            let there = wanted.iter().map(|(resource, count)| {
                let there = self.stage.kubelet.allocatable(resource);
                let there = there.map_or("nothing registered".to_owned(), |there| there.to_string());
                Mismatch {
                    what: format!("{resource} allocatable"),
                    expected: format!("{count} or more for the pod"),
                    found: there,
                }
            });
            return Err(Failure::Unexpected {
                within: step.within,
                wrong: there.collect(),
            });
        }
        if let Err(rejection) = self.stage.kubelet.admit(pod).await {
            return refused("the pod", "to be admitted", step, &rejection.message);
        }
        self.start(&pod.name, step).await
    }

    /// Starts a pod's containers, again if they run.
    async fn start(&mut self, pod: &str, step: &Step) -> Result<(), Failure> {
        let Some(containers) = self.stage.kubelet.containers(pod) else {
            return Err(Failure::Broken(format!("pod {pod}: there is no such pod")));
        };
        for container in containers {
            match self.stage.kubelet.start_container(pod, &container).await {
                Ok(options) => {
                    let devices = self.stage.kubelet.held(pod, &container);
                    self.started.push(Started {
                        pod: pod.to_owned(),
                        container,
                        devices,
                        options,
                    });
                }
                Err(error) => return refused("the pod", "to start", step, &error),
            }
        }
        match &step.refused {
            None => Ok(()),
            Some(text) => Err(Failure::now(Mismatch {
                what: format!("pod {pod}"),
                expected: format!("to be refused with \"{text}\""),
                found: "it was admitted and started".to_owned(),
            })),
        }
    }

    fn stop(&mut self, pod: &str) -> anyhow::Result<()> {
        if self.stage.kubelet.containers(pod).is_none() {
            bail!("pod {pod}: there is no such pod");
        }
        self.stage.kubelet.remove(pod);
        Ok(())
    }
}

/// Something was refused: as expected, or not.
fn refused(what: &str, otherwise: &str, step: &Step, message: &str) -> Result<(), Failure> {
    let expected = match &step.refused {
        Some(text) if message.contains(text.as_str()) => return Ok(()),
        Some(text) => format!("to be refused with \"{text}\""),
        None => otherwise.to_owned(),
    };
    Err(Failure::now(Mismatch {
        what: what.to_owned(),
        expected,
        found: message.to_owned(),
    }))
}

/// How many devices of which resource the containers need that run together.
fn wanted(spec: &PodSpec) -> Vec<(String, usize)> {
    let mut wanted = std::collections::BTreeMap::<String, usize>::new();
    for container in spec.pod.containers.iter().filter(|container| !container.init) {
        for (resource, count) in &container.resources {
            *wanted.entry(resource.clone()).or_default() += count;
        }
    }
    for container in spec.pod.containers.iter().filter(|container| container.init) {
        for (resource, count) in &container.resources {
            let most = wanted.entry(resource.clone()).or_default();
            *most = (*most).max(*count);
        }
    }
    wanted.into_iter().collect()
}
