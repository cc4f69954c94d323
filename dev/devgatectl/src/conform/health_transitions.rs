//! What decides about health: found by trying, then made bad and good again.

use super::harness::{Call, Function, Given, Harness, named};
use super::scorecard::{Outcome, Scorecard};
use super::values;
use crate::fault_injector::Script;
use crate::query::{Fake, Kind, Query};
use devgate_core::workbench::Workbench;
use devgate_types::{Verdict, escape};
use std::collections::BTreeSet;

/// What drivers say of hardware that is not well.
const WORDS: [&str; 14] = [
    "1", "2", "0", "100", "65535", "error", "failed", "dead", "down", "DOWN", "offline", "disabled", "D3cold",
    "1: DOWN",
];

/// A query whose answer makes a unit unhealthy.
struct Decides {
    query: Query,
    fake: Fake,
    pool: usize,
    unit: usize,
}

impl Decides {
    fn bad(&self) -> Script {
        Script::fake(self.query.clone(), self.fake.clone())
    }
}

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    let found = find(harness)?;
    if found.is_empty() {
        return Ok(Some("nothing that was tried makes a unit unhealthy".to_owned()));
    }
    let names: BTreeSet<_> = found.iter().map(|decides| decides.query.to_string()).collect();
    let tried = names.into_iter().collect::<Vec<_>>().join(", ");
    let (mut follows, mut recovers, mut unknown, mut listed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for decides in &found {
        let (query, fake) = (&decides.query, &decides.fake);
        let when = format!("while {query} was {fake}");
        let bench = harness.bench()?;
        if let Some(verdicts) = judge(harness, &bench, decides.pool, decides.bad()) {
            let other = harness.misjudged(query, decides.pool, &verdicts);
            follows.extend(other.map(|what| format!("{what}, {when}")));
        }
        let again = judge(harness, &bench, decides.pool, Script::default());
        if again.as_ref() != harness.verdicts.get(decides.pool) {
            recovers.push(format!("{again:?} when it was good again, after it was {fake}, of {query}"));
        }
        let script = Script::fake(query.clone(), Fake::denied());
        let verdicts = judge(harness, &harness.bench()?, decides.pool, script);
        if let Some(Verdict::Unhealthy(why)) = verdicts.as_ref().and_then(|verdicts| verdicts.get(decides.unit)) {
            let why = escape(why, 120);
            unknown.push(format!("unhealthy ({why}) because {query} may not be read"));
        }
        listed.extend(missing(harness, decides)?.map(|what| format!("{what}, {when}")));
    }
    for (id, failures) in [
        ("health.follows", follows),
        ("health.recovers", recovers),
        ("health.unknown", unknown),
        ("health.listed", listed),
    ] {
        card.record(id, Outcome::of(tried.clone(), failures));
    }
    Ok(None)
}

fn judge(harness: &Harness, bench: &Workbench, pool: usize, script: Script) -> Option<Vec<Verdict>> {
    match harness.call(bench, Call::of(Function::Health, pool, 0), script).0 {
        Ok(Given::Verdicts(verdicts)) => Some(verdicts),
        _ => None,
    }
}

/// For each query that health makes, the first answer that makes a healthy unit unhealthy.
fn find(harness: &Harness) -> anyhow::Result<Vec<Decides>> {
    let mut found = Vec::new();
    for dependency in harness.dependencies(&[Kind::Attribute, Kind::File]) {
        let ways = ["huge", "negative", "cut"].into_iter();
        let fakes = ways.flat_map(|way| values::fakes(way, dependency.text.as_deref()));
        let words = WORDS.map(|word| Fake::Bytes(word.as_bytes().to_vec()));
        let fakes: Vec<_> = words.into_iter().chain(fakes).collect();
        let calls = dependency.calls.iter().filter(|call| call.function == Function::Health);
        'pools: for pool in calls.map(|call| call.pool) {
            for fake in &fakes {
                let mut decides = Decides { query: dependency.query.clone(), fake: fake.clone(), pool, unit: 0 };
                let now = judge(harness, &harness.bench()?, pool, decides.bad());
                let before = harness.verdicts.get(pool).into_iter().flatten();
                let mut pairs = before.zip(now.iter().flatten());
                let turned = |(before, now): (&Verdict, &Verdict)| {
                    *before == Verdict::Healthy && matches!(now, Verdict::Unhealthy(_))
                };
                if let Some(unit) = pairs.position(turned) {
                    decides.unit = unit;
                    found.push(decides);
                    break 'pools;
                }
            }
        }
    }
    Ok(found)
}

/// What is wrong with the list while a unit is unhealthy.
fn missing(harness: &Harness, decides: &Decides) -> anyhow::Result<Option<String>> {
    let enumerate = Call::of(Function::Enumerate, 0, 0);
    let listed = match harness.call(&harness.bench()?, enumerate, decides.bad()).0 {
        Ok(Given::Listed(listed)) => listed,
        Ok(_) => return Ok(None),
        Err(error) => return Ok(Some(format!("enumerate {error}"))),
    };
    Ok(harness.lost(&decides.query, &listed).map(|unit| format!("{} is not listed", named(unit))))
}
