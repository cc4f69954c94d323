//! What decides about health: found by trying, then made bad and good again.

use super::meddler::Script;
use super::sheet::{Outcome, Rule, Sheet};
use super::subject::{Baseline, Call, Given, Subject, named};
use super::thing::{Given as Instead, Kind, Thing};
use super::values;
use devgate_core::bench::Bench;
use devgate_types::{FailureKind, Verdict, escape};
use std::collections::BTreeSet;

/// What drivers say of hardware that is not well.
const WORDS: [&str; 14] = [
    "1", "2", "0", "100", "65535", "error", "failed", "dead", "down", "DOWN", "offline", "disabled", "D3cold",
    "1: DOWN",
];

const FOLLOWS: Rule = Rule {
    id: "health.follows",
    title: "What goes bad makes its unit unhealthy, and no other",
    expected: "units that have nothing to do with it keep their verdict",
    remedy: "judge each unit by its own backing and properties",
};
const RECOVERS: Rule = Rule {
    id: "health.recovers",
    title: "What is good again makes its unit healthy again",
    expected: "the verdicts are what they were, also in a host in which it was bad before",
    remedy: "judge by what is there now, and clear what is kept in state when its evidence is; the host has the hysteresis (policy: health)",
};
const UNKNOWN: Rule = Rule {
    id: "health.unknown",
    title: "What may not be read is unknown, not unhealthy",
    expected: "a verdict of unknown or healthy where what decides is refused with `denied`: that says nothing of the hardware",
    remedy: "`Verdict::Unknown` for what could not be looked at: the last verdict stands, and nothing is taken away",
};
const LISTED: Rule = Rule {
    id: "health.listed",
    title: "Unhealthy is not gone",
    expected: "enumerate still answers while a unit is unhealthy, and lists all others",
    remedy: "list what is there, whatever its health, or name it in devgate.unread; health says what is wrong with it",
};
pub(super) const RULES: &[&Rule] = &[&FOLLOWS, &RECOVERS, &UNKNOWN, &LISTED];

/// Something whose value makes a unit unhealthy.
struct Decides {
    thing: Thing,
    value: Instead,
    pool: usize,
    unit: usize,
}

