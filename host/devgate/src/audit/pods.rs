//! Which container has which device, in the audit log alone: a line when one is seen to have something, and a line when it has not
//! any more. The log, which leaves the node, says nothing of pods.

use super::Shared;
use super::line::Line;
use devgate_core::status::{HolderStatus, PluginStatus};
use devgate_core::{Holders, HoldersFeed, Watch};
use devgate_types::{ResourceName, escape};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most characters of a line's list of ids.
const MOST_IDS: usize = 1_024;
/// What happened, as a line's `event` names it.
const HELD_BY: &str = "held-by";
const LET_GO: &str = "let-go";

/// Follows who has what, and writes what changes.
pub(crate) struct Pods {
    shared: Arc<Shared>,
    known: Known,
}

/// One id of one resource in one container's hands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Hold {
    resource: String,
    holder: HolderStatus,
}

/// What has been written as held.
#[derive(Debug, Default)]
struct Known(BTreeMap<Hold, Held>);

/// What is known of it.
#[derive(Debug)]
struct Held {
    plugin: String,
    /// The process that has shown it last.
    process: u64,
    /// Whether it was seen to be let go, which could not be written yet.
    ended: bool,
}

/// What one line says: all that one container got or let go of one resource.
#[derive(Debug, PartialEq, Eq)]
struct Change {
    event: &'static str,
    plugin: String,
    holds: Vec<Hold>,
}

impl Pods {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let known = Known::default();
        Self { shared, known }
    }

    /// Writes each change that a look shows, until looks end.
    pub(crate) async fn follow(mut self, plugins: Watch, feed: HoldersFeed) {
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

    /// Writes what is news. What is left out for its pace, or because the disk is slow, is news still at the next look.
    fn tell(&mut self, plugins: Vec<PluginStatus>, look: &Holders) {
        for change in self.known.news(plugins, look) {
            if change.line().is_some_and(|line| self.shared.write(line)) {
                self.known.told(change, look.process);
            }
        }
    }
}

impl Known {
    /// What is another way than it was, and was not told yet. Of a device that no plugin lists any more, what was known stays until
    /// its container is not seen with it.
    fn news(&mut self, plugins: Vec<PluginStatus>, look: &Holders) -> Vec<Change> {
        let seen = holds(plugins, look);
        let mut gone = Vec::new();
        for (hold, held) in self.0.iter_mut().filter(|(hold, _)| !seen.contains_key(hold)) {
            held.ended = hold.is_held(held.process, look).map_or(held.ended, |is_held| !is_held);
            if held.ended {
                gone.push((held.plugin.clone(), hold.clone()));
            }
        }
        let mut new = Vec::new();
        for (hold, plugin) in seen {
            match self.0.get_mut(&hold) {
                Some(held) => (held.plugin, held.process, held.ended) = (plugin, look.process, false),
                None => new.push((plugin, hold)),
            }
        }
        // First what went: a device has one container after the other.
        let mut changes = together(LET_GO, gone);
        changes.extend(together(HELD_BY, new));
        changes
    }

    /// Notes that a change has been told, which a look at this process showed.
    fn told(&mut self, change: Change, process: u64) {
        for hold in change.holds {
            let (plugin, ended) = (change.plugin.clone(), false);
            match change.event {
                HELD_BY => self.0.insert(hold, Held { plugin, process, ended }),
                _ => self.0.remove(&hold),
            };
        }
    }
}

/// What a look shows of what plugins list, each with its plugin.
fn holds(plugins: Vec<PluginStatus>, look: &Holders) -> BTreeMap<Hold, String> {
    let mut holds = BTreeMap::new();
    for plugin in plugins {
        let plugin = plugin.with_holders(look);
        for resource in &plugin.resources {
            for holder in resource.devices.iter().flat_map(|device| &device.holders) {
                let (resource, holder) = (resource.name.clone(), holder.clone());
                holds.insert(Hold { resource, holder }, plugin.name.clone());
            }
        }
    }
    holds
}

/// One change for all that one container got or let go of one resource.
fn together(event: &'static str, mut holds: Vec<(String, Hold)>) -> Vec<Change> {
    let whose = |(plugin, hold): &(String, Hold)| {
        let holder = &hold.holder;
        let pod = [&holder.namespace, &holder.pod, &holder.container].map(String::clone);
        (plugin.clone(), hold.resource.clone(), pod)
    };
    // The ids of each stay in their order.
    holds.sort_by_cached_key(whose);
    let same = holds.chunk_by(|a, b| whose(a) == whose(b));
    let change = |same: &[(String, Hold)]| {
        let plugin = same.first()?.0.clone();
        let holds = same.iter().map(|(_, hold)| hold.clone()).collect();
        Some(Change { event, plugin, holds })
    };
    same.filter_map(change).collect()
}

