//! What the kernel of the machine that the tests run on tells by itself. What this machine does not allow is said, not failed:
//! recorded nodes cover it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "functions beside the tests count as code"
)]

use devgate_node::{DeviceAction, LogSource, Node, NodeEvent, Told, Watch};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(60);

fn watch(node: &Node, kernel_log: bool) -> (Watch, Receiver<NodeEvent>) {
    let (sender, receiver) = channel();
    let sender = Mutex::new(sender);
    let watch = node.watch(kernel_log, Arc::new(move |event| drop(sender.lock().unwrap().send(event))));
    (watch, receiver)
}

/// All events up to the first that is meant, which is the last of them.
fn until(events: &Receiver<NodeEvent>, is_meant: impl Fn(&NodeEvent) -> bool) -> Option<Vec<NodeEvent>> {
    let (begun, mut all) = (Instant::now(), Vec::new());
    while let Ok(event) = events.recv_timeout(TIMEOUT.saturating_sub(begun.elapsed())) {
        let found = is_meant(&event);
        all.push(event);
        if found {
            return Some(all);
        }
    }
    println!("only this was told: {all:?}");
    None
}

/// A loop device over a file, attached until it is dropped.
struct Loop(String);

impl Loop {
    fn attach(file: &Path) -> Result<Self, String> {
        let run = Command::new("losetup").arg("--find").arg("--show").arg(file).output();
        match run {
            Ok(output) if output.status.success() => {
                let device = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                Ok(Self(device))
            }
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_comes_is_told_and_what_a_process_says_in_the_log_is_not() {
    let node = Node::open(Path::new("/")).unwrap();
    let (watch, events) = watch(&node, true);
    if let Some(why) = watch.no_device_events() {
        return println!("not tried: no events of devices here: {why}");
    }
    println!("the kernel's log comes from {}", watch.log());
    let marker = format!("made up by process {}", std::process::id());
    let forged = std::fs::OpenOptions::new().write(true).open("/dev/kmsg");
    // Facility 0 is what the kernel itself has; it gives a process another one.
    match forged.and_then(|mut kmsg| kmsg.write_all(format!("<6>loop0: {marker}\n").as_bytes())) {
        Ok(()) => println!("a process wrote into the log"),
        Err(error) => println!("no process may write into the log here ({error})"),
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("disk");
    std::fs::File::create(&file).unwrap().set_len(1 << 20).unwrap();
    let attached = match Loop::attach(&file) {
        Ok(attached) => attached,
        Err(why) => return println!("not tried: no loop device can be attached here: {why}"),
    };
    let name = attached.0.trim_start_matches("/dev/").to_owned();
    let about = |event: &NodeEvent| match event {
        NodeEvent::Device(event) => event.device.name() == name,
        _ => false,
    };
    let told = until(&events, about).expect("an event when a disk is attached");
    let Some(NodeEvent::Device(event)) = told.last() else { panic!("{told:?}") };
    assert_eq!((event.action, event.subsystem.as_str()), (DeviceAction::Change, "block"));
    assert_eq!(event.node.as_deref(), Some(attached.0.as_str()));
    assert!(node.exists(&event.device), "its place is where the node says");
    let is_line = |event: &NodeEvent| matches!(event, NodeEvent::Line(line) if line.text.starts_with(&format!("{name}: detected capacity change")));
    let mut told = told;
    if matches!(watch.log(), LogSource::Off { .. }) {
        println!("not tried: lines of the log");
    } else if !told.iter().any(is_line) {
        told.extend(until(&events, is_line).expect("the kernel's line"));
    }
    drop(attached);
    told.extend(until(&events, about).expect("an event when it is detached"));
    let lines: Vec<_> = told
        .iter()
        .filter_map(|event| match event {
            NodeEvent::Line(line) => Some(line),
            _ => None,
        })
        .collect();
    assert!(!lines.iter().any(|line| line.text.contains(&marker)), "{lines:?}");
    assert!(lines.windows(2).all(|pair| pair[0].sequence < pair[1].sequence));
    println!("{} lines of the kernel's own", lines.len());
}

#[test]
fn what_happens_in_a_directory_is_told_by_its_path_below_the_root() {
    let root = tempfile::tempdir().unwrap();
    let node = Node::open(root.path()).unwrap();
    let (watch, events) = watch(&node, false);
    assert_eq!(watch.no_device_events(), Some("the node's /sys is not this kernel's"));
    let at = |path: &str| root.path().join(path);
    let wanted = |paths: &[&str]| paths.iter().map(|path| ((*path).to_owned(), Told::Contents)).collect();
    let told = |path: &str| {
        let path = path.to_owned();
        until(&events, move |event| *event == NodeEvent::Path(path.clone())).expect("told");
    };
    std::fs::create_dir(at("opt")).unwrap();
    watch.listen_in(wanted(&["/opt/vendor/etc", "/../opt", "relative", "/nowhere"]));
    told("/opt");
    // It is not there yet: what is made on the way to it is told, and it is watched as soon as it is there.
    std::fs::create_dir_all(at("opt/vendor/etc")).unwrap();
    told("/opt/vendor");
    told("/opt/vendor/etc");
    std::fs::write(at("opt/vendor/etc/conf"), "1").unwrap();
    told("/opt/vendor/etc/conf");
    std::fs::rename(at("opt/vendor/etc/conf"), at("opt/vendor/etc/old")).unwrap();
    told("/opt/vendor/etc/old");
    std::fs::remove_file(at("opt/vendor/etc/old")).unwrap();
    told("/opt/vendor/etc/old");
    std::fs::remove_dir(at("opt/vendor/etc")).unwrap();
    told("/opt/vendor/etc");
    watch.listen_in(wanted(&["/"]));
    told("/");
    std::fs::write(at("top"), "1").unwrap();
    told("/top");
    // A link leads nowhere, whatever is behind it.
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), at("opt/link")).unwrap();
    watch.listen_in(wanted(&["/opt/link/x"]));
    told("/opt");
    std::fs::write(outside.path().join("x"), "1").unwrap();
    std::fs::write(at("opt/last"), "1").unwrap();
    let all = until(&events, |event| *event == NodeEvent::Path("/opt/last".to_owned())).expect("told");
    assert!(!format!("{all:?}").contains("link/x"), "{all:?}");
}

/// A program that is done with `/dev/null` closes what it could write to.
#[test]
fn what_is_written_is_told_only_where_that_is_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    for path in ["dev/null", "etc/conf"] {
        std::fs::create_dir(at(path.split('/').next().unwrap())).unwrap();
        std::fs::write(at(path), "").unwrap();
    }
    let (watch, events) = watch(&Node::open(root.path()).unwrap(), false);
    let path = |path: &str| NodeEvent::Path(path.to_owned());
    // A directory that is not there gives the one above it no more than there is to tell on the way.
    let wanted = [("/dev", Told::Entries), ("/etc", Told::Contents), ("/dev/not/there", Told::Contents)];
    watch.listen_in(wanted.map(|(path, told)| (path.to_owned(), told)).into());
    until(&events, |event| *event == path("/etc")).expect("watched");
    drop(std::fs::OpenOptions::new().write(true).open(at("dev/null")).unwrap());
    std::fs::write(at("dev/new"), "").unwrap();
    std::fs::write(at("etc/conf"), "1").unwrap();
    let told = until(&events, |event| *event == path("/etc/conf")).expect("told");
    assert_eq!(told, [path("/dev/new"), path("/etc/conf")]);
}

/// The thread that opens directories may be held up by one of them; here it is by whom it tells.
#[test]
fn nobody_waits_until_directories_are_opened() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("etc")).unwrap();
    let (told, events) = channel();
    let (go_on, held) = channel::<()>();
    let both = Mutex::new((told, held));
    let watch = Node::open(root.path()).unwrap().watch(
        false,
        Arc::new(move |event| {
            let (told, held) = &*both.lock().unwrap();
            told.send(event).unwrap();
            let _ = held.recv_timeout(TIMEOUT * 2);
        }),
    );
    let listen_in = |path: &str| watch.listen_in([(path.to_owned(), Told::Entries)].into());
    listen_in("/");
    until(&events, |event| *event == NodeEvent::Path("/".to_owned())).expect("watched");
    let begun = Instant::now();
    // More words than fit anywhere.
    (0..10_000).for_each(|_| listen_in("/"));
    listen_in("/etc");
    assert!(begun.elapsed() < TIMEOUT);
    drop(go_on);
    until(&events, |event| *event == NodeEvent::Path("/etc".to_owned())).expect("the last word counts");
}

