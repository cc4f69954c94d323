//! What of a resource there is right now: the configuration held against the machine.

use crate::config::{Config, Member, Selector, Units, What};
use crate::id;
use crate::machine::{DeviceNode, KernelDevice, Machine};
use crate::matching::means;
use devgate_sdk::{Error, Presence};
use std::collections::{BTreeMap, BTreeSet};

/// What is said of a unit whose allocation would hand out nothing.
pub(crate) const NO_NODE: &str =
    "no node of it is offered: it has none now, or the policy's `nodes:` names none of them";

/// The units that the configuration names for one resource, in the order written.
pub(crate) struct Survey<M: Machine> {
    pub(crate) candidates: Vec<Candidate<M>>,
    /// What an admin should know about.
    pub(crate) notes: Vec<String>,
    /// Where in `candidates` an id is.
    by_id: BTreeMap<String, usize>,
}

/// A unit, or what would be one if it were complete.
pub(crate) struct Candidate<M: Machine> {
    pub(crate) id: String,
    pub(crate) devices: Vec<M::Device>,
    pub(crate) nodes: Vec<M::Node>,
    pub(crate) state: State,
    /// Which nodes and which places of devices it has.
    seen: Seen,
}

/// What a candidate has already: a member may lie beneath another one.
#[derive(Default)]
struct Seen {
    nodes: BTreeSet<((u32, u32), String)>,
    places: BTreeSet<String>,
}

/// How far a candidate is a unit.
#[derive(Debug, PartialEq)]
pub(crate) enum State {
    /// Everything is there.
    Complete,
    /// It is there, and an allocation of it would hand out nothing.
    Useless(String),
    /// A member that the group needs is missing.
    Incomplete(String),
    /// Something that decides about it could not be read.
    Unread(String),
}

impl<M: Machine> Candidate<M> {
    fn new(id: String, devices: Vec<M::Device>, state: State) -> Self {
        Self { id, devices, nodes: Vec::new(), state, seen: Seen::default() }
    }

    /// Whether it belongs in the list of units. One without a node does: there is hardware, and its verdict says what
    /// is wrong with it.
    pub(crate) fn is_offered(&self) -> bool {
        matches!(self.state, State::Complete | State::Useless(_))
    }

    /// What people and the policy's rules may want to know about it.
    pub(crate) fn properties(&self) -> Vec<(&'static str, String)> {
        /// Enough to recognise a group by, and far below the limit of a property.
        const NAMED: usize = 16;
        match self.devices.as_slice() {
            [] => Vec::new(),
            [device] => {
                let mut properties = vec![("name", device.name()), ("subsystem", device.subsystem())];
                properties.extend(device.driver().map(|driver| ("driver", driver)));
                properties.push(("location", device.location()));
                properties
            }
            several => {
                let names: Vec<String> = several.iter().take(NAMED).map(KernelDevice::name).collect();
                vec![("members", names.join(","))]
            }
        }
    }

    /// Adds a device's nodes, each once.
    fn add_nodes(&mut self, nodes: Vec<M::Node>) {
        for node in nodes {
            if self.seen.nodes.insert((node.number(), node.path())) {
                self.nodes.push(node);
            }
        }
    }

    /// Adds the nodes of all its devices.
    fn collect_nodes(&mut self) {
        // Of one device the host names each once; what they are costs calls to the host.
        let alone = self.devices.len() == 1 && self.nodes.is_empty();
        for i in 0..self.devices.len() {
            match self.devices.get(i).map(KernelDevice::nodes) {
                Some(Ok(nodes)) if alone => self.nodes = nodes,
                Some(Ok(nodes)) => self.add_nodes(nodes),
                Some(Err(error)) if !error.is_absence() => self.state = State::Unread(error.message),
                _ => {}
            }
        }
        if self.state == State::Complete && self.nodes.is_empty() {
            self.state = State::Useless(NO_NODE.to_owned());
        }
    }
}

