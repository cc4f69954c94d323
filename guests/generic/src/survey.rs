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
mod tests;
