//! After a calm: what must be so again, seen from outside.

use super::machine::{REPLICAS, SHARED, resources};
use super::program::Program;
use super::vandal;
use super::world::World;
use crate::process::{descriptors, processor_time, resident, threads};
use devgate_fake_kubelet::{Answer, CHECKPOINT};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long it may take until all is served again. The host's own longest wait for a kubelet is 30 s, and twice that with
/// jitter; the machine may be busy.
const SERVED: Duration = Duration::from_secs(100);
/// How long connections, files and threads may take to go that nobody uses any more.
const SETTLED: Duration = Duration::from_secs(30);
/// How often to look.
const LOOK: Duration = Duration::from_millis(25);
/// How many threads more than at first there may be: those that read files wait some seconds for more work.
const MORE_THREADS: usize = 4;
/// How much an idle host may compute: of one core.
const IDLE: f64 = 0.05;
/// How long that is looked at.
const IDLE_LOOK: Duration = Duration::from_secs(2);

/// What a host has when nothing has happened to it yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Baseline {
    descriptors: BTreeMap<String, usize>,
    threads: usize,
}

/// What was seen of a host in a calm.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) pid: u32,
    pub(super) age: Duration,
    pub(super) took: Duration,
    pub(super) resident: f64,
    pub(super) descriptors: usize,
    pub(super) threads: usize,
}

/// Undoes what was made difficult, waits, and looks. What is wrong is named; at first, `baseline` is taken.
pub(super) async fn calm(world: &mut World, baseline: &mut Option<Baseline>) -> anyhow::Result<(Seen, Vec<String>)> {
    let begun = Instant::now();
    world.kubelet.answer(Answer::Real);
    world.kubelet.read_slowly(Duration::ZERO);
    if let Some(second) = world.second.take() {
        second.terminate().await?;
    }
    if !world.kubelet_runs {
        world.start_kubelet().await?;
    }
    world.mend()?;
    world.start_host(false)?;
    world.alone().await;
    let mut broken = match tokio::time::timeout(SERVED, world.harvest(true)).await {
        Ok(broken) => broken,
        Err(_) => vec![format!("a pod is not decided on after {SERVED:?}")],
    };
    broken.extend(until(SERVED, || served(world)).await);
    let took = begun.elapsed();
    broken.extend(probe(world).await);
    broken.extend(world.pods.check(&world.kubelet, &world.machine).await);
    broken.extend(until(SETTLED, || files(world)).await);
    broken.extend(world.log.faults().into_iter().map(|line| format!("the host's log: {line}")));
    let mut seen = Seen::default();
    if let Some(host) = &world.host {
        let baseline = match baseline {
            Some(baseline) => baseline,
            None => baseline.insert(Baseline::of(host).await?),
        };
        broken.extend(until(SETTLED, || baseline.differs(host)).await);
        seen = Seen {
            pid: host.pid,
            age: host.since.elapsed(),
            took,
            resident: resident(host.pid)?.1,
            descriptors: descriptors(host.pid)?.values().sum(),
            threads: threads(host.pid)?,
        };
    }
    Ok((seen, broken))
}

/// At the very end: no thread too many, nothing to do, and a good end with nothing left.
pub(super) async fn end(world: &mut World, baseline: &Baseline) -> anyhow::Result<Vec<String>> {
    let mut broken = Vec::new();
    let Some(host) = world.host.take() else {
        return Ok(vec!["no host runs at the end".to_owned()]);
    };
    let many = || match threads(host.pid) {
        Ok(now) if now <= baseline.threads + MORE_THREADS => Vec::new(),
        Ok(now) => vec![format!("the host has {now} threads, at first it had {}", baseline.threads)],
        Err(error) => vec![error.to_string()],
    };
    broken.extend(until(SETTLED, many).await);
    let before = (processor_time(host.pid)?, Instant::now());
    tokio::time::sleep(IDLE_LOOK).await;
    let busy = (processor_time(host.pid)? - before.0) / before.1.elapsed().as_secs_f64();
    if busy > IDLE {
        broken.push(format!("the idle host computes {:.0} % of the time", busy * 100.0));
    }
    host.terminate().await?;
    let left = || match vandal::sockets(&world.plugins(), None) {
        sockets if sockets.is_empty() => Vec::new(),
        sockets => vec![format!("sockets are left after the end: {sockets:?}")],
    };
    broken.extend(until(SETTLED, left).await);
    let away = || {
        let given = resources().filter(|(_, name)| world.kubelet.allocatable(name) != Some(0));
        given.map(|(_, name)| format!("{name} is still allocatable after the end")).collect()
    };
    broken.extend(until(SETTLED, away).await);
    Ok(broken)
}

