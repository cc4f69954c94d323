//! Which container has which device, in the audit log alone: a line when one is seen to have something, and a line when it has not
//! any more. The log, which leaves the node, says nothing of pods.

use super::{Audit, Line};
use devgate_core::status::{HolderStatus, PluginStatus};
use devgate_core::{Holders, HoldersFeed, StatusReader};
use devgate_types::{ResourceName, escape};
use serde_json::json;
use std::collections::BTreeMap;
use tracing::Level;

/// The most characters of a line's list of ids.
const MAX_IDS: usize = 1_024;
/// What happened, as a line's `event` names it.
const HELD_BY: &str = "held-by";
const LET_GO: &str = "let-go";

/// Follows who has what, and writes what changes.
pub(crate) struct Pods {
    audit: Audit,
    /// What has been written as held.
    known: BTreeMap<Hold, Held>,
}

/// One id of one resource in one container's hands. All that a container has of a resource is in a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Hold {
    resource: String,
    /// Its namespace, pod and name.
    container: [String; 3],
    id: String,
}

/// What is known of it.
#[derive(Debug, Clone)]
struct Held {
    plugin: String,
    /// The process that has shown it last.
    process: u64,
}

impl Pods {
    pub(crate) fn new(audit: Audit) -> Self {
        Self { audit, known: BTreeMap::new() }
    }

    /// Writes each change that a look shows, until looks end.
    pub(crate) async fn follow(mut self, plugins: StatusReader, feed: HoldersFeed) {
        let mut looks = feed.subscribe();
        loop {
            let look = looks.borrow_and_update().clone();
            if let Some(look) = look {
                self.tell(plugins.status(), &look);
            }
            if looks.changed().await.is_err() {
                return;
            }
        }
    }

    /// Writes what is news. What is left out for its pace, or because the disk is slow, is news still at the next look. Of a device that
    /// no plugin lists any more, what was known stays until its container is not seen with it.
    fn tell(&mut self, plugins: Vec<PluginStatus>, look: &Holders) {
        let seen = holds(plugins, look);
        let (mut gone, mut new) = (Vec::new(), Vec::new());
        for (hold, held) in &self.known {
            if !seen.contains_key(hold) && !hold.is_held(held.process, look) {
                gone.push((hold.clone(), held.clone()));
            }
        }
        for (hold, held) in seen {
            match self.known.get_mut(&hold) {
                Some(known) => *known = held,
                None => new.push((hold, held)),
            }
        }
        // First what went: a device has one container after the other.
        for of_one in by_container(&gone) {
            if self.write(LET_GO, of_one) {
                of_one.iter().for_each(|(hold, _)| drop(self.known.remove(hold)));
            }
        }
        for of_one in by_container(&new) {
            if self.write(HELD_BY, of_one) {
                self.known.extend(of_one.iter().cloned());
            }
        }
    }

    /// Queues one line for all that one container got or let go of one resource.
    fn write(&self, event: &str, holds: &[(Hold, Held)]) -> bool {
        line(event, holds).is_some_and(|line| self.audit.write(Level::INFO, line))
    }
}

/// What a look shows of what plugins list.
fn holds(plugins: Vec<PluginStatus>, look: &Holders) -> BTreeMap<Hold, Held> {
    let mut holds = BTreeMap::new();
    for plugin in plugins {
        let plugin = plugin.with_holders(look);
        for resource in &plugin.resources {
            for holder in resource.devices.iter().flat_map(|device| &device.holders) {
                let held = Held { plugin: plugin.name.clone(), process: look.process };
                holds.insert(Hold::new(&resource.name, holder), held);
            }
        }
    }
    holds
}

fn by_container(holds: &[(Hold, Held)]) -> impl Iterator<Item = &[(Hold, Held)]> {
    holds.chunk_by(|(a, _), (b, _)| (&a.resource, &a.container) == (&b.resource, &b.container))
}

fn line(event: &str, holds: &[(Hold, Held)]) -> Option<Line> {
    let (Hold { resource, container: [namespace, pod, container], .. }, Held { plugin, .. }) = holds.first()?;
    let ids: Vec<_> = holds.iter().map(|(hold, _)| hold.id.as_str()).collect();
    let ids = escape(&ids.join(","), MAX_IDS);
    let does = if event == HELD_BY { "has" } else { "has no longer" };
    let message =
        format!("plugin {plugin}: resource {resource}: container {namespace}/{pod} ({container}) {does} {ids}");
    let line = json!({
        "event": event, "plugin": plugin, "resource": resource, "ids": ids, "count": holds.len(),
        "namespace": namespace, "pod": pod, "container": container, "message": message,
    });
    line.as_object().cloned()
}