/// A directory that is replaced by another one: what happens in the old one does not matter any more.
#[test]
fn a_directory_that_is_moved_away_is_not_watched_any_more() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    std::fs::create_dir(at("etc")).unwrap();
    let (watch, events) = watch(&Node::open(root.path()).unwrap(), false);
    let told = |path: &str| {
        let path = NodeEvent::Path(path.to_owned());
        until(&events, move |event| *event == path).expect("told")
    };
    let wanted = ["/etc", "/"].map(|path| (path.to_owned(), Told::Contents));
    watch.listen_in(wanted.into());
    told("/etc");
    for n in 0..3 {
        std::fs::create_dir(at("next")).unwrap();
        std::fs::rename(at("etc"), at(&format!("old{n}"))).unwrap();
        std::fs::rename(at("next"), at("etc")).unwrap();
        // The old one's word and the new one's are the same; so until a file in it is told.
        let begun = Instant::now();
        let path = NodeEvent::Path(format!("/etc/new{n}"));
        loop {
            std::fs::write(at(&format!("etc/new{n}")), "1").unwrap();
            if events.recv_timeout(Duration::from_millis(50)).is_ok_and(|event| event == path) {
                break;
            }
            assert!(begun.elapsed() < TIMEOUT, "another one in its place is watched");
        }
    }
    std::fs::write(at("old1/hidden"), "1").unwrap();
    std::fs::write(at("etc/last"), "1").unwrap();
    let all = format!("{:?}", told("/etc/last"));
    assert!(!all.contains("hidden"), "{all}");
}

#[test]
fn the_thread_ends_with_the_watch() {
    let root = tempfile::tempdir().unwrap();
    let node = Node::open(root.path()).unwrap();
    let (watch, events) = watch(&node, false);
    drop(watch);
    // The sink, which has the sender, goes with the thread.
    let ended = events.recv_timeout(TIMEOUT);
    assert_eq!(ended, Err(std::sync::mpsc::RecvTimeoutError::Disconnected));
}

#[test]
fn a_tree_of_files_has_no_log_but_its_own() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("dev")).unwrap();
    std::fs::write(PathBuf::from(root.path()).join("dev/kmsg"), "6,1,2,-;made up\n").unwrap();
    let node = Node::open(root.path()).unwrap();
    let source = node.events().log_source().to_string();
    let expected = "off: /dev/kmsg cannot be read (it is another file), and the node's /sys is not this kernel's";
    assert_eq!(source, expected);
}
