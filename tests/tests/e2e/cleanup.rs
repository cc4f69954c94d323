//! `devgate cleanup`: what a host leaves on a node goes, and nothing else.

use anyhow::Context;
use devgate_fake_kubelet::{CHECKPOINT, Pod};
use devgate_tests::{Host, Setup};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const NODE: &str = "\
P: /devices/virtual/misc/acme0
N: acme0
E: SUBSYSTEM=misc
E: DEVNAME=/dev/acme0
E: MAJOR=10
E: MINOR=121
A: dev=10:121\\n
";

const POLICY: &str = "
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  acme:
    component: {file: generic.wasm}
    resources: [example.com/acme]
    hardware:
      - {subsystem: misc, name: acme0, use: offer, nodes: [{access: rw}]}
    config: {devices: [{resource: example.com/acme, subsystem: misc, name: acme0}]}
";

fn cleanup(host: &Host, more: &[&str]) -> anyhow::Result<Output> {
    let dir = host.dir();
    let mut command = Command::new(devgate_tests::devgate()?);
    command.arg("cleanup");
    for (option, path) in [
        ("--kubelet-dir", "plugins"),
        ("--nfd-dir", "nfd"),
        ("--plugins-registry-dir", "registry"),
        ("--device-info-dir", "devinfo"),
        ("--state-dir", "state"),
        ("--status-socket", "status.sock"),
        ("--pod-resources-dir", "pods"),
    ] {
        if !more.contains(&option) {
            command.args([Path::new(option), &dir.join(path)]);
        }
    }
    Ok(command.args(more).output()?)
}

