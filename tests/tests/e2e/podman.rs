//! Real podman: containers with devices that are leased.

use crate::leases::{cdi, until};
use crate::look::{Said, look};
use devgate_tests::Setup;
use devgate_tests::machine::{Alone, alone};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A machine with podman: what each may have, one, one read only, and once.
pub(crate) const POLICY: &str = "
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  fuse:
    component: {file: generic.wasm}
    resources: [devgate.dev/fuse]
    hardware:
      - {subsystem: misc, name: fuse, use: offer, nodes: [{access: rw}]}
    config: {devices: [{resource: devgate.dev/fuse, subsystem: misc, name: fuse}]}
  loops:
    component: {file: generic.wasm}
    resources: [devgate.dev/loop]
    hardware:
      - {subsystem: block, name: [loop4, loop5, loop6, loop7], use: offer, nodes: [{access: r}]}
    config: {devices: [{resource: devgate.dev/loop, subsystem: block, name: \"loop*\"}]}
  once:
    component: {file: generic.wasm}
    resources: [devgate.dev/once]
    hardware:
      - {subsystem: mem, name: full, use: offer, nodes: [{access: rw}]}
    containers: {release-hook: true}
    config: {devices: [{resource: devgate.dev/once, subsystem: mem, name: full}]}
";

/// Podman with a store in a folder, without what only some machines have.
struct Podman {
    dir: tempfile::TempDir,
    _alone: Alone,
}

impl Podman {
    /// `None` where it cannot be had, which fails where everything must be there.
    fn new() -> anyhow::Result<Option<Self>> {
        let has = |program: &str| Command::new(program).arg("--help").output().is_ok();
        let needs = ["/dev/fuse", "/dev/loop4", "/usr/bin/busybox", "/usr/bin/newuidmap"]
            .into_iter()
            .find(|path| !Path::new(path).exists());
        if !has("podman") || !rustix::process::geteuid().is_root() || needs.is_some() {
            println!(
                "skipped: needs root, podman, busybox-static, uidmap, fuse and loop devices; not there: {needs:?}"
            );
            anyhow::ensure!(std::env::var_os("CI").is_none(), "podman cannot be tried here: {needs:?}");
            return Ok(None);
        }
        let dir = tempfile::Builder::new().prefix("dg-").tempdir()?;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755))?;
        for name in ["home", "session"] {
            fs::create_dir_all(dir.path().join("nobody").join(name))?;
        }
        for root in ["root", "nobody/root"].map(|root| dir.path().join(root)) {
            for name in ["bin", "dev", "proc", "sys", "etc", "tmp", "run"] {
                fs::create_dir_all(root.join(name))?;
            }
            fs::copy("/usr/bin/busybox", root.join("bin/busybox"))?;
            fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o777))?;
        }
        let mut chown = Command::new("chown");
        let is_given = chown.args(["-R", "nobody:"]).arg(dir.path().join("nobody")).status()?;
        anyhow::ensure!(is_given.success(), "{}: chown failed", dir.path().display());
        Ok(Some(Self { dir, _alone: alone()? }))
    }

    /// Runs a line of shell in a container with these devices.
    fn run(&self, more: &[&str], devices: &[&str], line: &str) -> anyhow::Result<Said> {
        let at = |name: &str| self.dir.path().join(name);
        let mut podman = Command::new("podman");
        podman.arg("--root").arg(at("store")).arg("--runroot").arg(at("run")).arg("--tmpdir").arg(at("tmp"));
        Self::container(podman, &at("root"), more, devices, line)
    }

    /// The same for a user without rights, who has some users more for containers of its own, as `useradd` gives them.
    fn run_rootless(&self, more: &[&str], devices: &[&str], line: &str) -> anyhow::Result<Said> {
        const AS_NOBODY: &str = "cd $0 && echo nobody:200000:65536 >users
            mount --bind users /etc/subuid && mount --bind users /etc/subgid || exit 1
            exec setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME=$0/home XDG_RUNTIME_DIR=$0/session podman \"$@\"";
        let at = self.dir.path().join("nobody");
        let mut podman = Command::new("unshare");
        podman.args(["--mount", "sh", "-c", AS_NOBODY]).arg(&at);
        Self::container(podman, &at.join("root"), more, devices, line)
    }

    /// What a container says goes to files in its root: podman 4.3 loses it now and then where the container is over at once.
    fn container(
        mut podman: Command,
        root: &Path,
        more: &[&str],
        devices: &[&str],
        line: &str,
    ) -> anyhow::Result<Said> {
        podman.args(["--log-level=error", "--storage-driver=vfs", "--cgroup-manager=cgroupfs"]);
        if Path::new("/usr/sbin/runc").exists() {
            podman.arg("--runtime=runc");
        }
        podman.args(["run", "--rm", "--network=none", "--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096"]);
        podman.args(more).args(devices.iter().flat_map(|name| ["--device", name]));
        let files = [root.join("tmp/out"), root.join("tmp/err")];
        for file in files.iter().filter(|file| file.exists()) {
            fs::remove_file(file)?;
        }
        let line = format!("exec >/tmp/out 2>/tmp/err; {line}");
        let said = podman.arg("--rootfs").arg(root).args(["/bin/busybox", "sh", "-c", &line]).output()?;
        // There are no files where no container was started.
        let [out, err] = files.map(|file| fs::read_to_string(file).unwrap_or_default());
        let err = String::from_utf8(said.stderr)? + &err;
        Ok(Said { code: said.status.code(), out: String::from_utf8(said.stdout)? + &out, err })
    }
}

