//! What `check` tells of the grants that are paths.

use crate::grants::Grants;
use crate::testing::*;
use devgate_fake_node::RecordedNode;
use std::fmt::Write;

const WORLD: &str = "\
F: /proc/driver/fake/version=1
F: /proc/driver/fake/gpus/a/information=1
F: /proc/driver/fake/gpus/b/information=1
F: /proc/driver/fake/gpus/b/other=1
F: /srv/fake/closed=1
O: /srv/fake/closed=0 0600
I: /srv/fake/away=l /etc/passwd
F: /etc/passwd=1
I: /srv/fake/directory=d
D: /dev/fake0=c 240:0
D: /dev/fake1=c 240:1
D: /dev/fakes/deep/2=c 240:2
D: /dev/fakemem=c 1:1
";

#[test]
fn every_entry_is_told_with_what_it_matches() {
    let node = RecordedNode::parse("here", WORLD).unwrap();
    let policy = policy_of(
        "
    files: [/proc/driver/fake/gpus/*/information, /proc/driver/fake/version, /proc/driver/*/nothing, /srv/fake/*, '/proc/driver/**']
    host-nodes: {exclusive: ['/dev/fake[0-9]', '/dev/fakes/**'], shared: ['/dev/fakem*', /dev/nothing]}
",
    );
    let grants = Grants::new(node.into(), plugin_policy(&policy));
    let mut told = String::new();
    for found in grants.files() {
        let _ = writeln!(told, "{} ({}): {}", found.pattern, found.origin, found.found.join(" "));
        for withheld in found.withheld {
            let _ = writeln!(told, "  not {}: {}", withheld.what, withheld.why);
        }
        assert!(!found.more);
    }
    let patterns = grants.policy.host_nodes.patterns();
    for (found, (_, shared, _)) in grants.host_nodes().into_iter().zip(patterns) {
        let nodes: Vec<_> = found.found.iter().map(|n| n.node.path.as_str()).collect();
        let _ = writeln!(told, "{} (shared {shared}): {}", found.pattern, nodes.join(" "));
        for withheld in found.withheld {
            let _ = writeln!(told, "  not {}: {}", withheld.what, withheld.why);
        }
        assert!(!found.more);
    }
    let told: Vec<_> = told.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    /proc/driver/fake/gpus/*/information (policy.yaml:8): /proc/driver/fake/gpus/a/information /proc/driver/fake/gpus/b/information
    /proc/driver/fake/version (policy.yaml:8): /proc/driver/fake/version
    /proc/driver/*/nothing (policy.yaml:8):
    /srv/fake/* (policy.yaml:8):
      not /srv/fake/away: it leads to /etc/passwd, which is not listed (files)
      not /srv/fake/closed: denied: only root may read it
    /proc/driver/** (policy.yaml:8): /proc/driver/fake/gpus/a/information /proc/driver/fake/gpus/b/information /proc/driver/fake/gpus/b/other /proc/driver/fake/version
    /dev/fake[0-9] (shared false): /dev/fake0 /dev/fake1
    /dev/fakes/** (shared false): /dev/fakes/deep/2
    /dev/fakem* (shared true):
      not /dev/fakemem: /dev/fakemem (c 1:1) is dangerous to give away: it is all of the node's physical memory, and needs "dangerous: [mem]" in the policy
    /dev/nothing (shared true):
    "#);
}

#[test]
fn a_directory_without_end_is_looked_at_so_far() {
    let files: String = (0..5_000).map(|n| format!("F: /srv/many/{n}=x\n")).collect();
    let node = RecordedNode::parse("many", &files).unwrap();
    let grants = Grants::new(node.into(), plugin_policy(&policy_of("\n    files: [/srv/many/*]\n")));
    let found = grants.files();
    assert_eq!((found[0].found.len(), found[0].more), (4_096, true));
}