fn ours(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().expect("plain"));
    names.filter(|name| name.starts_with("devgate-")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_host_s_leavings_go_and_a_running_one_s_stay() -> anyhow::Result<()> {
    let mut host = Setup::new(POLICY).on(NODE).start().await?;
    host.allocatable("example.com/acme", 1).await?;
    host.kubelet.admit(&Pod::new("one", &[("example.com/acme", 1)])).await?;
    let plugins = host.dir().join("plugins");
    let socket = host.dir().join("status.sock");

    // It runs: its status socket says so, and where that is in another container, its sockets at the kubelet; and where it has none,
    // as nothing is offered, the lock in its state directory.
    let elsewhere = ["--status-socket", "/not/there.sock", "--kubelet-dir", "/not/there"];
    for more in [&["--state"][..], &elsewhere[..2], &elsewhere] {
        let refused = cleanup(&host, more)?;
        assert_eq!(refused.status.code(), Some(5));
        let said = String::from_utf8(refused.stderr)?;
        assert!(said.contains("end it first; nothing was removed"), "{said}");
        assert!(refused.stdout.is_empty() && ours(&plugins).len() == 1 && socket.exists());
    }

    host.end(Signal::KILL).await?;
    host.kubelet.remove("one");
    // As the kubelet's own record is some minutes after a pod's end.
    std::fs::write(plugins.join(CHECKPOINT), r#"{"Data": {"PodDeviceEntries": null}, "Checksum": 1}"#)?;
    assert!(ours(&plugins).len() == 1 && socket.exists() && host.dir().join("state").exists());
    let foreign = host.dir().join("state/notes.txt");
    std::fs::write(&foreign, "the admin's")?;
    let refused = cleanup(&host, &["--state"])?;
    assert_eq!(refused.status.code(), Some(5));
    let said = String::from_utf8(refused.stderr)?;
    assert!(said.contains("notes.txt in it is not devgate's") && said.contains("nothing was removed"), "{said}");
    assert!(ours(&plugins).len() == 1 && socket.exists());
    std::fs::remove_file(&foreign)?;
    // One that stood by has seen the other end and not begun yet.
    let standby = std::fs::File::create(host.dir().join("state/standby.lock"))?;
    standby.try_lock_shared()?;
    let refused = cleanup(&host, &["--state"])?;
    let said = String::from_utf8(refused.stderr)?;
    assert!(refused.status.code() == Some(5) && said.contains("a devgate waits for it"), "{said}");
    assert!(ours(&plugins).len() == 1 && host.dir().join("state/allocations").exists());
    drop(standby);
    std::fs::create_dir(host.dir().join("state/components.d"))?;
    let dry = cleanup(&host, &["--state", "--dry-run"])?;
    assert!(dry.status.success());
    let said = String::from_utf8(dry.stdout)?;
    // Two sockets; what was handed out, the cache, the locks and the socket beside them, each as a whole.
    assert_eq!(said.lines().filter(|line| line.starts_with("would remove ")).count(), 7, "{said}");
    assert!(said.lines().any(|line| line.starts_with("left ") && line.contains("components.d")), "{said}");
    assert!(ours(&plugins).len() == 1 && socket.exists());

    let cleaned = cleanup(&host, &["--output", "json"])?;
    let said: serde_json::Value = serde_json::from_slice(&cleaned.stdout)?;
    let found = said["found"].as_array().expect("an array");
    let whats: Vec<_> = found.iter().map(|found| format!("{} {}", found["what"], found["fate"])).collect();
    assert_eq!(whats, [r#""socket" "removed""#, r#""status-socket" "removed""#]);
    assert!(cleaned.status.success() && ours(&plugins).is_empty() && !socket.exists());
    assert!(plugins.join("kubelet.sock").exists());
    assert!(host.dir().join("state/allocations").exists(), "not asked for");

    let state = cleanup(&host, &["--state"])?;
    assert!(state.status.success() && !host.dir().join("state/allocations").exists());
    std::fs::remove_dir(host.dir().join("state/components.d"))?;
    cleanup(&host, &["--state"])?;
    assert!(!host.dir().join("state").exists());
    let again = cleanup(&host, &["--state"])?;
    assert_eq!(String::from_utf8(again.stdout)?, "nothing of devgate's is here\n");
    assert!(again.status.success());
    Ok(())
}

/// The newest file of a journal.
fn newest(journal: &Path, prefix: &str) -> anyhow::Result<PathBuf> {
    let files = std::fs::read_dir(journal)?.map(|entry| entry.map(|entry| entry.path()));
    let files: Vec<_> = files.collect::<Result<_, _>>()?;
    let is_one = |file: &&PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    files.iter().filter(is_one).max().cloned().context("there is one")
}

/// What is forgotten while a pod has it is given to the next pod as well.
#[tokio::test(flavor = "multi_thread")]
async fn what_pods_have_is_not_forgotten_unless_that_is_said() -> anyhow::Result<()> {
    let mut host = Setup::new(POLICY).on(NODE).start().await?;
    host.allocatable("example.com/acme", 1).await?;
    host.kubelet.admit(&Pod::new("one", &[("example.com/acme", 1)])).await?;
    host.end(Signal::TERM).await?;
    let kept = host.dir().join("state/handed-out.json");
    let refused = |host: &Host, more: &[&str]| -> anyhow::Result<String> {
        let refused = cleanup(host, more)?;
        let said = String::from_utf8(refused.stderr)?;
        assert_eq!(refused.status.code(), Some(5), "{said}");
        assert!(said.contains("nothing was removed") && said.contains("--even-if-in-use"), "{said}");
        assert!(refused.stdout.is_empty() && kept.exists());
        Ok(said)
    };

    for more in [&["--state"][..], &["--state", "--dry-run"]] {
        let said = refused(&host, more)?;
        assert!(said.contains("device acme0 of example.com/acme is in use by pod default/one"), "{said}");
    }
    // A kubelet that is not there now, or that is asked in vain, has its record.
    for more in [&["--state", "--pod-resources-dir", "/not/there"][..], &["--state"]] {
        let said = refused(&host, more)?;
        assert!(said.contains("device acme0 of example.com/acme is in use"), "{said}");
        host.kubelet.stop().await;
    }
    // What is not understood is no reason to forget: neither the kubelet's record nor devgate's.
    let record = host.dir().join("plugins").join(CHECKPOINT);
    let understood = std::fs::read(&record)?;
    std::fs::write(&record, "{")?;
    assert!(refused(&host, &["--state"])?.contains("it cannot be seen which devices pods have"));
    std::fs::write(&record, understood)?;
    let journal = host.dir().join("state/allocations");
    for kept in [kept.clone(), newest(&journal, "snapshot.")?] {
        let handed_out = std::fs::read(&kept)?;
        std::fs::write(&kept, "{")?;
        let said = refused(&host, &["--state"])?;
        assert!(said.contains("cannot be understood") && said.contains("start devgate once"), "{said}");
        std::fs::write(&kept, handed_out)?;
    }
    // One that was killed has left its journal alone.
    std::fs::rename(&kept, host.dir().join("aside"))?;
    let said = cleanup(&host, &["--state"])?;
    assert!(String::from_utf8(said.stderr)?.contains("device acme0 of example.com/acme is in use"));
    std::fs::rename(host.dir().join("aside"), &kept)?;

    // All else goes as ever, and the state when that is said.
    assert!(cleanup(&host, &[])?.status.success() && kept.exists());
    assert!(!cleanup(&host, &["--even-if-in-use"])?.status.success(), "of what?");
    assert!(cleanup(&host, &["--state", "--even-if-in-use"])?.status.success() && !kept.exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_directory_that_is_somebody_elses_is_refused_before_anything_goes() -> anyhow::Result<()> {
    let mut host = Setup::new(POLICY).on(NODE).start().await?;
    host.allocatable("example.com/acme", 1).await?;
    host.end(Signal::KILL).await?;
    let other = host.dir().join("app");
    std::fs::create_dir_all(other.join("state"))?;
    std::fs::write(other.join("main.js"), "")?;
    let refused = cleanup(&host, &["--state", "--state-dir", other.to_str().expect("plain"), "--output", "json"])?;
    assert_eq!(refused.status.code(), Some(5));
    let said: serde_json::Value = serde_json::from_slice(&refused.stdout)?;
    assert!(said["refused"].as_str().expect("why").contains("main.js in it is not devgate's"), "{said}");
    assert!(said["found"].as_array().expect("an array").is_empty());
    assert_eq!(ours(&host.dir().join("plugins")).len(), 1);
    Ok(())
}

/// As the manifests run it: the state directory is a mount, and where it is mounted cannot be written to. `unshare` makes such a
/// place for one process.
#[tokio::test(flavor = "multi_thread")]
async fn a_mount_in_a_read_only_root_is_emptied_and_left() -> anyhow::Result<()> {
    let may = Command::new("unshare").args(["--map-root-user", "--mount", "true"]).output()?;
    if !may.status.success() {
        anyhow::ensure!(std::env::var_os("CI").is_none(), "unshare: {may:?}");
        println!("skipped: this user may not make a mount of its own");
        return Ok(());
    }
    let mut host = Setup::new(POLICY).on(NODE).start().await?;
    host.allocatable("example.com/acme", 1).await?;
    host.end(Signal::KILL).await?;
    let script = r#"mount --bind "$1" "$1" && mount --bind "$1/state" "$1/state" && mount -o remount,bind,ro "$1" || exit 99
        shift; exec "$@""#;
    let cleaned = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(host.dir())
        .arg(devgate_tests::devgate()?)
        .args(["cleanup", "--state", "--status-socket", "/not/there.sock"])
        .args(["--kubelet-dir", "/not/there", "--nfd-dir", "/not/there"])
        .args(["--plugins-registry-dir", "/not/there", "--device-info-dir", "/not/there", "--state-dir"])
        .arg(host.dir().join("state"))
        .output()?;
    let said = String::from_utf8(cleaned.stdout)?;
    assert_eq!(cleaned.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&cleaned.stderr));
    assert!(said.contains("left") && said.contains("Read-only file system"), "{said}");
    let left = std::fs::read_dir(host.dir().join("state"))?.count();
    assert_eq!(left, 0, "{said}");
    Ok(())
}
