//! A small recorded node and policies for it, for the commands that look.

use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Two GPUs of one vendor with a node each, one of another vendor, fuse, and the node's memory.
const NODE: &str = "\
P: /devices/pci0000:00/0000:00:01.0
E: SUBSYSTEM=pci
E: DRIVER=fakegpu
A: vendor=0x1234\\n
A: class=0x030000\\n
A: numa_node=1\\n

P: /devices/pci0000:00/0000:00:01.0/drm/card0
N: dri/card0
E: SUBSYSTEM=drm
E: DEVNAME=/dev/dri/card0
E: MAJOR=226
E: MINOR=0
A: dev=226:0\\n

P: /devices/pci0000:00/0000:00:02.0
E: SUBSYSTEM=pci
A: vendor=0x1234\\n
A: class=0x030000\\n

P: /devices/pci0000:00/0000:00:02.0/drm/card1
N: dri/card1
E: SUBSYSTEM=drm
E: DEVNAME=/dev/dri/card1
E: MAJOR=226
E: MINOR=1
A: dev=226:1\\n

P: /devices/pci0000:00/0000:00:03.0
E: SUBSYSTEM=pci
A: vendor=0x9999\\n
A: class=0x030000\\n

P: /devices/virtual/misc/fuse
N: fuse
E: SUBSYSTEM=misc
E: DEVNAME=/dev/fuse
E: MAJOR=10
E: MINOR=229
A: dev=10:229\\n

P: /devices/virtual/mem/mem
N: mem
E: SUBSYSTEM=mem
E: DEVNAME=/dev/mem
E: MAJOR=1
E: MINOR=1
A: dev=1:1\\n
";

/// The plugin of its GPUs, which works.
pub(crate) const GPUS: &str = r#"
  gpus:
    component: {file: generic.wasm}
    resources: [fake.com/gpu]
    hardware:
      - {subsystem: pci, vendor: "0x1234", use: offer, nodes: [{subsystem: drm, name: "card*"}]}
    config: {devices: [{resource: fake.com/gpu, subsystem: pci}]}
"#;

/// A directory with the node, the built components and a policy.
pub(crate) struct Place {
    dir: TempDir,
}

impl Place {
    /// With a policy of these plugins.
    pub(crate) fn new(plugins: &str) -> anyhow::Result<Self> {
        Self::on(NODE, plugins)
    }

    /// The same on another recorded node.
    pub(crate) fn on(node: &str, plugins: &str) -> anyhow::Result<Self> {
        let place = Self { dir: tempfile::tempdir()? };
        let write = |name: &str, text: &str| std::fs::write(place.dir.path().join(name), text);
        write("node.umockdev", node)?;
        let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
        write("policy.yaml", &format!("{head}{plugins}"))?;
        Ok(place)
    }

    /// Where it is.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// `command`, and where policy, node and components are.
    pub(crate) fn args(&self, command: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
        let mut args: Vec<PathBuf> = command.iter().map(PathBuf::from).collect();
        args.extend(["--policy".into(), self.dir.path().join("policy.yaml")]);
        args.extend(["--node-root".into(), self.dir.path().join("node.umockdev")]);
        args.extend(["--components".into(), devgate_tests::components()?]);
        Ok(args)
    }
}

/// What is another on every machine and in every build.
pub(crate) fn filters() -> Vec<(&'static str, &'static str)> {
    vec![
        (r"/\S*/policy\.yaml", "policy.yaml"),
        (r"/\S*/node\.umockdev", "node.umockdev"),
        (r"/\S*/(\w+\.wasm)", "[dir]/$1"),
        (r"--components /\S+", "--components [dir]"),
        (r"sha256(:| is) [0-9a-f]{64}", "sha256$1 [digest]"),
        (r"\d+ (bytes|functions)", "[n] $1"),
    ]
}
