//! What is written in the state directory, and what is not.

use super::*;
use crate::allocations::fuzz;

/// A full disk, or a broken one: what is given without a record is given twice after a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_recorded_is_not_given_and_what_pods_have_stays() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let journal = |number: u32| dir.path().join(format!("allocations/journal.{number}"));
    let world = start_with(POLICY, NODE, &allocations, [("fake.wasm", Fake::gpus())]);
    give(&world, "fake.com/gpu", &["0000:00:01.0"]).await;
    assert_eq!(allocations.trouble(), None);
    std::fs::remove_file(journal(1)).unwrap();
    // A directory in the next file's place: not even root can put a file there.
    std::fs::create_dir_all(journal(2).join("in the way")).unwrap();
    let gpus = world.offer("fake.com/gpu").await;
    let (held, free) = (strings(&["0000:00:01.0"]), strings(&["0000:00:02.0"]));
    let refused = gpus.allocate(&free).await.unwrap_err();
    assert!(refused.to_string().contains("cannot be recorded: "), "{refused}");
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    assert!(list.contains("0000:00:01.0 {1}\n") && list.contains("--state-dir"), "{list}");
    assert!(allocations.trouble().unwrap().contains("cannot be recorded"));
    gpus.allocate(&free).await.unwrap_err();
    gpus.allocate(&held).await.unwrap();
    std::fs::remove_dir_all(journal(2)).unwrap();
    wait(&gpus, all_healthy).await;
    assert_eq!(allocations.trouble(), None);
    let text = recorded(dir.path());
    assert!(text.contains("0000:00:01.0\": {") && !text.contains("0000:00:02.0\": {"), "{text}");
    gpus.allocate(&free).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_newer_host_wrote_is_neither_read_nor_touched() {
    let dir = tempfile::tempdir().unwrap();
    let (file, text) = (dir.path().join("handed-out.json"), "{\"version\": 3, \"units\": []}");
    std::fs::write(&file, text).unwrap();
    let why = Allocations::open(dir.path()).unwrap().trouble().unwrap();
    assert!(why.contains("has version 3") && why.contains("a newer one wrote it"), "{why}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    std::fs::remove_file(&file).unwrap();
    drop(Allocations::of_new_node(dir.path()).unwrap());
    let header = fuzz::Line { kind: 1, seq: 0, durable_through: 0, text: br#"{"format": 2, "more": []}"# };
    let newer = fuzz::journal(&[header]);
    std::fs::write(dir.path().join("allocations/snapshot.1"), &newer).unwrap();
    let allocations = Allocations::open(dir.path()).unwrap();
    let why = allocations.trouble().unwrap();
    assert!(why.contains("has format 2") && why.contains("a newer one wrote it"), "{why}");
    // The kubelet's word changes nothing: lists stay, and nothing of them is given.
    let (source, feed) = crate::holders::holders();
    source.tell_records(records(&[("other.com/nic", "eth0", &["/dev/other"])]));
    let world = gpus_told(feed, &allocations);
    let gpus = world.offer("fake.com/gpu").await;
    let listed = wait(&gpus, |list| !list.devices.is_empty()).await;
    assert_eq!(listed.matches(&*why).count(), 2, "{listed}");
    gpus.allocate(&strings(&["0000:00:01.0"])).await.unwrap_err();
    assert!(world.plugins.flush(TIMEOUT).await);
    assert_eq!(allocations.trouble().unwrap(), why);
    assert_eq!(std::fs::read(dir.path().join("allocations/snapshot.1")).unwrap(), newer);
}

/// The journal grows then: an admin must see that before the disk is full.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_that_cannot_go_on_in_another_file_is_told_until_it_does() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let in_the_way = dir.path().join("allocations/journal.2");
    std::fs::create_dir_all(in_the_way.join("file")).unwrap();
    let _world = start_with(POLICY, NODE, &allocations, [("fake.wasm", Fake::gpus())]);
    let (policy, resource) = (plugin_policy(POLICY), devgate_types::ResourceName::try_new("fake.com/gpu").unwrap());
    let mut next = 0;
    let mut give_until = async |is_told: bool| {
        let deadline = std::time::Instant::now() + TIMEOUT;
        while allocations.not_saved().is_empty() == is_told {
            assert!(std::time::Instant::now() < deadline, "{:?}", allocations.not_saved());
            next += 1;
            let units = [made_up(next)];
            let giving = Giving::whole(&resource, &[], &units, &policy, false);
            let noted = allocations.note(&Consumer::Pods, State::Active, None, &[giving]);
            save(&allocations, noted).await;
            tokio::task::yield_now().await;
        }
    };
    give_until(true).await;
    assert!(allocations.not_saved()[0].contains("/allocations could not be saved: "));
    assert_eq!(allocations.trouble(), None, "what is given is recorded");
    std::fs::remove_dir_all(&in_the_way).unwrap();
    give_until(false).await;
}

/// A link in place of each file that the host keeps, and of each that one before it wrote first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_link_in_the_state_directory_is_followed() {
    let policy = format!("{POLICY}    state: true\n");
    for name in [
        "handed-out.json",
        "handed-out.json.new",
        "handed-out.json.probe",
        "allocations",
        "allocations/journal.1",
        "allocations/journal.2",
        "allocations/snapshot.1",
        "allocations/snapshot.new",
        "unhealthy.json",
        "unhealthy.json.new",
        "device-info.json",
        "state",
        "state/gpus",
        "state/gpus.new",
        ".devgate-0.new",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (state, precious) = (dir.path().join("kept"), dir.path().join("precious"));
        std::fs::create_dir_all(state.join(name).parent().unwrap()).unwrap();
        let empty = "{\"version\": 1, \"unhealthy\": {}}";
        std::fs::write(&precious, empty).unwrap();
        std::os::unix::fs::symlink(&precious, state.join(name)).unwrap();
        let allocations =
            Allocations::of_new_node(&state).map(|allocations| allocations.telling_in(&dir.path().join("dp")));
        if let Ok(allocations) = allocations {
            let world = start_with(&policy, NODE, &allocations, [("fake.wasm", Fake::gpus())]);
            give(&world, "fake.com/gpu", &["0000:00:01.0"]).await;
            let state = crate::component_state::ComponentState::new(
                allocations.dir(),
                &devgate_types::PluginName::try_new("gpus").unwrap(),
            );
            let stored = state.store(&tokio_util::sync::CancellationToken::new(), b"something");
            assert_eq!(stored.is_err(), name == "state", "{name}");
            assert!(world.plugins.flush(super::TIMEOUT).await);
        } else {
            let read = [
                "handed-out.json",
                "allocations",
                "allocations/journal.1",
                "allocations/journal.2",
                "allocations/snapshot.1",
            ];
            assert!(read.contains(&name), "{name}");
        }
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), empty, "{name}");
    }
}

#[test]
fn a_file_that_cannot_be_understood_is_put_aside_and_a_bad_directory_refused() {
    for text in ["", "nonsense", "{\"version\": 1}"] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("handed-out.json"), text).unwrap();
        Allocations::of_new_node(dir.path()).unwrap();
        let aside = std::fs::read_to_string(dir.path().join("handed-out.json.unreadable"));
        assert_eq!(aside.unwrap(), text);
    }
    let error = Allocations::of_new_node(std::path::Path::new("/dev/null/state")).err().unwrap();
    insta::assert_snapshot!(error, @"state directory /dev/null/state: Not a directory (os error 20); name another one with --state-dir");
}
