use super::*;
use crate::allocations::Allocations;
use crate::offer::AllocateError;
use crate::plugins::Plugins;
use crate::testing::*;
use devgate_types::UnitId;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A physical function, a virtual one of it with an RDMA device, one without, and a serial port that is no PCI function.
const NIC: &str = "\
P: /devices/pci0000:00/0000:00:01.0
E: SUBSYSTEM=pci
A: vendor=0x1234\\n
A: sriov_totalvfs=2\\n

P: /devices/pci0000:00/0000:00:01.1
E: SUBSYSTEM=pci
A: vendor=0x1234\\n
L: physfn=../0000:00:01.0

P: /devices/pci0000:00/0000:00:01.1/infiniband/acme_0
E: SUBSYSTEM=infiniband

P: /devices/pci0000:00/0000:00:01.2
E: SUBSYSTEM=pci
A: vendor=0x1234\\n
L: physfn=../0000:00:01.0

P: /devices/platform/serial0
E: SUBSYSTEM=platform

P: /devices/virtual/misc/vhost-net
N: vhost-net
E: SUBSYSTEM=misc
E: DEVNAME=/dev/vhost-net
E: MAJOR=10
E: MINOR=238
A: dev=10:238\\n
";

fn nic() -> devgate_fake_node::RecordedNode {
    devgate_fake_node::RecordedNode::parse("nic", NIC).unwrap()
}

fn device(node: &devgate_node::Node, subsystem: &str, name: &str) -> DevicePath {
    node.device(subsystem, name).unwrap()
}

#[test]
fn one_function_is_found_from_itself_and_from_what_is_beneath_it() {
    let node = nic();
    let (vf, other) = (device(&node, "pci", "0000:00:01.1"), device(&node, "pci", "0000:00:01.2"));
    let rdma = device(&node, "infiniband", "acme_0");
    assert_eq!(function_of(&node, std::slice::from_ref(&vf)).unwrap(), vf);
    assert_eq!(function_of(&node, std::slice::from_ref(&rdma)).unwrap(), vf);
    assert_eq!(function_of(&node, &[rdma, vf.clone()]).unwrap(), vf);
    insta::assert_snapshot!(function_of(&node, &[vf, other]).unwrap_err(), @"it is made of 2 PCI functions; device-info (containers) tells of one PCI function");
    insta::assert_snapshot!(function_of(&node, &[]).unwrap_err(), @"it is made of 0 PCI functions; device-info (containers) tells of one PCI function");
    let serial = device(&node, "platform", "serial0");
    insta::assert_snapshot!(function_of(&node, &[serial]).unwrap_err(), @"device serial0 is no part of a PCI function; device-info (containers) tells of one PCI function");
}

