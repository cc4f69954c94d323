use super::*;
use crate::config;
use crate::machine::fake::{Fake, FakeDevice, FakeNode};
use devgate_sdk::ErrorKind;
use std::time::Instant;

fn machine() -> Fake {
    let capture =
        |name, path, minor, title| FakeDevice::new("video4linux", name, &[(path, minor)]).with("name", Ok(title));
    Fake {
        devices: vec![
            FakeDevice::new("misc", "fuse", &[("/dev/fuse", 229)]),
            FakeDevice::new("misc", "bare", &[]),
            FakeDevice::new("usb", "1-1", &[("/dev/ttyUSB0", 188)]).with("idVendor", Ok("0403")).driven_by("usb"),
            FakeDevice::new("usb", "1-1:1.0", &[("/dev/ttyUSB0", 188)]),
            FakeDevice::new("sound", "pcmC0D0c", &[("/dev/snd/pcmC0D0c", 24)]),
            FakeDevice::new("sound", "pcmC0D0p", &[("/dev/snd/pcmC0D0p", 16)]),
            capture("video0", "/dev/video0", 0, "USB Capture HDMI"),
            capture("video1", "/dev/video1", 1, "Laptop Camera"),
        ],
        paths: vec![FakeNode("/dev/net/tun", 200)],
        ..Fake::default()
    }
}

