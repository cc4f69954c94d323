//! Health is presence. The host itself watches the devices and nodes that a unit was offered with, more often and more
//! cheaply than a component could; what is left to say is whether there is anything to hand out at all.

use crate::survey::NO_NODE;
use devgate_sdk::Verdict;

/// What can be said of a unit that was offered with this many nodes.
pub(crate) fn of(nodes: usize) -> Verdict {
    match nodes {
        0 => Verdict::Unhealthy(NO_NODE.to_owned()),
        _ => Verdict::Healthy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_would_hand_out_nothing_is_not_handed_out() {
        assert!(matches!(of(1), Verdict::Healthy));
        assert!(matches!(of(0), Verdict::Unhealthy(reason) if reason.len() <= 256));
    }
}
