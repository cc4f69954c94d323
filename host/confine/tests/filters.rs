//! What the filters let through: every number, and the calls that an attacker would make.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stdout, reason = "a test")]

mod common;

use common::{SIGSEGV, SIGSYS, run};
use devgate_confine::{Answer, Filter, UNFILTERED, lines};
use std::collections::BTreeSet;
use std::thread::scope;

const X32: i64 = 1 << 30;

fn listed(filter: Filter) -> BTreeSet<i64> {
    let unfiltered = UNFILTERED.iter().map(|(_, number)| *number);
    lines(filter).map(|line| line.number).chain(unfiltered).collect()
}

/// All of `numbers`, each in a process of its own, that did not end the process by the filter.
fn survivors(until: &str, numbers: impl Iterator<Item = i64>) -> BTreeSet<i64> {
    let numbers: Vec<i64> = numbers.collect();
    scope(|scope| {
        let parts = numbers.chunks(numbers.len().div_ceil(4));
        let parts: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().copied().filter(|number| survives(until, *number)).collect()))
            .collect();
        parts.into_iter().flat_map(|part| -> Vec<i64> { part.join().unwrap() }).collect()
    })
}

fn survives(until: &str, number: i64) -> bool {
    let end = run(until, &["call", &number.to_string()]);
    assert!(end.by_filter() || end.said.contains("Enforced") || end.said.contains("Missing"), "{number}: {end:?}");
    !end.by_filter()
}

/// The lines of the table that no argument keeps from being done; with zeros for arguments the others may be either.
fn unconditional(filter: Filter) -> BTreeSet<i64> {
    let lines = lines(filter).filter(|line| line.arguments.is_empty());
    lines.map(|line| line.number).collect()
}

#[test]
fn running_ends_at_every_number_that_is_not_listed() {
    for until in ["running", "compiling"] {
        let survivors = survivors(until, 0..=600);
        assert!(survivors.is_subset(&listed(Filter::Running)), "{:?}", &survivors - &listed(Filter::Running));
        assert!(survivors.is_superset(&unconditional(Filter::Running)));
    }
}

#[test]
fn loading_ends_at_every_number_that_is_not_listed() {
    let survivors = survivors("loading", 0..=600);
    assert!(survivors.is_subset(&listed(Filter::Loading)), "{:?}", &survivors - &listed(Filter::Loading));
    assert!(survivors.is_superset(&unconditional(Filter::Loading)));
}

#[test]
fn pulling_ends_at_every_number_that_is_not_listed() {
    let survivors = survivors("pulling", 0..=600);
    assert!(survivors.is_subset(&listed(Filter::Pulling)), "{:?}", &survivors - &listed(Filter::Pulling));
    assert!(survivors.is_superset(&unconditional(Filter::Pulling)));
}

