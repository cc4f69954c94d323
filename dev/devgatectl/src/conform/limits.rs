//! How far each call is from its limits, on the node as recorded.

use super::harness::{Call, Harness, broke};
use super::scorecard::{Outcome, Scorecard};
use crate::fault_injector::Script;
use devgate_types::Limits;

/// What is looked for beyond what is needed: a component that uses less than this part of a limit needs no figure.
const MAX_FACTOR: u32 = 256;

/// Each check, and how its limit is divided.
type Divide = fn(&mut Limits, u32);
const DIVIDED: [(&str, Divide); 5] = [
    ("limits.memory", |limits, by| limits.memory.0 /= u64::from(by)),
    ("limits.host-calls", |limits, by| limits.host_calls /= by),
    ("limits.read", |limits, by| limits.read.0 /= u64::from(by)),
    ("limits.handles", |limits, by| limits.handles /= by),
    ("limits.transfer", |limits, by| limits.transfer.0 /= u64::from(by)),
];

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    for (id, divide) in DIVIDED {
        card.check(id, || headroom(harness, divide))?;
    }
    Ok(None)
}

/// Makes each call with ever less, until it fails.
fn headroom(harness: &Harness, divide: Divide) -> anyhow::Result<Outcome> {
    let mut failures = Vec::new();
    let mut least: Option<(u32, &Call)> = None;
    for (call, ..) in &harness.calls {
        let mut enough = 1;
        while enough < MAX_FACTOR {
            let bench = harness.bench()?;
            let mut limits = bench.limits().clone();
            divide(&mut limits, enough * 2);
            if let Some(how) = broke(&harness.call(&bench, *call, Script::limited(limits)).0) {
                let half = (enough < 2).then(|| format!("{call} {how}, with half of what the policy gives it"));
                failures.extend(half);
                break;
            }
            enough *= 2;
        }
        if least.is_none_or(|(factor, _)| enough < factor) {
            least = Some((enough, call));
        }
    }
    let tried = match least {
        Some((MAX_FACTOR, _)) => format!("every call works with 1/{MAX_FACTOR}"),
        Some((factor, call)) => format!("{call} works with 1/{factor}, and not with 1/{}", factor * 2),
        None => "no call".to_owned(),
    };
    Ok(Outcome::of(tried, failures))
}
