//! A component's process that ends at any moment: of its start, of each call, of a reload and of the host's own end. `DEVGATE_KILLS=100`
//! kills a hundred times at each point.

use crate::conformance::{allocate, client};
use devgate_fake_kubelet::{Event, Pod};
use devgate_kubelet::api::device_plugin_client::DevicePluginClient;
use devgate_tests::attackers::Attacker;
use devgate_tests::process::{children, descriptors, threads};
use devgate_tests::{Host, Kind, Setup, generic_policy};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tonic::transport::Channel;

const GOOD: Kind = Kind { class: 0, count: 2 };
/// What the component that is killed has.
const OWN: Kind = Kind { class: 1, count: 1 };
const WORKER: &str = "test.dev/worker";
const UNIT: &str = "worker";
/// How many environment variables it gives.
const VARIABLES: usize = 64;
/// How often the host looks at what pods have.
const LOOK: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(60);
/// More than a good plugin's pod ever waits beside one that is killed, on a machine that is busy.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Its entry of the policy, with this time for a call.
fn entry(deadline: &str) -> String {
    let variables: Vec<_> = (0..VARIABLES).map(|n| format!("LONG_{n}: any")).collect();
    format!(
        "  worker:
    component: {{file: worker.wasm}}
    resources: [test.dev/worker]
    hardware: [{{subsystem: bench1, name: bench1-0, use: offer}}]
    control: [{{attribute: reset, values: [\"1\"], moment: [prepare, release]}}]
    containers: {{env: {{{}}}}}
    state: true
    limits: {{deadline: {deadline}}}
    health: {{check-every: 100ms}}
",
        variables.join(", ")
    )
}

/// When a process is killed.
#[derive(Debug, Clone, Copy)]
enum When {
    /// So long after what it does has begun.
    After(Duration),
    /// As soon as it is there: it has not confined itself.
    Seen,
    /// As soon as it has confined itself: it has read no byte of a component.
    Confined,
}

struct World {
    host: Host,
    /// The good plugin's process, which is to be the same all the while.
    good: u32,
}

impl World {
    async fn start() -> anyhow::Result<Self> {
        let every = format!("--pod-resources-every={}", LOOK.as_millis());
        let worker = Attacker::of_text("worker", include_str!("kills/worker.wat")).component(0)?;
        // A line that was said before is for those who debug.
        let setup = Setup::new(&generic_policy(&[GOOD])).of(&[GOOD, OWN]).with("worker.wasm", worker);
        let host = setup.log("info,devgate_core=debug").args(&[&every]).start().await?;
        let device = host.dir().join("node/sys/devices/virtual/bench1/bench1-0");
        fs::write(device.join("reset"), "0\n")?;
        host.allocatable(&GOOD.resource(), 2).await?;
        let [good] = children(host.pid()?)?[..] else { anyhow::bail!("one process") };
        let world = Self { host, good };
        world.put_in_force(&entry("20s"))?;
        world.host.allocatable(WORKER, 1).await?;
        Ok(world)
    }

    /// The policy with this entry beside the good plugin's, at once.
    fn put_in_force(&self, entry: &str) -> anyhow::Result<()> {
        fs::write(self.host.dir().join("policy.yaml"), generic_policy(&[GOOD]) + entry)?;
        Ok(kill_process(crate::reload::pid(&self.host)?, Signal::HUP)?)
    }

    /// The worker's processes: one, or two while a new policy is tried.
    fn workers(&self) -> anyhow::Result<Vec<u32>> {
        Ok(children(self.host.pid()?)?.into_iter().filter(|pid| *pid != self.good).collect())
    }

    fn send(&self, signal: Signal) -> anyhow::Result<usize> {
        let workers = self.workers()?;
        for pid in workers.iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
            // It may have ended by itself.
            let _ = kill_process(pid, signal);
        }
        Ok(workers.len())
    }

    /// Kills it once, when it is time. It may be done by then.
    async fn kill(&self, when: When) -> anyhow::Result<()> {
        let until = Instant::now() + Duration::from_secs(2);
        match when {
            When::After(time) => tokio::time::sleep(time).await,
            When::Seen => while self.workers()?.is_empty() && Instant::now() < until {},
            When::Confined => {
                let own = filters(self.host.pid()?);
                let is_confined = |pid: &u32| filters(*pid) > own;
                while !self.workers()?.iter().any(is_confined) && Instant::now() < until {}
            }
        }
        self.send(Signal::KILL)?;
        Ok(())
    }

    /// As a pod that is admitted again: it gets its device within the time that a person would wait.
    async fn serves(&self) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.allocate().await {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > until => return Err(error),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    async fn allocate(&self) -> anyhow::Result<()> {
        let given = allocate(&mut client(&self.host, WORKER).await?, &[UNIT]).await?;
        anyhow::ensure!(given.envs.len() == VARIABLES, "half an answer: {}", given.envs.len());
        Ok(())
    }

    /// What the component said that it did, in order.
    fn done(&self) -> Vec<bool> {
        let lines = self.host.lines();
        let prepared = |line: &devgate_tests::Line| {
            let said = |what: &str| line.message.contains(what).then_some(what == "it is prepared");
            said("it is prepared").or(said("it is released"))
        };
        lines.iter().filter_map(prepared).collect()
    }
}

/// How many filters a process is under.
fn filters(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

fn rounds() -> u32 {
    std::env::var("DEVGATE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

/// Moments that are spread over the time that something takes, and a little more.
fn spread(time: Duration) -> impl Iterator<Item = Duration> {
    (0..rounds()).map(move |n| time.mul_f64(1.2 * f64::from(n) / f64::from(rounds())))
}

async fn timed(action: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    action.await?;
    Ok(begun.elapsed())
}

/// Of the start: before and after it confines itself, and while the component is loaded and called.
async fn at_a_start(world: &World) -> anyhow::Result<()> {
    let again = || async {
        world.send(Signal::KILL)?;
        world.serves().await
    };
    let time = timed(again()).await?;
    let moments = (0..rounds()).flat_map(|_| [When::Seen, When::Confined]).chain(spread(time).map(When::After));
    for when in moments {
        world.send(Signal::KILL)?;
        let (called, killed) = tokio::join!(world.allocate(), world.kill(when));
        killed?;
        if called.is_err() {
            world.serves().await?;
        }
    }
    Ok(())
}

/// Of a release, what makes ready and an allocation, one after the other: while it asks, while it answers. What is not done twice fails.
async fn in_a_call(world: &World) -> anyhow::Result<()> {
    world.serves().await?;
    let time = timed(world.allocate()).await?;
    for time in spread(time) {
        let (called, killed) = tokio::join!(world.allocate(), world.kill(When::After(time)));
        killed?;
        if let Err(error) = called {
            let said = error.to_string();
            anyhow::ensure!(said.contains("plugin worker") && said.contains("process"), "{said}");
            world.serves().await?;
        }
    }
    Ok(())
}

/// While it looks at health and keeps its state, which it does all the while.
async fn in_a_look(world: &World) -> anyhow::Result<()> {
    for time in spread(Duration::from_millis(130)) {
        world.kill(When::After(time)).await?;
        world.serves().await?;
    }
    world.host.allocatable(WORKER, 1).await?;
    Ok(())
}

/// While a device is made ready for a pod, with a write to hardware, and while it is released.
async fn between_pods(world: &World) -> anyhow::Result<()> {
    let pod = Pod::new("worker", &[(WORKER, 1)]);
    let kubelet = &world.host.kubelet;
    let admitted = || async {
        let until = Instant::now() + PATIENCE;
        // A pod that fails is made anew by what made it.
        while let Err(rejection) = kubelet.admit(&pod).await {
            anyhow::ensure!(Instant::now() < until, "{rejection:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    };
    let released = || async {
        let count = || world.done().iter().filter(|prepared| !**prepared).count();
        let before = count();
        // What no look has shown with a pod is free only when the kubelet's own records say so.
        tokio::time::sleep(2 * LOOK).await;
        kubelet.remove("worker");
        world.host.wait(|_| count() > before).await?;
        Ok(())
    };
    let (prepare, release) = (timed(admitted()).await?, timed(released()).await?);
    for (prepare, release) in spread(prepare).zip(spread(release)) {
        let (done, killed) = tokio::join!(admitted(), world.kill(When::After(prepare)));
        done?;
        killed?;
        let (done, killed) = tokio::join!(released(), world.kill(When::After(release)));
        done?;
        killed?;
    }
    Ok(())
}

/// While another policy is tried with it.
async fn in_a_trial(world: &World) -> anyhow::Result<()> {
    for (n, time) in spread(Duration::from_millis(150)).enumerate() {
        world.put_in_force(&entry(&format!("{}s", 21 + n % 2)))?;
        world.kill(When::After(time)).await?;
        world.serves().await?;
    }
    world.put_in_force(&entry("20s"))?;
    Ok(())
}

/// What is stopped answers nothing until its call's time is over.
async fn stopped(world: &World) -> anyhow::Result<()> {
    world.put_in_force(&entry("500ms"))?;
    world.host.logged(|line| line.message.contains("policy: reloaded: changed worker")).await?;
    for _ in 0..rounds().div_ceil(4) {
        world.serves().await?;
        world.send(Signal::STOP)?;
        world.serves().await?;
    }
    Ok(())
}

/// Pods of the good plugin, one after the other.
async fn load(mut good: DevicePluginClient<Channel>, ended: Arc<AtomicBool>) -> anyhow::Result<()> {
    while !ended.load(Ordering::Relaxed) {
        let begun = Instant::now();
        allocate(&mut good, &["bench0-0"]).await?;
        anyhow::ensure!(begun.elapsed() < LONGEST_WAIT, "a good plugin's pod waited for {:?}", begun.elapsed());
        // A look at what pods have waits for a moment in which the kubelet has nothing allocated.
        tokio::time::sleep(LOOK / 2).await;
    }
    Ok(())
}

/// Each costs that plugin alone: no stream ends, nothing is made ready twice, nothing is left behind, and pods beside it are served.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_ends_at_any_moment_costs_its_plugin_that_moment() -> anyhow::Result<()> {
    let mut world = World::start().await?;
    world.serves().await?;
    let held = |world: &World| {
        let pid = world.host.pid()?;
        anyhow::Ok((threads(pid)?, descriptors(pid)?.values().sum::<usize>(), children(pid)?.len()))
    };
    let registered = |world: &World| {
        let events = world.host.kubelet.events();
        events.iter().filter(|at| matches!(at.event, Event::Registered { .. })).count()
    };
    let (before, registrations) = (held(&world)?, registered(&world));
    let ended = Arc::new(AtomicBool::new(false));
    let load = tokio::spawn(load(client(&world.host, &GOOD.resource()).await?, Arc::clone(&ended)));
    at_a_start(&world).await?;
    in_a_call(&world).await?;
    in_a_look(&world).await?;
    between_pods(&world).await?;
    in_a_trial(&world).await?;
    stopped(&world).await?;
    ended.store(true, Ordering::Relaxed);
    load.await??;
    assert_eq!(registered(&world), registrations, "no stream ended");
    assert!(Path::new(&format!("/proc/{}", world.good)).exists(), "the good plugin's process is the same");
    let done = world.done();
    assert!(done.iter().any(|prepared| *prepared), "{done:?}");
    assert!(done.windows(2).all(|two| two != [true, true]), "made ready twice without being released: {done:?}");
    world.serves().await?;
    let until = Instant::now() + PATIENCE;
    loop {
        let now = held(&world)?;
        if now.0 <= before.0 + 4 && now.1 <= before.1 + 2 && now.2 <= before.2 {
            break;
        }
        anyhow::ensure!(Instant::now() < until, "threads, descriptors, processes: {before:?} before, {now:?} now");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for time in spread(Duration::from_millis(30)) {
        let children = children(world.host.pid()?)?;
        kill_process(crate::reload::pid(&world.host)?, Signal::TERM)?;
        tokio::time::sleep(time).await;
        for pid in children.iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
            let _ = kill_process(pid, Signal::KILL);
        }
        assert_eq!(world.host.ended().await?.code(), Some(0), "after {time:?}");
        world.host.spawn()?;
        world.host.allocatable(WORKER, 1).await?;
    }
    Ok(())
}
