use super::*;
use crate::machine::fake::{Fake, FakeFunction, GPU, UUID};

fn survey(fake: &Fake) -> Survey<Fake> {
    Survey::of(fake, &Config::default()).unwrap()
}

/// A survey that lists nothing: what is unread, and the one note.
fn left(fake: &Fake) -> (Vec<String>, String) {
    let mut survey = survey(fake);
    assert!(survey.gpus.is_empty());
    assert_eq!(survey.notes.len(), 1, "{:?}", survey.notes);
    (survey.unread, survey.notes.remove(0))
}

#[test]
fn a_gpu_is_what_the_driver_and_the_kernel_say_of_it() {
    let survey = survey(&Fake::with_gpu());
    let gpu = &survey.gpus[0];
    assert_eq!((gpu.id.as_str(), gpu.function.name, gpu.node.as_str()), (UUID, GPU, "/dev/nvidia0"));
    let expected = [
        ("uuid", UUID),
        ("pci", GPU),
        ("minor", "0"),
        ("model", "NVIDIA H100 80GB HBM3"),
        ("driver", "550.54.15"),
        ("numa", "1"),
        ("architecture", "hopper"),
        ("compute", "9.0"),
        ("memory", "80GB"),
    ];
    assert_eq!(gpu.properties, expected.map(|(name, value)| (name, value.to_owned())));
    assert_eq!(survey.shared, ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]);
    assert_eq!((survey.unread.len(), survey.notes.len(), survey.gpus.len()), (0, 0, 1));
}

#[test]
fn the_address_can_be_the_id() {
    let config = Config { ids: Ids::Pci, ..Config::default() };
    assert_eq!(Survey::of(&Fake::with_gpu(), &config).unwrap().gpus[0].id, GPU);
}

#[test]
fn what_is_no_gpu_of_nvidias_is_not_looked_at() {
    let mut fake = Fake::with_gpu();
    for (name, vendor, class) in [
        ("0000:07:00.0", "0x10de", "0x068000"),
        ("0000:1b:00.1", "0x10de", "0x040300"),
        ("0000:1d:00.0", "0x15b3", "0x020700"),
        ("0000:03:00.0", "0x1a03", "0x030000"),
    ] {
        let function = FakeFunction::gpu(name).with("vendor", vendor);
        fake.functions.push(function.with("class", class));
    }
    let survey = survey(&fake);
    assert_eq!((survey.gpus.len(), survey.notes.len(), survey.unread.len()), (1, 0, 0));
}

#[test]
fn a_gpu_of_another_driver_is_somebody_elses() {
    let mut fake = Fake::with_gpu();
    fake.functions[0] = FakeFunction::gpu(GPU).driven_by(Some("vfio-pci"));
    let (unread, note) = left(&fake);
    assert_eq!(unread, [""; 0]);
    assert_eq!(note, "GPU 0000:1b:00.0 is left out: its driver is vfio-pci");
}

#[test]
fn an_excluded_gpu_is_left_out() {
    let mut fake = Fake::with_gpu();
    fake.edit("Excluded:\t No", "Excluded:\t Yes");
    let (unread, note) = left(&fake);
    assert_eq!(unread, [""; 0]);
    assert!(note.contains("excludes it"), "{note}");
}

#[test]
fn a_gpu_that_cannot_be_described_is_named() {
    type Harm = fn(&mut Fake);
    let harms: [(Harm, &str); 8] = [
        (|fake| fake.functions[0].driver = None, "it has no driver"),
        (|fake| fake.edit(UUID, "GPU-????????-????-????-????-????????????"), "it is not initialized"),
        (|fake| fake.edit("96.00.74.00.01", "??.??.??.??.??"), "it is not initialized"),
        (|fake| fake.information(GPU, Ok(String::new())), "the driver says nothing of it"),
        (
            |fake| fake.information(GPU, Err(ErrorKind::Io)),
            "file /proc/driver/nvidia/gpus/0000:1b:00.0/information: cannot be read",
        ),
        (|fake| drop(fake.files.pop_first()), "the driver does not list it"),
        (|fake| fake.edit("Device Minor", "Something"), "the driver tells no minor number"),
        (|fake| drop(fake.nodes.remove(0)), "node /dev/nvidia0: nothing is there"),
    ];
    for (harm, why) in harms {
        let mut fake = Fake::with_gpu();
        harm(&mut fake);
        let (unread, note) = left(&fake);
        assert_eq!(unread, [GPU], "{why}");
        let start = format!("GPU 0000:1b:00.0 cannot be described now: {why}");
        assert!(note.starts_with(&start), "{note}");
    }
}