#[test]
fn no_number_of_another_kind_is_taken_for_one_that_is_listed() {
    let listed = listed(Filter::Loading);
    assert_eq!(survivors("loading", listed.iter().map(|number| number | X32)), BTreeSet::new());
    assert_eq!(survivors("running", (512..548).map(|number| number | X32)), BTreeSet::new());
    // Linux looks at the lower 32 bits only, and so does the filter.
    assert!(run("running", &["call", &(2_i64 | 1 << 32).to_string()]).by_filter());
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_call_by_the_numbers_of_32_bits_ends_it() {
    // The other is a kernel that has none of them.
    let end = run("running", &["call-32"]);
    assert!([Some(SIGSYS), Some(SIGSEGV)].contains(&end.signal), "{end:?}");
}

/// What is harmless where nothing forbids it: it is also tried there. Arguments are as in the manual; `own`, `parent`, `path` and `zeros` are put in by the example.
fn attacks() -> Vec<(&'static str, i64, &'static [&'static str])> {
    vec![
        ("open", libc::SYS_openat, &["-100", "path", "0"]),
        ("open another way", libc::SYS_openat2, &["-100", "path", "zeros", "24"]),
        ("socket", libc::SYS_socket, &["1", "1", "0"]),
        ("a pair", libc::SYS_socketpair, &["1", "1", "0", "zeros"]),
        ("connect", libc::SYS_connect, &["0", "zeros", "16"]),
        ("send to a socket by path", libc::SYS_sendto, &["1", "zeros", "1", "0", "zeros", "16"]),
        ("pass descriptors", libc::SYS_sendmsg, &["1", "zeros", "0"]),
        ("execute", libc::SYS_execve, &["path", "0", "0"]),
        ("execute a descriptor", libc::SYS_execveat, &["0", "zeros", "0", "0", "4096"]),
        ("signal the parent", libc::SYS_kill, &["parent", "0"]),
        ("signal itself by kill", libc::SYS_kill, &["own", "0"]),
        ("signal all", libc::SYS_kill, &["-1", "0"]),
        ("signal a thread of the parent", libc::SYS_tgkill, &["parent", "parent", "0"]),
        ("queue a signal", libc::SYS_rt_sigqueueinfo, &["parent", "0", "zeros"]),
        ("trace", libc::SYS_ptrace, &["0", "parent", "0", "0"]),
        ("read another's memory", libc::SYS_process_vm_readv, &["parent", "zeros", "1", "zeros", "1", "0"]),
        ("take a descriptor", libc::SYS_pidfd_getfd, &["0", "0", "0"]),
        ("a process", libc::SYS_clone, &["17", "0", "0", "0", "0"]),
        ("a namespace", libc::SYS_unshare, &["268435456"]),
        ("be dumpable", libc::SYS_prctl, &["4", "1"]),
        ("outlive the parent", libc::SYS_prctl, &["1", "0"]),
        ("raise limits", libc::SYS_prlimit64, &["0", "9", "zeros", "0"]),
        ("read limits", libc::SYS_prlimit64, &["0", "9", "0", "zeros"]),
        ("queue calls", libc::SYS_io_uring_setup, &["1", "zeros"]),
        ("load a program", libc::SYS_bpf, &["0", "zeros", "0"]),
        ("take faults", libc::SYS_userfaultfd, &["0"]),
        ("control a device", libc::SYS_ioctl, &["0", "21523", "zeros"]),
        ("shared memory that is executable", libc::SYS_shmat, &["0", "0", "32768"]),
        ("protection by key", libc::SYS_pkey_mprotect, &["zeros", "4096", "4", "-1"]),
        ("give away pages of another", libc::SYS_process_madvise, &["0", "zeros", "0", "4", "0"]),
        ("end a page for the whole node", libc::SYS_madvise, &["zeros", "4096", "100"]),
        ("a lock that lends priority", libc::SYS_futex, &["zeros", "6", "0", "0"]),
    ]
}

/// What only loading may do.
fn conveniences() -> Vec<(&'static str, i64, &'static [&'static str])> {
    vec![
        ("executable memory", libc::SYS_mmap, &["0", "4096", "7", "34", "-1", "0"]),
        ("executable memory, and more bits", libc::SYS_mmap, &["0", "4096", "4294967300", "34", "-1", "0"]),
        ("memory becomes executable", libc::SYS_mprotect, &["zeros", "0", "5"]),
        ("a file of no place", libc::SYS_memfd_create, &["path", "0"]),
        ("seals", libc::SYS_fcntl, &["0", "1033", "0"]),
        ("a name", libc::SYS_prctl, &["15", "path"]),
        ("another filter", libc::SYS_seccomp, &["1", "1", "0"]),
    ]
}

fn tried(until: &str, call: &str, number: i64, arguments: &[&str]) -> common::End {
    let number = number.to_string();
    run(until, &[&[call, &number], arguments].concat())
}

#[test]
fn attacks_end_the_process_on_every_thread() {
    let refused: BTreeSet<i64> =
        lines(Filter::Loading).filter(|line| line.answer == Answer::Refused).map(|line| line.number).collect();
    for (what, number, arguments) in attacks() {
        for (until, call) in [("running", "call"), ("loading", "call"), ("running", "thread"), ("loading", "thread")] {
            let end = tried(until, call, number, arguments);
            let fails = refused.contains(&number) && end.said.contains("-1 Some(Os { code: 38");
            assert!(end.by_filter() || fails, "{what}, {until}, {call}: {end:?}");
        }
    }
}

/// Of sockets what a client of the internet needs, and nothing of those by which others of this machine are reached or a port is opened.
#[test]
fn pulling_has_sockets_of_the_internet_and_only_to_connect() {
    let socket = |arguments: &[&str]| tried("pulling", "call", libc::SYS_socket, arguments);
    // IPv4 and IPv6, streams and datagrams, with the flags that are asked for at the same time.
    for good in [["2", "1", "0"], ["10", "526337", "6"], ["2", "526338", "17"], ["10", "2", "0"]] {
        let end = socket(&good);
        assert_eq!((end.signal, end.code), (None, Some(0)), "{good:?}: {end:?}");
    }
    for (what, bad) in [
        ("a socket by path", ["1", "1", "0"]),
        ("the kernel's messages", ["16", "3", "0"]),
        ("packets as they are", ["17", "3", "768"]),
        ("the machine that this one runs on", ["40", "1", "0"]),
        ("ciphers of the kernel", ["38", "5", "0"]),
        ("raw", ["2", "3", "1"]),
        ("echo requests", ["2", "2", "1"]),
        ("several paths", ["2", "1", "262"]),
    ] {
        assert!(socket(&bad).by_filter(), "{what}");
    }
    let others: [(&str, i64, &[&str]); 8] = [
        ("a port for others", libc::SYS_listen, &["0", "1"]),
        ("who connects", libc::SYS_accept4, &["0", "0", "0", "0"]),
        ("pass descriptors", libc::SYS_sendmsg, &["1", "zeros", "0"]),
        ("take descriptors", libc::SYS_recvmsg, &["1", "zeros", "0"]),
        ("a program for a socket", libc::SYS_setsockopt, &["0", "1", "26", "zeros", "16"]),
        ("through a device of its choice", libc::SYS_setsockopt, &["0", "1", "25", "zeros", "4"]),
        ("who is at the other end", libc::SYS_getsockopt, &["0", "1", "17", "zeros", "zeros"]),
        ("a thread", libc::SYS_clone, &["331520", "0", "0", "0", "0"]),
    ];
    for (what, number, arguments) in others {
        let end = tried("pulling", "call", number, arguments);
        assert!(end.by_filter(), "{what}: {end:?}");
        assert!(!tried("begin", "call", number, arguments).by_filter(), "{what}");
    }
}

/// All that an attacker would make, but for what a client needs itself.
#[test]
fn attacks_end_what_pulls_as_well() {
    let own: BTreeSet<i64> = lines(Filter::Pulling).map(|line| line.number).collect();
    for (what, number, arguments) in attacks() {
        let end = tried("pulling", "call", number, arguments);
        let fails = end.code == Some(0) && own.contains(&number) && end.said.contains("-1 Some(Os");
        assert!(end.by_filter() || fails, "{what}: {end:?}");
    }
    for (what, number, arguments) in conveniences() {
        let end = tried("pulling", "call", number, arguments);
        assert!(end.by_filter(), "{what}: {end:?}");
    }
}

/// Nothing ends it, as it is no vendor's code that asks: all else fails.
#[test]
fn all_that_is_not_listed_fails_in_what_speaks_for_the_host() {
    const FAILS: &str = "-1 Some(Os { code: 1,";
    let listed = listed(Filter::Agent);
    let others: Vec<i64> = (0..=600).filter(|number| !listed.contains(number)).collect();
    assert!(others.len() > 400);
    scope(|scope| {
        for part in others.chunks(others.len().div_ceil(4)) {
            scope.spawn(move || {
                for number in part {
                    let end = tried("agent", "call", *number, &[]);
                    assert!(end.code == Some(0) && end.said.contains(FAILS), "{number}: {end:?}");
                }
            });
        }
    });
    let write = (libc::O_WRONLY | libc::O_CREAT).to_string();
    let listening = ("listen", libc::SYS_listen, &["0", "1"][..]);
    let others = [("write a file", libc::SYS_openat, &["-100", "path", &write][..]), listening];
    for (what, number, arguments) in attacks().into_iter().chain(conveniences()).chain(others) {
        let end = tried("agent", "call", number, arguments);
        let is_own = ["a name", "a pair"].contains(&what);
        assert!(end.code == Some(0) && (is_own || end.said.contains("-1 Some(Os")), "{what}: {end:?}");
    }
}

#[test]
fn what_loading_may_do_running_may_not() {
    for (what, number, arguments) in conveniences() {
        let end = tried("loading", "call", number, arguments);
        assert_eq!((end.signal, end.code), (None, Some(0)), "{what}: {end:?}");
        for call in ["call", "thread"] {
            for until in ["running", "compiling"] {
                let end = tried(until, call, number, arguments);
                assert!(end.by_filter(), "{what}, {until}, {call}: {end:?}");
            }
        }
    }
}

#[test]
fn loading_makes_threads_and_no_processes() {
    let process = ["17", "0", "0", "0", "0"];
    assert!(tried("loading", "call", libc::SYS_clone, &process).by_filter());
    // A thread in a user namespace of its own.
    let namespace = (0x1000_0000_i64 | 0x100 | 0x800 | 0x10000).to_string();
    assert!(tried("loading", "call", libc::SYS_clone, &[&namespace]).by_filter());
    // With flags that the filter lets through the kernel fails it: a thread needs the same files.
    assert_eq!(run("loading", &["spawn"]).code, Some(0));
    assert!(run("running", &["spawn"]).by_filter());
}

#[test]
fn without_filters_the_same_calls_reach_the_kernel() {
    // What a test of a filter is worth is seen where there is none.
    for (what, number, arguments) in attacks() {
        let end = tried("begin", "call", number, arguments);
        assert!(!end.by_filter(), "{what}: {end:?}");
    }
}
