//! What a confined program still does: its work, and ending so that the host sees why.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stdout, reason = "a test")]

mod common;

use common::{SIGABRT, SIGSEGV, run, run_for};

#[test]
fn ordinary_work_is_done() {
    for until in ["loading", "running", "compiling", "pulling", "filters"] {
        for work in ["compute", "talk", "wait", "stdin"] {
            for work in [work.to_owned(), format!("{work}-on-thread")] {
                let end = run(until, &[&work]);
                assert_eq!(end.code, Some(0), "{work}, {until}: {end:?}");
                assert!(!end.said.contains("done false"), "{work}, {until}: {end:?}");
            }
        }
    }
}

#[test]
fn a_fault_is_not_taken_for_an_attack() {
    // musl aborts other threads than the main one by `tkill`, which is refused, and then by a fault.
    let on_thread = if cfg!(target_env = "musl") { SIGSEGV } else { SIGABRT };
    // Nor does the standard library know where musl's main stack ends, confined or not.
    let overflow = run("begin", &["overflow"]).signal.unwrap();
    for until in ["running", "compiling"] {
        for (work, signal) in [
            ("abort", SIGABRT),
            ("abort-on-thread", on_thread),
            ("overflow", overflow),
            ("overflow-on-thread", on_thread),
            ("memory", SIGABRT),
            ("fault", SIGSEGV),
            ("fault-on-thread", SIGSEGV),
        ] {
            let end = run(until, &[work]);
            assert_eq!(end.signal, Some(signal), "{work}, {until}: {end:?}");
        }
        let end = run(until, &["panic"]);
        assert_eq!(end.code, Some(101), "{end:?}");
        assert!(end.complained.contains("as asked"), "{end:?}");
    }
}

#[test]
fn a_stream_of_the_standard_library_is_no_file() {
    assert!(run("running", &["stream"]).by_filter(), "it may be used then, and the doc comment of `talk` is wrong");
}

#[test]
fn a_child_whose_parent_is_another_does_not_go_on() {
    let end = run_for("1", "begin", &["orphan"]);
    assert_eq!(end.said, "", "{end:?}");
    assert!(end.complained.contains("parent 1: has ended"), "{end:?}");
}

#[test]
fn limits_and_flags_are_what_was_asked() {
    let end = run("begin", &["status"]);
    for line in ["NoNewPrivs:\t1", "Max address space         4294967296           4294967296"] {
        assert!(end.said.contains(line), "{line}: {}", end.said);
    }
    for line in ["Max core file size        0                    0", "Max file size             0                    0"]
    {
        assert!(end.said.contains(line), "{line}: {}", end.said);
    }
    for line in
        ["Max open files            16                   16", "Max cpu time              60                   61"]
    {
        assert!(end.said.contains(line), "{line}: {}", end.said);
    }
    assert!(end.said.contains("Name:\ttry-calls") && end.said.contains("dumpable false"), "{}", end.said);
}
