//! What is given where it is not known any more what pods have.

use super::*;

/// What becomes of the file between two hosts.
const LOSSES: [(&str, Option<&str>); 4] = [
    ("gone", None),
    ("torn", Some("{\"version\": 1, \"handed_")),
    ("of no version", Some("{\"handed_out\": {}}")),
    ("with what this host does not know", Some("{\"version\": 1, \"handed_out\": {}, \"more\": 1}")),
];

/// A television card whose nodes are beside each other.
const TUNER: &str = "\
P: /devices/pci0000:00/0000:00:04.0/dvb/dvb0.frontend0
N: dvb/adapter0/frontend0
E: SUBSYSTEM=dvb
E: DEVNAME=/dev/dvb/adapter0/frontend0
E: MAJOR=212
E: MINOR=0
A: dev=212:0\\n

P: /devices/pci0000:00/0000:00:04.0/dvb/dvb0.demux0
N: dvb/adapter0/demux0
E: SUBSYSTEM=dvb
E: DEVNAME=/dev/dvb/adapter0/demux0
E: MAJOR=212
E: MINOR=1
A: dev=212:1\\n
";

/// The rival stands first in the policy, has the same hardware, a part of it, or another node, under an id of its own, and the plugin whose
/// pod has it is there or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_memory_is_lost_nothing_is_given_before_the_kubelet_has_told() {
    let gpu = "{subsystem: pci, name: \"0000:00:01.0\", use: offer, nodes: [{subsystem: drm, name: \"card*\"}]}";
    let part = "{subsystem: drm, name: card0, use: offer, nodes: [{access: rw}]}";
    let above = "{subsystem: pci, name: \"0000:00:01.0\", use: offer, nodes: [{subsystem: drm, name: \"render*\"}]}";
    let frontend = "{subsystem: dvb, name: dvb0.frontend0, use: offer, nodes: [{access: rw}]}";
    let demux = "{subsystem: dvb, name: dvb0.demux0, use: offer, nodes: [{access: rw}]}";
    let of_gpu = (gpu, "pci", "good-0000:00:01.0", "/dev/dri/card0");
    let of_tuner = (frontend, "dvb", "good-dvb0.frontend0", "/dev/dvb/adapter0/frontend0");
    let rivals = [(gpu, "pci", of_gpu), (part, "drm", of_gpu), (above, "pci", of_gpu), (demux, "dvb", of_tuner)];
    let text = format!("{NODE}\n{TUNER}");
    let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
    for ((why, file), (rival, subsystem, (good, of_good, id, path))) in LOSSES.into_iter().zip(rivals) {
        let policy = format!("{head}{}{}", entry("rival", rival), entry("good", good));
        for there in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            if let Some(file) = file {
                std::fs::write(dir.path().join("handed-out.json"), file).unwrap();
            }
            let mut fakes = vec![("rival.wasm", each_of("fake.com/rival", subsystem))];
            fakes.extend(there.then(|| ("good.wasm", each_of("fake.com/good", of_good))));
            let (source, feed) = crate::holders::holders();
            let allocations = Allocations::open(dir.path()).unwrap();
            let node = devgate_fake_node::RecordedNode::parse("test", &text).unwrap();
            let around = crate::Surroundings { holders: feed, ..around(&node, FakeLoader::with(fakes), &allocations) };
            let plugins = Plugins::start(&parse(&policy), around);
            let world = World { node, plugins };
            let rival = world.offer("fake.com/rival").await;
            let list = wait(&rival, |list| !list.devices.is_empty()).await;
            assert!(list.contains("it is not known yet what pods have"), "{why}: {list}");
            assert!(allocations.trouble().is_some());
            source.tell_records(records(&[("fake.com/good", id, &[path])]));
            let told = |list: &Arc<crate::offer::DeviceList>| !show(list).contains("not known yet");
            let list = wait(&rival, told).await;
            assert!(list.contains(&format!("{id} of")), "{why}, {there}: {list}");
            if there {
                let good = world.offer("fake.com/good").await;
                wait(&good, all_healthy).await;
                good.allocate(&strings(&[id])).await.unwrap();
            }
            assert_eq!(allocations.trouble(), None);
            let list = show(&rival.devices().borrow());
            assert!(list.contains(&format!("{id} of")), "{why}, {there}: {list}");
        }
    }
}

