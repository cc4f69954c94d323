//! What is outside the device tree: files, where links lead, and what may be mounted. On recordings, and on the machine
//! itself.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "functions beside the tests count as code"
)]

use devgate_fake_node::{Change, RecordedNode};
use devgate_node::{MountKind, Node, ReadError};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

const WORLD: &str = "\
F: /usr/lib/vendor/lib.so.1=elf
I: /usr/lib/vendor/lib.so=l lib.so.1
I: /opt/vendor=l ../usr/lib/vendor
I: /opt/absolute=l /usr/lib/vendor/lib.so
I: /opt/above=l ../../../../usr/lib
I: /opt/dangling=l nowhere
I: /opt/loop=l loop
I: /opt/through-file=l /usr/lib/vendor/lib.so.1/../lib.so
I: /opt/long-way=l ./../opt/./vendor//lib.so
F: /opt/private/file=secret
O: /opt/private=0 0750
F: /opt/shut=secret
O: /opt/shut=0 0640
F: /opt/users/lib.so=elf
O: /opt/users=1000 0755
F: /opt/group/lib.so=elf
O: /opt/group=0 0775
F: /opt/written=elf
O: /opt/written=0 0666
F: /opt/theirs=elf
O: /opt/theirs=1000 0644
I: /run/vendor/control.sock=s
F: /run/vendor/a=x
D: /dev/fake=c 10:1
";

/// The same world as files; without root's powers there is none.
fn live() -> Option<(TempDir, Node)> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can make what belongs to others");
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    let above = |path: &Path| fs::create_dir_all(path.parent().unwrap()).unwrap();
    for line in WORLD.lines() {
        let (kind, rest) = line.split_once(": /").unwrap();
        let (path, value) = rest.split_once('=').unwrap();
        let path = root.join(path);
        match (kind, value.split_once(' ')) {
            ("F", _) => {
                above(&path);
                fs::write(&path, value).unwrap();
            }
            ("I", Some(("l", target))) => {
                above(&path);
                symlink(target, &path).unwrap();
            }
            ("I", None) if value == "s" => {
                above(&path);
                drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
            }
            ("O", Some((uid, mode))) => {
                chown(&path, Some(uid.parse().unwrap()), Some(0)).unwrap();
                let mode = u32::from_str_radix(mode, 8).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
            ("D", Some(_)) => {
                above(&path);
                let number = rustix::fs::makedev(10, 1);
                let (kind, mode) = (rustix::fs::FileType::CharacterDevice, rustix::fs::Mode::RUSR);
                if rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, number).is_err() {
                    eprintln!("skipped: no device nodes can be made here");
                    return None;
                }
            }
            _ => panic!("{line}"),
        }
    }
    let node = Node::open(root).unwrap();
    Some((dir, node))
}

/// The recording, and the same on disk.
fn worlds() -> Vec<(Option<TempDir>, Node)> {
    let recorded = RecordedNode::parse("world", WORLD).unwrap();
    let live = live().map(|(dir, node)| (Some(dir), node));
    [(None, recorded.into())].into_iter().chain(live).collect()
}

#[test]
fn links_are_followed_to_where_they_lead() {
    for (_dir, node) in worlds() {
        for (path, expected) in [
            ("/usr/lib/vendor/lib.so.1", "/usr/lib/vendor/lib.so.1"),
            ("/usr/lib/vendor/lib.so", "/usr/lib/vendor/lib.so.1"),
            ("/opt/vendor/lib.so", "/usr/lib/vendor/lib.so.1"),
            ("/opt/vendor", "/usr/lib/vendor"),
            ("/opt/absolute", "/usr/lib/vendor/lib.so.1"),
            ("/opt/above/vendor", "/usr/lib/vendor"),
            ("/opt/long-way", "/usr/lib/vendor/lib.so.1"),
        ] {
            assert_eq!(node.resolve(path).as_deref(), Ok(expected), "{path}");
        }
        for path in ["/opt/dangling", "/nowhere", "/opt/through-file", "/opt/vendor/lib.so/x"] {
            assert_eq!(node.resolve(path), Err(ReadError::NotFound), "{path}");
        }
        for path in ["/opt/loop", "opt/vendor", "/opt/../usr", "/", "", "/opt/", "/opt/./vendor", "/a\0"] {
            assert!(matches!(node.resolve(path), Err(ReadError::Invalid(_))), "{path}");
        }
    }
}

