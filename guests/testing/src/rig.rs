//! A component, a policy and a recorded node, put together.

mod claims;
mod node;

use crate::native::NativeLoader;
use crate::seen::{Call, Said, Seen, Write};
use crate::survey::Survey;
use devgate_core::offer::{AllocateError, Offer, Reply};
use devgate_core::{Allocations, HoldersFeed, Loader, Plugins, Surroundings};
use devgate_fake_node::RecordedNode;
use devgate_node::Node;
use devgate_policy::{Policy, PolicyFile};
use devgate_sdk::native::Exported;
use devgate_types::PluginName;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// What calls may take: far more than any does, on a machine that is busy.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Looks that nobody asked for: none, as far as a test lasts.
const NEVER: Duration = Duration::from_secs(24 * 3_600);

/// A host for one component on one recorded node. It does something only while one of its functions runs.
pub struct Rig {
    runtime: Runtime,
    plugins: Plugins,
    policy: Policy,
    name: PluginName,
    node: RecordedNode,
    loader: Arc<dyn Loader>,
    state: TempDir,
    seen: Seen,
    /// The time of the last line of the kernel's log, in microseconds.
    said: u64,
}

impl Rig {
    /// A rig for a type that `export!` made a component of, under the entry `plugin` of a policy, on a recorded node. The other
    /// entries of the policy play no part.
    ///
    /// # Panics
    /// Where the policy or the recording is wrong, or the policy has no such entry: with the message that the admin would see.
    #[must_use]
    #[track_caller]
    pub fn of<T: Exported>(policy: &str, plugin: &str, node: &str) -> Self {
        let file = PolicyFile { name: "policy.yaml", text: policy };
        let mut policy = match devgate_policy::parse(&[file]) {
            Ok(policy) => policy,
            Err(errors) => panic!("{errors}"),
        };
        policy.plugins.retain(|name, _| name.as_str() == plugin);
        let Some((name, entry)) = policy.plugins.iter_mut().next() else {
            panic!("the policy has no plugin {plugin}");
        };
        let name = name.clone();
        entry.health.unhealthy_after = Duration::ZERO;
        entry.health.healthy_after = Duration::ZERO;
        entry.health.stale_after = Duration::ZERO;
        entry.health.check_every = NEVER;
        entry.health.enumerate_every = NEVER;
        entry.limits.deadline = TIMEOUT;
        let runtime = runtime();
        let state = match TempDir::new() {
            Ok(state) => state,
            Err(error) => panic!("a state directory for the test: {error}"),
        };
        let (seen, said) = (Seen::default(), last_line(node));
        let node = recorded(node);
        let loader: Arc<dyn Loader> = Arc::new(NativeLoader::<T> { seen: seen.clone(), what: PhantomData });
        let plugins = start(&runtime, &policy, &node, &loader, &state);
        Self { runtime, plugins, policy, name, node, loader, state, seen, said }
    }