/// Its records cannot be read: what containers are seen to have says no more than ids.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_a_look_alone_tells_what_pods_have_nothing_is_given_until_it_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::open(dir.path()).unwrap();
    let (source, feed) = crate::holders::holders();
    let node = devgate_fake_node::RecordedNode::parse("test", NODE).unwrap();
    let policy =
        format!("{POLICY}{}", entry("late", "{subsystem: misc, name: kvm, use: offer, nodes: [{access: rw}]}"));
    let around = crate::Surroundings {
        holders: feed,
        ..around(&node, FakeLoader::with([("fake.wasm", Fake::gpus())]), &allocations)
    };
    let plugins = Plugins::start(&parse(&policy), around);
    let world = World { node, plugins };
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, |list| !list.devices.is_empty()).await;
    let look = |ids: &[(&str, &str)]| {
        let key =
            |(resource, id): &(&str, &str)| (devgate_types::ResourceName::try_new(resource).unwrap(), (*id).to_owned());
        crate::Holders {
            seen: ids.iter().map(|id| (key(id), vec![])).collect(),
            recorded: None,
            uids: [].into(),
            poll: 1,
            process: 1,
            begun: std::time::Instant::now(),
        }
    };
    source.tell(look(&[("fake.com/late", "late-kvm"), ("fake.com/gpu", "0000:00:01.0")]));
    let list = wait(&gpus, |list| show(list).contains("late-kvm")).await;
    assert!(list.contains("0000:00:01.0 {1}\n"), "what a pod has it keeps: {list}");
    assert!(allocations.trouble().unwrap().contains("a pod has late-kvm of fake.com/late"));
}

/// Started with what the kubelet tells of it, where there is a GPU that no consumer has.
async fn told(
    allocations: &Allocations,
    policy: &str,
    records: Option<crate::Records>,
    seen: &[&str],
) -> (World, Arc<dyn Offer>) {
    let (source, feed) = crate::holders::holders();
    match records {
        Some(records) => source.tell_records(records),
        None => {
            let late = devgate_types::ResourceName::try_new("fake.com/late").unwrap();
            source.tell(crate::Holders {
                seen: seen.iter().map(|id| ((late.clone(), (*id).to_owned()), vec![])).collect(),
                recorded: None,
                uids: [].into(),
                poll: 1,
                process: 1,
                begun: std::time::Instant::now(),
            });
        }
    }
    let fakes = [("fake.wasm", Fake::gpus()), ("late.wasm", each_of("fake.com/late", "misc"))];
    let node = devgate_fake_node::RecordedNode::parse("test", NODE).unwrap();
    let around = crate::Surroundings { holders: feed, ..around(&node, FakeLoader::with(fakes), allocations) };
    let plugins = Plugins::start(&parse(policy), around);
    let world = World { node, plugins };
    let gpus = world.offer("fake.com/gpu").await;
    (world, gpus)
}

/// It may be made of anything, by whatever record it is known, and however often the host starts until its plugin lists it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_but_an_id_is_known_nothing_is_given_until_it_is_listed() {
    let kvm = "{subsystem: misc, name: kvm, use: offer, nodes: [{access: rw}]}";
    let (absent, there) = (
        format!("{POLICY}{}", entry("late", kvm).replace("late.wasm", "none.wasm")),
        format!("{POLICY}{}", entry("late", kvm)),
    );
    let why = "a pod has late-kvm of fake.com/late";
    let other = ("other.com/nic", "eth0", &["/dev/other"] as &[_]);
    let bare = records(&[("fake.com/late", "late-kvm", &[]), other]);
    for (of, records) in [("a look", None), ("records", Some(bare))] {
        let dir = tempfile::tempdir().unwrap();
        for start in 0..3 {
            let allocations = Allocations::open(dir.path()).unwrap();
            let (_world, gpus) = told(&allocations, &absent, records.clone(), &["late-kvm"]).await;
            let list = wait(&gpus, |list| show(list).contains(why)).await;
            assert_eq!(list.matches(why).count(), 2, "{of}, start {start}: {list}");
            gpus.allocate(&strings(&["0000:00:01.0"])).await.unwrap_err();
            until(|| recorded(dir.path()).contains("late-kvm")).await;
        }
        let allocations = Allocations::open(dir.path()).unwrap();
        let (_world, gpus) = told(&allocations, &there, records, &["late-kvm"]).await;
        wait(&gpus, all_healthy).await;
        assert_eq!(allocations.trouble(), None, "{of}");
    }
}

