//! Mounts: by the policy's names, and only sources that are root's alone.

use crate::grants::Grants;
use crate::reply::Asked;
use crate::testing::*;
use devgate_fake_node::{Change, RecordedNode};
use devgate_types::component::{Capabilities, Denied};
use devgate_types::{Edits, FailureKind, MountHandle};

const WORLD: &str = "\
F: /srv/fake/lib.so=elf
I: /srv/link=l fake
F: /srv/users/lib.so=elf
O: /srv/users=1000 0755
I: /srv/open=d
O: /srv/open=0 0777
I: /srv/service/control.sock=s
";

const MOUNTS: &str = "
    containers:
      mounts:
        lib: {source: /srv/fake/lib.so, target: /opt/fake/lib.so}
        dir: {source: /srv/fake, target: /opt/fake/dir, writable: true}
        link: {source: /srv/link, target: /opt/fake/link}
        users: {source: /srv/users/lib.so, target: /opt/fake/users}
        open: {source: /srv/open, target: /opt/fake/open}
        service: {source: /srv/service, target: /opt/fake/service}
        missing: {source: /srv/missing, target: /opt/fake/missing}
        unseen: {source: /srv/elsewhere, target: /opt/fake/unseen, unchecked: true}
";

fn world() -> RecordedNode {
    RecordedNode::parse("mounts", WORLD).unwrap()
}

#[test]
fn named_mounts_that_are_roots_alone_are_given() {
    let mut host = call_host_on(&world(), &policy_of(MOUNTS));
    let lib = host.mount("lib").unwrap();
    assert_eq!(host.mount_source(lib), Ok(("/srv/fake/lib.so".into(), false)));
    let dir = host.mount("dir").unwrap();
    assert_eq!(host.mount_source(dir), Ok(("/srv/fake".into(), true)));
    assert_eq!(host.mount("lib"), Ok(lib), "the same mount has the same handle");
    let held = host.held_mount(dir).unwrap();
    assert_eq!((held.name.as_str(), held.target.as_str(), held.writable), ("dir", "/opt/fake/dir", true));
    let unseen = host.mount("unseen").unwrap();
    assert_eq!(host.mount_source(unseen), Ok(("/srv/elsewhere".into(), false)));
    assert!(host.held_mount(MountHandle(99)).is_none());
    assert!(matches!(host.mount_source(MountHandle(99)), Err(Denied::End(_))));
}

#[test]
fn others_are_refused_with_what_is_wrong() {
    let mut host = call_host_on(&world(), &policy_of(MOUNTS));
    let said: Vec<_> = ["etc", "", "/srv/fake", "link", "users", "open", "service", "missing"]
        .into_iter()
        .map(|name| match host.mount(name) {
            Err(Denied::Failure(failure)) => format!("{:?} {}", failure.kind, failure.message),
            other => panic!("{name}: {other:?}"),
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    Denied mount "etc": no entry of the policy's containers.mounts has this name
    Denied mount "": no entry of the policy's containers.mounts has this name
    Denied mount "/srv/fake": no entry of the policy's containers.mounts has this name
    Denied mount "link": source /srv/link: /srv/link is a link
    Denied mount "users": source /srv/users/lib.so: /srv/users belongs to user 1000, not to root
    Denied mount "open": source /srv/open: /srv/open can be written by others than root (mode 0777)
    Denied mount "service": /srv/service has a socket in it, behind which is a service of the node: control.sock ("dangerous: [sockets]" in the policy would accept it)
    NotFound mount "missing": source /srv/missing: /srv/missing is not there, as far as this host can see ("unchecked: true" in the policy hands it out unseen)
    "#);
}

#[test]
fn a_socket_may_be_accepted_by_name() {
    let accepted = policy_of(&format!("{MOUNTS}    dangerous: [sockets]\n"));
    assert!(call_host_on(&world(), &accepted).mount("service").is_ok());
    // A word for something else is none for this.
    let other = policy_of(&format!("{MOUNTS}    dangerous: [uinput]\n"));
    assert!(call_host_on(&world(), &other).mount("service").is_err());
}

#[test]
fn what_changed_since_is_seen_when_it_is_given() {
    let node = world();
    let grants = Grants::new(node.clone().into(), plugin_policy(&policy_of(MOUNTS)));
    let (dir, unseen) = (grants.mount("dir").unwrap(), grants.mount("unseen").unwrap());
    assert_eq!(grants.mount_problem_now(&dir.name), None);
    assert_eq!(grants.mount_problem_now(&unseen.name), None);
    let mut host = call_host_on(&node, &policy_of(MOUNTS));
    let asked = Edits { mounts: vec![host.mount("dir").unwrap()], ..Edits::default() };
    Asked::of(asked.clone(), &host).unwrap();
    node.apply(Change::AddDevices("O: /srv/fake=0 0775\n".into())).unwrap();
    let refused = Asked::of(asked, &host).unwrap_err().to_string();
    insta::assert_snapshot!(refused, @"failed: mount dir: source /srv/fake: /srv/fake can be written by others than root (mode 0775)");
    insta::assert_snapshot!(grants.mount_problem_now(&dir.name).unwrap(), @"mount dir: source /srv/fake: /srv/fake can be written by others than root (mode 0775)");
    node.apply(Change::RemoveFile("/srv/fake".into())).unwrap();
    node.apply(Change::AddDevices("I: /srv/fake=l /etc\n".into())).unwrap();
    insta::assert_snapshot!(grants.mount_problem_now(&dir.name).unwrap(), @"mount dir: source /srv/fake: /srv/fake is a link");
    // Under a policy that names it no more.
    let other = Grants::new(node.into(), plugin_policy(&policy_of("")));
    assert!(other.mount_problem_now(&dir.name).unwrap().contains("no entry"));
}

#[test]
fn all_mounts_are_told_with_what_the_host_sees() {
    let grants = Grants::new(world().into(), plugin_policy(&policy_of(MOUNTS)));
    let names: Vec<_> = grants.policy.containers.mounts.keys().collect();
    let said: Vec<_> = names.iter().filter(|name| grants.mount(name).is_ok()).collect();
    assert_eq!(said, [&"lib", &"dir", &"unseen"]);
    assert_eq!(names.len(), 8);
    assert_eq!(
        call_host_on(&world(), &policy_of("")).mount("lib").map_err(|denied| match denied {
            Denied::Failure(failure) => failure.kind,
            Denied::End(_) => FailureKind::Other,
        }),
        Err(FailureKind::Denied)
    );
}
