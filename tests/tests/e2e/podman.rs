//! Real podman: containers with devices that are leased.

use crate::leases::{cdi, until};
use crate::look::{Said, look};
use devgate_tests::Setup;
use devgate_tests::machine::{Alone, alone};
use std::fs;
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
        let needs = ["/dev/fuse", "/dev/loop4", "/usr/bin/busybox"]
            .into_iter()
            .find(|path| !Path::new(path).exists());
        if !has("podman") || !rustix::process::geteuid().is_root() || needs.is_some() {
            println!("skipped: needs root, podman, busybox-static, fuse and loop devices; not there: {needs:?}");
            anyhow::ensure!(
                std::env::var_os("CI").is_none(),
                "podman cannot be tried here: {needs:?}"
            );
            return Ok(None);
        }
        let dir = tempfile::Builder::new().prefix("dg-").tempdir()?;
        for name in [
            "root/bin",
            "root/dev",
            "root/proc",
            "root/sys",
            "root/etc",
            "root/tmp",
            "root/run",
        ] {
            fs::create_dir_all(dir.path().join(name))?;
        }
        fs::copy("/usr/bin/busybox", dir.path().join("root/bin/busybox"))?;
        Ok(Some(Self { dir, _alone: alone()? }))
    }

    /// Runs a line of shell in a container with these devices.
    fn run(&self, more: &[&str], devices: &[&str], line: &str) -> anyhow::Result<Said> {
        let at = |name: &str| self.dir.path().join(name);
        let mut podman = Command::new("podman");
        podman.args(["--log-level=error", "--storage-driver=vfs", "--cgroup-manager=cgroupfs"]);
        if Path::new("/usr/sbin/runc").exists() {
            podman.arg("--runtime=runc");
        }
        podman
            .arg("--root")
            .arg(at("store"))
            .arg("--runroot")
            .arg(at("run"))
            .arg("--tmpdir")
            .arg(at("tmp"));
        podman.args([
            "run",
            "--rm",
            "--network=none",
            "--ulimit=nofile=4096:4096",
            "--ulimit=nproc=4096:4096",
        ]);
        podman
            .args(more)
            .args(devices.iter().flat_map(|name| ["--device", name]));
        let said = podman
            .arg("--rootfs")
            .arg(at("root"))
            .args(["/bin/busybox", "sh", "-c", line])
            .output()?;
        Ok(Said {
            code: said.status.code(),
            out: String::from_utf8(said.stdout)?,
            err: String::from_utf8(said.stderr)?,
        })
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
            let said = until(
                || cdi(host, &["lease", resource, "--for", name]),
                |said| said.code == Some(0),
            )
            .await?;
            anyhow::Ok(said.out.trim().to_owned())
        }
    };
    let (fuse, disk) = (
        lease("devgate.dev/fuse", "e2e-fuse").await?,
        lease("devgate.dev/loop", "e2e-loop").await?,
    );
    let both = [fuse.as_str(), disk.as_str()];
    let open = "exec 3<>/dev/fuse && for d in /dev/loop[0-9]; do exec 4<$d && echo opened $d; done; ls -ln $d";
    let root = podman.run(&[], &both, open)?;
    assert!(
        root.code == Some(0) && root.out.starts_with("opened /dev/loop"),
        "{root:?}"
    );
    assert_eq!(root.out.matches("opened").count(), 1, "and no other: {root:?}");
    let other = podman.run(&["--user=1234:1234"], &both, open)?;
    assert!(other.code == Some(0) && other.out.contains(" 1234 "), "{other:?}");
    let write = podman.run(&[], &[&disk], "echo x > $(ls /dev/loop[0-9])")?;
    assert!(write.err.contains("not permitted"), "the policy says r: {write:?}");
    let alone = podman.run(&[], &[&disk], "ls /dev/fuse")?;
    assert_ne!(alone.code, Some(0), "{alone:?}");

    // Something takes the file away, and it is back for the next container.
    fs::remove_file("/var/run/cdi/devgate-devgate.dev_fuse=e2e-fuse.json")?;
    until(
        || podman.run(&[], &[&fuse], "ls /dev/fuse"),
        |said| said.code == Some(0),
    )
    .await?;

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
    assert!(
        over.err.contains("unresolvable CDI devices") && over.err.contains(&fuse),
        "{over:?}"
    );
    let probe = look(["cdi", "probe"])?;
    assert!(probe.out.contains("--device devgate.probe/probe=probe"), "{probe:?}");
    let works = podman.run(&[], &["devgate.probe/probe=probe"], "echo $DEVGATE_PROBE")?;
    assert_eq!(look(["cdi", "probe", "--remove"])?.code, Some(0));
    assert_eq!(works.out, "works\n", "{works:?}");
    Ok(())
}