/// The paths of a container's answer are all of one of its ids: what the other one is made of is not known.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_whose_container_s_paths_are_another_one_s_may_be_made_of_anything() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::open(dir.path()).unwrap();
    let paths: &[&str] = &["/dev/dri/card0"];
    let both = records(&[("fake.com/gpu", "0000:00:01.0", paths), ("fake.com/gpu", "gone", paths)]);
    let (_world, gpus) = told(&allocations, POLICY, Some(both), &[]).await;
    let list = wait(&gpus, |list| show(list).contains("a pod has gone of fake.com/gpu")).await;
    assert!(list.contains("0000:00:01.0 {1}\n"), "what a pod has it keeps: {list}");
}

/// A container's many ids and paths are not noted as many squared, and keep what they are made of from others all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_container_with_a_thousand_ids_has_is_noted_in_short() {
    let kvm = "{subsystem: misc, name: kvm, use: offer, nodes: [{access: rw}]}";
    let policy = format!("{POLICY}{}", entry("late", kvm));
    let numbered = |n| format!("/dev/none{n}");
    let paths = |of: &[&str]| Arc::new((0..1000).map(numbered).chain(strings(of)).collect());
    let thousand = |resource: &str, of: &[&str]| {
        let (resource, paths) = (devgate_types::ResourceName::try_new(resource).unwrap(), paths(of));
        (0..1000).map(move |n| ((resource.clone(), format!("id-{n:03}")), Arc::clone(&paths)))
    };
    let dir = tempfile::tempdir().unwrap();
    for start in 0..2 {
        let allocations = Allocations::open(dir.path()).unwrap();
        let others = thousand("other.com/gpu", &["/dev/dri/card0"]).collect();
        let (_world, gpus) = told(&allocations, &policy, Some(others), &[]).await;
        let list = wait(&gpus, |list| show(list).contains("id-000 of other.com/gpu")).await;
        assert!(list.contains("0000:00:02.0 {}"), "start {start}: {list}");
        gpus.allocate(&strings(&["0000:00:01.0"])).await.unwrap_err();
        until(|| recorded(dir.path()).contains("id-999")).await;
    }
    let noted = recorded(dir.path()).len();
    assert!(noted < 1 << 20, "{noted} bytes");

    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::open(dir.path()).unwrap();
    let mut ours: crate::Records = thousand("fake.com/late", &["/dev/kvm"]).collect();
    let (_, all) = ours.pop_last().unwrap();
    ours.insert((devgate_types::ResourceName::try_new("fake.com/late").unwrap(), "late-kvm".to_owned()), all);
    let (world, gpus) = told(&allocations, &policy, Some(ours), &[]).await;
    let list = wait(&gpus, |list| show(list).contains("a pod has id-000 of fake.com/late")).await;
    assert_eq!(list.matches("of fake.com/late").count(), 2, "each GPU may be one: {list}");
    let late = world.offer("fake.com/late").await;
    wait(&late, |list| show(list).contains("late-kvm {}")).await;
    late.allocate(&strings(&["late-kvm"])).await.unwrap();
}

