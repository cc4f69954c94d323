//! What the page says that a child may call is what it may.
#![allow(clippy::unwrap_used, reason = "a test")]

use devgate_confine::{Filter, lines};
use std::collections::BTreeSet;

/// The calls that the tables of the page name, up to a heading.
fn named(page: &str) -> BTreeSet<String> {
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let first = rows.filter_map(|row| row.split('|').nth(1));
    let words = first.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let calls = words.filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
    calls.map(str::to_owned).collect()
}

#[test]
fn the_page_names_each_call_that_is_listed_and_no_other() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/confinement.md")).unwrap();
    let (_, tables) = page.split_once("## While it runs").unwrap();
    let (running, loading) = tables.split_once("## While it loads").unwrap();
    let (loading, pulling) = loading.split_once("\n## While it pulls").unwrap();
    let (pulling, host) = pulling.split_once("\n## While the host serves").unwrap();
    let (host, _) = host.split_once("\n## ").unwrap();
    let listed = |filter| lines(filter).map(|line| line.name.to_owned()).collect::<BTreeSet<_>>();
    // What another processor or C library has besides.
    let elsewhere = [
        "membarrier",
        "poll",
        "tkill",
        "openat",
        "rseq",
        "set_robust_list",
        "sched_getaffinity",
        "clone3",
        "epoll_wait",
    ];
    let but = |mut names: BTreeSet<String>| {
        names.retain(|name| !elsewhere.contains(&name.as_str()));
        names
    };
    let (run, load, pull, host) = (named(running), named(loading), named(pulling), named(host));
    let both: BTreeSet<_> = run.union(&host).cloned().collect();
    assert_eq!(both, listed(Filter::Host).union(&run).cloned().collect());
    assert_eq!(but(run.clone()), but(listed(Filter::Running)));
    let both = run.union(&load).cloned().collect();
    assert_eq!(but(both), but(listed(Filter::Loading)));
    let both = run.union(&pull).cloned().collect();
    assert_eq!(but(both), but(listed(Filter::Pulling)));
    let all: BTreeSet<_> = run.union(&load).cloned().collect();
    let all: BTreeSet<_> = all.union(&pull).cloned().collect();
    for name in listed(Filter::Loading).into_iter().chain(listed(Filter::Pulling)) {
        assert!(all.contains(&name), "{name}");
    }
}