/// Rootless podman leaves a process behind, which holds the user's namespace for the next container.
impl Drop for Podman {
    fn drop(&mut self) {
        let pid = fs::read_to_string(self.dir.path().join("nobody/session/libpod/tmp/pause.pid"));
        let pid = pid.ok().and_then(|pid| rustix::process::Pid::from_raw(pid.trim().parse().ok()?));
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// Podman 4.3 looks in these directories alone.
#[tokio::test(flavor = "multi_thread")]
async fn cdi21_cdi22_podman_gives_containers_what_is_leased() -> anyhow::Result<()> {
    let Some(podman) = Podman::new()? else { return Ok(()) };
    // What another test has left there is no matter where a kubelet says that nothing is given away.
    let host = Setup::new(POLICY).start().await?;
    let lease = |resource: &'static str, name: &'static str| {
        let host = &host;
        async move {
            let said = until(|| cdi(host, &["lease", resource, "--for", name]), |said| said.code == Some(0)).await?;
            anyhow::Ok(said.out.trim().to_owned())
        }
    };
    let (fuse, disk) = (lease("devgate.dev/fuse", "e2e-fuse").await?, lease("devgate.dev/loop", "e2e-loop").await?);
    let both = [fuse.as_str(), disk.as_str()];
    let open = "exec 3<>/dev/fuse && for d in /dev/loop[0-9]; do exec 4<$d && echo opened $d; done; ls -ln $d";
    let root = podman.run(&[], &both, open)?;
    assert!(root.code == Some(0) && root.out.starts_with("opened /dev/loop"), "{root:?}");
    assert_eq!(root.out.matches("opened").count(), 1, "and no other: {root:?}");
    let other = podman.run(&["--user=1234:1234"], &both, open)?;
    assert!(other.code == Some(0) && other.out.contains(" 1234 "), "{other:?}");
    let write = podman.run(&[], &[&disk], "echo x > $(ls /dev/loop[0-9])")?;
    assert!(write.err.contains("not permitted"), "the policy says r: {write:?}");
    let alone = podman.run(&[], &[&disk], "ls /dev/fuse")?;
    assert_ne!(alone.code, Some(0), "{alone:?}");

    // A rootless one mounts the machine's node, for whom its mode lets in: who is root in the container is not root here.
    for user in ["--user=0:0", "--user=1234:1234"] {
        let open = podman.run_rootless(&[user], &[&fuse], "exec 3<>/dev/fuse && echo opened")?;
        assert_eq!((open.code, open.out.as_str()), (Some(0), "opened\n"), "{user}: {open:?}");
    }
    let closed = podman.run_rootless(&[], &both, "ls /dev/fuse && exec 3<$(ls /dev/loop[0-9])")?;
    assert!(closed.out == "/dev/fuse\n" && closed.err.contains("Permission denied"), "{closed:?}");

    // Something takes the file away, and it is back for the next container.
    fs::remove_file("/var/run/cdi/devgate-devgate.dev_fuse=e2e-fuse.json")?;
    until(|| podman.run(&[], &[&fuse], "ls /dev/fuse"), |said| said.code == Some(0)).await?;

    for name in ["e2e-fuse", "e2e-loop"] {
        assert_eq!(cdi(&host, &["release", name])?.code, Some(0));
    }
    // One that ends with its container.
    let once = lease("devgate.dev/once", "e2e-once").await?;
    let ran = podman.run(&[], &[&once], "ls /dev/full")?;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    until(|| cdi(&host, &["leases"]), |said| said.out == "there are no leases\n").await?;
    let over = podman.run(&[], &[&once], "true")?;
    assert!(over.err.contains("unresolvable CDI devices"), "{over:?}");
    let over = podman.run(&[], &[&fuse], "true")?;
    assert!(over.err.contains("unresolvable CDI devices") && over.err.contains(&fuse), "{over:?}");
    let probe = look(["cdi", "probe"])?;
    assert!(probe.out.contains("--device devgate.probe/probe=probe"), "{probe:?}");
    let works = podman.run(&[], &["devgate.probe/probe=probe"], "echo $DEVGATE_PROBE")?;
    assert_eq!(look(["cdi", "probe", "--remove"])?.code, Some(0));
    assert_eq!(works.out, "works\n", "{works:?}");
    Ok(())
}
