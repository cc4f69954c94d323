//! The image as a container: without capabilities, with a root that cannot be written to and the mounts of the manifests' base, it
//! does its work for a kubelet outside.
//!
//! `DEVGATE_IMAGE` names the archive that `cargo xtask image` made; the stage `image` of `cargo xtask test` sets it.

use anyhow::{Context, bail};
use devgate_fake_kubelet::{Pod, StandIn, StandInConfig};
use devgate_tests::components;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const FUSE: &str = "devgate.dev/fuse";
const NAME: &str = "devgate";
/// This machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(60);

const POLICY: &str = "
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  fuse:
    component: {file: generic.wasm}
    resources: [devgate.dev/fuse]
    hardware:
      - {subsystem: misc, name: fuse, use: offer, nodes: [{access: rw}]}
    config: {devices: [{resource: devgate.dev/fuse, subsystem: misc, name: fuse}]}
";

/// The archive, if there is one to test.
fn archive() -> anyhow::Result<Option<PathBuf>> {
    let Some(archive) = std::env::var_os("DEVGATE_IMAGE").map(PathBuf::from) else {
        println!(
            "skipped: DEVGATE_IMAGE names no image; `cargo xtask test --only static --only image` makes and tests one"
        );
        return Ok(None);
    };
    if !archive.is_file() {
        bail!("DEVGATE_IMAGE={}: no such file", archive.display());
    }
    Ok(Some(archive))
}

/// What the archive calls the image, which the manifests name.
fn name() -> String {
    format!("registry.example.com/devgate:{}", env!("CARGO_PKG_VERSION"))
}

/// Runs a program and gives what it printed.
fn read(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("{command:?}"))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        bail!("{command:?}: {}\n{out}{err}", output.status);
    }
    Ok(out.into_owned())
}

/// Podman with a store in a folder, without what only some machines have: a daemon, systemd, an overlay file system.
fn podman(root: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut podman = Command::new("podman");
    podman.args(["--log-level=error", "--storage-driver=vfs", "--cgroup-manager=cgroupfs"]);
    // Crun does without neither version of control groups where both are mounted.
    if Command::new("runc").arg("--version").output().is_ok() {
        podman.arg("--runtime=runc");
    }
    podman.arg("--root").arg(root.join("store"));
    podman.arg("--runroot").arg(root.join("run"));
    podman.arg("--tmpdir").arg(root.join("tmp"));
    read(podman.args(arguments))
}

/// A container engine with a store of its own, the node's folders, and the kubelet.
struct Node {
    kubelet: StandIn,
    dir: TempDir,
}

impl Drop for Node {
    fn drop(&mut self) {
        // What it mounted would keep the folder from being removed.
        let _ = self.podman(&["rm", "--force", "--time=5", "--ignore", NAME]);
    }
}