impl<M: Machine> Survey<M> {
    /// Looks for the units of one resource.
    ///
    /// # Errors
    /// When a subsystem's devices cannot be listed at all, and when the configuration asks for what the policy does not grant.
    pub(crate) fn of(machine: &M, config: &Config, resource: &str) -> Result<Self, Error> {
        let mut survey = Self { candidates: Vec::new(), notes: Vec::new(), by_id: BTreeMap::new() };
        for entry in config.entries.iter().filter(|entry| entry.resource == resource) {
            match &entry.units {
                Units::Each(selector) => survey.each(machine, selector)?,
                Units::Group { id, members } => survey.group(machine, id, members)?,
            }
        }
        Ok(survey)
    }

    fn each(&mut self, machine: &M, selector: &Selector) -> Result<(), Error> {
        for device in machine.devices(&selector.subsystem)? {
            let name = device.name();
            let state = match means(selector, &device) {
                Ok(false) => continue,
                Ok(true) => State::Complete,
                Err(error) => {
                    self.notes.push(format!("{} {name} is left out: {}", selector.subsystem, error.message));
                    State::Unread(error.message)
                }
            };
            self.add(Candidate::new(id::of(&name), vec![device], state));
        }
        Ok(())
    }

    fn group(&mut self, machine: &M, id: &str, members: &[Member]) -> Result<(), Error> {
        let mut group = Candidate::new(id.to_owned(), Vec::new(), State::Complete);
        for member in members {
            let found = match &member.what {
                What::Node(path) => match machine.node_at(path).if_present() {
                    Ok(node) => {
                        let found = node.is_some();
                        group.add_nodes(node.into_iter().collect());
                        found
                    }
                    Err(error) if error.is_not_granted() => {
                        let why = error.message;
                        let hint = "list the node under `host-nodes:`, or leave it out here";
                        return Err(Error::invalid(format!("config devices: group {id}: node {path}: {why}; {hint}")));
                    }
                    Err(error) => {
                        self.notes.push(format!("group {id}: {path}: {}", error.message));
                        false
                    }
                },
                What::Devices(selector) => self.members(machine, selector, &mut group)?,
            };
            if !found && !member.optional && group.state == State::Complete {
                group.state = State::Incomplete(format!("member {} is missing", named(&member.what)));
            }
        }
        if let State::Incomplete(problem) = &group.state {
            self.notes.push(format!("group {id} is not offered: {problem}"));
        }
        self.add(group);
        Ok(())
    }

    /// Adds the devices that a selector means to a group; whether there is one.
    fn members(&mut self, machine: &M, selector: &Selector, group: &mut Candidate<M>) -> Result<bool, Error> {
        let mut found = false;
        for device in machine.devices(&selector.subsystem)? {
            match means(selector, &device) {
                Ok(false) => continue,
                Ok(true) => {}
                Err(error) => {
                    group.state = State::Unread(error.message);
                    continue;
                }
            }
            found = true;
            if group.seen.places.insert(device.location()) {
                group.devices.push(device);
            }
        }
        Ok(found)
    }

    /// Adds a candidate unless an earlier one has its id: several entries may mean the same device. Of two devices the one with a
    /// node is it: of a bus and a class of one name (`gpio`) the kernel lists one each, and that of the class has none.
    fn add(&mut self, mut candidate: Candidate<M>) {
        let known = self.by_id.get(&candidate.id);
        let Some(other) = known.and_then(|n| self.candidates.get_mut(*n)) else {
            candidate.collect_nodes();
            self.by_id.insert(candidate.id.clone(), self.candidates.len());
            self.candidates.push(candidate);
            return;
        };
        if places(other) == places(&candidate) {
            return;
        }
        candidate.collect_nodes();
        match (&other.state, &candidate.state) {
            (State::Useless(_), State::Complete) => *other = candidate,
            (_, State::Useless(_)) => {}
            _ => self.notes.push(format!("a second unit {} is left out: ids must differ", candidate.id)),
        }
    }
}

fn places<M: Machine>(candidate: &Candidate<M>) -> Vec<String> {
    candidate.devices.iter().map(KernelDevice::location).collect()
}

/// A member as people would name it.
fn named(what: &What) -> String {
    match what {
        What::Node(path) => path.clone(),
        What::Devices(selector) => match &selector.name {
            Some(name) => format!("{} {name}", selector.subsystem),
            None => format!("of {}", selector.subsystem),
        },
    }
}

#[cfg(test)]
mod tests {
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
            failing: false,
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
}
