//! What a host that has confined itself still does, and what it does not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stdout, reason = "a test")]

mod common;

use common::{End, run};
use devgate_confine::{Filter, lines};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::id;
use std::thread::scope;

/// A directory that is the host's, with a program in it.
struct Own(PathBuf);

impl Own {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("devgate-confine-{name}-{}", id()));
        fs::create_dir(&dir).unwrap();
        fs::copy("/bin/true", dir.join("program")).unwrap();
        Self(dir)
    }

    fn run(&self, what: &[&str]) -> End {
        run(&format!("host:{}", self.0.display()), what)
    }

    fn call(&self, number: i64, arguments: &[&str]) -> End {
        self.run(&[&["call", &number.to_string()], arguments].concat())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// How a call ends that the filter fails.
const FAILS: &str = "-1 Some(Os { code: 1,";

#[test]
fn each_number_that_is_not_listed_fails_and_the_host_goes_on() {
    let own = Own::new("numbers");
    let listed: BTreeSet<i64> = lines(Filter::Host).map(|line| line.number).collect();
    let unfiltered = devgate_confine::UNFILTERED.iter().map(|(_, number)| *number);
    let listed: BTreeSet<i64> = listed.into_iter().chain(unfiltered).collect();
    let others: Vec<i64> = (0..=600).filter(|number| !listed.contains(number)).collect();
    assert!(others.len() > 300);
    scope(|scope| {
        for part in others.chunks(others.len().div_ceil(4)) {
            let own = &own;
            scope.spawn(move || {
                for number in part {
                    let end = own.call(*number, &[]);
                    assert!(end.code == Some(0) && end.said.contains(FAILS), "{number}: {end:?}");
                }
            });
        }
    });
    // Those of another kind that have the same names.
    for number in [libc::SYS_openat, libc::SYS_read, libc::SYS_socket] {
        let end = own.call(number | 1 << 30, &[]);
        assert!(end.said.contains(FAILS), "{number}: {end:?}");
    }
}

#[test]
fn what_takes_over_a_node_fails() {
    let own = Own::new("attacks");
    for (what, number, arguments) in [
        ("trace", libc::SYS_ptrace, &["16", "parent"][..]),
        ("read memory", libc::SYS_process_vm_readv, &["parent", "zeros", "1", "zeros", "1", "0"]),
        ("take a descriptor", libc::SYS_pidfd_getfd, &["0", "0", "0"]),
        ("a namespace", libc::SYS_unshare, &["268435456"]),
        ("a namespace of a child", libc::SYS_clone, &["268435473", "0", "0", "0", "0"]),
        ("enter a namespace", libc::SYS_setns, &["0", "0"]),
        ("mount", libc::SYS_mount, &["zeros", "zeros", "zeros", "0", "0"]),
        ("another root", libc::SYS_chroot, &["path"]),
        ("a device", libc::SYS_mknodat, &["-100", "path", "8630", "259"]),
        ("another identity", libc::SYS_setuid, &["0"]),
        ("a program in the kernel", libc::SYS_bpf, &["0", "zeros", "0"]),
        ("a module", libc::SYS_finit_module, &["0", "zeros", "0"]),
        ("count events", libc::SYS_perf_event_open, &["zeros", "0", "-1", "-1", "0"]),
        ("queue calls", libc::SYS_io_uring_setup, &["1", "zeros"]),
        ("keys", libc::SYS_keyctl, &["0", "-3", "0"]),
        ("by handle past directories", libc::SYS_open_by_handle_at, &["0", "zeros", "0"]),
        ("control a device", libc::SYS_ioctl, &["0", "19283", "zeros"]),
        ("packets as they are", libc::SYS_socket, &["17", "3", "768"]),
        ("be dumpable", libc::SYS_prctl, &["4", "1"]),
    ] {
        let end = own.call(number, arguments);
        assert!(end.code == Some(0) && end.said.contains(FAILS), "{what}: {end:?}");
    }
}

#[test]
fn what_a_host_does_is_done() {
    let own = Own::new("work");
    for work in ["compute", "talk", "wait", "spawn", "connect", "stream"] {
        for work in [work.to_owned(), format!("{work}-on-thread")] {
            let end = own.run(&[&work]);
            assert_eq!(end.code, Some(0), "{work}: {end:?}");
            assert!(!end.said.contains("done false") && !end.said.contains("Err"), "{work}: {end:?}");
        }
    }
    let file = own.0.join("file");
    assert!(own.run(&["write", text(&file)]).said.contains("Ok(())"));
    assert!(own.run(&["open"]).said.contains("Ok(())"));
    let program = own.0.join("program");
    let end = own.run(&["execute", text(&program)]);
    assert!(end.said.contains("Ok(Some(0))"), "{end:?}");
}

#[test]
fn nothing_else_is_written_executed_or_signalled() {
    let own = Own::new("files");
    let end = own.run(&["open"]);
    let Some(abi) = end.said.split("abi: ").nth(1) else {
        return println!("skipped: this kernel has no Landlock");
    };
    let abi: u32 = abi.split(',').next().unwrap().parse().unwrap();
    let other = Own::new("files-of-another");
    let file = other.0.join("file");
    assert!(other.run(&["write", text(&file)]).said.contains("Ok("));
    for file in [&file, Path::new("/etc/devgate-confine-test")] {
        let end = own.run(&["write", text(file)]);
        assert!(end.said.contains("PermissionDenied"), "{end:?}");
    }
    for program in [text(&other.0.join("program")), "/bin/true"] {
        let end = own.run(&["execute", program]);
        assert!(end.said.contains("PermissionDenied"), "{end:?}");
    }
    let end = own.call(libc::SYS_kill, &["parent", "0"]);
    assert_eq!(end.said.contains(FAILS), abi >= 6, "{end:?}");
}

#[test]
fn sockets_are_made_where_they_are_and_in_a_directory_made_anew() {
    let own = Own::new("sockets");
    if !own.run(&["open"]).said.contains("abi: ") {
        return println!("skipped: this kernel has no Landlock");
    }
    let (sockets, anew) = (Own(own.0.with_extension("sockets")), Own(own.0.with_extension("anew")));
    // The second has no rule of its own, as what is made anew has none.
    for dir in [&sockets.0, &anew.0] {
        fs::create_dir(dir).unwrap();
    }
    for dir in [&sockets.0, &anew.0] {
        let end = own.run(&["bind", text(&dir.join("a.sock"))]);
        assert!(end.said.contains("Ok(())"), "{end:?}");
        let end = own.run(&["write", text(&dir.join("file"))]);
        assert!(end.said.contains("PermissionDenied"), "{end:?}");
    }
}

#[test]
fn no_capability_is_left_and_none_is_gained() {
    let own = Own::new("status");
    let had = run("begin", &["status"]).said;
    let is_root_here = had.contains("CapEff:") && !had.contains("CapEff:\t0000000000000000");
    let end = own.run(&["status"]);
    let syslog = 1_u64 << 34;
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        let line = end.said.lines().find(|line| line.starts_with(set)).unwrap();
        let has = u64::from_str_radix(line.rsplit('\t').next().unwrap(), 16).unwrap();
        assert_eq!(has & !syslog, 0, "{line}");
    }
    assert!(end.said.contains("NoNewPrivs:\t1") && end.said.contains("dumpable false"), "{}", end.said);
    if is_root_here {
        let line = end.said.lines().find(|line| line.starts_with("CapBnd")).unwrap();
        let has = u64::from_str_radix(line.rsplit('\t').next().unwrap(), 16).unwrap();
        assert_eq!(has & !syslog, 0, "{line}");
    }
}
