//! `devgate run`: serves a node until it is told to stop.

mod front_ends;
mod state_dir;
mod unmounted;

use crate::audit::Pods;
use crate::cli::{Edits, RunArgs};
use crate::components::Components;
use crate::confinement::{self, Fence};
use crate::handover::{self, HandedOver, Handover, Standby, TriedPlugins};
use crate::loader::ComponentLoader;
use crate::monitoring::{self, Monitored, Ports, Serving};
use crate::node::Sources;
use crate::reload::{Reloader, Stamps, Start};
use crate::{exit, logging, service};
use anyhow::Context;
use devgate_cdi::exec::Requests;
use devgate_cdi::{Keeper, KeeperConfig, Leases, ReleaseHook, by_name};
use devgate_core::status::When;
use devgate_core::{Allocations, HoldersFeed, Plugins, Surroundings, TaskFailed};
use devgate_device_plugin::{FrontEndConfig, PodResourcesConfig, pod_resources};
use devgate_node::Node;
use devgate_runner::{CodeCache, NotCached};
use std::io;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long threads that hang in the kernel are waited for at the end.
const LAST_PATIENCE: Duration = Duration::from_millis(100);
/// How long is waited for what is to be read of the end: lines of the audit log, a word to the service manager.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long the service manager is not told that the host serves, while what was given before by name waits for its devices.
const FILES_PATIENCE: Duration = Duration::from_secs(30);

/// Where machine code of components is kept, in the state directory.
pub(crate) const COMPILED: &str = "compiled";

/// How long a thread that may block is kept without work. The runtime gives work to them in turn: with looks at health every few seconds
/// all that were ever needed at once would stay for ever.
const IDLE_THREAD: Duration = Duration::from_secs(1);

/// How long after the first signal another one means: at once.
const SECOND_THOUGHT: Duration = Duration::from_millis(500);

/// Runs the command.
pub(crate) fn run(args: &RunArgs, sources: Sources) -> anyhow::Result<()> {
    // All that can be wrong with the command line and the policy is said before anything is opened or started.
    let mut handed_over = HandedOver::of(args);
    let first = begin_with(args, &handed_over)?;
    // Before there is another thread.
    let fence = confinement::begin(args, &first.policy, handed_over.fence())?;
    // Then at once: process 1 ignores a signal that it has not asked for.
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder
        .worker_threads(workers())
        .thread_keep_alive(IDLE_THREAD)
        .enable_all()
        .build()
        .context("start the runtime")?;
    let ((stop, is_told_to), hangup) = {
        let _inside = runtime.enter();
        // One that is not listened for ends the process; one that is sent early starts a look that finds nothing else.
        (stop_on_signal()?, signal(SignalKind::hangup()).context("listen for SIGHUP")?)
    };
    let audit = logging::start(&args.log)?;
    if let Some(audit) = &audit {
        audit.reopen_at_hangup(&runtime)?;
    }
    say_fence(&fence);
    let node = (sources.node)(&args.node_root)?;
    let mut standby = Standby::new(args, &node, sources, &mut handed_over);
    // Not let go of before the process ends: a write that the disk holds up must be over before another host reads.
    let _lock = ManuallyDrop::new(state_dir::lock(args, &fence, &runtime, &stop, (&mut standby, &handed_over))?);
    if stop.is_cancelled() {
        // A trial may be in a read that never ends.
        runtime.shutdown_timeout(LAST_PATIENCE);
        return Ok(());
    }
    // It may have waited for hours. What was right serves, and what is wrong now is refused as a change is.
    let (start, loader, tried) = match standby.tried() {
        Some(tried) => {
            tried.loader.runners().own_code();
            (tried.start, tried.loader, Some(tried.plugins))
        }
        None => {
            let runners = sources.runners(kept(&args.state_dir))?;
            let store = args.registry.store(Some(&args.state_dir), !args.no_pull, (sources.puller)());
            let loader = ComponentLoader::new(runners, Components::new(args.components.clone(), Arc::new(store)));
            (begin_with(args, &handed_over).unwrap_or(first), loader, None)
        }
    };
    if let Err(error) = handed_over.forget_policy() {
        tracing::warn!(family = "host", "policy of the time when this one handed over: {error}");
    }
    let policy = &start.policy;
    let memory = if state_dir::is_new_machine(args) {
        Allocations::of_new_node(&args.state_dir)
    } else {
        Allocations::open(&args.state_dir)
    };
    let memory = memory
        .map(|memory| memory.telling_in(&args.device_info_dir))
        .map_err(|e| exit::with_code(exit::NODE, e.to_string()))?;
    if let Some(why) = memory.trouble().filter(|_| args.no_kubelet) {
        tracing::error!(
            family = "host",
            "state directory {}: {why}. No kubelet will tell (--no-kubelet): see that nothing has devices of before, end devgate, and say \
             `devgate state accept`",
            args.state_dir.display()
        );
    }
    unmounted::say(args, policy);
    let pods = audit.as_ref().filter(|_| args.log.audit_pods).cloned().map(Pods::new);
    let result = runtime.block_on(serve(
        args,
        start,
        (&node, Arc::new(loader)),
        &memory,
        (pods, fence),
        (stop, hangup),
        (handed_over, tried),
    ));
    // What is saved by now is as much as after a fault, and the next host waits.
    let patience = if matches!(result, Ok(End::HandedOver)) { Duration::ZERO } else { LAST_PATIENCE };
    runtime.shutdown_timeout(patience);
    if let Some(audit) = audit {
        audit.flush(LAST_WORDS);
    }
    match result? {
        End::HandedOver if !is_told_to.load(Ordering::SeqCst) => Err(HandedOver::begin_anew()),
        _ => Ok(()),
    }
}