#[test]
fn the_kernel_says_what_is_told() {
    let node = nic();
    let told = |name| text(&node, &device(&node, "pci", name), &[]);
    insta::assert_snapshot!(told("0000:00:01.0"), @r#"{"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:00:01.0"}}"#);
    insta::assert_snapshot!(told("0000:00:01.1"), @r#"{"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:00:01.1","rdma-device":"acme_0","pf-pci-address":"0000:00:01.0"}}"#);
    insta::assert_snapshot!(told("0000:00:01.2"), @r#"{"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:00:01.2","pf-pci-address":"0000:00:01.0"}}"#);
}

#[test]
fn a_file_is_named_as_its_reader_names_it() {
    let resource = ResourceName::try_new("acme.com/vf").unwrap();
    assert_eq!(file_name(resource.as_str(), "0000:00:01.1"), "acme.com-vf-0000:00:01.1-device.json");
}

fn tells(resource: &str, id: &str, text: &str) -> Tells {
    let resource = ResourceName::try_new(resource).unwrap();
    let unit = UnitId::try_new(id.split("::").next().unwrap()).unwrap();
    Tells::new(&resource, id.to_owned(), &unit, text.to_owned())
}

fn write(files: &Files, all: &[Tells]) -> Result<(), String> {
    files.write(all, &CancellationToken::new()).map_err(|why| why.to_string())
}

fn state_in(dir: &Path) -> crate::state::Dir {
    crate::state::Dir::open(dir).unwrap()
}

/// The names in a directory, sorted; none where it is not there.
fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_whole_for_everybody_and_go_with_their_unit() {
    let dir = tempfile::tempdir().unwrap();
    let (told, state) = (dir.path().join("told/dp"), dir.path().join("state"));
    let files = Files::open(&told, Some(&state_in(&state)));
    assert!(!told.exists(), "made with the first file");
    write(&files, &[tells("a.com/x", "1::0", "one"), tells("a.com/x", "1::1", "one"), tells("a.com/x", "2", "two")])
        .unwrap();
    assert_eq!(names(&told), ["a.com-x-1::0-device.json", "a.com-x-1::1-device.json", "a.com-x-2-device.json"]);
    let file = told.join("a.com-x-2-device.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    write(&files, &[tells("a.com/x", "2", "changed")]).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "changed");
    files.forget([("a.com/x", "1"), ("b.com/x", "2")].into_iter());
    assert_eq!(names(&told), ["a.com-x-2-device.json"]);
}

#[test]
fn only_what_this_host_wrote_is_removed_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (told, state) = (dir.path().join("dp"), dir.path().join("state"));
    let files = Files::open(&told, Some(&state_in(&state)));
    write(&files, &[tells("a.com/x", "1", "one"), tells("a.com/x", "2", "two"), tells("a.com/x", "3", "three")])
        .unwrap();
    fs::write(told.join("a.com-x-2-device.json"), "another's").unwrap();
    fs::write(told.join("b.com-y-7-device.json"), "not ours").unwrap();
    drop(files);
    let files = Files::open(&told, Some(&state_in(&state)));
    files.keep_only(|resource, unit| (resource, unit) == ("a.com/x", "3"));
    assert_eq!(names(&told), ["a.com-x-2-device.json", "a.com-x-3-device.json", "b.com-y-7-device.json"]);
    let resource = ResourceName::try_new("a.com/x").unwrap();
    let three = UnitId::try_new("3").unwrap();
    fs::remove_file(told.join("a.com-x-3-device.json")).unwrap();
    assert_eq!(files.lost(&resource, &three), ["3"]);
    assert_eq!(files.lost(&resource, &three), [""; 0], "told once");
    assert!(files.has_seen_all());
}

#[test]
fn a_record_that_cannot_be_understood_is_put_aside() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("device-info.json"), "{").unwrap();
    let files = Files::open(&dir.path().join("dp"), Some(&state_in(dir.path())));
    assert!(files.has_seen_all());
    assert_eq!(names(dir.path()), ["device-info.json.unreadable"]);
}

#[test]
fn two_ids_never_share_a_file_and_there_are_not_too_many() {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::open(dir.path(), None);
    write(&files, &[tells("a.com/x-1", "2", "")]).unwrap();
    let same = write(&files, &[tells("a.com/x", "1-2", "")]).unwrap_err();
    insta::assert_snapshot!(same, @"file a.com-x-1-2-device.json tells of 2 of a.com/x-1 already");
    files.forget([("a.com/x-1", "2")].into_iter());
    write(&files, &[tells("a.com/x", "1-2", "")]).unwrap();
    let many: Vec<_> = (0..8_192).map(|n| tells("a.com/y", &n.to_string(), "")).collect();
    write(&files, &many[..8_191]).unwrap();
    insta::assert_snapshot!(write(&files, &many[8_191..]).unwrap_err(), @"there are 8192 files already");
}

#[test]
fn what_cannot_be_written_names_the_file_and_the_option() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("dp"), "in the way").unwrap();
    let files = Files::open(&dir.path().join("dp"), None);
    let error = write(&files, &[tells("a.com/x", "1", "")]).unwrap_err();
    let error = error.replace(&dir.path().display().to_string(), "");
    assert!(error.starts_with("file /dp/a.com-x-1-device.json could not be written: "), "{error}");
    assert!(error.ends_with("; look at the directory (--device-info-dir)"), "{error}");
}

/// What was there before is not the host's: it is neither replaced nor removed.
#[test]
fn a_file_of_somebody_else_is_left_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let told = dir.path().join("dp");
    fs::create_dir(&told).unwrap();
    let file = told.join("a.com-x-1-device.json");
    fs::write(&file, "theirs").unwrap();
    let files = Files::open(&told, Some(&state_in(dir.path())));
    let both = [tells("a.com/x", "0", "ours"), tells("a.com/x", "1", "ours")];
    let error = write(&files, &both).unwrap_err();
    let error = error.replace(&told.display().to_string(), "");
    insta::assert_snapshot!(error, @"file /a.com-x-1-device.json is there, was not written by this host, and says something else; remove it if no other program keeps it (--device-info-dir)");
    files.forget([("a.com/x", "0"), ("a.com/x", "1")].into_iter());
    assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
    assert_eq!(names(&told), ["a.com-x-1-device.json"]);
    // What says the same may be the host's own, whose record was lost.
    fs::write(&file, "ours").unwrap();
    write(&files, &both).unwrap();
    files.forget([("a.com/x", "0"), ("a.com/x", "1")].into_iter());
    assert_eq!(names(&told), [""; 0]);
}