impl Hold {
    /// As the status writes it.
    fn new(resource: &str, holder: &HolderStatus) -> Self {
        let container = [&holder.namespace, &holder.pod, &holder.container].map(String::clone);
        Self { resource: resource.to_owned(), container, id: holder.id.clone() }
    }

    /// Whether its container has it still, or may have, although no plugin's device shows so: no plugin lists it any more, or a process
    /// of the source other than the one that has shown it looks, which may not know its pods yet.
    fn is_held(&self, process: u64, look: &Holders) -> bool {
        let Ok(resource) = ResourceName::try_new(&self.resource) else {
            return false;
        };
        let offered = (resource, self.id.clone());
        match look.seen.get(&offered) {
            Some(holders) => {
                holders.iter().any(|holder| Self::new(&self.resource, &HolderStatus::new(&self.id, holder)) == *self)
            }
            None => {
                process != look.process && look.recorded.as_ref().is_none_or(|recorded| recorded.contains(&offered))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Message, QUEUE};
    use super::*;
    use crate::monitoring::tests::one;
    use devgate_core::Holder;
    use std::sync::atomic::Ordering;
    use std::sync::mpsc::Receiver;
    use std::time::Instant;

    /// What the kubelet's process shows: ids of `devgate.dev/fuse` and their pods; and what its records have, where they can be read.
    fn look(process: u64, seen: &[(&str, &str)], recorded: Option<&[&str]>) -> Holders {
        let resource = ResourceName::try_new("devgate.dev/fuse").unwrap();
        let holder = |pod: &str| Holder { namespace: "team-a".into(), pod: pod.into(), container: "main".into() };
        Holders {
            seen: seen.iter().map(|(id, pod)| ((resource.clone(), (*id).to_owned()), vec![holder(pod)])).collect(),
            recorded: recorded.map(|ids| ids.iter().map(|id| (resource.clone(), (*id).to_owned())).collect()),
            uids: [].into(),
            poll: 1,
            process,
            begun: Instant::now(),
        }
    }

    /// A plugin that has `fuse` and `fuse2`, one of each, and no pod yet in its status.
    fn plugins() -> Vec<PluginStatus> {
        let mut plugins: Vec<_> = one().plugins.into_iter().map(PluginStatus::without_holders).collect();
        plugins[0].resources[0].replicas = 1;
        plugins
    }

    /// What writes to a queue of so many lines, and the queue.
    fn pods(queue: usize) -> (Pods, Receiver<Message>) {
        let (audit, lines) = Audit::new(queue);
        (Pods::new(audit), lines)
    }

    /// The lines that a look makes.
    fn lines(of: &mut (Pods, Receiver<Message>), plugins: Vec<PluginStatus>, look: &Holders) -> Vec<Line> {
        of.0.tell(plugins, look);
        let line = |message| match message {
            Message::Line(line) => line,
            _ => panic!("a line"),
        };
        of.1.try_iter().map(line).collect()
    }

    /// The same in few words.
    fn told(of: &mut (Pods, Receiver<Message>), plugins: Vec<PluginStatus>, look: &Holders) -> Vec<String> {
        let said = |line: &Line| ["event", "pod", "ids"].map(|name| line[name].as_str().unwrap().to_owned()).join(" ");
        lines(of, plugins, look).iter().map(said).collect()
    }

    #[test]
    fn each_change_is_told_once() {
        let mut pods = pods(QUEUE);
        let mut news = |look: &Holders| told(&mut pods, plugins(), look);
        assert_eq!(news(&look(1, &[], None)), [""; 0]);
        let both = [("fuse", "train-0"), ("fuse2", "train-0"), ("fuse9", "of-another")];
        assert_eq!(news(&look(1, &both, None)), ["held-by train-0 fuse,fuse2"]);
        assert_eq!(news(&look(1, &both, None)), [""; 0]);
        assert_eq!(
            news(&look(1, &[("fuse", "train-1"), ("fuse2", "train-0")], None)),
            ["let-go train-0 fuse", "held-by train-1 fuse"]
        );
        assert_eq!(news(&look(1, &[], None)), ["let-go train-0 fuse2", "let-go train-1 fuse"]);
        assert_eq!(pods.0.known.len(), 0);
    }

    /// A kubelet that has just started does not show its pods yet.
    #[test]
    fn another_process_must_say_itself_that_nobody_has_it() {
        let held = [("fuse", "train-0")];
        let begin = || {
            let mut pods = pods(QUEUE);
            assert_eq!(told(&mut pods, plugins(), &look(1, &held, None)), ["held-by train-0 fuse"]);
            pods
        };
        let mut pods = begin();
        assert_eq!(told(&mut pods, plugins(), &look(2, &[], None)), [""; 0], "it cannot tell");
        assert_eq!(told(&mut pods, plugins(), &look(2, &[], Some(&["fuse"]))), [""; 0]);
        assert_eq!(told(&mut pods, plugins(), &look(2, &held, Some(&["fuse"]))), [""; 0]);
        assert_eq!(
            told(&mut pods, plugins(), &look(2, &[], Some(&["fuse"]))),
            ["let-go train-0 fuse"],
            "it has shown it, and its records may be older"
        );
        let mut pods = begin();
        assert_eq!(told(&mut pods, plugins(), &look(2, &[], Some(&[]))), ["let-go train-0 fuse"]);
        let mut pods = begin();
        assert_eq!(
            told(&mut pods, plugins(), &look(2, &[("fuse", "train-1")], None)),
            ["let-go train-0 fuse", "held-by train-1 fuse"]
        );
    }

    /// A plugin that is gone from the policy, or lists it no more: its pod has it all the same.
    #[test]
    fn what_is_not_listed_any_more_is_let_go_when_its_pod_is_gone() {
        let held = [("fuse", "train-0")];
        let mut pods = pods(QUEUE);
        told(&mut pods, plugins(), &look(1, &held, None));
        assert_eq!(told(&mut pods, Vec::new(), &look(1, &held, None)), [""; 0]);
        assert_eq!(told(&mut pods, Vec::new(), &look(1, &[], None)), ["let-go train-0 fuse"]);
    }

    /// A line that could not be written is written at a later look, whichever kind it is.
    #[test]
    fn what_was_left_out_is_told_at_a_later_look() {
        let mut pods = pods(1);
        let both = look(1, &[("fuse", "train-0"), ("fuse2", "train-1")], None);
        assert_eq!(told(&mut pods, plugins(), &both), ["held-by train-0 fuse"], "the queue has room for one");
        assert_eq!(told(&mut pods, plugins(), &both), ["held-by train-1 fuse2"]);
        assert_eq!(told(&mut pods, plugins(), &both), [""; 0]);
        let none = look(1, &[], None);
        assert_eq!(told(&mut pods, plugins(), &none), ["let-go train-0 fuse"]);
        assert_eq!(told(&mut pods, plugins(), &look(2, &[], None)), [""; 0], "it cannot tell");
        assert_eq!(told(&mut pods, plugins(), &look(2, &[], Some(&[]))), ["let-go train-1 fuse2"]);
        assert_eq!(pods.0.audit.missing.load(Ordering::Relaxed), 2);
    }

    /// A pod that has it again before its end could be told had it all the time, as far as the lines say.
    #[test]
    fn what_is_held_again_before_it_was_told_is_no_news() {
        let mut pods = pods(1);
        let held = look(1, &[("fuse", "train-0")], None);
        told(&mut pods, plugins(), &held);
        pods.0.audit.queue.try_send(Message::Reopen).unwrap();
        pods.0.tell(plugins(), &look(1, &[], None));
        assert_eq!(pods.1.try_iter().count(), 1, "there was no room for the line");
        assert_eq!(told(&mut pods, plugins(), &held), [""; 0]);
        assert_eq!(told(&mut pods, plugins(), &look(2, &[], None)), [""; 0], "it cannot tell");
        assert_eq!(told(&mut pods, plugins(), &look(2, &[], Some(&[]))), ["let-go train-0 fuse"]);
    }

    #[test]
    fn a_line_has_what_an_allocations_has_and_who() {
        let mut pods = pods(QUEUE);
        let lines = lines(&mut pods, plugins(), &look(1, &[("fuse", "tr\u{1b}ain")], None));
        let json = &lines[0];
        let field = |name: &str| json[name].to_string();
        let fields = ["event", "plugin", "resource", "ids", "count", "namespace", "pod", "container", "level"];
        insta::assert_snapshot!(fields.map(field).join(" "), @r#""held-by" "edge" "devgate.dev/fuse" "fuse" 1 "team-a" "tr\\u{1b}ain" "main" "INFO""#);
        insta::assert_snapshot!(json["message"].as_str().unwrap(), @r"plugin edge: resource devgate.dev/fuse: container team-a/tr\u{1b}ain (main) has fuse");
    }
}
