//! `devgatectl record`: this machine, recorded and played, by devgate and by umockdev.

use crate::look::{Said, look, unread};
use devgate_tests::machine::{Alone, alone};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What every Linux has, and what this machine may have.
const POLICY: &str = "\
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  generic:
    component: {file: generic.wasm}
    resources: [devgate.dev/null, devgate.dev/disk]
    hardware:
      - {subsystem: mem, name: 'null', use: offer, nodes: [{access: rw}]}
      - {subsystem: pci, use: read}
      - {subsystem: net, use: read}
      - {subsystem: block, use: offer, nodes: [{access: rw}]}
    files: [/proc/sys/kernel/osrelease]
    host-nodes: {shared: [/dev/zero, /dev/full], access: rw}
    dangerous: [mem]
    containers:
      mounts:
        share: {source: /usr/share, target: /share}
        nothing: {source: /nope/here, target: /nothing}
    config: {devices: [{resource: devgate.dev/null, subsystem: mem, name: 'null'}]}
";

struct Place(TempDir);

impl Place {
    fn new() -> anyhow::Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        std::fs::write(self.file(name), text)?;
        Ok(self.file(name))
    }

    /// Records into a file; what was said, and the text.
    fn record(&self, out: &str, args: &[&str]) -> anyhow::Result<(Said, String)> {
        let out = self.file(out);
        let all = ["record", "-o", text(&out)].into_iter().chain(args.iter().copied());
        let said = look(all)?;
        anyhow::ensure!(said.code == Some(0) && said.out.is_empty(), "{:?} {}", said.code, said.err);
        Ok((said, std::fs::read_to_string(out)?))
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

/// The machine, if it has a device tree; no other test changes anything of it meanwhile.
fn machine() -> anyhow::Result<Option<Alone>> {
    if !Path::new("/sys/class/mem/null").exists() {
        println!("skipped: no /sys here");
        return Ok(None);
    }
    Ok(Some(alone()?))
}

/// Whether umockdev's and udev's programs are here.
fn umockdev() -> bool {
    let has = |name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let there = has("umockdev-run") && has("umockdev-record") && has("udevadm");
    assert!(there || std::env::var_os("CI").is_none(), "umockdev and udev are not installed");
    if !there {
        println!("skipped: umockdev and udev are not installed");
    }
    there
}

/// What udev's program says of devices that umockdev plays.
fn udevadm(node: &Path) -> anyhow::Result<String> {
    let output =
        Command::new("umockdev-run").args(["--device", text(node), "--", "udevadm", "info", "--export-db"]).output()?;
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    anyhow::ensure!(output.status.success() && problem.is_empty(), "{problem}");
    Ok(String::from_utf8(output.stdout)?)
}

/// What `check` finds of a plugin that no recording can say: its codes, which are taken out of the report.
fn take_live(plugin: &mut Value) -> Vec<String> {
    const LIVE: &[&str] = &["pods-not-seen"];
    let findings = plugin["findings"].as_array_mut().expect("findings");
    let code = |finding: &Value| finding["code"].as_str().unwrap_or_default().to_owned();
    let taken = findings.extract_if(.., |finding| LIVE.contains(&code(finding).as_str()));
    taken.map(|finding| code(&finding)).collect()
}

fn places(text: &str) -> BTreeSet<&str> {
    text.lines().filter_map(|line| line.strip_prefix("P: ")).collect()
}

#[test]
fn a_policy_means_the_same_on_this_machine_and_its_recording() -> anyhow::Result<()> {
    let Some(_alone) = machine()? else {
        return Ok(());
    };
    let place = Place::new()?;
    let policy = place.write("policy.yaml", POLICY)?;
    let (said, recorded) = place.record("node.umockdev", &["--policy", text(&policy)])?;
    // Where that takes a while, what is going on is said first.
    let told = said.err.strip_prefix("devgate: recording …\n").unwrap_or(&said.err);
    assert!(told.starts_with("recorded "), "{}", said.err);
    assert!(!said.err.contains("note: plugin"), "{}", said.err);
    let node = place.file("node.umockdev");
    let components = devgate_tests::components()?;
    let ask = |command: &[&str], root: &str| -> anyhow::Result<Value> {
        let place =
            ["--policy", text(&policy), "--components", text(&components), "--node-root", root, "--output=json"];
        let said = look(command.iter().copied().chain(place))?;
        Ok(serde_json::from_str(&said.out)?)
    };
    let plugin = |root: &str, pods: &Path| -> anyhow::Result<Value> {
        let mut report = ask(&["check", "--run", "--pod-resources-dir", text(pods)], root)?;
        assert_eq!(report["plugins"][0]["outcome"], "works");
        Ok(report["plugins"][0].take())
    };
    // Whether this machine has a kubelet, or had one once, is nothing that a recording knows.
    let (without, with) = (place.file("none/pods"), place.file("kubelet/pods"));
    std::fs::create_dir(place.file("kubelet"))?;
    let of_node = plugin(text(&node), &with)?;
    for (pods, said) in [(&without, &[][..]), (&with, &["pods-not-seen"])] {
        let mut of_machine = plugin("/", pods)?;
        assert_eq!(take_live(&mut of_machine), said);
        assert_eq!(of_machine, of_node);
    }
    let mut asked = vec!["mem/null".to_owned(), "/dev/zero".to_owned()];
    let disks = std::fs::read_dir("/sys/class/block")?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    asked.extend(disks.map(|disk| format!("block/{disk}")).take(4));
    let functions = std::fs::read_dir("/sys/bus/pci/devices").into_iter().flatten();
    asked.extend(
        functions.filter_map(|entry| Some(format!("pci/{}", entry.ok()?.file_name().into_string().ok()?))).take(4),
    );
    for what in asked {
        assert_eq!(ask(&["explain", &what], "/")?, ask(&["explain", &what], text(&node))?, "{what}\n{recorded}");
    }
    // And the recording of the recording is the same.
    let (_, again) = place.record("again.umockdev", &["--policy", text(&policy), "--node-root", text(&node)])?;
    assert_eq!(recorded, again);
    Ok(())
}

#[test]
fn this_machine_twice_is_the_same_text_and_umockdev_plays_it() -> anyhow::Result<()> {
    let Some(_alone) = machine()? else {
        return Ok(());
    };
    let place = Place::new()?;
    // Devices of other tests or programs may come and go.
    let still = ["mem", "pci", "cpu", "node", "graphics", "misc"];
    let still = still.into_iter().filter(|name| {
        let listed = [format!("/sys/class/{name}"), format!("/sys/bus/{name}/devices")];
        listed.iter().any(|path| std::fs::read_dir(path).is_ok_and(|mut all| all.next().is_some()))
    });
    let still: Vec<_> = still.flat_map(|name| ["--subsystem", name]).chain(["--stable"]).collect();
    let (_, once) = place.record("once.umockdev", &still)?;
    let (_, twice) = place.record("twice.umockdev", &still)?;
    assert_eq!(once, twice);
    let printed = look(["record"].into_iter().chain(still.iter().copied()))?;
    assert_eq!((printed.code, printed.out == once), (Some(0), true));
    let (_, all) = place.record("all.umockdev", &["--all"])?;
    assert!(places(&all).is_superset(&places(&once)));
    if umockdev() {
        for file in ["once.umockdev", "all.umockdev"] {
            let text = std::fs::read_to_string(place.file(file))?;
            let seen = udevadm(&place.file(file))?;
            assert_eq!(places(&text), places(&seen), "{file}");
            assert!(
                seen.contains("E: DEVNAME=/dev/null\nE: DEVMODE=0666\nE: SUBSYSTEM=mem") || seen.contains("/dev/null")
            );
        }
    }
    Ok(())
}

/// Also files, nodes, mounts and a log, which umockdev has no words for.
#[test]
fn umockdev_plays_what_a_recorded_server_is_written_as() -> anyhow::Result<()> {
    if !umockdev() {
        return Ok(());
    }
    let place = Place::new()?;
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/nodes/hgx-h100.umockdev");
    let (_, text) = place.record(
        "hgx.umockdev",
        &["--all", "--no-redact", "--node-root", server, "--file", "/proc/driver/nvidia/version"],
    )?;
    assert!(text.contains("E: DEVGATE=F: /proc/driver/nvidia/version=NVRM version"));
    assert_eq!(places(&text), places(&std::fs::read_to_string(server)?));
    assert_eq!(places(&text), places(&udevadm(&place.file("hgx.umockdev"))?));
    Ok(())
}

#[test]
fn what_umockdev_records_of_this_machine_is_a_node() -> anyhow::Result<()> {
    let Some(_alone) = machine()?.filter(|_| umockdev()) else {
        return Ok(());
    };
    let place = Place::new()?;
    let output = Command::new("umockdev-record").arg("/sys/devices/virtual/mem/null").output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let node = place.write("umockdev-record.umockdev", &text)?;
    let policy = place.write("policy.yaml", POLICY)?;
    let components = devgate_tests::components()?;
    let args = [
        "explain",
        "mem/null",
        "--policy",
        self::text(&policy),
        "--components",
        self::text(&components),
        "--node-root",
        self::text(&node),
    ];
    let said = look(args)?;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    Ok(())
}

/// A GPU of the recorded server: what is above it, its group, its driver's files; and nothing that says which machine it was.
#[test]
fn a_servers_gpus_are_recorded_by_policy_without_their_ids() -> anyhow::Result<()> {
    let place = Place::new()?;
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/nodes/hgx-h100.umockdev");
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/policies/nvidia.yaml");
    let (said, text) = place.record("gpus.umockdev", &["--policy", policy, "--node-root", server])?;
    let original = std::fs::read_to_string(server)?;
    for line in original.lines().filter(|line| line.contains("GPU-")) {
        let id = line.split("GPU-").nth(1).and_then(|rest| rest.get(..36)).expect("an id");
        assert!(!text.contains(id), "{id}");
    }
    assert!(said.err.contains("UUIDs: "), "{}", said.err);
    assert!(places(&text).is_subset(&places(&original)));
    assert!(places(&text).contains("/devices/pci0000:15/0000:15:01.0"), "{text}");
    let components = devgate_tests::components()?;
    let report = |root: &str| -> anyhow::Result<Value> {
        let args = [
            "check",
            "--run",
            "--output=json",
            "--policy",
            policy,
            "--components",
            self::text(&components),
            "--node-root",
            root,
        ];
        Ok(serde_json::from_str(&look(args)?.out)?)
    };
    let (before, after) = (report(server)?, report(self::text(&place.file("gpus.umockdev")))?);
    assert_eq!(before["plugins"][0]["outcome"], "works");
    for same in ["outcome", "units", "grants", "findings"] {
        assert_eq!(before["plugins"][0][same], after["plugins"][0][same], "{same}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_recorded_is_told() -> anyhow::Result<()> {
    let place = Place::new()?;
    let node = place.write("node.umockdev", "P: /devices/x/acme0\nN: acme0\nE: SUBSYSTEM=acme\nE: MAJOR=240\nE: MINOR=0\nE: DEVNAME=/dev/acme0\nA: serial=AB12345\n")?;
    let node = text(&node);
    let there = place.write("there", "mine")?;
    let policy = place.write("policy.yaml", "nonsense")?;
    let mut told = String::new();
    for (args, code) in [
        (vec!["acme/nope"], 5),
        (vec!["/dev/nope"], 5),
        (vec!["--subsystem", "nope"], 5),
        (vec!["--file", "/etc/shadow"], 5),
        (vec!["--file", "/nope"], 5),
        (vec!["--file", "etc"], 2),
        (vec!["--redact", "(", "acme0"], 2),
        (vec!["-o", text(&there), "acme0"], 2),
        (vec!["--policy", text(&policy)], 3),
        (vec![], 2),
    ] {
        let said = look(["record", "--node-root", node].into_iter().chain(args.iter().copied()))?;
        assert_eq!((said.code, said.out.as_str()), (Some(code), ""), "{args:?}: {}", said.err);
        told += &format!("{}\n", said.err.lines().next().unwrap_or_default());
    }
    let filters = vec![(r"/\S*/(there|policy.yaml)", "[dir]/$1")];
    insta::with_settings!({filters => filters}, { insta::assert_snapshot!(told, @r#"
devgate: acme/nope: no such device or node here; name it as pci/0000:3b:00.0, or by its path in /dev
devgate: /dev/nope: no such device or node here; name it as pci/0000:3b:00.0, or by its path in /dev
devgate: subsystem nope: no device of it is here
devgate: --file /etc/shadow: is never read: it decides who may log in
devgate: --file /nope: not found
devgate: --file etc: must be a plain absolute path
devgate: --redact "(": regex parse error:
devgate: [dir]/there: is there already; --force writes over it
devgate: [dir]/policy.yaml:1:1: the policy must be a mapping, not text
error: the following required arguments were not provided:
"#); });
    assert_eq!(std::fs::read_to_string(&there)?, "mine");
    let forced = look(["record", "--node-root", node, "-o", text(&there), "--force", "acme0"])?;
    assert_eq!(forced.code, Some(0), "{}", forced.err);
    assert!(std::fs::read_to_string(&there)?.contains("A: serial=XX00001"));
    let kept = look(["record", "--node-root", node, "--no-redact", "/dev/acme0"])?;
    assert!(kept.out.contains("A: serial=AB12345") && !kept.err.contains("redacted"), "{}", kept.err);
    let nothing = look(["record", "--node-root", "/nope", "x"])?;
    assert_eq!(nothing.code, Some(4), "{}", nothing.err);
    assert_eq!(unread(["record", "--node-root", node, "acme0"])?.code, Some(0));
    Ok(())
}

#[test]
fn a_quiet_recording_says_all_in_its_text_and_is_not_played_where_it_is_cut() -> anyhow::Result<()> {
    let place = Place::new()?;
    let acme = "P: /devices/x/acme0\nE: SUBSYSTEM=acme\nA: serial=AB12345\n";
    let node = place.write("node.umockdev", acme)?;
    let (said, whole) = place.record("quiet", &["--quiet", "--node-root", text(&node), "acme0"])?;
    assert_eq!(said.err, "");
    insta::assert_snapshot!(whole.replace(env!("CARGO_PKG_VERSION"), "VERSION"), @r#"
    P: /devices/x/acme0
    E: DEVGATE=# The last line of the whole text is the comment "End."
    E: DEVGATE=# Recorded by devgate VERSION; for devgatectl --node-root FILE and umockdev-run --device FILE.
    E: DEVGATE=# Serial numbers, addresses and ids are made up; equal ones were equal.
    E: SUBSYSTEM=acme
    A: serial=XX00001
    E: DEVGATE=# recorded 1 device
    E: DEVGATE=# redacted serial numbers: 1
    E: DEVGATE=# left out:
    E: DEVGATE=#   1: not found
    E: DEVGATE=#     /proc/sys/kernel/random/boot_id
    E: DEVGATE=# End.
    "#);
    assert_eq!(look(["record", "--node-root", text(&place.file("quiet")), "acme0"])?.code, Some(0));
    let cut = place.write("cut", whole.rsplit_once("E: ").expect("a last line").0)?;
    let said = look(["record", "--node-root", text(&cut), "acme0"])?;
    assert_eq!(said.code, Some(4));
    assert!(said.err.contains("the text is cut, its end is missing"), "{}", said.err);
    Ok(())
}
