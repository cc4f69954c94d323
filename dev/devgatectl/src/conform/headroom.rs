//! How far each call is from its limits, on the node as recorded.

use super::meddler::{Script, Seen};
use super::sheet::{Outcome, Rule, Sheet};
use super::subject::{Baseline, Call, Subject, broke};
use devgate_types::{ByteSize, Limits};
use std::time::Duration;

/// How often a call is made to know how long it takes.
const TIMES: usize = 15;
/// What is looked for beyond what is needed: a component that uses less than this part of a limit needs no figure.
const MOST_FACTOR: u32 = 256;

const REMEDY: &str = "ask for less (`attributes` reads several at once; read only what decides), or say in the policy what it \
needs (limits); another node has more devices than the recorded one";

/// The limits with one of them divided by so much.
type Divide = fn(&Limits, u32) -> Limits;

macro_rules! rules {
    ($($name:ident = $id:literal, $title:literal;)*) => {
        $(const $name: Rule = Rule {
            id: $id,
            title: $title,
            expected: "every call works with half of what the policy gives it",
            remedy: REMEDY,
        };)*
        pub(super) const RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    TIME = "limits.time", "Time (limits.cpu)";
    MEMORY = "limits.memory", "Memory (limits.memory)";
    HOST_CALLS = "limits.host-calls", "Calls to the host (limits.host-calls)";
    READ = "limits.read", "Bytes read from the node (limits.read)";
    HANDLES = "limits.handles", "Handles (limits.handles)";
    TRANSFER = "limits.transfer", "Bytes between component and host (limits.transfer)";
}

pub(super) fn run(subject: &Subject, baseline: &Baseline, sheet: &mut Sheet<'_>) -> anyhow::Result<()> {
    if sheet.wants(&TIME) {
        let outcome = time(subject, baseline)?;
        sheet.check(&TIME, || outcome);
    }
    let divided: [(&'static Rule, Divide); 5] = [
        (&MEMORY, |limits, by| Limits {
            memory: part(limits.memory, by),
            ..limits.clone()
        }),
        (&HOST_CALLS, |limits, by| Limits {
            host_calls: limits.host_calls / by,
            ..limits.clone()
        }),
        (&READ, |limits, by| Limits {
            read: part(limits.read, by),
            ..limits.clone()
        }),
        (&HANDLES, |limits, by| Limits {
            handles: limits.handles / by,
            ..limits.clone()
        }),
        (&TRANSFER, |limits, by| Limits {
            transfer: part(limits.transfer, by),
            ..limits.clone()
        }),
    ];
    for (rule, divide) in divided {
        if sheet.wants(rule) {
            let outcome = headroom(subject, baseline, divide)?;
            sheet.check(rule, || outcome);
        }
    }
    Ok(())
}

fn part(size: ByteSize, by: u32) -> ByteSize {
    ByteSize(size.0 / u64::from(by))
}

/// Makes each call with ever less, until it fails.
fn headroom(subject: &Subject, baseline: &Baseline, divide: Divide) -> anyhow::Result<Outcome> {
    let mut failures = Vec::new();
    let mut least: Option<(u32, &Call)> = None;
    for (call, ..) in &baseline.calls {
        let mut enough = 1;
        while enough < MOST_FACTOR {
            let bench = subject.bench()?;
            let script = Script::limited(divide(bench.limits(), enough * 2));
            let (result, _) = subject.call(&bench, &baseline.listed.pools, call, script);
            let Some(how) = broke(&result) else {
                enough *= 2;
                continue;
            };
            if enough < 2 {
                failures.push(format!("{call} {how}, with half of what the policy gives it"));
            }
            break;
        }
        if least.is_none_or(|(factor, _)| enough < factor) {
            least = Some((enough, call));
        }
    }
    let tried = match least {
        Some((MOST_FACTOR, _)) => format!("every call works with 1/{MOST_FACTOR}"),
        Some((factor, call)) => format!("{call} works with 1/{factor}, and not with 1/{}", factor * 2),
        None => "no call".to_owned(),
    };
    Ok(Outcome::of(tried, failures))
}

/// The middle of several times, so that a machine that is busy does not count.
fn time(subject: &Subject, baseline: &Baseline) -> anyhow::Result<Outcome> {
    let mut failures = Vec::new();
    let mut least: Option<(u128, String)> = None;
    for (call, ..) in &baseline.calls {
        let bench = subject.bench()?;
        // Never more than the deadline: the policy sees to that.
        let limit = bench.limits().cpu;
        let Some(taken) = median(subject, baseline, call, processor)? else {
            continue;
        };
        let (factor, enough) = room(taken, limit);
        if !enough {
            failures.push(format!("{call} takes {taken:?} of {limit:?}"));
        }
        if least.as_ref().is_none_or(|(known, _)| factor < *known) {
            least = Some((factor, format!("{call} takes {taken:?} of {limit:?}")));
        }
    }
    Ok(Outcome::of(least.map(|(_, text)| text).unwrap_or_default(), failures))
}

/// How many times a call of this length fits into a limit, and whether that is enough.
fn room(taken: Duration, limit: Duration) -> (u128, bool) {
    let factor = limit.as_nanos() / taken.as_nanos().max(1);
    (factor, factor >= 2)
}

/// What counts of a call: all of its processor time; where this program is a debug build, whose host takes many times as long
/// as it should, the component's own.
fn processor(seen: &Seen) -> Duration {
    if cfg!(debug_assertions) {
        seen.own()
    } else {
        seen.processor
    }
}

/// How long a call takes in a fresh instance, the middle of several: what somebody waits.
pub(super) fn waited(subject: &Subject, baseline: &Baseline, call: &Call) -> anyhow::Result<Option<Duration>> {
    median(subject, baseline, call, |seen| {
        seen.cost.map(|cost| cost.time).unwrap_or_default()
    })
}

fn median(
    subject: &Subject,
    baseline: &Baseline,
    call: &Call,
    time: fn(&Seen) -> Duration,
) -> anyhow::Result<Option<Duration>> {
    let bench = subject.bench()?;
    let mut times: Vec<Duration> = (0..TIMES)
        .filter_map(|_| {
            let (_, seen) = subject.call(&bench, &baseline.listed.pools, call, Script::default());
            seen.cost.map(|_| time(&seen))
        })
        .collect();
    times.sort();
    Ok(times.get(times.len() / 2).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_limit_is_enough_and_a_little_more_is_not() {
        let limit = Duration::from_millis(100);
        assert_eq!(room(Duration::from_millis(50), limit), (2, true));
        assert_eq!(room(Duration::from_millis(51), limit), (1, false));
        assert!(room(Duration::ZERO, limit).1);
    }
}
