//! What a component is likely to ask next. One that goes through a list of devices asks the same of each of them, and a question takes
//! longer than its answer; so what it asks of one device of a list is sent for the next ones with it.
//!
//! Attributes are not: reading one may wake its device, and a component may look first whether that sleeps.

use crate::message::question::answer;
use crate::message::wire::{self, Function, answer::Answer as Given};
use devgate_types::component::Capabilities;
use std::collections::HashMap;

/// For so many devices at once.
const DEVICES: usize = 256;
/// How often all of a list may be sent.
const TIMES: usize = 4;

/// What one call has asked so far.
#[derive(Debug, Default)]
pub(super) struct Habits {
    /// The last list of devices that the component was given, and where each is in it.
    list: Vec<u32>,
    places: HashMap<u32, usize>,
    /// Where each function was asked last, and how much was sent ahead of it.
    asked: HashMap<Function, (usize, usize)>,
    /// Whether it asks about nodes, too.
    asks_nodes: bool,
}

/// What can be said of a device from where it is in the tree, and from its own directory.
fn is_foreseen(function: Function) -> bool {
    matches!(
        function,
        Function::DeviceName
            | Function::DeviceSubsystem
            | Function::DeviceDriver
            | Function::DeviceLocation
            | Function::DeviceNumaNode
            | Function::Nodes
    )
}

impl Habits {
    /// What goes with the answer to a question.
    pub(super) fn foresee(
        &mut self,
        host: &mut dyn Capabilities,
        function: Function,
        handle: u32,
        answer: Option<&Given>,
    ) -> Vec<wire::Ahead> {
        match (function, answer) {
            (Function::Devices | Function::Children, Some(Given::Handles(list))) => {
                self.list.clone_from(&list.numbers);
                self.places = self.list.iter().zip(0..).map(|(handle, place)| (*handle, place)).collect();
                self.asked.clear();
                Vec::new()
            }
            (Function::Node, _) => {
                self.asks_nodes = true;
                Vec::new()
            }
            (function, Some(answer)) if is_foreseen(function) => {
                let mut ahead = Vec::new();
                self.nodes_of(host, answer, &mut ahead);
                for handle in self.next(function, handle) {
                    let Some(answer) = self.of(host, function, handle, &mut ahead) else {
                        break;
                    };
                    self.nodes_of(host, &answer, &mut ahead);
                }
                ahead
            }
            _ => Vec::new(),
        }
    }

    /// The devices that come after this one, for a component that goes through the list: one that asks of a device here and there, or
    /// of the same one again and again, is answered as it asks. All of the list is sent at most a few times.
    fn next(&mut self, function: Function, handle: u32) -> Vec<u32> {
        let Some(place) = self.places.get(&handle).copied() else {
            return Vec::new();
        };
        let Some((last, sent)) = self.asked.get_mut(&function) else {
            self.asked.insert(function, (place, 0));
            return Vec::new();
        };
        // The next device, or the first again: what lies between was answered ahead.
        let goes_through = place == last.saturating_add(1) || (place == 0 && *last > 0);
        let next = self.list.iter().skip(place + 1).take(DEVICES);
        let next: Vec<u32> = match goes_through && *sent < self.list.len().saturating_mul(TIMES) {
            true => next.copied().collect(),
            false => Vec::new(),
        };
        *sent += next.len();
        *last = place + next.len();
        next
    }

    /// One answer more; `None` where it is none.
    fn of(
        &self,
        host: &mut dyn Capabilities,
        function: Function,
        handle: u32,
        ahead: &mut Vec<wire::Ahead>,
    ) -> Option<Given> {
        let ask = wire::Ask { function: function.into(), handle, ..wire::Ask::default() };
        let answer = answer(host, function, &ask).ok()?;
        ahead.push(wire::Ahead {
            function: function.into(),
            handle,
            answer: Some(wire::Answer { answer: Some(answer.clone()), ..wire::Answer::default() }),
        });
        Some(answer)
    }

    fn nodes_of(&self, host: &mut dyn Capabilities, answer: &Given, ahead: &mut Vec<wire::Ahead>) {
        let Given::Handles(nodes) = answer else { return };
        for node in nodes.numbers.iter().filter(|_| self.asks_nodes) {
            self.of(host, Function::Node, *node, ahead);
        }
    }
}