/// What others than our plugins gave keeps hardware from others, and is no reason to keep the file when devgate goes for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_gave_is_not_taken_for_given() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("handed-out.json");
    std::fs::write(&file, "{").unwrap();
    let given = |resource: &str| {
        let given = crate::cleanup::StateDir::look(dir.path())
            .unwrap()
            .unwrap()
            .recorded()
            .map(|recorded| recorded.resources());
        given.is_none_or(|resources| resources.contains(resource))
    };
    let told_of =
        records(&[("fake.com/gpu", "0000:00:02.0", &["/dev/dri/card1"]), ("other.com/gpu", "0", &["/dev/dri/card0"])]);
    // A record that is not read when there is one is of no use.
    for start in 0..2 {
        let allocations = Allocations::open(dir.path()).unwrap();
        assert!(start > 0 || given("other.com/gpu"), "it is not known yet");
        let (_world, gpus) = told(&allocations, POLICY, Some(told_of.clone()), &[]).await;
        let list = wait(&gpus, |list| show(list).contains("0 of other.com/gpu")).await;
        assert!(list.contains("0000:00:02.0 {}"), "{list}");
        until(|| !given("other.com/gpu")).await;
        assert!(given("fake.com/gpu") && !given("other.com/gpu"), "start {start}");
    }
    assert!(dir.path().join("handed-out.json.unreadable").exists());
}

/// Another plugin of the same resource gave a GPU under an id of its own while the host was away. What it gave to a pod that has ended is free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_plugin_gave_meanwhile_is_nobody_else_s() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    assert_eq!(allocations.trouble(), None, "it knows");
    let (source, feed) = crate::holders::holders();
    source.tell_records(records(&[
        ("fake.com/gpu", "runs", &["/dev/dri/card0"]),
        ("fake.com/gpu", "ended", &["/dev/dri/card1"]),
    ]));
    let key = (devgate_types::ResourceName::try_new("fake.com/gpu").unwrap(), "runs".to_owned());
    source.tell(crate::Holders {
        seen: [(key, vec![])].into(),
        recorded: None,
        uids: [].into(),
        poll: 1,
        process: 1,
        begun: std::time::Instant::now(),
    });
    let world = gpus_told(feed, &allocations);
    let gpus = world.offer("fake.com/gpu").await;
    let list = wait(&gpus, |list| show(list).contains("runs of fake.com/gpu")).await;
    assert!(list.contains("0000:00:02.0 {}") && !list.contains("ended"), "{list}");
    gpus.allocate(&strings(&["0000:00:01.0"])).await.unwrap_err();
    gpus.allocate(&strings(&["0000:00:02.0"])).await.unwrap();
}

/// A pod is seen with a unit before it is known what pods have.
#[tokio::test]
async fn nothing_is_written_before_it_is_known_what_pods_have() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::open(dir.path()).unwrap();
    let unit = Arc::new(crate::units::UnitRecord {
        id: devgate_types::UnitId::try_new("seen").unwrap(),
        backing: vec![],
        nodes: vec![],
        pieces: vec![],
        numa_nodes: std::collections::BTreeSet::new(),
        values: vec![],
        properties: vec![],
    });
    let resource = devgate_types::ResourceName::try_new("fake.com/gpu").unwrap();
    let (units, policy) = ([unit], plugin_policy(POLICY));
    let giving = Giving::whole(&resource, &[], &units, &policy, false);
    let noted = allocations.note(&Consumer::Pods, State::Active, None, &[giving]);
    save(&allocations, noted).await;
    let next = Allocations::open(dir.path()).unwrap();
    assert!(next.trouble().unwrap().contains("it is not known yet what pods have"));
}

async fn until(condition: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + TIMEOUT;
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "in time");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_start_is_no_fault() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::open(dir.path()).unwrap();
    let (source, feed) = crate::holders::holders();
    source.tell_records(records(&[("other.com/nic", "eth0", &["/dev/other"])]));
    let world = gpus_told(feed, &allocations);
    let gpus = world.offer("fake.com/gpu").await;
    let first = wait(&gpus, |list| !list.devices.is_empty()).await;
    assert_eq!(first, "0000:00:01.0 {1}\n0000:00:02.0 {}");
    assert_eq!(allocations.trouble(), None);
}