#[test]
fn what_nobody_waits_for_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let told = dir.path().join("dp");
    let files = Files::open(&told, None);
    let stop = CancellationToken::new();
    files.write(&[tells("a.com/x", "1", "one")], &stop).unwrap();
    stop.cancel();
    assert!(files.write(&[tells("a.com/x", "2", "two")], &stop).is_err());
    assert_eq!(names(&told), ["a.com-x-1-device.json"]);
    assert_eq!(files.0.written.lock().len(), 1);
}

#[test]
fn what_cannot_be_noted_is_not_known() {
    let dir = tempfile::tempdir().unwrap();
    let (told, state) = (dir.path().join("dp"), dir.path().join("state"));
    fs::create_dir(&state).unwrap();
    let files = Files::open(&told, Some(&state_in(&state)));
    write(&files, &[tells("a.com/x", "1", "one")]).unwrap();
    // In the way of the record.
    fs::remove_file(state.join("device-info.json")).unwrap();
    fs::create_dir(state.join("device-info.json")).unwrap();
    let error = write(&files, &[tells("a.com/x", "1", "other"), tells("a.com/x", "2", "two")]).unwrap_err();
    assert!(error.contains("(--state-dir)"), "{error}");
    let known: Vec<_> = files.0.written.lock().values().map(|written| written.text.clone()).collect();
    assert_eq!(known, ["one"]);
    assert_eq!(names(&told), ["a.com-x-1-device.json"]);
    let mut many: Vec<_> = (0..8_192).map(|n| tells("a.com/y", &n.to_string(), "")).collect();
    many.insert(0, tells("a.com/x", "1", "other"));
    assert!(write(&files, &many).is_err(), "too many");
    assert_eq!(files.0.written.lock().values().next().unwrap().text, "one");
    assert_eq!(files.0.written.lock().len(), 1);
}

#[test]
fn what_is_over_is_not_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let told = dir.path().join("dp");
    let state = dir.path().join("state");
    let all = [tells("a.com/x", "1", "one"), tells("a.com/x", "2", "two")];
    write(&Files::open(&told, Some(&state_in(&state))), &all).unwrap();
    let files = Files::open(&told, Some(&state_in(&state)));
    fs::remove_dir_all(&told).unwrap();
    files.forget([("a.com/x", "1")].into_iter());
    files.write_again(&all).unwrap();
    assert_eq!(names(&told), ["a.com-x-2-device.json"]);
    // One that is there by now was written by an allocation since.
    fs::write(told.join("a.com-x-2-device.json"), "newer").unwrap();
    files.write_again(&all).unwrap();
    assert_eq!(fs::read_to_string(told.join("a.com-x-2-device.json")).unwrap(), "newer");
}

