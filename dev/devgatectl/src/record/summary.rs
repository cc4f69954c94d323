//! What is said of a recording, on standard error or in it.

use super::redact::Redactor;
use devgate::output::count;
use devgate_core::Grants;
use devgate_fake_node::{Recording, Unwritten};
use devgate_node::Node;
use devgate_policy::Policy;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// How many of each kind are named where not all are.
const SHOWN: usize = 3;

/// What there is to say.
pub(super) struct Summary {
    text: String,
    notes: Vec<String>,
    left: Vec<Unwritten>,
}

impl Summary {
    pub(super) fn new(notes: Vec<String>, recording: &Recording) -> Self {
        let (whole, place) = recording.devices;
        let also = if place > 0 { format!(", and {place} only for what and where they are") } else { String::new() };
        Self { text: format!("recorded {}{also}\n", count(whole, "device")), notes, left: recording.unwritten.clone() }
    }

    /// What was replaced, by kinds.
    pub(super) fn redacted(&mut self, redactor: &Redactor) {
        let one = |(kind, numbers): (&&str, &BTreeSet<usize>)| format!("{kind}: {}", numbers.len());
        let all: Vec<_> = redactor.replaced.iter().map(one).collect();
        let all = if all.is_empty() { "nothing".to_owned() } else { all.join(", ") };
        let _ = writeln!(self.text, "redacted {all}");
        self.left.extend(redactor.left.iter().cloned());
    }

    /// Whether the policy means the same on the copy.
    pub(super) fn compare(&mut self, policy: &Policy, here: &[Grants], copy: &Node) {
        for (plugin, live) in policy.plugins.values().zip(here) {
            let there = Grants::new(copy.clone(), Arc::new(plugin.clone()));
            let (Ok(live), Ok(there)) = (live.selector_counts(), there.selector_counts()) else {
                continue;
            };
            for ((selector, live), there) in plugin.hardware.iter().zip(live).zip(there) {
                if live != there {
                    self.notes.push(format!(
                        "plugin {}: the selector at {} matches {} here and {there} in the recording; where it states \
                         what was redacted, change it for the recording or record with --no-redact",
                        plugin.name,
                        selector.origin,
                        count(live, "device")
                    ));
                }
            }
        }
    }

    pub(super) fn unwritten(&mut self, more: Vec<Unwritten>) {
        self.left.extend(more);
    }

    /// All of it, or a few of each kind.
    pub(super) fn text(mut self, all: bool) -> String {
        for note in &self.notes {
            let _ = writeln!(self.text, "note: {note}");
        }
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        self.left.sort();
        self.left.dedup();
        for left in &self.left {
            reasons.entry(&left.why).or_default().push(&left.path);
        }
        if !reasons.is_empty() {
            self.text += "left out:\n";
        }
        for (why, paths) in reasons {
            let _ = writeln!(self.text, "  {}: {}", paths.len(), devgate_types::escape(why, 200));
            let shown = if all { paths.len() } else { SHOWN.min(paths.len()) };
            for path in paths.iter().take(shown) {
                let _ = writeln!(self.text, "    {}", devgate_types::escape(path, 300));
            }
            if shown < paths.len() {
                let _ = writeln!(self.text, "    … (--verbose names all)");
            }
        }
        self.text
    }
}