pub(super) fn run(subject: &Subject, baseline: &Baseline, sheet: &mut Sheet<'_>) -> anyhow::Result<Option<String>> {
    let found = find(subject, baseline)?;
    if found.is_empty() {
        return Ok(Some("nothing that was tried makes a unit unhealthy".to_owned()));
    }
    let names: BTreeSet<_> = found.iter().map(|decides| decides.thing.to_string()).collect();
    let tried = names.into_iter().collect::<Vec<_>>().join(", ");
    let (mut follows, mut recovers, mut unknown, mut listed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for decides in &found {
        let when = format!("while {} was {}", decides.thing, decides.value);
        let bench = subject.bench()?;
        if let Some(verdicts) = judge(subject, baseline, &bench, decides.pool, bad(decides)) {
            follows.extend(others(baseline, decides, &verdicts).map(|what| format!("{what}, {when}")));
        }
        let again = judge(subject, baseline, &bench, decides.pool, Script::default());
        if again.as_ref() != baseline.verdicts.get(decides.pool) {
            recovers.push(format!(
                "{again:?} when it was good again, after it was {}, of {}",
                decides.value, decides.thing
            ));
        }
        let denied = Instead::failure(FailureKind::Denied, "", "only root may read it");
        let script = Script::instead(decides.thing.clone(), denied);
        let verdicts = judge(subject, baseline, &subject.bench()?, decides.pool, script);
        if let Some(Verdict::Unhealthy(why)) = verdicts.as_ref().and_then(|verdicts| verdicts.get(decides.unit)) {
            unknown.push(format!(
                "unhealthy ({}) because {} may not be read",
                escape(why, 120),
                decides.thing
            ));
        }
        listed.extend(missing(subject, baseline, decides)?.map(|what| format!("{what}, {when}")));
    }
    sheet.check(&FOLLOWS, || Outcome::of(tried.clone(), follows));
    sheet.check(&RECOVERS, || Outcome::of(tried.clone(), recovers));
    sheet.check(&UNKNOWN, || Outcome::of(tried.clone(), unknown));
    sheet.check(&LISTED, || Outcome::of(tried, listed));
    Ok(None)
}

fn bad(decides: &Decides) -> Script {
    Script::instead(decides.thing.clone(), decides.value.clone())
}

fn judge(subject: &Subject, baseline: &Baseline, bench: &Bench, pool: usize, script: Script) -> Option<Vec<Verdict>> {
    match subject
        .call(bench, &baseline.listed.pools, &Call::Health(pool), script)
        .0
    {
        Ok(Given::Verdicts(verdicts)) => Some(verdicts),
        _ => None,
    }
}

/// For each thing that health asks about, the first value that makes a healthy unit unhealthy.
fn find(subject: &Subject, baseline: &Baseline) -> anyhow::Result<Vec<Decides>> {
    let mut found = Vec::new();
    for wanted in baseline.things(&[Kind::Attribute, Kind::File]) {
        let pools = wanted.calls.iter().filter_map(|call| match call {
            Call::Health(pool) => Some(*pool),
            _ => None,
        });
        let known = wanted.text.as_deref().and_then(|text| std::str::from_utf8(text).ok());
        let words = WORDS.map(|word| Instead::Bytes(word.as_bytes().to_vec()));
        let values: Vec<_> = words
            .into_iter()
            .chain(values::huge(known))
            .chain(values::negative(known))
            .chain(values::cut(known))
            .collect();
        'pools: for pool in pools {
            let Some(before) = baseline.verdicts.get(pool) else {
                continue;
            };
            for value in &values {
                let script = Script::instead(wanted.thing.clone(), value.clone());
                let Some(now) = judge(subject, baseline, &subject.bench()?, pool, script) else {
                    continue;
                };
                let mut pairs = before.iter().zip(&now);
                let turned =
                    pairs.position(|(before, now)| *before == Verdict::Healthy && matches!(now, Verdict::Unhealthy(_)));
                if let Some(unit) = turned {
                    found.push(Decides {
                        thing: wanted.thing.clone(),
                        value: value.clone(),
                        pool,
                        unit,
                    });
                    break 'pools;
                }
            }
        }
    }
    Ok(found)
}

/// The first unit that has nothing to do with it and has another verdict.
fn others(baseline: &Baseline, decides: &Decides, verdicts: &[Verdict]) -> Option<String> {
    let pool = baseline.listed.pools.get(decides.pool)?;
    let before = baseline.verdicts.get(decides.pool)?;
    // What has to do with no unit may have to do with all of them.
    if !pool.units.iter().any(|unit| baseline.touches(&decides.thing, unit)) {
        return None;
    }
    let mut judged = pool.units.iter().zip(before).zip(verdicts);
    let other = judged.find(|((unit, before), now)| *before != *now && !baseline.touches(&decides.thing, unit))?;
    Some(format!("{} is {:?}", named(other.0.0), other.1))
}

/// What is wrong with the list while a unit is unhealthy.
fn missing(subject: &Subject, baseline: &Baseline, decides: &Decides) -> anyhow::Result<Option<String>> {
    let bench = subject.bench()?;
    let (result, _) = subject.call(&bench, &[], &Call::Enumerate, bad(decides));
    let listed = match result {
        Ok(Given::Listed(listed)) => listed,
        Ok(_) => return Ok(None),
        Err(error) => return Ok(Some(format!("enumerate {error}"))),
    };
    let now: BTreeSet<_> = listed
        .pools
        .iter()
        .flat_map(|pool| &pool.units)
        .map(|unit| unit.id().clone())
        .collect();
    let none = !baseline.units().any(|(_, unit)| baseline.touches(&decides.thing, unit));
    let lost = baseline.units().find(|(_, unit)| {
        let may_go = none || baseline.touches(&decides.thing, unit);
        !may_go && !now.contains(unit.id())
    });
    Ok(lost.map(|(_, unit)| format!("{} is not listed", named(unit))))
}