#[test]
fn forty_links_are_followed_and_no_more() {
    let chain = |links: usize| {
        let link = |n: usize| format!("I: /l{n}=l l{}\n", n + 1);
        let text: String = (1..=links).map(link).collect();
        let node = RecordedNode::parse("chain", &format!("{text}F: /l{}=x\n", links + 1)).unwrap();
        node.resolve("/l1")
    };
    assert_eq!(chain(40).as_deref(), Ok("/l41"));
    assert!(matches!(chain(41), Err(ReadError::Invalid(_))));
}

#[test]
fn only_what_everybody_may_read_is_read() {
    for (_dir, node) in worlds() {
        assert_eq!(node.file("/usr/lib/vendor/lib.so.1", 10).as_deref(), Ok(&b"elf"[..]));
        assert_eq!(node.file_entries("/run/vendor").as_deref(), Ok(&["a".to_owned(), "control.sock".to_owned()][..]));
        for path in ["/opt/shut", "/opt/private/file"] {
            assert!(matches!(node.file(path, 10), Err(ReadError::Denied(_))), "{path}");
        }
        assert!(matches!(node.file_entries("/opt/private"), Err(ReadError::Denied(_))));
        for path in ["/usr/lib/vendor/lib.so", "/opt/vendor/lib.so.1", "/run/vendor/control.sock", "/run"] {
            assert!(matches!(node.file(path, 10), Err(ReadError::Invalid(_) | ReadError::Io { .. })), "{path}");
        }
        assert_eq!(node.file("/opt/shut/x", 10), Err(ReadError::NotFound));
    }
}

#[test]
fn a_mount_source_is_roots_alone_all_the_way() {
    for (_dir, node) in worlds() {
        let said = |path| match node.mount_source(path) {
            Ok(MountKind::File) => "file".to_owned(),
            Ok(MountKind::Directory { socket: None }) => "directory".to_owned(),
            Ok(MountKind::Directory { socket: Some(name) }) => format!("directory with socket {name}"),
            Err(problem) => problem.to_string(),
        };
        for (path, expected) in [
            ("/", "directory"),
            ("/usr/lib/vendor", "directory"),
            ("/usr/lib/vendor/lib.so.1", "file"),
            ("/opt/private/file", "file"),
            ("/run/vendor", "directory with socket control.sock"),
            ("/usr/lib/vendor/lib.so", "/usr/lib/vendor/lib.so is a link"),
            ("/opt/vendor/lib.so.1", "/opt/vendor is a link"),
            ("/opt/users/lib.so", "/opt/users belongs to user 1000, not to root"),
            ("/opt/theirs", "/opt/theirs belongs to user 1000, not to root"),
            ("/opt/group/lib.so", "/opt/group can be written by others than root (mode 0775)"),
            ("/opt/written", "/opt/written can be written by others than root (mode 0666)"),
            ("/run/vendor/control.sock", "/run/vendor/control.sock is a socket, not a regular file or directory"),
            ("/dev/fake", "/dev/fake is a device node, not a regular file or directory"),
            ("/opt/nowhere/x", "/opt/nowhere is not there"),
            ("/opt/shut/x", "/opt/shut/x is not there"),
            ("opt", "path must be absolute"),
            ("/opt/../usr", "path has a . or .. component"),
            ("/opt/", "path has an empty component or a trailing slash"),
        ] {
            assert_eq!(said(path), expected, "{path}");
        }
    }
}

