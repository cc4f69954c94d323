//! Devices of pods by name (`--edits cdi`): what the kubelet keeps is a name, and the file behind it is what the hardware is today.

use devgate_fake_kubelet::{Pod, RunOptions};
use devgate_tests::{Devices, Host, Kind, Setup, recording};
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const BENCH: &str = "devgate.dev/bench0";
const KINDS: [Kind; 1] = [Kind { class: 0, count: 3 }];
const TIMEOUT: Duration = Duration::from_secs(60);

/// PCI functions, each with the node of what is beneath it: that may be another one by now.
const POLICY: &str = "
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  bench:
    component: {file: generic.wasm}
    resources: [devgate.dev/bench0]
    hardware:
      - {subsystem: pci, vendor: \"0x1d9b\", use: offer, nodes: [{subsystem: bench0, access: rw}]}
    config: {devices: [{resource: devgate.dev/bench0, subsystem: pci}]}
    containers:
      env: {BENCH: \"{ids}\"}
";

/// Where runtimes read files.
struct Cdi(TempDir);

impl Cdi {
    fn new() -> anyhow::Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    fn dir(&self) -> PathBuf {
        self.0.path().join("cdi")
    }

    fn by_name(&self) -> Vec<String> {
        vec!["--edits".into(), "cdi".into(), "--cdi-dir".into(), self.dir().display().to_string()]
    }

    /// All files, by the names of their devices.
    fn files(&self) -> BTreeMap<String, String> {
        let entries = fs::read_dir(self.dir()).into_iter().flatten().flatten();
        let named = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let device = name.strip_prefix("devgate-devgate.dev_bench0=")?.strip_suffix(".json")?;
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            Some((format!("devgate.devgate.dev/bench0={device}"), text))
        });
        named.collect()
    }

    async fn until(&self, is_so: impl Fn(&BTreeMap<String, String>) -> bool) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        loop {
            let files = self.files();
            if is_so(&files) {
                return Ok(begun.elapsed());
            }
            anyhow::ensure!(begun.elapsed() < TIMEOUT, "{files:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn setup(cdi: &Cdi) -> Setup {
    let args = cdi.by_name();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    // A pod that has ended is found out soon.
    let args = [&args[..], &["--pod-resources-every", "200"]].concat();
    Setup::new(POLICY).on(&recording(&KINDS)).args(&args)
}

async fn run(host: &Host, pod: &str, devices: usize) -> anyhow::Result<RunOptions> {
    host.kubelet.admit(&Pod::new(pod, &[(BENCH, devices)])).await.map_err(|why| anyhow::anyhow!(why.message))?;
    started(host, pod).await
}

/// What the kubelet gives a container that starts, again from what it has kept.
async fn started(host: &Host, pod: &str) -> anyhow::Result<RunOptions> {
    let containers = host.kubelet.containers(pod).unwrap_or_default();
    let container = containers.first().map_or("", String::as_str);
    let options = host.kubelet.start_container(pod, container).await;
    options.map_err(anyhow::Error::msg)
}

fn name_of(options: &RunOptions) -> String {
    let names: Vec<_> = options.cdi_devices.iter().cloned().collect();
    assert!(names.len() == 1 && options.devices.is_empty() && options.mounts.is_empty(), "{options:?}");
    names.concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn c40_a_pod_has_a_name_and_its_file_for_as_long_as_it_lives() -> anyhow::Result<()> {
    let cdi = Cdi::new()?;
    let host = setup(&cdi).start().await?;
    host.allocatable(BENCH, 3).await?;
    let one = run(&host, "one", 1).await?;
    let files = cdi.files();
    let text = &files[&name_of(&one)];
    assert!(text.contains("/dev/bench0-") && text.contains("\"BENCH="), "{text}");
    assert!(one.envs.contains_key("BENCH"), "{one:?}");
    let file = fs::read_dir(cdi.dir())?.next().unwrap()?;
    assert_eq!(file.metadata()?.permissions().mode() & 0o777, 0o600);
    let two = run(&host, "two", 2).await?;
    assert!(name_of(&two) != name_of(&one) && cdi.files().len() == 2);
    // Until the host has seen the pod.
    tokio::time::sleep(Duration::from_secs(2)).await;
    host.kubelet.remove("one");
    cdi.until(|files| files.len() == 1 && files.contains_key(&name_of(&two))).await?;
    let next = run(&host, "next", 1).await?;
    assert_ne!(name_of(&next), name_of(&one), "it is another tenant");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cdi12_a_container_that_starts_again_gets_todays_node_and_its_id_stays_healthy() -> anyhow::Result<()> {
    let cdi = Cdi::new()?;
    let mut host = setup(&cdi).start().await?;
    host.allocatable(BENCH, 3).await?;
    let pod = run(&host, "all", 3).await?;
    let before = &cdi.files()[&name_of(&pod)];
    assert!(before.contains("/dev/bench0-1\"") && before.contains("\"minor\": 1"), "{before}");
    // The kernel gives it another number; later it is behind another node.
    let renumbered = recording(&KINDS).replace("MINOR=1\nA: dev=240:1\\n", "MINOR=17\nA: dev=240:17\\n");
    host.replay(&renumbered)?;
    let took = cdi.until(|files| files.values().any(|text| text.contains("\"minor\": 17"))).await?;
    println!("another number is in the file after {took:?}");
    let moved = renumbered.replace("bench0-1", "bench0-9");
    host.replay(&moved)?;
    cdi.until(|files| files.values().any(|text| text.contains("/dev/bench0-9\""))).await?;
    assert_eq!(name_of(&started(&host, "all").await?), name_of(&pod), "the kubelet has what it had");
    // The same over a reboot, in which it has moved once more.
    host.end(Signal::KILL).await?;
    fs::remove_dir_all(cdi.dir())?;
    host.replay(&moved.replace("bench0-9", "bench0-5"))?;
    host.spawn()?;
    cdi.until(|files| files.contains_key(&name_of(&pod))).await?;
    let text = &cdi.files()[&name_of(&pod)];
    assert!(text.contains("/dev/bench0-5\"") && !text.contains("/dev/bench0-9\""), "{text}");
    host.allocatable(BENCH, 3).await?;
    Ok(())
}

/// As the kernel gives the nodes of two devices in another order at the next boot.
#[tokio::test(flavor = "multi_thread")]
async fn cdi12_devices_that_change_places_are_each_where_they_are() -> anyhow::Result<()> {
    let cdi = Cdi::new()?;
    let mut host = setup(&cdi).start().await?;
    host.allocatable(BENCH, 3).await?;
    let pod = run(&host, "one", 1).await?;
    let before = &cdi.files()[&name_of(&pod)];
    let has = (0..3).find(|n| before.contains(&format!("/dev/bench0-{n}\""))).unwrap();
    let other = (has + 1) % 3;
    host.end(Signal::KILL).await?;
    fs::remove_dir_all(cdi.dir())?;
    let swap = |text: &str, a: &str, b: &str| text.replace(a, "swapped").replace(b, a).replace("swapped", b);
    let at = |n: u32| format!("bench0-{n}\n");
    let mut swapped = swap(&recording(&KINDS), &at(has), &at(other));
    let number = |n: u32| format!("MINOR={n}\nA: dev=240:{n}\\n");
    swapped = swap(&swapped, &number(has), &number(other));
    host.replay(&swapped)?;
    host.spawn()?;
    cdi.until(|files| files.contains_key(&name_of(&pod))).await?;
    let text = &cdi.files()[&name_of(&pod)];
    assert!(text.contains(&format!("/dev/bench0-{other}\"")), "{text}");
    host.allocatable(BENCH, 3).await?;
    let rest = run(&host, "rest", 2).await?;
    let text = &cdi.files()[&name_of(&rest)];
    assert!(
        text.contains(&format!("/dev/bench0-{has}\"")) && !text.contains(&format!("/dev/bench0-{other}\"")),
        "{text}"
    );
    Ok(())
}

/// The kubelet starts containers anew after a boot by what it has kept, as soon as their resource is registered.
#[tokio::test(flavor = "multi_thread")]
async fn c41_files_are_back_before_the_kubelet_hears_of_the_resource() -> anyhow::Result<()> {
    let cdi = Cdi::new()?;
    let mut host = setup(&cdi).start().await?;
    host.allocatable(BENCH, 3).await?;
    run(&host, "one", 1).await?;
    let before = cdi.files();
    for signal in [Signal::TERM, Signal::KILL] {
        host.end(signal).await?;
        host.wait(|kubelet| kubelet.streams(BENCH).is_empty()).await?;
        fs::remove_dir_all(cdi.dir())?;
        host.spawn()?;
        let dir = cdi.dir();
        let count = |dir: &Path| fs::read_dir(dir).into_iter().flatten().count();
        // Read at the moment at which its stream is seen for the first time.
        let late = std::sync::Mutex::new(None);
        host.wait(|kubelet| {
            let is_there = !kubelet.streams(BENCH).is_empty();
            if is_there {
                late.lock().unwrap().get_or_insert_with(|| count(&dir));
            }
            is_there
        })
        .await?;
        assert_eq!(*late.lock().unwrap(), Some(1));
        assert_eq!(cdi.files(), before);
    }
    Ok(())
}

/// What pods have stays as it was given: names with files, and paths.
#[tokio::test(flavor = "multi_thread")]
async fn edits_are_switched_while_pods_run() -> anyhow::Result<()> {
    let cdi = Cdi::new()?;
    let devices = Devices::new(&KINDS)?;
    let dir = cdi.dir().display().to_string();
    let setup = devices.setup().args(&["--cdi-dir", &dir, "--pod-resources-every", "200"]);
    let mut host = setup.start().await?;
    host.allocatable(BENCH, 3).await?;
    let path = run(&host, "path", 1).await?;
    assert!(path.cdi_devices.is_empty() && path.devices.len() == 1);
    assert_eq!(fs::read_dir(cdi.dir())?.count(), 0);
    let edits = |host: &mut Host, how: &str| {
        host.options(&["--cdi-dir", &dir, "--pod-resources-every", "200", "--edits", how]);
    };
    host.end(Signal::TERM).await?;
    edits(&mut host, "cdi");
    host.spawn()?;
    host.allocatable(BENCH, 3).await?;
    let name = run(&host, "name", 1).await?;
    let files = cdi.files();
    assert!(files.len() == 1 && files.contains_key(&name_of(&name)), "{files:?}");
    host.end(Signal::TERM).await?;
    edits(&mut host, "reply");
    fs::remove_dir_all(cdi.dir())?;
    host.spawn()?;
    cdi.until(|now| *now == files).await?;
    host.allocatable(BENCH, 3).await?;
    let last = run(&host, "last", 1).await?;
    assert!(last.cdi_devices.is_empty() && last.devices.len() == 1);
    assert_eq!(cdi.files(), files);
    assert_eq!(started(&host, "path").await?.devices, path.devices);
    host.kubelet.remove("name");
    cdi.until(BTreeMap::is_empty).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cdi06_what_cannot_be_written_fails_the_pod_and_leaves_nothing() -> anyhow::Result<()> {
    let cdi = Cdi::new()?;
    let devices = Devices::new(&KINDS)?;
    fs::write(cdi.dir(), "in the way")?;
    let args = cdi.by_name();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let host = devices.setup().args(&args).start().await?;
    host.allocatable(BENCH, 3).await?;
    let refused = host.kubelet.admit(&Pod::new("one", &[(BENCH, 1)])).await.unwrap_err();
    assert!(
        refused.message.contains("CDI: file ") && refused.message.contains("look at its directory (--cdi-dir)"),
        "{refused:?}"
    );
    assert!(!host.recorded()?.contains("zram") && !host.recorded()?.contains("0000:"), "{}", host.recorded()?);
    fs::remove_file(cdi.dir())?;
    run(&host, "two", 3).await?;
    Ok(())
}

/// Either there is nothing, or what is recorded with its file.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_killed_at_any_moment_of_an_allocation_has_a_file_for_each_that_is_recorded()
-> anyhow::Result<()> {
    const ROUNDS: u32 = 12;
    let cdi = Cdi::new()?;
    let count = ROUNDS + 1;
    let devices = Devices::new(&[Kind { class: 0, count }])?;
    let args = cdi.by_name();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let args = [&args[..], &["--pod-resources-every", "200"]].concat();
    let mut host = devices.setup().args(&args).start().await?;
    let all = usize::try_from(count)?;
    host.allocatable(BENCH, all).await?;
    let begun = Instant::now();
    let mut given = BTreeSet::from([name_of(&run(&host, "timed", 1).await?)]);
    let takes = begun.elapsed();
    // Later where it came too early, and earlier where it came too late, whatever else the machine does.
    let mut wait = Duration::ZERO;
    for round in 0..ROUNDS {
        let pod = format!("pod{round}");
        let asked = Pod::new(&pod, &[(BENCH, 1)]);
        let kill = async {
            tokio::time::sleep(wait).await;
            host.kill()
        };
        let (admitted, killed) = tokio::join!(host.kubelet.admit(&asked), kill);
        killed?;
        host.ended().await?;
        host.spawn()?;
        host.allocatable(BENCH, all).await?;
        if admitted.is_ok() {
            given.insert(name_of(&started(&host, &pod).await?));
            wait = wait.mul_f64(0.75);
        } else {
            wait = wait.mul_f64(1.5) + takes / 8;
        }
        cdi.until(|files| files.keys().eq(&given)).await?;
    }
    println!("given before it was killed: {} of {ROUNDS}", given.len() - 1);
    assert!((2..all).contains(&given.len()), "nothing was tried: {given:?}");
    Ok(())
}
