//! Health is presence: the devices of a unit and all the nodes that it was offered with.

use crate::machine::{DeviceNode, Machine};
use crate::survey::{State, Survey};
use devgate_sdk::Verdict;

/// What can be said now about a unit that was offered with these nodes.
pub(crate) fn of<M: Machine>(survey: &Survey<M>, id: &str, offered: &[M::Node]) -> Verdict {
    let Some(candidate) = survey.candidates.iter().find(|candidate| candidate.id == id) else {
        return unhealthy("no device matches any more");
    };
    match &candidate.state {
        State::Unread(problem) => return Verdict::Unknown(cut(problem)),
        State::Incomplete(problem) | State::Useless(problem) => return unhealthy(problem),
        State::Complete => {}
    }
    for node in offered {
        let path = node.path();
        match candidate.nodes.iter().find(|now| now.path() == path) {
            None => return unhealthy(&format!("node {path} is gone")),
            Some(now) if now.number() != node.number() => {
                return unhealthy(&format!("node {path} is another device now"));
            }
            Some(_) => {}
        }
    }
    Verdict::Healthy
}

fn unhealthy(reason: &str) -> Verdict {
    Verdict::Unhealthy(cut(reason))
}

/// At most 256 bytes, the limit of a reason.
fn cut(reason: &str) -> String {
    let end = reason
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .take_while(|end| *end <= 256)
        .last();
    reason.get(..end.unwrap_or(0)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::machine::fake::{Fake, FakeDevice, FakeNode};
    use devgate_sdk::ErrorKind;

    fn tun(nodes: &[(&'static str, u32)]) -> Fake {
        Fake {
            devices: vec![FakeDevice::new("misc", "tun", nodes)],
            ..Fake::default()
        }
    }

    fn verdict(machine: &Fake, offered: &[FakeNode]) -> Verdict {
        let json = r#"{"devices": [{"resource": "v.com/tun", "subsystem": "misc", "name": "tun",
                       "attributes": {"dev": "*"}}]}"#;
        let machine = Fake {
            devices: machine
                .devices
                .iter()
                .cloned()
                .map(|d| d.with("dev", Ok("10:200")))
                .collect(),
            ..machine.clone()
        };
        let survey = Survey::of(&machine, &config::parse(json, false).unwrap(), "v.com/tun").unwrap();
        of(&survey, "tun", offered)
    }

    fn reason(verdict: Verdict) -> String {
        match verdict {
            Verdict::Unhealthy(reason) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn healthy_is_the_device_with_the_nodes_it_was_offered_with() {
        let now = tun(&[("/dev/net/tun", 200), ("/dev/net/tun2", 201)]);
        assert!(matches!(
            verdict(&now, &[FakeNode("/dev/net/tun", 200)]),
            Verdict::Healthy
        ));
    }

    #[test]
    fn what_is_missing_is_said() {
        let offered = [FakeNode("/dev/net/tun", 200)];
        assert_eq!(
            reason(verdict(&Fake::default(), &offered)),
            "no device matches any more"
        );
        let without = tun(&[("/dev/other", 1)]);
        assert_eq!(reason(verdict(&without, &offered)), "node /dev/net/tun is gone");
        let renumbered = tun(&[("/dev/net/tun", 201)]);
        assert_eq!(
            reason(verdict(&renumbered, &offered)),
            "node /dev/net/tun is another device now"
        );
        assert!(reason(verdict(&tun(&[]), &[])).starts_with("no node of it is offered"));
    }

    #[test]
    fn what_cannot_be_read_is_unknown() {
        let mut machine = tun(&[("/dev/net/tun", 200)]);
        let json = r#"{"devices": [{"resource": "v.com/tun", "subsystem": "misc", "attributes": {"dev": "*"}}]}"#;
        machine.devices = machine
            .devices
            .into_iter()
            .map(|d| d.with("dev", Err(ErrorKind::Io)))
            .collect();
        let survey = Survey::of(&machine, &config::parse(json, false).unwrap(), "v.com/tun").unwrap();
        let verdict = of(&survey, "tun", &[]);
        assert!(
            matches!(&verdict, Verdict::Unknown(problem) if problem == "attribute dev: cannot be read"),
            "{verdict:?}"
        );
        assert!(survey.candidates.iter().all(|candidate| !candidate.is_offered()));
    }

    #[test]
    fn reasons_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(""), "");
        assert_eq!(cut(&"x".repeat(300)).len(), 256);
        assert_eq!(cut(&"ü€".repeat(300)).len(), 255);
    }
}