fn survey_of(machine: &Fake, devices: &str) -> Survey<Fake> {
    let config = config::parse(&format!(r#"{{"devices": [{devices}]}}"#)).unwrap();
    Survey::of(machine, &config, "v.com/x").unwrap()
}

/// `id: nodes` of what is offered, and the notes.
fn told(survey: &Survey<Fake>) -> (Vec<String>, &[String]) {
    let unit = |candidate: &Candidate<Fake>| {
        let nodes: Vec<&str> = candidate.nodes.iter().map(|node| node.0).collect();
        format!("{}: {}", candidate.id, nodes.join(" "))
    };
    (survey.candidates.iter().filter(|c| c.is_offered()).map(unit).collect(), &survey.notes)
}

#[test]
fn each_matching_device_is_a_unit() {
    let survey = survey_of(&machine(), r#"{"resource": "v.com/x", "subsystem": "sound"}"#);
    let expected = ["pcmC0D0c: /dev/snd/pcmC0D0c".to_owned(), "pcmC0D0p: /dev/snd/pcmC0D0p".to_owned()];
    assert_eq!(told(&survey), (expected.to_vec(), &[][..]));
}

#[test]
fn a_usb_device_is_one_unit_with_what_lies_beneath_it() {
    let survey = survey_of(&machine(), r#"{"resource": "v.com/x", "usb": {"vendor": "0403"}}"#);
    assert_eq!(told(&survey).0, ["1-1: /dev/ttyUSB0"]);
    let properties = survey.candidates[0].properties();
    let expected = [("name", "1-1"), ("subsystem", "usb"), ("driver", "usb"), ("location", "virtual/usb/1-1")];
    assert_eq!(properties, expected.map(|(name, value)| (name, value.to_owned())));
}

#[test]
fn attributes_select() {
    let entry = r#"{"resource": "v.com/x", "subsystem": "video4linux", "attributes": {"name": "USB Capture*"}}"#;
    assert_eq!(told(&survey_of(&machine(), entry)).0, ["video0: /dev/video0"]);
}

#[test]
fn entries_of_one_resource_add_up_and_of_another_stay_out() {
    let fuse = r#"{"resource": "v.com/x", "subsystem": "misc", "name": "fuse"}"#;
    let other = r#"{"resource": "v.com/y", "subsystem": "video4linux"}"#;
    let sound = r#"{"resource": "v.com/x", "subsystem": "sound", "name": "*p"}"#;
    let survey = survey_of(&machine(), &[fuse, other, sound, fuse].join(","));
    let expected = ["fuse: /dev/fuse".to_owned(), "pcmC0D0p: /dev/snd/pcmC0D0p".to_owned()];
    assert_eq!(told(&survey), (expected.to_vec(), &[][..]));
}

#[test]
fn two_devices_of_one_name_are_not_one_unit() {
    let mut machine = machine();
    machine.devices.push(FakeDevice::new("graphics", "fuse", &[("/dev/fb0", 0)]));
    let misc = r#"{"resource": "v.com/x", "subsystem": "misc", "name": "fuse"}"#;
    let survey = survey_of(&machine, &[misc, r#"{"resource": "v.com/x", "subsystem": "graphics"}"#].join(","));
    let notes = ["a second unit fuse is left out: ids must differ".to_owned()];
    assert_eq!(told(&survey), (vec!["fuse: /dev/fuse".to_owned()], &notes[..]));
}

#[test]
fn of_two_devices_of_one_name_the_one_with_a_node_is_the_unit() {
    let mut machine = machine();
    machine.devices.push(FakeDevice::new("gpio", "bare", &[("/dev/gpiochip0", 0)]));
    let bare = r#"{"resource": "v.com/x", "subsystem": "misc", "name": "bare"}"#;
    let chip = r#"{"resource": "v.com/x", "subsystem": "gpio"}"#;
    for entries in [[bare, chip], [chip, bare]] {
        assert_eq!(told(&survey_of(&machine, &entries.join(","))).0, ["bare: /dev/gpiochip0"]);
    }
}

#[test]
fn a_device_without_a_node_is_listed_for_its_verdict_to_tell() {
    let survey = survey_of(&machine(), r#"{"resource": "v.com/x", "subsystem": "misc", "name": "bare"}"#);
    assert_eq!(told(&survey).0, ["bare: "]);
    assert!(matches!(survey.candidates[0].state, State::Useless(_)));
}

#[test]
fn a_group_is_one_unit_of_all_its_members() {
    let group = r#"{"resource": "v.com/x", "id": "rig", "group": [
        {"subsystem": "misc", "name": "fuse"}, {"subsystem": "sound", "name": "pcmC0*", "optional": true},
        {"subsystem": "sound"}, {"node": "/dev/net/tun", "optional": true}, {"node": "/dev/none", "optional": true}]}"#;
    let survey = survey_of(&machine(), group);
    let nodes = "rig: /dev/net/tun /dev/fuse /dev/snd/pcmC0D0c /dev/snd/pcmC0D0p";
    assert_eq!(told(&survey), (vec![nodes.to_owned()], &[][..]));
    let members = vec![("members", "fuse,pcmC0D0c,pcmC0D0p".to_owned())];
    assert_eq!(survey.candidates[0].properties(), members);
}

#[test]
fn a_group_without_a_needed_member_is_not_offered_and_one_without_an_optional_member_is() {
    let group = |member: &str| {
        format!(
            r#"{{"resource": "v.com/x", "id": "rig", "group": [{{"subsystem": "misc", "name": "fuse"}}, {member}]}}"#
        )
    };
    let needed = survey_of(&machine(), &group(r#"{"subsystem": "sound", "name": "none*"}"#));
    let notes = ["group rig is not offered: member sound none* is missing".to_owned()];
    assert_eq!(told(&needed), (vec![], &notes[..]));
    assert_eq!(needed.candidates[0].state, State::Incomplete("member sound none* is missing".to_owned()));
    let path = survey_of(&machine(), &group(r#"{"node": "/dev/none"}"#));
    assert_eq!(path.candidates[0].state, State::Incomplete("member /dev/none is missing".to_owned()));
    let optional = survey_of(&machine(), &group(r#"{"subsystem": "sound", "name": "none*", "optional": true}"#));
    assert_eq!(told(&optional), (vec!["rig: /dev/fuse".to_owned()], &[][..]));
}

#[test]
fn a_member_that_cannot_be_read_leaves_the_group_undecided() {
    let mut machine = machine();
    machine.devices.push(FakeDevice::new("tpm", "tpm0", &[]).with("tpm_version_major", Err(ErrorKind::Io)));
    let group = r#"{"resource": "v.com/x", "id": "rig", "group": [{"subsystem": "tpm", "attributes": {"tpm_version_major": "2"}}]}"#;
    let survey = survey_of(&machine, group);
    assert!(matches!(survey.candidates[0].state, State::Unread(_)));
}

/// Eight times as many take some eight times as long. Were each compared with all before it, they would take sixty-four.
#[test]
fn many_devices_cost_no_more_for_each_than_few() {
    let group = r#"{"resource": "v.com/x", "id": "rig", "group": [{"subsystem": "misc"}, {"subsystem": "misc"}]}"#;
    for entry in [r#"{"resource": "v.com/x", "subsystem": "misc"}"#, group] {
        let took = |count: u32| {
            let device = |n: u32| {
                let name: &'static str = format!("device{n}").leak();
                FakeDevice::new("misc", name, &[(name, n)])
            };
            let machine = Fake { devices: (0..count).map(device).collect(), ..Fake::default() };
            let once = |_| {
                let begun = Instant::now();
                let survey = survey_of(&machine, entry);
                let nodes: usize = survey.candidates.iter().map(|candidate| candidate.nodes.len()).sum();
                assert_eq!(nodes, count as usize);
                begun.elapsed()
            };
            (0..3).map(once).min().unwrap()
        };
        let (few, many) = (took(1_024), took(8_192));
        assert!(many < few * 24, "{few:?} for 1,024 and {many:?} for 8,192: {entry}");
    }
}

#[test]
fn a_node_is_told_with_the_key_that_the_policy_lacks() {
    let machine = Fake { no_paths: true, ..machine() };
    let json =
        r#"{"devices": [{"resource": "v.com/x", "id": "rig", "group": [{"node": "/dev/tun", "optional": true}]}]}"#;
    let error = Survey::of(&machine, &config::parse(json).unwrap(), "v.com/x").err().unwrap();
    let why = "config devices: group rig: node /dev/tun: host-paths is not granted by the policy; list the node under `host-nodes:`, or leave it out here";
    assert!(error.kind == ErrorKind::Invalid && error.message == why, "{}", error.message);
    assert_eq!(
        told(&survey_of(&machine, r#"{"resource": "v.com/x", "subsystem": "misc", "name": "fuse"}"#)).0.len(),
        1
    );
}

#[test]
fn a_subsystem_that_cannot_be_listed_fails_the_whole() {
    let machine = Fake { failing: true, ..machine() };
    let json = r#"{"devices": [{"resource": "v.com/x", "subsystem": "misc"}]}"#;
    let error = Survey::of(&machine, &config::parse(json).unwrap(), "v.com/x").err().unwrap();
    assert!(error.kind == ErrorKind::Busy);
}