impl Hold {
    /// Whether its container has it still, although no plugin's device shows so: no plugin lists it any more. Nothing where
    /// that cannot be told: another process of the source looks, which may not know its pods yet.
    fn is_held(&self, process: u64, look: &Holders) -> Option<bool> {
        let id = &self.holder.id;
        let Ok(resource) = ResourceName::try_new(&self.resource) else {
            return Some(false);
        };
        let offered = (resource, id.clone());
        if let Some(holders) = look.seen.get(&offered) {
            // As the status writes it.
            let mut holders = holders.iter().map(|holder| HolderStatus::new(id, holder));
            return Some(holders.any(|holder| holder == self.holder));
        }
        let recorded = look.recorded.as_ref();
        let may_be = process != look.process && recorded.is_none_or(|recorded| recorded.contains(&offered));
        (!may_be).then_some(false)
    }
}

impl Change {
    fn line(&self) -> Option<Line> {
        let Hold { resource, holder } = self.holds.first()?;
        let (namespace, pod, container) = (&holder.namespace, &holder.pod, &holder.container);
        let ids: Vec<_> = self.holds.iter().map(|hold| hold.holder.id.as_str()).collect();
        let (plugin, ids) = (&self.plugin, escape(&ids.join(","), MOST_IDS));
        let does = if self.event == HELD_BY { "has" } else { "has no longer" };
        let message =
            format!("plugin {plugin}: resource {resource}: container {namespace}/{pod} ({container}) {does} {ids}");
        Some(Line::with([
            ("event", self.event.into()),
            ("plugin", plugin.as_str().into()),
            ("resource", resource.as_str().into()),
            ("ids", ids.into()),
            ("count", self.holds.len().into()),
            ("namespace", namespace.as_str().into()),
            ("pod", pod.as_str().into()),
            ("container", container.as_str().into()),
            ("message", message.into()),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Message;
    use super::*;
    use crate::watching::tests::one;
    use devgate_core::Holder;
    use std::sync::mpsc::sync_channel;
    use std::time::Instant;

    /// What the kubelet's process shows: ids of `devgate.dev/fuse` and their pods; and what its records have, where they can be read.
    fn look(process: u64, seen: &[(&str, &str)], recorded: Option<&[&str]>) -> Holders {
        let resource = ResourceName::try_new("devgate.dev/fuse").unwrap();
        let holder = |pod: &str| Holder { namespace: "team-a".into(), pod: pod.into(), container: "main".into() };
        Holders {
            seen: seen.iter().map(|(id, pod)| ((resource.clone(), (*id).to_owned()), vec![holder(pod)])).collect(),
            recorded: recorded.map(|ids| ids.iter().map(|id| (resource.clone(), (*id).to_owned())).collect()),
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

    fn said(changes: &[Change]) -> Vec<String> {
        let ids = |change: &Change| change.holds.iter().map(|hold| hold.holder.id.clone()).collect::<Vec<_>>();
        let one =
            |change: &Change| format!("{} {} {}", change.event, change.holds[0].holder.pod, ids(change).join(","));
        changes.iter().map(one).collect()
    }

    /// What is news, and is told.
    fn told(known: &mut Known, plugins: Vec<PluginStatus>, look: &Holders) -> Vec<String> {
        let news = known.news(plugins, look);
        let said = said(&news);
        news.into_iter().for_each(|change| known.told(change, look.process));
        said
    }

    #[test]
    fn each_change_is_told_once() {
        let mut known = Known::default();
        let mut news = |look: &Holders| told(&mut known, plugins(), look);
        assert_eq!(news(&look(1, &[], None)), [""; 0]);
        let both = [("fuse", "train-0"), ("fuse2", "train-0"), ("fuse9", "of-another")];
        assert_eq!(news(&look(1, &both, None)), ["held-by train-0 fuse,fuse2"]);
        assert_eq!(news(&look(1, &both, None)), [""; 0]);
        assert_eq!(
            news(&look(1, &[("fuse", "train-1"), ("fuse2", "train-0")], None)),
            ["let-go train-0 fuse", "held-by train-1 fuse"]
        );
        assert_eq!(news(&look(1, &[], None)), ["let-go train-0 fuse2", "let-go train-1 fuse"]);
        assert_eq!(known.0.len(), 0);
    }

    /// A kubelet that has just started does not show its pods yet.
    #[test]
    fn another_process_must_say_itself_that_nobody_has_it() {
        let held = [("fuse", "train-0")];
        let begin = || {
            let mut known = Known::default();
            assert_eq!(told(&mut known, plugins(), &look(1, &held, None)), ["held-by train-0 fuse"]);
            known
        };
        let mut known = begin();
        assert_eq!(told(&mut known, plugins(), &look(2, &[], None)), [""; 0], "it cannot tell");
        assert_eq!(told(&mut known, plugins(), &look(2, &[], Some(&["fuse"]))), [""; 0]);
        assert_eq!(told(&mut known, plugins(), &look(2, &held, Some(&["fuse"]))), [""; 0]);
        assert_eq!(
            told(&mut known, plugins(), &look(2, &[], Some(&["fuse"]))),
            ["let-go train-0 fuse"],
            "it has shown it, and its records may be older"
        );
        let mut known = begin();
        assert_eq!(told(&mut known, plugins(), &look(2, &[], Some(&[]))), ["let-go train-0 fuse"]);
        let mut known = begin();
        assert_eq!(
            told(&mut known, plugins(), &look(2, &[("fuse", "train-1")], None)),
            ["let-go train-0 fuse", "held-by train-1 fuse"]
        );
    }

    /// A plugin that is gone from the policy, or lists it no more: its pod has it all the same.
    #[test]
    fn what_is_not_listed_any_more_is_let_go_when_its_pod_is_gone() {
        let held = [("fuse", "train-0")];
        let mut known = Known::default();
        told(&mut known, plugins(), &look(1, &held, None));
        assert_eq!(told(&mut known, Vec::new(), &look(1, &held, None)), [""; 0]);
        assert_eq!(told(&mut known, Vec::new(), &look(1, &[], None)), ["let-go train-0 fuse"]);
    }

    /// A line that could not be written is written at a later look, whichever kind it is.
    #[test]
    fn what_was_left_out_is_told_at_a_later_look() {
        let (queue, lines) = sync_channel(1);
        let mut pods = Pods::new(Arc::new(Shared { queue, paces: Arc::default() }));
        let mut look_at = |look: &Holders| {
            pods.tell(plugins(), look);
            let lines: Vec<_> = lines.try_iter().collect();
            let line = |line: &Message| {
                let Message::Line(line, ..) = line else { panic!("a line") };
                let json: serde_json::Value = serde_json::from_str(line).unwrap();
                format!("{} {} {}", json["event"], json["pod"], json["left_out"]).replace('"', "")
            };
            lines.iter().map(line).collect::<Vec<_>>()
        };
        let both = look(1, &[("fuse", "train-0"), ("fuse2", "train-1")], None);
        assert_eq!(look_at(&both), ["held-by train-0 null"], "the queue has room for one");
        assert_eq!(look_at(&both), ["held-by train-1 1"]);
        assert_eq!(look_at(&both), [""; 0]);
        let none = look(1, &[], None);
        assert_eq!(look_at(&none), ["let-go train-0 null"], "train-1's had no room");
        // A look now cannot tell, but it has been seen already.
        assert_eq!(look_at(&look(2, &[], None)), ["let-go train-1 1"]);
        assert_eq!(look_at(&none), [""; 0]);
    }

    /// A pod that has it again before its end could be told had it all the time, as far as the lines say.
    #[test]
    fn what_is_held_again_before_it_was_told_is_no_news() {
        let held = look(1, &[("fuse", "train-0")], None);
        let mut known = Known::default();
        told(&mut known, plugins(), &held);
        assert_eq!(said(&known.news(plugins(), &look(1, &[], None))), ["let-go train-0 fuse"]);
        assert_eq!(told(&mut known, plugins(), &held), [""; 0]);
        assert_eq!(told(&mut known, plugins(), &look(2, &[], None)), [""; 0], "it cannot tell");
        assert_eq!(told(&mut known, plugins(), &look(2, &[], Some(&[]))), ["let-go train-0 fuse"]);
    }

    #[test]
    fn a_pace_that_is_used_up_leaves_out_as_well() {
        let (queue, lines) = sync_channel(1_024);
        let pods = Pods::new(Arc::new(Shared { queue, paces: Arc::default() }));
        let mut known = Known::default();
        let changes = known.news(plugins(), &look(1, &[("fuse", "train-0")], None));
        let written = (0..10_000).filter(|_| pods.shared.write(changes[0].line().unwrap())).count();
        assert!((500..1_000).contains(&written), "{written}");
        assert_eq!(lines.try_iter().count(), written);
    }

    #[test]
    fn a_line_has_what_an_allocations_has_and_who() {
        let mut known = Known::default();
        let changes = known.news(plugins(), &look(1, &[("fuse", "tr\u{1b}ain")], None));
        let json: serde_json::Value = serde_json::from_str(&changes[0].line().unwrap().text(3)).unwrap();
        let field = |name: &str| json[name].to_string();
        let fields = ["event", "plugin", "resource", "ids", "count", "namespace", "pod", "container", "left_out"];
        insta::assert_snapshot!(fields.map(field).join(" "), @r#""held-by" "edge" "devgate.dev/fuse" "fuse" 1 "team-a" "tr\\u{1b}ain" "main" 3"#);
        insta::assert_snapshot!(json["message"].as_str().unwrap(), @r"plugin edge: resource devgate.dev/fuse: container team-a/tr\u{1b}ain (main) has fuse");
    }
}
