//! Namespaces of the cluster's own, and their end.
//!
//! There are two: the *plane*, with a network and processes of its own, in which etcd and the API server run, and the *node* in the
//! plane's network, with files and processes of its own. A second node has a network, too, with a cable to the plane's. Each lives as long as its first process does; the kernel ends everything else
//! in it together with that one. So the end needs no list of what was started, and a reboot of the node is the end of its first process.
//!
//! A shell outside (the *guard*) waits for the end of this program, however it comes about, and takes everything down.

use crate::process;
use crate::wait::until;
use anyhow::{Context, Result, bail};
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// containerd's client, on a node.
pub(crate) const CTR: [&str; 5] = ["ctr", "--address", "/run/containerd/containerd.sock", "--namespace", "k8s.io"];

/// First processes: of each, its id outside and when it began, by which a later process with the same id is told from it.
const IDS: &str = "ids";

/// A first process writes itself down, makes the place, says so, and waits for its end.
const FIRST: &str = r#"
set -e
read -r self < /proc/self/stat
set -- $self
echo "$1 ${22}" >> "$DIR/ids"
mount -t proc proc /proc
eval "$PLACE"
echo "$1" > "$DIR/$NAME.first"
sleep infinity &
wait
"#;

/// A network with one address, and a route so that parts find a default.
const PLANE: &str = r#"
ip link set lo up
ip link add node0 type bridge
ip addr add "$ADDRESS/24" dev node0
# The API server's as a service: nothing in here forwards to it.
ip addr add 10.96.0.1/32 dev lo
ip link set node0 up
ip route add default dev node0
echo 1 > /proc/sys/net/ipv4/ip_forward
"#;

/// What a node writes to is its own, and what a kubelet sets in the kernel is set in files that lie over the kernel's.
const NODE: &str = r#"
own=$DIR/$NAME
mkdir -p "$own/etc" "$own/work" "$own/lib" "$own/log"
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$own/etc,workdir=$own/work" /etc
mount --bind "$own/lib" /var/lib
mount --bind "$own/log" /var/log
mount -t tmpfs tmpfs /run
mkdir -p /run/lock /run/kernel /etc/cdi /var/lib/kubelet /var/log/pods /var/log/containers
for file in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
    own=/run/kernel/$(echo "$file" | tr / _)
    cat "/proc/sys/$file" > "$own"
    mount --bind "$own" "/proc/sys/$file"
done
mount --make-rshared /
"#;

/// The end of the second node's cable that is in the plane.
const CABLE: &str = r#"
ip link add node2 type veth peer name node0 netns "$PID"
ip link set node2 master node0 up
ip route add 10.244.2.0/24 via "$ADDRESS2" dev node0 onlink
"#;

/// And the one that is in the node.
const CABLE2: &str = r#"
ip link set lo up
ip addr add "$ADDRESS2/24" dev node0
ip link set node0 up
ip route add default via "$ADDRESS"
echo 1 > /proc/sys/net/ipv4/ip_forward
"#;

/// Ends first processes, and takes away what the kernel does not: control groups, loop devices, files. Logs stay.
const END: &str = r#"
cd "$DIR" || exit 0
[ -f ids ] && while read -r pid began; do
    line=$(cat "/proc/$pid/stat" 2>/dev/null) || continue
    set -- $line
    [ "${22}" = "$began" ] && kill -KILL "$pid"
done < ids
name=$(cat cgroup 2>/dev/null)
if [ -n "$name" ]; then
    for attempt in $(seq 100); do
        left=
        for top in /sys/fs/cgroup/"$name" /sys/fs/cgroup/*/"$name" /sys/fs/cgroup/"${name}2" /sys/fs/cgroup/*/"${name}2"; do
            [ -d "$top" ] || continue
            find "$top" -depth -type d -exec rmdir {} + 2>/dev/null
            [ -d "$top" ] && left=$top
        done
        [ -z "$left" ] && break
        sleep 0.1
    done
    [ -z "$left" ] || echo "not taken away: $left"
fi
[ -f disks.py ] && python3 disks.py end "$DIR"
rm -rf --one-file-system node node2 node2.first conf keys ids cgroup plane.first node.first disks disks.py work
"#;