#[test]
fn a_root_that_is_not_roots_alone_has_no_mount_source() {
    let node = RecordedNode::parse("world", &format!("{WORLD}O: /=0 0777\n")).unwrap();
    let problem = node.mount_source("/usr/lib/vendor").unwrap_err();
    assert_eq!(problem.to_string(), "/ can be written by others than root (mode 0777)");
}

/// What was checked is what is read, or nothing is: a link that comes in after the path was resolved is refused.
#[test]
fn a_link_that_comes_in_between_is_not_read_through() {
    let node = RecordedNode::parse("race", "F: /a/b/file=good\nF: /secret/file=canary\n").unwrap();
    let resolved = node.resolve("/a/b/file").unwrap();
    for (gone, link) in [("/a/b", "I: /a/b=l ../secret\n"), ("/a", "I: /a=l secret\n")] {
        node.apply(Change::RemoveFile(gone.into())).unwrap();
        node.apply(Change::AddDevices(link.into())).unwrap();
        assert!(matches!(node.file(&resolved, 10), Err(ReadError::Invalid(_) | ReadError::NotFound)));
        let why = node.mount_source("/a/b/file").unwrap_err().to_string();
        assert!(why.contains(" is a link") || why.contains(": "), "{why}");
    }
}

/// The same with a program that does it all the time.
#[test]
fn whoever_swaps_links_while_it_is_read_gains_nothing() {
    let Some((dir, node)) = live() else { return };
    let root = dir.path().to_owned();
    fs::create_dir_all(root.join("a")).unwrap();
    fs::create_dir_all(root.join("secret")).unwrap();
    fs::write(root.join("a/file"), "good").unwrap();
    fs::write(root.join("secret/file"), "canary").unwrap();
    symlink("secret", root.join("link")).unwrap();
    let stop = AtomicBool::new(false);
    let (mut read, mut refused, mut wrong) = (0, 0, false);
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            while !stop.load(Ordering::Relaxed) {
                let cwd = rustix::fs::CWD;
                rustix::fs::renameat_with(cwd, root.join("a"), cwd, root.join("link"), flags).unwrap();
            }
        });
        for _ in 0..20_000 {
            // The check of the resolved path, as a policy would make it.
            let Ok(resolved) = node.resolve("/a/file") else {
                continue;
            };
            if resolved != "/a/file" {
                refused += 1;
                continue;
            }
            match node.file(&resolved, 10) {
                Ok(bytes) => {
                    wrong |= bytes != b"good";
                    read += 1;
                }
                Err(_) => refused += 1,
            }
            wrong |= node.mount_source("/a/file").is_ok_and(|kind| kind != MountKind::File);
        }
        stop.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
    });
    // Told only now: who swaps would never be told to stop.
    assert!(!wrong, "something else was read");
    assert!(read + refused > 0, "read {read}, refused {refused}");
}

/// The machine that the tests run on: what everybody may write to is no source, wherever it is.
#[test]
fn this_machines_own_directories_are_told_apart() {
    let node = Node::open(Path::new("/")).unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().to_str().unwrap();
    if fs::metadata("/tmp").is_ok_and(|tmp| tmp.permissions().mode() & 0o002 != 0) && path.starts_with("/tmp/") {
        let why = node.mount_source(path).unwrap_err().to_string();
        assert!(why.starts_with("/tmp can be written by others than root"), "{why}");
    }
    let why = node.mount_source("/dev/null").unwrap_err().to_string();
    // Another user's, or not there, where /dev is that of a user namespace.
    let known = [" is a device node, ", " belongs to user ", " is not there"];
    assert!(known.iter().any(|known| why.contains(known)), "{why}");
    // Text that leads to the process that reads it, which no policy can mean.
    if let Ok(resolved) = node.resolve("/proc/mounts") {
        assert!(
            resolved.starts_with("/proc/") && resolved.ends_with("/mounts") && resolved != "/proc/mounts",
            "{resolved}"
        );
    }
}