impl Node {
    async fn new(archive: &Path) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("dg-").tempdir()?;
        for folder in ["state", "policy", "components"] {
            std::fs::create_dir(dir.path().join(folder))?;
        }
        std::fs::write(dir.path().join("policy/fuse.yaml"), POLICY)?;
        std::fs::copy(components()?.join("generic.wasm"), dir.path().join("components/generic.wasm"))?;
        let config = StandInConfig {
            pod_resources_dir: Some(dir.path().join("pods")),
            ..StandInConfig::new(dir.path().join("plugins"))
        };
        let kubelet = StandIn::new(config).await?;
        let node = Self { kubelet, dir };
        let loaded = node.podman(&["load", "--input", archive.to_str().context("a path")?])?;
        assert!(loaded.contains(&node.image()), "{loaded}");
        Ok(node)
    }

    fn image(&self) -> String {
        name()
    }

    fn podman(&self, arguments: &[&str]) -> anyhow::Result<String> {
        podman(self.dir.path(), arguments)
    }

    fn folder(&self, name: &str, place: &str) -> String {
        format!("--volume={}:{place}", self.dir.path().join(name).display())
    }

    /// Runs `cleanup` in a container of its own, as docs/install.md has it, and gives its log.
    ///
    /// Podman 4.3 itself prints nothing now and then where a container is over at once.
    fn cleanup(&self, more: &[&str]) -> anyhow::Result<String> {
        let log = self.dir.path().join("cleanup.log");
        let log_path = format!("--log-opt=path={}", log.display());
        let plugins = self.folder("plugins", "/var/lib/kubelet/device-plugins");
        let pods = self.folder("pods", "/var/lib/kubelet/pod-resources");
        let state = self.folder("state", "/var/lib/devgate");
        let mut arguments = vec!["run", "--rm", "--network=none", "--read-only", "--cap-drop=all"];
        arguments.extend(["--security-opt=no-new-privileges", &plugins, &pods, &state]);
        arguments.extend(["--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096"]);
        arguments.extend(["--log-driver=k8s-file", &log_path]);
        let image = self.image();
        arguments.extend([image.as_str(), "cleanup", "--state"]);
        arguments.extend(more);
        let ended = self.podman(&arguments);
        let said = std::fs::read_to_string(log).unwrap_or_default();
        match ended {
            Ok(_) => Ok(said),
            Err(error) => Err(error.context(said)),
        }
    }

    /// Starts the image as the manifests do, with its own command.
    fn run(&self) -> anyhow::Result<()> {
        let volumes = [
            self.folder("plugins", "/var/lib/kubelet/device-plugins"),
            self.folder("pods", "/var/lib/kubelet/pod-resources"),
            self.folder("state", "/var/lib/devgate"),
            self.folder("policy", "/etc/devgate/policy.d:ro"),
            self.folder("components", "/components:ro"),
        ];
        let mut arguments = vec!["run", "--detach", "--name", NAME, "--network=none"];
        arguments.extend(["--read-only", "--read-only-tmpfs=false", "--tmpfs=/run/devgate"]);
        arguments.extend(["--cap-drop=all", "--security-opt=no-new-privileges"]);
        arguments.extend(["--volume=/dev:/dev:ro"]);
        // Engines ask for more than this, which a machine may not grant.
        arguments.extend(["--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096"]);
        arguments.extend(volumes.iter().map(String::as_str));
        let image = self.image();
        arguments.push(&image);
        self.podman(&arguments)?;
        Ok(())
    }

    fn inspect(&self, what: &str) -> anyhow::Result<String> {
        let said = self.podman(&["inspect", "--format", &format!("{{{{{what}}}}}"), NAME])?;
        Ok(said.trim().to_owned())
    }

    fn status(&self) -> anyhow::Result<String> {
        self.podman(&["exec", NAME, "/devgate", "status"])
    }

    async fn allocatable(&self, count: usize) -> anyhow::Result<()> {
        let there = |kubelet: &StandIn| kubelet.allocatable(FUSE) == Some(count);
        let waited = self.kubelet.wait_for(TIMEOUT, there).await;
        waited.with_context(|| self.podman(&["logs", NAME]).unwrap_or_default())
    }

    /// Waits until `status` says it: the kubelet has the devices before the host has the kubelet's answer.
    async fn says(&self, wanted: &str) -> anyhow::Result<()> {
        let mut said = String::new();
        for _ in 0..100 {
            said = self.status().unwrap_or_else(|error| error.to_string());
            if said.contains(wanted) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        bail!("status does not say {wanted:?}: {said}")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_image_serves_a_kubelet_without_any_privilege() -> anyhow::Result<()> {
    let Some(archive) = archive()? else {
        return Ok(());
    };
    let node = Node::new(&archive).await?;
    node.run()?;
    node.allocatable(1).await?;
    node.says("1 device, 0 unhealthy, 0 handed out; registered").await?;

    let process = std::fs::read_to_string(format!("/proc/{}/status", node.inspect(".State.Pid")?))?;
    let field = |name: &str| {
        let line = process.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim().to_owned()
    };
    // Inherited, permitted, effective, bounding and ambient.
    let capabilities: Vec<_> = process.lines().filter(|line| line.starts_with("Cap")).collect();
    assert_eq!(capabilities.len(), 5);
    for line in capabilities {
        assert!(line.ends_with(&format!("\t{}", "0".repeat(16))), "{line}");
    }
    assert_eq!(field("NoNewPrivs:"), "1");
    assert_eq!(field("Uid:"), "0\t0\t0\t0");

    node.kubelet.admit(&Pod::new("a", &[(FUSE, 1)])).await?;
    let options = node.kubelet.start_container("a", "main").await;
    let options = options.map_err(anyhow::Error::msg)?;
    assert!(options.devices.contains_key("/dev/fuse"), "{options:?}");
    node.says("1 device, 0 unhealthy, 1 handed out; registered").await?;

    // What an admin asks in the container needs no word about where things are there.
    for command in [&["check"][..], &["check", "--run"], &["explain", FUSE], &["explain", "/dev/fuse"]] {
        let said = node.podman(&[&["exec", NAME, "devgate"], command].concat())?;
        assert!(said.contains("/dev/fuse"), "{command:?}: {said}");
    }

    // Another container in its place knows what was handed out by what is on the node alone.
    node.podman(&["stop", "--time=30", NAME])?;
    assert_eq!(node.inspect(".State.ExitCode")?, "0", "{}", node.podman(&["logs", NAME])?);
    assert_eq!(node.kubelet.files(), ["kubelet.sock", "kubelet_internal_checkpoint"]);
    node.allocatable(0).await?;
    let state = std::fs::read_to_string(node.dir.path().join("state/handed-out.json"))?;
    assert!(state.contains("/dev/fuse"), "{state}");
    node.podman(&["rm", NAME])?;
    node.run()?;
    node.allocatable(1).await?;
    node.says("1 device, 0 unhealthy, 1 handed out; registered").await?;
    let refused = node.kubelet.admit(&Pod::new("b", &[(FUSE, 1)])).await;
    assert!(refused.is_err(), "one device for two pods");

    // What it leaves stays while it runs, and goes afterwards.
    let error = node.cleanup(&[]).expect_err("it runs").to_string();
    assert!(error.contains("end it first; nothing was removed"), "{error}");
    node.podman(&["rm", "--force", "--time=30", NAME])?;
    let error = node.cleanup(&[]).expect_err("a pod has it").to_string();
    assert!(error.contains("is in use by pod default/a"), "{error}");
    let cleaned = node.cleanup(&["--even-if-in-use"])?;
    assert!(cleaned.contains("/var/lib/devgate/handed-out.json"), "{cleaned}");
    let left = std::fs::read_dir(node.dir.path().join("state"))?.count();
    assert_eq!(left, 0, "{cleaned}");
    Ok(())
}

#[test]
fn the_image_has_nothing_but_the_program() -> anyhow::Result<()> {
    let Some(archive) = archive()? else {
        return Ok(());
    };
    let dir = tempfile::tempdir()?;
    read(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(dir.path()))?;
    let json = |path: &str| -> anyhow::Result<serde_json::Value> {
        Ok(serde_json::from_slice(&std::fs::read(dir.path().join(path))?)?)
    };
    let blob = |value: &serde_json::Value| -> anyhow::Result<String> {
        let digest = value["digest"].as_str().context("a digest")?;
        Ok(format!("blobs/{}", digest.replace(':', "/")))
    };
    let index = json("index.json")?;
    // What podman and skopeo go by, and what containerd does.
    for annotation in ["org.opencontainers.image.ref.name", "io.containerd.image.name"] {
        assert_eq!(index["manifests"][0]["annotations"][annotation], name(), "{annotation}");
    }
    let manifest = json(&blob(&index["manifests"][0])?)?;
    let layers = manifest["layers"].as_array().context("layers")?;
    assert_eq!(layers.len(), 1);
    let layer = dir.path().join(blob(&layers[0])?);
    let listing = read(Command::new("tar").args(["-tvz", "--numeric-owner", "-f"]).arg(layer))?;
    let entries = listing.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        format!("{} {} {}", words[0], words[1], words[5..].join(" "))
    });
    insta::assert_snapshot!(entries.collect::<Vec<_>>().join("\n"), @r"
    drwxr-xr-x 0/0 components/
    -rwxr-xr-x 0/0 devgate
    -rwxr-xr-x 0/0 devgate-agent
    -rwxr-xr-x 0/0 devgate-compile
    -rwxr-xr-x 0/0 devgate-pull
    -rwxr-xr-x 0/0 devgate-runner
    drwxr-xr-x 0/0 etc/
    drwxr-xr-x 0/0 etc/devgate/
    drwxr-xr-x 0/0 etc/devgate/policy.d/
    drwxr-xr-x 0/0 run/
    drwxr-xr-x 0/0 run/devgate/
    drwxr-xr-x 0/0 run/devgate-agent/
    drwxr-xr-x 0/0 var/
    drwxr-xr-x 0/0 var/lib/
    drwxr-xr-x 0/0 var/lib/devgate/
    drwxr-xr-x 0/0 var/lib/kubelet/
    drwxr-xr-x 0/0 var/lib/kubelet/device-plugins/
    drwxr-xr-x 0/0 var/lib/kubelet/pod-resources/
    ");
    let config = &json(&blob(&manifest["config"])?)?["config"];
    assert_eq!(config["User"], "0:0");
    assert_eq!(config["Entrypoint"], serde_json::json!(["/devgate"]));
    let command = "run --policy /etc/devgate/policy.d --components /components --listen 0.0.0.0:9464";
    assert_eq!(config["Cmd"], serde_json::json!(command.split(' ').collect::<Vec<_>>()));
    let label = |name: &str| config["Labels"][format!("org.opencontainers.image.{name}")].clone();
    assert_eq!(label("title"), "devgate");
    assert_eq!(label("licenses"), "Apache-2.0");
    assert_eq!(label("version"), env!("CARGO_PKG_VERSION"));
    let revision = label("revision");
    let revision = revision.as_str().unwrap_or_default().trim_end_matches("-dirty");
    assert!(
        revision == "unknown" || (revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit())),
        "{revision}"
    );
    Ok(())
}

