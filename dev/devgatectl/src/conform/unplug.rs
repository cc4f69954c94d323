//! A device that goes away, also in the middle of a call.

use super::meddler::Script;
use super::sheet::{Outcome, Rule, Sheet};
use super::subject::{Baseline, Call, Given, Subject, broke, named, unplug};
use devgate_core::bench::ListedUnit;

/// The most moments of one call that are tried, spread over all of it.
const MOST_MOMENTS: usize = 40;

const REMEDY: &str = "between any two questions a device may be gone: pass `gone` and `not-found` on with `?`, or leave that \
device out and go on with the next";
const ENUMERATE: Rule = Rule {
    id: "unplug.enumerate",
    title: "A device goes while the component lists units",
    expected: "an answer with or without it, or an error; never a trap, and all others that are listed are as they were",
    remedy: REMEDY,
};
const HEALTH: Rule = Rule {
    id: "unplug.health",
    title: "A device goes while its health is asked for",
    expected: "a verdict on every unit, or an error; never a trap",
    remedy: REMEDY,
};
const ALLOCATE: Rule = Rule {
    id: "unplug.allocate",
    title: "A device goes while it is allocated",
    expected: "an answer or an error; never a trap",
    remedy: REMEDY,
};
const IDS: Rule = Rule {
    id: "unplug.ids",
    title: "The ids of others stay when one goes",
    expected: "all other units are listed with the same ids, hardware and nodes",
    remedy: "make ids of what belongs to the hardware (serial number, UUID, address), never of its place in a list",
};
const BACK: Rule = Rule {
    id: "unplug.back",
    title: "A device that comes back is what it was",
    expected: "enumerate gives what it gave before",
    remedy: "make ids of what belongs to the hardware; keep nothing in state that a device that was away is measured by",
};
pub(super) const RULES: &[&Rule] = &[&ENUMERATE, &HEALTH, &ALLOCATE, &IDS, &BACK];

pub(super) fn run(subject: &Subject, baseline: &Baseline, sheet: &mut Sheet<'_>) -> anyhow::Result<()> {
    let units: Vec<_> = baseline.units().map(|(_, unit)| unit).collect();
    let mut ends: Vec<&ListedUnit> = units.first().into_iter().chain(units.last()).copied().collect();
    ends.dedup();
    ends.retain(|unit| unplug(&subject.copy(), unit));
    if ends.is_empty() {
        return Ok(());
    }
    for (rule, meant) in [
        (
            &ENUMERATE,
            (|call| matches!(call, Call::Enumerate)) as fn(&Call) -> bool,
        ),
        (&HEALTH, |call| matches!(call, Call::Health(_))),
        (&ALLOCATE, |call| !matches!(call, Call::Enumerate | Call::Health(_))),
    ] {
        if !sheet.wants(rule) {
            continue;
        }
        let (mut tries, mut failures) = (0, Vec::new());
        for (call, _, seen) in baseline.calls.iter().filter(|(call, ..)| meant(call)) {
            for unit in &ends {
                for n in moments(seen.asked.len()) {
                    tries += 1;
                    failures.extend(at(subject, baseline, call, unit, n)?);
                }
            }
        }
        sheet.check(rule, || match tries {
            0 => Outcome::skipped("the component asks the host nothing in it"),
            _ => Outcome::of(format!("{tries} moments, with {} devices", ends.len()), failures),
        });
    }
    if sheet.wants(&IDS) || sheet.wants(&BACK) {
        let (mut gone, mut back) = (Vec::new(), Vec::new());
        for unit in &ends {
            let node = subject.copy();
            // The same host all along: what the component keeps is kept.
            let bench = subject.bench_on(&node)?;
            let _before = bench.enumerate();
            unplug(&node, unit);
            match bench.enumerate() {
                Ok(listed) => gone.extend(changed(baseline, &listed, unit)),
                Err(error) => gone.push(format!("enumerate {error}, without {}", named(unit))),
            }
            node.become_as(&subject.node);
            match bench.enumerate() {
                Ok(listed) if listed == baseline.listed => {}
                Ok(_) => back.push(format!(
                    "enumerate gave something else after {} had come back",
                    named(unit)
                )),
                Err(error) => back.push(format!("enumerate {error}, after {} had come back", named(unit))),
            }
        }
        let tried = format!("{} devices, one at a time", ends.len());
        sheet.check(&IDS, || Outcome::of(tried.clone(), gone));
        sheet.check(&BACK, || Outcome::of(tried, back));
    }
    Ok(())
}

/// Evenly over all questions of a call, the first and the last included.
fn moments(asked: usize) -> Vec<usize> {
    if asked <= MOST_MOMENTS {
        return (0..asked).collect();
    }
    let mut moments: Vec<_> = (0..MOST_MOMENTS)
        .map(|n| n * (asked - 1) / (MOST_MOMENTS - 1))
        .collect();
    moments.dedup();
    moments
}

fn at(
    subject: &Subject,
    baseline: &Baseline,
    call: &Call,
    unit: &ListedUnit,
    n: usize,
) -> anyhow::Result<Option<String>> {
    let node = subject.copy();
    let bench = subject.bench_on(&node)?;
    let (gone, from) = (unit.clone(), node);
    let script = Script::at(n, move || {
        unplug(&from, &gone);
    });
    let (result, _) = subject.call(&bench, &baseline.listed.pools, call, script);
    let when = format!("when {} went before question {}", named(unit), n + 1);
    if let Some(how) = broke(&result) {
        return Ok(Some(format!("{call} {how}, {when}")));
    }
    let Ok(Given::Listed(listed)) = result else {
        return Ok(None);
    };
    // Fewer are fine in the middle of it all; others are not.
    let known = |id: &str| baseline.units().any(|(_, unit)| unit.id().as_str() == id);
    let units = listed.pools.iter().flat_map(|pool| &pool.units);
    let other = units.map(named).find(|id| !known(id));
    Ok(other.map(|id| format!("enumerate lists {id}, which was never there, {when}")))
}

fn changed(baseline: &Baseline, listed: &devgate_core::bench::Listed, gone: &ListedUnit) -> Vec<String> {
    let others = baseline.units().filter(|(_, unit)| !baseline.goes_with(unit, gone));
    let now: Vec<_> = listed.pools.iter().flat_map(|pool| &pool.units).collect();
    let check = |unit: &ListedUnit| {
        let without = format!("without {}", named(gone));
        match now.iter().find(|other| other.id() == unit.id()) {
            None => Some(format!("{} is not listed {without}", named(unit))),
            Some(other) if other.backing() != unit.backing() || other.nodes() != unit.nodes() => {
                Some(format!("{} is other hardware {without}", named(unit)))
            }
            Some(_) => None,
        }
    };
    others.filter_map(|(_, unit)| check(unit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_spread_over_the_whole_call() {
        assert!(moments(0).is_empty());
        assert_eq!(moments(3), [0, 1, 2]);
        let many = moments(1_000);
        assert_eq!(
            (many.len(), many.first(), many.last()),
            (MOST_MOMENTS, Some(&0), Some(&999))
        );
    }
}