/// What a host begins with. One that handed over begins with what was in force then, and judges what its files say now as any other change.
fn begin_with(args: &RunArgs, handed_over: &HandedOver) -> anyhow::Result<Start> {
    match handed_over.policy() {
        Some((policy, texts)) => Ok(Start { policy, texts, seen: Stamps::new() }),
        None => Start::read(args),
    }
}

/// How serving ended.
enum End {
    Stopped,
    HandedOver,
}

/// Says what fences the host and its children.
fn say_fence(fence: &Fence) {
    match &fence.why {
        None => tracing::debug!("devgate and its processes are fenced by seccomp and by Landlock {}", fence.version),
        Some(why) => tracing::warn!(
            family = "host",
            "Landlock is not in force: {why}; what devgate and its processes may do is fenced by seccomp alone (docs/confinement.md)"
        ),
    }
}

/// Threads that serve.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 4))
}

async fn serve(
    args: &RunArgs,
    Start { policy, texts, seen }: Start,
    (node, loader): (&Node, Arc<ComponentLoader>),
    memory: &Allocations,
    (pods, fence): (Option<Pods>, Fence),
    (stop, hangup): (CancellationToken, Signal),
    (handed_over, mut tried): (HandedOver, Option<TriedPlugins>),
) -> anyhow::Result<End> {
    let ports = Ports::open(&args.monitoring, &args.state_dir).await?;
    let components = loader.components().clone();
    let store = Arc::clone(components.store());
    let (tidied, named) = (components.clone(), policy.clone());
    tokio::task::spawn_blocking(move || tidied.keep([&named]));
    let names: Vec<_> = policy.plugins.keys().map(ToString::to_string).collect();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        plugins = names.len(),
        kubelet_dir = %args.kubelet.kubelet_dir.display(),
        node_root = %args.node_root.display(),
        "devgate serves {}",
        names.join(", "),
    );
    let config = FrontEndConfig::new(args.kubelet.kubelet_dir.clone());
    let around =
        Surroundings { node: node.clone(), loader, allocations: memory.clone(), holders: follow_pods(args, &config) };
    let found = tried.as_mut().map(TriedPlugins::take_found).unwrap_or_default();
    let mut plugins = Plugins::start_from(&policy, around, found);
    let failures = plugins.failures();
    plugins.label_in(&args.nfd_dir);
    let mut reloader = Reloader::new(args, (&policy, texts), components, seen, hangup);
    let handover = Handover::new(handed_over, stop.clone(), reloader.texts.subscribe(), fence.clone());
    let keeper = Arc::new(Keeper::new(KeeperConfig {
        devices: plugins.devices(),
        node: node.clone(),
        dir: args.cdi_dir.clone(),
        state: memory.dir().cloned(),
        hook: std::env::current_exe().ok().map(|program| ReleaseHook {
            program,
            socket: args.monitoring.status_socket.clone(),
            releases: reloader.releases.subscribe(),
        }),
    }));
    let requests = Requests {
        devices: plugins.devices(),
        types: reloader.types.subscribe(),
        state_dir: args.state_dir.clone(),
        turn: tokio::sync::Mutex::default(),
    };
    requests.catch_up().await;
    let (judge, judged) = tokio::sync::watch::channel(None);
    let drivers = front_ends::drivers(args, &keeper, reloader.drivers.subscribe(), judged);
    let monitored = Monitored::Serves(Arc::new(Serving {
        plugins: plugins.status_reader(),
        front_end: config.watch.clone(),
        drivers: drivers.watch.clone(),
        holders: plugins.holders().clone(),
        allocations: memory.clone(),
        reloads: reloader.reloads(),
        started: When::now(),
        fence,
        asks_since: Instant::now(),
        store,
        keeper: Arc::clone(&keeper),
        leases: Leases::new(Arc::clone(&keeper)),
        requests: Arc::new(requests),
        is_kubelet_served: !args.no_kubelet,
        handover: Arc::clone(&handover),
    }));
    // A task of its own: a look at all devices takes a while.
    let mut giving_up = JoinSet::new();
    if let Some(tried) = tried {
        giving_up.spawn(handover::gives_up(monitored.clone(), tried.fail));
    }
    let mut gave_up = None;
    let mut answering = JoinSet::new();
    answering.spawn(monitoring::serve(ports, monitored.clone()));
    if args.tell_agent {
        answering.spawn(monitoring::judged::tell(monitored.clone(), judge));
    }
    answering.spawn(Arc::clone(&keeper).keep());
    let mut offers = plugins.offers();
    let all = plugins.offers();
    if args.edits == Edits::Cdi {
        let (named, following) = by_name(&keeper, offers);
        offers = named;
        answering.spawn(following);
    }
    let told = stop.clone();
    let telling = tokio::spawn(async move {
        // Who starts after this service may start a container that gets a device by name.
        let _ = tokio::time::timeout(FILES_PATIENCE, keeper.settled()).await;
        service::tell(monitored, told).await;
    });
    if let Some(pods) = pods {
        answering.spawn(pods.follow(plugins.status_reader(), plugins.holders().clone()));
    }
    // A task of its own: a reload takes as long as components take to compile.
    let mut serving = JoinSet::new();
    if args.no_kubelet {
        let stop = stop.clone();
        serving.spawn(async move {
            stop.cancelled().await;
            Ok(())
        });
    } else {
        serving.spawn(front_ends::serve((config, offers), (drivers, all), stop.clone()));
    }
    let mut is_listening = true;
    let result = loop {
        tokio::select! {
            Some(served) = serving.join_next() => break served_until(served),
            why = failures.next() => break Err(must_end(&why)),
            Some(why) = giving_up.join_next() => {
                gave_up = Some(why.unwrap_or_else(anyhow::Error::from));
                // As at any end: calls under way are finished.
                stop.cancel();
            }
            // Before the kubelet misses anything.
            () = handover.begins(), if is_listening => {
                is_listening = false;
                plugins.stop_listening();
            }
            trigger = reloader.next() => tokio::select! {
                () = reloader.reload(&mut plugins, trigger) => {}
                why = failures.next() => break Err(must_end(&why)),
                // What is half tried is not in force.
                () = stop.cancelled() => {}
                Some(served) = serving.join_next() => break served_until(served),
            },
        }
    };
    // However it ends: what is known of the hardware is worth as much after a fault.
    if !plugins.flush(LAST_WORDS).await {
        tracing::error!(
            family = "host",
            "state directory {}: what is not saved yet could not be within {LAST_WORDS:?}",
            args.state_dir.display()
        );
    }
    result?;
    // Its own end is not told where the front end ended first.
    stop.cancel();
    let _ = tokio::time::timeout(LAST_WORDS, telling).await;
    // They take their sockets with them.
    answering.shutdown().await;
    if let Some(why) = gave_up {
        return Err(why);
    }
    if handover.has_handed_over() {
        return Ok(End::HandedOver);
    }
    tracing::info!("stopped");
    Ok(End::Stopped)
}