#[test]
fn a_sleeping_gpu_is_not_asked() {
    let mut fake = Fake::with_gpu();
    fake.functions[0] = FakeFunction::gpu(GPU).with("power/runtime_status", "suspended");
    let (unread, note) = left(&fake);
    assert_eq!(unread, [GPU]);
    assert!(note.ends_with("it sleeps and is not woken to be asked"), "{note}");
    assert!(!fake.has_read_information(), "{:?}", fake.read);
}

#[test]
fn a_function_that_only_the_driver_still_knows_is_named() {
    let mut fake = Fake::with_gpu();
    fake.inform("0000:43:00.0", "GPU-00000000-0000-0000-0000-000000000001", 1);
    let survey = survey(&fake);
    assert_eq!(survey.unread, ["0000:43:00.0"]);
    assert_eq!((survey.gpus.len(), survey.notes.len()), (1, 0));
}

#[test]
fn a_function_that_answers_no_more_is_named() {
    let mut fake = Fake::with_gpu();
    fake.functions[0] = FakeFunction::gpu(GPU).with("vendor", "0xffff").with("class", "0xffffff");
    let survey = survey(&fake);
    assert_eq!((survey.gpus.len(), survey.unread), (0, vec![GPU.to_owned()]));
}

#[test]
fn two_gpus_are_not_one() {
    let mut fake = Fake::with_gpu();
    fake.functions.push(FakeFunction::gpu("0000:43:00.0"));
    fake.inform("0000:43:00.0", UUID, 0);
    let survey = survey(&fake);
    assert_eq!(survey.gpus.len(), 1);
    let note = format!("GPU 0000:43:00.0 is left out: another one is {UUID} as well");
    assert_eq!(survey.notes, [note]);
}

#[test]
fn only_a_shared_node_that_is_needed_is_missed() {
    let mut fake = Fake::with_gpu();
    fake.nodes.retain(|node| node == "/dev/nvidia0" || node == "/dev/nvidiactl");
    let found = survey(&fake);
    assert_eq!(found.shared, ["/dev/nvidiactl"]);
    assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
    assert!(found.notes[0].starts_with("node /dev/nvidia-uvm is not there"), "{:?}", found.notes);
    fake.functions.clear();
    assert_eq!(survey(&fake).notes, [""; 0], "a node without a GPU needs no nodes");
}

#[test]
fn the_node_for_graphics_is_shared_where_it_is_asked_for() {
    let mut fake = Fake::with_gpu();
    fake.nodes.push("/dev/nvidia-modeset".to_owned());
    assert_eq!(survey(&fake).shared.len(), 3);
    let config = Config { modeset: true, ..Config::default() };
    let shared = Survey::of(&fake, &config).unwrap().shared;
    assert_eq!(shared.last().map(String::as_str), Some("/dev/nvidia-modeset"));
}

#[test]
fn what_gpus_are_known_by_has_to_be_granted() {
    for (interface, key) in [("files", "files"), ("host-paths", "host-nodes")] {
        let fake = Fake { not_granted: vec![interface], ..Fake::with_gpu() };
        let error = Survey::of(&fake, &Config::default()).err().unwrap();
        let hint = "GPUs of NVIDIA's driver are not known without; list it under";
        let why = format!("{interface} is not granted by the policy: {hint} `{key}:`, or set `gpus: false` in config");
        assert!(error.kind == ErrorKind::Invalid && error.message == why, "{}", error.message);
    }
}