/// As a vendor's CI uses it: a folder of the checkout mounted as the work directory.
#[test]
fn the_workshop_s_image_plays_scenarios_and_scores_a_component() -> anyhow::Result<()> {
    let Some(archive) = std::env::var_os("DEVGATECTL_IMAGE").map(PathBuf::from) else {
        println!(
            "skipped: DEVGATECTL_IMAGE names no image; `cargo xtask test --only static --only image` makes and tests one"
        );
        return Ok(());
    };
    let store = tempfile::Builder::new().prefix("dg-").tempdir()?;
    podman(store.path(), &["load", "--input", archive.to_str().context("a path")?])?;
    let image = format!("registry.example.com/devgatectl:{}", env!("CARGO_PKG_VERSION"));
    let work = tempfile::tempdir()?;
    let generic = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/generic");
    read(Command::new("cp").arg("-r").arg(&generic).arg(work.path()))?;
    std::fs::copy(components()?.join("generic.wasm"), work.path().join("generic.wasm"))?;
    let mount = format!("{}:/work:ro", work.path().display());
    let ask = |args: &[&str]| {
        let run = [
            "run",
            "--rm",
            "--network=none",
            // Engines ask for more than this, which a machine may not grant.
            "--ulimit=nofile=4096:4096",
            "--ulimit=nproc=4096:4096",
            "--read-only",
            "--volume",
            &mount,
            &image,
        ];
        podman(store.path(), &[&run, args].concat())
    };
    let said = ask(&["simulate", "generic/scenarios", "--components", "."])?;
    assert!(said.contains("4 passed, 0 failed"), "{said}");
    let node = ["--policy", "generic/policy.yaml", "--node-root", "generic/nodes/edge.umockdev", "--components", "."];
    let said = ask(&[&["check"], &node[..]].concat())?;
    assert!(said.contains("0 errors"), "{said}");
    Ok(())
}