/// Takes away the control groups of what ran on the first node: no boot leaves them, and a kubelet that finds one asks its runtime for
/// seconds what runs in it.
const FORGET: &str = r#"
name=$(cat "$DIR/cgroup")
for attempt in $(seq 50); do
    left=
    for top in /sys/fs/cgroup/"$name" /sys/fs/cgroup/*/"$name"; do
        [ -d "$top" ] || continue
        find "$top" -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null
        left=$left$(find "$top" -mindepth 1 -type d)
    done
    [ -z "$left" ] && exit 0
    sleep 0.1
done
echo "not taken away: $left"
exit 1
"#;

/// Whether a cluster is up in this folder.
pub(crate) fn is_up(dir: &Path) -> bool {
    dir.join(IDS).is_file()
}

/// Starts the guard; `None` where the cluster is to be left up.
///
/// # Errors
/// When there is no shell.
pub(crate) fn guard(dir: &Path) -> Result<Child> {
    let script = format!("cat > /dev/null\n{END}");
    let mut command = Command::new("setsid");
    command.args(["sh", "-c", &script]).env("DIR", dir).stdin(Stdio::piped());
    command.spawn().context("start setsid")
}

/// Ends a cluster that was left up.
///
/// # Errors
/// When there is none.
pub(crate) fn end(dir: &Path) -> Result<()> {
    if !is_up(dir) {
        bail!("{}: no cluster is up there", dir.display());
    }
    let said = process::read(Command::new("sh").args(["-c", END]).env("DIR", dir))?;
    if !said.is_empty() {
        bail!("{said}");
    }
    Ok(())
}

/// Makes a control group of this name in each hierarchy.
///
/// # Errors
/// When the kernel lets none be made.
pub(crate) fn make_cgroups(name: &str) -> Result<()> {
    let top = Path::new("/sys/fs/cgroup");
    let mut made = 0;
    let hierarchies = std::fs::read_dir(top)?.filter_map(Result::ok).map(|entry| entry.path());
    for hierarchy in hierarchies.chain([top.to_owned()]) {
        if hierarchy.join("cgroup.procs").is_file() && std::fs::create_dir(hierarchy.join(name)).is_ok() {
            made += 1;
        }
    }
    if made == 0 {
        bail!("no control group can be made below {}", top.display());
    }
    Ok(())
}

/// Takes away the control groups of a node that has lost its power.
///
/// # Errors
/// When something is in one still.
pub(crate) fn forget_cgroups(dir: &Path) -> Result<()> {
    process::read(Command::new("sh").args(["-c", FORGET]).env("DIR", dir)).map(drop)
}

/// The namespaces behind a first process.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    pid: String,
}

impl Space {
    /// The plane: a network and processes.
    ///
    /// # Errors
    /// When the kernel does not let it.
    pub(crate) fn plane(dir: &Path) -> Result<Self> {
        let mut command = Command::new("unshare");
        command.arg("--net");
        Self::begin(command, dir, "plane", PLANE)
    }

    /// The node, in the plane's network.
    ///
    /// # Errors
    /// When the kernel does not let it.
    pub(crate) fn node(&self, dir: &Path) -> Result<Self> {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.pid, "--net", "unshare"]);
        Self::begin(command, dir, "node", NODE)
    }

    /// A second node, with a network of its own.
    ///
    /// # Errors
    /// When the kernel does not let it.
    pub(crate) fn second_node(&self, dir: &Path) -> Result<Self> {
        let mut command = Command::new("unshare");
        command.arg("--net");
        let second = Self::begin(command, dir, "node2", NODE)?;
        for (space, cable) in [(self, CABLE), (&second, CABLE2)] {
            let mut command = space.in_network("sh");
            command.args(["-ec", cable]).env("PID", &second.pid);
            command.env("ADDRESS", crate::configs::ADDRESS).env("ADDRESS2", crate::configs::ADDRESS2);
            process::read(&mut command)?;
        }
        Ok(second)
    }

    /// Those of a cluster that was left up.
    ///
    /// # Errors
    /// When it is not.
    pub(crate) fn of(dir: &Path, name: &str) -> Result<Self> {
        let file = dir.join(format!("{name}.first"));
        let pid = std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
        Ok(Self { pid: pid.trim().to_owned() })
    }

    fn begin(mut command: Command, dir: &Path, name: &str, place: &str) -> Result<Self> {
        let ready = dir.join(format!("{name}.first"));
        let _was_there = std::fs::remove_file(&ready);
        let log = OpenOptions::new().create(true).append(true).open(dir.join("log").join(format!("{name}.log")))?;
        command.args(["--mount", "--pid", "--fork", "--propagation", "private", "sh", "-c", FIRST]);
        command.env("DIR", dir).env("NAME", name).env("PLACE", place).env("ADDRESS", crate::configs::ADDRESS);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        // Ctrl-C is for this program alone.
        let mut child = command.process_group(0).spawn().context("start unshare")?;
        let pid = until(&format!("the namespaces of the {name}"), 20, || {
            if let Some(status) = child.try_wait()? {
                bail!("unshare ended: {status}; {} has more", dir.join("log").display());
            }
            let pid = std::fs::read_to_string(&ready)?;
            Ok(pid.trim().to_owned())
        })?;
        if pid.is_empty() {
            bail!("the first process of the {name} did not say its id");
        }
        Ok(Self { pid })
    }

    /// A program in all of these namespaces.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.pid, "--mount", "--net", "--pid", "--"]).arg(program);
        command
    }

    /// A program with its files and network, whose id is that of the command: it can be ended.
    pub(crate) fn beside(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.pid, "--mount", "--net", "--"]).arg(program);
        command
    }

    /// A program of this machine's files, in their network.
    pub(crate) fn in_network(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.pid, "--net", "--"]).arg(program);
        command
    }

    /// Its files, as a path from outside.
    pub(crate) fn root(&self) -> std::path::PathBuf {
        Path::new("/proc").join(&self.pid).join("root")
    }

    /// How a person gets in.
    pub(crate) fn way_in(&self) -> String {
        format!("nsenter -t {} --mount --net --pid --", self.pid)
    }

    /// Everything in it ends at once, as when the power goes.
    ///
    /// # Errors
    /// When it has ended before.
    pub(crate) fn kill(&self) -> Result<()> {
        process::read(Command::new("kill").args(["-KILL", &self.pid]))?;
        until("the end of the namespaces", 20, || {
            if Path::new("/proc").join(&self.pid).exists() {
                bail!("the first process is there");
            }
            Ok(())
        })
    }
}