    /// The same for a component that is packed with these interfaces as what it can do without (`devgatectl pack --optional`): where
    /// the policy does not grant one, it is told so.
    #[must_use]
    pub fn can_do_without(self, interfaces: &[&str]) -> Self {
        self.seen.notes().optional = interfaces.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Has the host look now, enumerate and ask for health, and says what it offers then.
    ///
    /// # Panics
    /// Where a call of the component fails or panics.
    #[track_caller]
    pub fn survey(&mut self) -> Survey {
        match self.try_survey() {
            Ok(survey) => survey,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// The same for a component that may fail.
    ///
    /// # Errors
    /// What the admin is told where a call failed.
    ///
    /// # Panics
    /// Where the component panics.
    #[track_caller]
    pub fn try_survey(&mut self) -> Result<Survey, String> {
        let found = self.runtime.block_on(self.plugins.look(&self.name));
        self.seen.pass_panic_on();
        let Some(found) = found else {
            panic!("the host has given up on the plugin");
        };
        Survey::of(found, &mut self.seen.notes())
    }

    /// What a container gets that is given these units, as the kubelet is told.
    ///
    /// # Errors
    /// Why it is refused, as the kubelet is told.
    ///
    /// # Panics
    /// Where the resource is not offered at all, and where the component panics.
    #[track_caller]
    pub fn allocate(&mut self, resource: &str, ids: &[&str]) -> Result<Reply, AllocateError> {
        let offer = self.offer(resource);
        let reply = self.run(offer.allocate(&strings(ids)))?;
        Ok(Arc::unwrap_or_clone(reply))
    }

    /// What happens right before a container starts that was allocated these units: `prepare` with the policy's `prepare: start`.
    ///
    /// # Errors
    /// Why it must not start.
    ///
    /// # Panics
    /// As [`Rig::allocate`] does.
    #[track_caller]
    pub fn start(&mut self, resource: &str, ids: &[&str]) -> Result<(), AllocateError> {
        let offer = self.offer(resource);
        self.run(offer.start(&strings(ids)))
    }

    /// The end of the container that was allocated these units: `release`, where the component has one.
    ///
    /// # Errors
    /// Why the component's `release` failed.
    ///
    /// # Panics
    /// As [`Rig::allocate`] does.
    #[track_caller]
    pub fn release(&mut self, resource: &str, ids: &[&str]) -> Result<(), String> {
        let offer = self.offer(resource);
        let before = self.seen.notes().calls.len();
        self.run(offer.take_back(&strings(ids)));
        let notes = self.seen.notes();
        let mut calls = notes.calls.iter().skip(before).filter(|call| call.function == "release");
        match calls.find_map(|call| call.failed.clone()) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// Which `size` of `available` the kubelet is told to take, among them all of `must_include`. Where the component chooses and
    /// what it says is no good, the host chooses by itself: see [`Rig::calls`].
    ///
    /// # Panics
    /// As [`Rig::allocate`] does.
    #[track_caller]
    pub fn choose(&mut self, resource: &str, available: &[&str], must_include: &[&str], size: usize) -> Vec<String> {
        let offer = self.offer(resource);
        self.run(offer.choose(&strings(available), &strings(must_include), size))
    }

    /// Starts the host anew, on the same node: what it and the component keep (`state`) is still there, and nothing else.
    ///
    /// # Panics
    /// Where that could not be saved.
    pub fn restart(&mut self) {
        // Not on the host's own runtime, where plugins that were just started would begin to look.
        let is_saved = runtime().block_on(self.plugins.flush(TIMEOUT));
        assert!(is_saved, "what is known of the hardware could not be saved");
        self.plugins = start(&self.runtime, &self.policy, &self.node, &self.loader, &self.state);
    }

    /// Boots the node anew, as this recording shows it: the kernel's log begins anew as well.
    ///
    /// # Panics
    /// Where the recording is wrong.
    #[track_caller]
    pub fn reboot(&mut self, node: &str) {
        (self.node, self.said) = (recorded(node), last_line(node));
        self.restart();
    }

    /// The component's calls since this was asked last, in order. Those that it chose nothing in are here with their reason.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.seen.notes().calls)
    }

    /// What the component has written with `control` since this was asked last.
    #[must_use]
    pub fn written(&self) -> Vec<Write> {
        std::mem::take(&mut self.seen.notes().writes)
    }

    /// What the component has written to the log since this, or [`Rig::survey`], was asked last.
    #[must_use]
    pub fn said(&self) -> Vec<Said> {
        std::mem::take(&mut self.seen.notes().said)
    }

    /// What the component has asked for and the policy does not grant, since this, or [`Rig::survey`], was asked last.
    #[must_use]
    pub fn denied(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.notes().denied)
    }

    /// What the component has stored last (`state`).
    #[must_use]
    pub fn state(&self) -> Vec<u8> {
        self.seen.notes().blob.clone()
    }

    #[track_caller]
    fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let done = self.runtime.block_on(work);
        self.seen.pass_panic_on();
        done
    }

    /// A resource that is offered, after a first look if there was none.
    #[track_caller]
    fn offer(&mut self, resource: &str) -> Arc<dyn Offer> {
        let find = |plugins: &Plugins| {
            let offers = plugins.offers();
            let offers = offers.borrow();
            offers.iter().find(|offer| offer.resource().as_str() == resource).cloned()
        };
        if let Some(offer) = find(&self.plugins) {
            return offer;
        }
        let survey = self.survey();
        let Some(offer) = find(&self.plugins) else {
            panic!("resource {resource} is not offered; there is:\n{survey}");
        };
        offer
    }
}

impl Drop for Rig {
    /// A panic that nobody has seen yet is not swallowed.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.seen.pass_panic_on();
        }
    }
}

#[track_caller]
fn recorded(text: &str) -> RecordedNode {
    match RecordedNode::parse("of the test", text) {
        // A test's time is what the test makes it.
        Ok(node) => {
            node.stop_clock(0);
            node
        }
        Err(error) => panic!("{error}"),
    }
}

/// Starts the plugin, which does nothing before the runtime is entered the next time.
#[track_caller]
fn runtime() -> Runtime {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("the test's runtime: {error}"),
    }
}

fn start(runtime: &Runtime, policy: &Policy, node: &Node, loader: &Arc<dyn Loader>, state: &TempDir) -> Plugins {
    let allocations = match Allocations::of_new_node(state.path()) {
        Ok(allocations) => allocations,
        Err(error) => panic!("{error}"),
    };
    let _inside = runtime.enter();
    let around =
        Surroundings { node: node.clone(), loader: Arc::clone(loader), allocations, holders: HoldersFeed::none() };
    Plugins::start(policy, around)
}

/// The time of the last line of the kernel's log in a recording.
fn last_line(node: &str) -> u64 {
    let lines = node.lines().filter_map(|line| line.strip_prefix("K: "));
    let times = lines.filter_map(|line| line.split(' ').next()?.parse().ok());
    times.max().unwrap_or_default()
}

fn strings(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}
