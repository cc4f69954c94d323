//! What happened when: the scenario's steps, and what the kubelet saw of them.

use super::outcome::Outcome;
use devgate_fake_kubelet::Event;
use devgate_types::escape;
use std::fmt::Write;

/// The longest line, in characters.
const MAX_LINE: usize = 400;

/// One line for each moment: seconds since the scenario began, whose moment it is, and what it was.
pub(super) fn timeline(outcome: &Outcome) -> String {
    let steps = outcome.steps.iter();
    let steps = steps.map(|step| (step.begun, "step", format!("{}  {}", step.number, step.summary)));
    let events = outcome.events.iter();
    let events = events.map(|moment| (moment.at, "kubelet", describe(&moment.event)));
    let log = outcome.log.iter().filter(|line| ["WARN", "ERROR"].contains(&line.level.as_str()));
    let log = log.map(|line| (line.at, "host", line.message.clone()));
    let mut moments: Vec<_> = steps.chain(events).chain(log).collect();
    // Of what is at the same time, what causes comes first.
    moments.sort_by_key(|(at, ..)| *at);
    let mut text = String::new();
    for (at, whose, what) in moments {
        let since = at.saturating_duration_since(outcome.begun).as_secs_f64();
        let _ = writeln!(text, "  {since:>8.3} s  {whose:<8} {}", escape(&what, MAX_LINE));
    }
    text
}

fn describe(event: &Event) -> String {
    match event {
        Event::Started => "started".to_owned(),
        Event::Stopped => "stopped".to_owned(),
        Event::Asked { resource, .. } => format!("{resource}: asked to register"),
        Event::Registered { resource, .. } => format!("{resource}: registered"),
        Event::Refused { resource, error } => format!("{resource}: registration refused: {error}"),
        Event::List { resource, healthy, unhealthy } => {
            format!("{resource}: list of {healthy} healthy, {unhealthy} unhealthy")
        }
        Event::StreamEnded { resource, error, .. } => format!("{resource}: stream ended: {error}"),
        Event::Admitted(pod) => format!("pod {pod}: admitted"),
        Event::Rejected(pod, why) => format!("pod {pod}: rejected: {why}"),
    }
}