/// Looks until nothing is wrong; what is wrong at last.
async fn until(patience: Duration, look: impl Fn() -> Vec<String>) -> Vec<String> {
    let deadline = Instant::now() + patience;
    loop {
        let wrong = look();
        if wrong.is_empty() || Instant::now() > deadline {
            return wrong;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// One stream for each resource, with all the devices that are there, healthy where nothing speaks against it.
fn served(world: &World) -> Vec<String> {
    let mut wrong = Vec::new();
    for (kind, name) in resources() {
        let streams = world.kubelet.streams(&name).len();
        if streams != 1 {
            wrong.push(format!("{name}: {streams} streams"));
        }
        let listed = world.kubelet.devices(&name);
        let mut expected = BTreeMap::new();
        for (device, hardware) in world.machine.devices(kind) {
            let sure = world.pods.is_unambiguous(&device, hardware);
            if kind == SHARED {
                expected.extend((0..REPLICAS).map(|n| (format!("{device}::{n}"), sure)));
            } else {
                expected.insert(device, sure);
            }
        }
        if listed.keys().ne(expected.keys()) {
            wrong.push(format!("{name}: lists {:?}, not {:?}", listed.keys(), expected.keys()));
        }
        for (id, sure) in expected {
            if sure && listed.get(&id).is_some_and(|(healthy, _)| !healthy) {
                wrong.push(format!("{name}: {id} is unhealthy, and nothing is wrong with it"));
            }
        }
        let healthy = listed.values().filter(|(healthy, _)| *healthy).count();
        let (capacity, allocatable) = (world.kubelet.capacity(&name), world.kubelet.allocatable(&name));
        if (capacity, allocatable) != (Some(listed.len()), Some(healthy)) {
            wrong.push(format!("{name}: advertised are {capacity:?} and {allocatable:?}, listed {}", listed.len()));
        }
    }
    wrong
}

/// A pod gets what is free.
async fn probe(world: &mut World) -> Vec<String> {
    let mut broken = Vec::new();
    for (kind, name) in resources() {
        let deadline = Instant::now() + SETTLED;
        loop {
            let taken = world.kubelet.allocated(&name);
            let listed = world.kubelet.devices(&name);
            if !listed.iter().any(|(id, (healthy, _))| *healthy && !taken.contains(id)) {
                break;
            }
            let pod = world.pods.make(&[(kind, 1)]);
            match world.kubelet.admit(&pod).await {
                Ok(()) => {
                    broken.extend(world.pods.admitted(&world.kubelet, &world.machine, pod).await);
                    let last = world.pods.running().saturating_sub(1);
                    world.pods.remove(&world.kubelet, last);
                    break;
                }
                Err(rejection) if Instant::now() > deadline => {
                    broken.push(format!("{name}: a pod is still rejected: {rejection}"));
                    break;
                }
                Err(_) => {
                    world.pods.rejected(&world.machine, &pod);
                    tokio::time::sleep(LOOK * 8).await;
                }
            }
        }
    }
    broken
}

/// In the directory are the kubelet's files and one socket for each resource.
fn files(world: &World) -> Vec<String> {
    let mut files = world.kubelet.files();
    files.retain(|file| file != "kubelet.sock" && file != CHECKPOINT);
    for (_, name) in resources() {
        let start = format!("devgate-{}-", name.replace('/', "_"));
        if let Some(place) = files.iter().position(|file| file.starts_with(&start)) {
            files.remove(place);
        } else {
            return vec![format!("{name}: no socket in the directory")];
        }
    }
    match files.is_empty() {
        true => Vec::new(),
        false => vec![format!("in the kubelet's directory are too many files: {files:?}")],
    }
}

impl Baseline {
    async fn of(host: &Program) -> anyhow::Result<Self> {
        // What only the start needs has gone by then.
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(Self { descriptors: descriptors(host.pid)?, threads: threads(host.pid)? })
    }

    fn differs(&self, host: &Program) -> Vec<String> {
        let mut expected = self.descriptors.clone();
        let mut now = match descriptors(host.pid) {
            Ok(now) => now,
            Err(error) => return vec![error.to_string()],
        };
        if host.blind {
            expected.remove("anon_inode:inotify");
            now.remove("anon_inode:inotify");
        }
        // Fewer is no leak: a connection that was made at the start may wait for the next call to be made again.
        let more = |(kind, count): (&String, &usize)| *count > expected.get(kind).copied().unwrap_or(0);
        match now.iter().any(more) {
            true => vec![format!("host {} has open {now:?}, and at first {expected:?}", host.pid)],
            false => Vec::new(),
        }
    }
}
