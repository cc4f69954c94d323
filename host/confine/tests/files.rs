//! What Landlock takes where no filter does.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stdout, reason = "a test")]

mod common;

use common::run;

fn has_landlock() -> Option<u32> {
    let said = run("files", &["nothing"]).said;
    let abi = said.split("abi: ").nth(1)?.split(',').next()?;
    Some(abi.parse().unwrap())
}

#[test]
fn no_file_is_opened_and_nothing_connected() {
    let Some(abi) = has_landlock() else {
        return println!("skipped: this kernel has no Landlock");
    };
    for what in ["open", "open-on-thread"] {
        assert!(run("begin", &[what]).said.contains("Ok("));
        let end = run("files", &[what]);
        assert!(end.said.contains("PermissionDenied"), "{end:?}");
    }
    assert!(run("begin", &["connect"]).said.contains("Ok("));
    let end = run("files", &["connect"]);
    assert_eq!(end.said.contains("PermissionDenied"), abi >= 4, "{end:?}");
    // What pulls connects, and opens nothing either.
    assert!(run("pulling", &["connect"]).said.contains("Ok("));
}

#[test]
fn others_are_not_signalled_and_own_threads_are() {
    let Some(abi) = has_landlock() else {
        return println!("skipped: this kernel has no Landlock");
    };
    let (kill, tgkill) = (libc::SYS_kill.to_string(), libc::SYS_tgkill.to_string());
    assert!(run("begin", &["call", &kill, "parent", "0"]).said.contains("0 None"));
    let end = run("files", &["call", &kill, "parent", "0"]);
    assert_eq!(end.said.contains("code: 1,"), abi >= 6, "{end:?}");
    let end = run("files", &["call", &tgkill, "own", "own", "0"]);
    assert!(end.said.ends_with("0 None\n"), "{end:?}");
}

#[test]
fn what_the_kernel_lacks_is_named() {
    let Some(abi) = has_landlock() else {
        return println!("skipped: this kernel has no Landlock");
    };
    let said = run("files", &["nothing"]).said;
    assert_eq!(said.contains("unix-socket"), abi < 9, "{said}");
    assert_eq!(said.contains("truncate"), abi < 3, "{said}");
}

#[test]
fn a_filter_of_the_container_is_told_from_a_kernel_without_it() {
    let end = run("answered-1", &["nothing"]);
    assert!(end.complained.contains("forbidden by this container's or unit's filter"), "{end:?}");
    for answer in ["answered-38", "answered-95"] {
        let end = run(answer, &["nothing"]);
        assert!(end.said.starts_with("Missing\n"), "{end:?}");
    }
    let end = run("restrict-answered-1", &["nothing"]);
    assert!(end.complained.contains("landlock_restrict_self"), "{end:?}");
    assert!(end.complained.contains("forbidden by this container's or unit's filter"), "{end:?}");
}