/// Without what was handed out, it is not known who has what: the files stay until the kubelet says that no pod has it.
#[tokio::test]
async fn files_stay_where_it_is_not_known_what_was_handed_out() {
    let dir = tempfile::tempdir().unwrap();
    let (told, state) = (dir.path().join("dp"), dir.path().join("state"));
    let open = || Allocations::open(&state).unwrap().telling_in(&told);
    write(open().files().unwrap(), &[tells("a.com/x", "1", "one")]).unwrap();
    let file = state.join("handed-out.json");
    for content in [None, Some("{")] {
        if let Some(content) = content {
            fs::write(&file, content).unwrap();
        }
        let allocations = open();
        assert_eq!(names(&told), ["a.com-x-1-device.json"]);
        assert_eq!(allocations.unclaimed(), [("a.com/x".to_owned(), "1".to_owned())]);
    }
    let allocations = open();
    allocations.forget_unclaimed(&allocations.unclaimed());
    assert!(allocations.unclaimed().is_empty());
    for _ in 0..200 {
        if names(&told).is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(names(&told), [""; 0]);
    write(open().files().unwrap(), &[tells("a.com/x", "1", "one")]).unwrap();
    fs::write(&file, r#"{"version": 1, "handed_out": {}}"#).unwrap();
    let allocations = open();
    assert!(allocations.unclaimed().is_empty(), "it is known that no pod has it");
}

#[test]
fn a_name_that_no_file_can_have_is_found() {
    let resource = format!("{}com/vf", "aaaaaaaaa.".repeat(22));
    let name = ResourceName::try_new(&resource).unwrap();
    assert_eq!(name_problem(&name, &"i".repeat(16)), None);
    insta::assert_snapshot!(name_problem(&name, &"i".repeat(17)).unwrap(), @"its file (containers, device-info) would have a name of 256 bytes, more than the 255 that there can be; use a shorter resource name or id");
    let dir = tempfile::tempdir().unwrap();
    let files = Files::open(dir.path(), None);
    write(&files, &[tells(&resource, &"i".repeat(16), "")]).unwrap();
    assert!(write(&files, &[tells(&resource, &"i".repeat(17), "")]).is_err());
}

const POLICY: &str = r#"
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  nics:
    component: {file: fake.wasm}
    resources: [fake.com/gpu]
    hardware:
      - {subsystem: pci, attributes: {physfn/vendor: "*"}, use: read}
      - {subsystem: pci, name: ["0000:00:01.1", "0000:00:01.2"], use: offer}
    containers:
      device-info: true
      env: {"GPUS_{RESOURCE}": "{ids}"}
    health: {check-every: 100ms, enumerate-every: 100ms}
"#;

async fn offer(plugins: &Plugins) -> std::sync::Arc<dyn crate::offer::Offer> {
    let mut offers = plugins.offers();
    let found = tokio::time::timeout(Duration::from_secs(20), offers.wait_for(|all| !all.is_empty())).await;
    let offer = found.unwrap().unwrap()[0].clone();
    let mut devices = offer.devices();
    let healthy =
        devices.wait_for(|list| list.devices.len() == 2 && list.devices.iter().all(|d| d.unhealthy.is_none()));
    tokio::time::timeout(Duration::from_secs(20), healthy).await.unwrap().unwrap();
    offer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_is_told_of_or_fails() {
    let dir = tempfile::tempdir().unwrap();
    let told = dir.path().join("dp");
    let allocations = Allocations::of_new_node(&dir.path().join("state")).unwrap().telling_in(&told);
    let node = nic();
    let plugins =
        Plugins::start(&parse(POLICY), around(&node, FakeLoader::with([("fake.wasm", Fake::gpus())]), &allocations));
    let offer = offer(&plugins).await;
    offer.allocate(&["0000:00:01.1".to_owned()]).await.unwrap();
    let file = told.join("fake.com-gpu-0000:00:01.1-device.json");
    assert_eq!(names(&told), ["fake.com-gpu-0000:00:01.1-device.json"]);
    insta::assert_snapshot!(fs::read_to_string(&file).unwrap(), @r#"{"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:00:01.1","rdma-device":"acme_0","pf-pci-address":"0000:00:01.0"}}"#);
    fs::create_dir(told.join("fake.com-gpu-0000:00:01.2-device.json")).unwrap();
    let error = offer.allocate(&["0000:00:01.2".to_owned()]).await.unwrap_err();
    assert!(matches!(&error, AllocateError::Host(why) if why.contains("--device-info-dir")), "{error}");
    fs::remove_dir(told.join("fake.com-gpu-0000:00:01.2-device.json")).unwrap();
    offer.allocate(&["0000:00:01.2".to_owned()]).await.unwrap();
    drop(plugins);

    // After a restart of the node the directory is gone, and the kubelet does not ask again for what it has given away.
    fs::remove_dir_all(&told).unwrap();
    let allocations = Allocations::of_new_node(&dir.path().join("state")).unwrap().telling_in(&told);
    let plugins =
        Plugins::start(&parse(POLICY), around(&node, FakeLoader::with([("fake.wasm", Fake::gpus())]), &allocations));
    for _ in 0..200 {
        if file.exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(file.exists(), "told again");
    drop(plugins);
}

/// A unit that a file cannot tell of is not offered, and why is said.
#[test]
fn a_unit_of_two_functions_does_not_pass_the_gate() {
    let mut host = call_host_on(&nic(), POLICY);
    let pools = gpu_pool(&mut host).unwrap();
    let mut both = pools[0].clone();
    let backing = both.units.iter().flat_map(|unit| unit.backing.clone()).collect();
    both.units.truncate(1);
    both.units[0].backing = backing;
    let (inventory, rejected) = crate::inventory::Inventory::gate(&host, vec![both]);
    assert_eq!(inventory.units().count(), 0);
    insta::assert_snapshot!(rejected[0].to_string(), @"id 0000:00:01.1 of fake.com/gpu: it is made of 2 PCI functions; device-info (containers) tells of one PCI function");
}
