//! A throw-away root with a booted systemd, in which a package is installed, upgraded and purged. Nothing of this machine changes.

use crate::process;
use crate::workspace::target;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A root, and what is done in it.
pub(super) struct Journey {
    /// What it is about: for people.
    what: &'static str,
    /// The release of Debian.
    suite: &'static str,
    /// What is in the root beside what every Debian has.
    packages: &'static str,
    /// Whether a package of a higher version is there as well.
    upgrades: bool,
    /// What systemd-nspawn is told besides.
    options: &'static [&'static str],
    /// What lies in /journey: the script, and what it uses.
    subject: &'static [(&'static str, &'static str)],
}

/// In the oldest Debian that the package is for; its systemd is 252.
pub(super) const LIFE: Journey = Journey {
    what: "Installing, upgrading and purging it in a root with systemd",
    suite: "bookworm",
    packages: "systemd,systemd-sysv,dbus",
    upgrades: true,
    options: &[],
    subject: &[
        ("journey.sh", include_str!("journey.sh")),
        ("zero.yaml", include_str!("zero.yaml")),
        ("handed-out.json", include_str!("handed-out.json")),
    ],
};

/// With a podman that has quadlets, which the oldest Debian's has not: 5.4, and systemd 257.
pub(super) const PODMAN: Journey = Journey {
    what: "Leasing devices for podman's containers in a root with systemd",
    suite: "trixie",
    packages: "systemd,systemd-sysv,dbus,libpam-systemd,dbus-user-session,podman,crun,uidmap,busybox-static",
    upgrades: false,
    // Which container runtimes use, and systemd-nspawn would refuse them.
    options: &["--system-call-filter=@keyring bpf"],
    subject: &[("journey.sh", include_str!("podman.sh")), ("podman.yaml", include_str!("podman.yaml"))],
};

/// For each of them.
const STEPS: &str = include_str!("steps.sh");
const UNITS: [(&str, &str); 3] = [
    ("journey.service", include_str!("journey.service")),
    ("kubelet-for-tests.socket", include_str!("kubelet-for-tests.socket")),
    ("kubelet-for-tests@.service", include_str!("kubelet-for-tests@.service")),
];

/// Takes a package on a journey. Fails when no root can be made or booted, and when a step fails, which is shown.
pub(super) fn take(package: &Path, journey: &Journey) -> Result<()> {
    let made = base(journey)?;
    let work = tempfile::Builder::new().prefix("journey-").tempdir_in(target()?)?;
    let root = work.path().join("root");
    let place = root.join("journey");
    std::fs::create_dir_all(&place)?;
    println!("{} …", journey.what);
    // Device nodes in it are in no way: systemd-nspawn brings its own.
    let mut unpack = Command::new("tar");
    unpack.arg("--extract").arg("--file").arg(&made).arg("--directory").arg(&root);
    process::run(unpack.args(["--exclude=./dev/*"]))?;
    write(&place.join("steps.sh"), STEPS)?;
    for (name, text) in journey.subject {
        write(&place.join(name), text)?;
    }
    let units = root.join("etc/systemd/system");
    let wanted = units.join("multi-user.target.wants");
    std::fs::create_dir_all(&wanted)?;
    for (name, text) in UNITS {
        write(&units.join(name), text)?;
    }
    std::os::unix::fs::symlink("../journey.service", wanted.join("journey.service"))?;
    std::fs::copy(package, place.join("old.deb"))?;
    if journey.upgrades {
        newer(package, &place, work.path())?;
    }
    boot(&root, journey)
}

/// The root as Debian makes it, kept for the next time.
fn base(journey: &Journey) -> Result<PathBuf> {
    let Journey { suite, packages, .. } = journey;
    let file = target()?.join(format!("tools/root-{suite}.tar"));
    if file.exists() {
        return Ok(file);
    }
    println!("Making a root of Debian {suite} into {} (a minute) …", file.display());
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let new = file.with_extension("new.tar");
    process::run(
        Command::new("mmdebstrap")
            .args(["--quiet", "--variant=minbase", &format!("--include={packages}"), suite])
            .arg(&new),
    )?;
    std::fs::rename(&new, &file)?;
    Ok(file)
}

/// The same package with a higher version, and another file of settings.
fn newer(package: &Path, place: &Path, work: &Path) -> Result<()> {
    let folder = work.join("newer");
    process::run(Command::new("dpkg-deb").arg("--raw-extract").arg(package).arg(&folder))?;
    let change = |name: &str, how: &dyn Fn(String) -> String| {
        let file = folder.join(name);
        let text = std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
        write(&file, &how(text))
    };
    let version = "9999.0.0";
    change("DEBIAN/control", &|text| {
        let line = |line: &str| match line.strip_prefix("Version: ") {
            Some(_) => format!("Version: {version}\n"),
            None => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    })?;
    change("etc/default/devgate", &|text| text + "# From the newer package.\n")?;
    std::fs::copy(folder.join("etc/default/devgate"), place.join("new.default"))?;
    write(&place.join("new.version"), version)?;
    let mut pack = Command::new("dpkg-deb");
    pack.args(["--root-owner-group", "-Zgzip", "-z1", "--build"]).arg(&folder);
    process::read(pack.arg(place.join("new.deb")))?;
    Ok(())
}

/// Boots systemd in the root, which runs the journey and ends.
fn boot(root: &Path, journey: &Journey) -> Result<()> {
    let console = root.with_extension("console");
    let output = || std::fs::File::create(&console).map(Stdio::from);
    let mut command = Command::new("timeout");
    // Without a bus and a scope, which need a systemd outside; in cgroup 2, which systemd in there wants for itself.
    command
        .args(["--kill-after=10s", "10m", "systemd-nspawn", "--quiet", "--boot"])
        .args(["--register=no", "--keep-unit", "--private-network"])
        // Of those that the service may be given, the one that it has not anyway.
        .arg("--capability=CAP_SYSLOG")
        .args(journey.options)
        .arg(format!("--machine=devgate-{}", std::process::id()))
        .arg("--directory")
        .arg(root)
        .env("SYSTEMD_NSPAWN_UNIFIED_HIERARCHY", "1")
        .stdin(Stdio::null())
        .stdout(output()?)
        .stderr(Stdio::inherit());
    let status = command.status().context("start systemd-nspawn")?;
    let Ok(log) = std::fs::read_to_string(root.join("journey/log")) else {
        let said = std::fs::read_to_string(&console).unwrap_or_default();
        bail!("systemd does not boot in a root here ({status}); on its console:\n{said}");
    };
    if status.success() && log.ends_with("JOURNEY COMPLETE\n") {
        for line in log.lines().filter(|line| ["== ", "figur"].iter().any(|begin| line.starts_with(begin))) {
            println!("{line}");
        }
        return Ok(());
    }
    bail!("the package's journey in {} failed ({status}):\n{log}", journey.suite);
}

fn write(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).with_context(|| format!("write {}", file.display()))
}