/// Where machine code of components is kept. Without, each start compiles them anew.
fn kept(state_dir: &Path) -> Option<CodeCache> {
    let opened = CodeCache::open(&state_dir.join(COMPILED));
    let not = |why: &NotCached| {
        tracing::warn!(family = "host", "machine code of components is not kept, and each start makes it anew: {why}");
    };
    opened.inspect_err(not).ok()
}

/// How serving the kubelet ended.
fn served_until(served: Result<anyhow::Result<()>, tokio::task::JoinError>) -> anyhow::Result<()> {
    served.context("serve the kubelet")?
}

fn must_end(why: &TaskFailed) -> anyhow::Error {
    anyhow::anyhow!("host fault: {why}; ending, so that a restart looks after its devices")
}

/// Asks the kubelet from now on which pods have which devices.
fn follow_pods(args: &RunArgs, front_end: &FrontEndConfig) -> HoldersFeed {
    let every = Duration::from_millis(args.pod_resources_every.into());
    let config = PodResourcesConfig { every, allocating: front_end.allocating.clone(), ..args.kubelet.pod_resources() };
    let (source, feed) = devgate_core::holders();
    if !args.no_kubelet {
        tokio::spawn(pod_resources::follow(config, source));
    }
    feed.with_grace(every * 3)
}

/// A token that the first SIGTERM or SIGINT cancels, and whether one came. The second one ends the process at once.
fn stop_on_signal() -> anyhow::Result<(CancellationToken, Arc<AtomicBool>)> {
    let listen = || Ok::<_, io::Error>((signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?));
    let mut signals = listen().context("listen for signals")?;
    let stop = CancellationToken::new();
    let (cancel, is_told_to) = (stop.clone(), Arc::<AtomicBool>::default());
    let told = Arc::clone(&is_told_to);
    tokio::spawn(async move {
        let name = next(&mut signals).await;
        told.store(true, Ordering::SeqCst);
        cancel.cancel();
        tracing::info!(signal = name, "{name}: stopping; allocations under way are finished");
        // Some tools send a signal to the process and to its group: only one that comes later is a second thought.
        tokio::time::sleep(SECOND_THOUGHT).await;
        if let Ok(mut signals) = listen() {
            let name = next(&mut signals).await;
            tracing::warn!(signal = name, "{name} again: stopping at once");
            std::process::exit(exit::FAILED.into());
        }
    });
    Ok((stop, is_told_to))
}

/// Which of the two signals that end a run comes next.
async fn next((terminate, interrupt): &mut (Signal, Signal)) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}
