//! What a component may export besides: a preference, and a life cycle.

use super::meddler::Script;
use super::sheet::{Outcome, Rule, Sheet};
use super::subject::{Baseline, Call, Subject, broke, named, unplug};
use devgate_core::bench::{Bench, ListedPool};
use devgate_types::CallError;
use std::collections::BTreeSet;

const SIZES: Rule = Rule {
    id: "preference.sizes",
    title: "Chooses as many as are wanted",
    expected: "exactly `size` different ids out of `available`, for every size from 1 to all",
    remedy: "take `size` of them at the end, whatever the grouping found; where nothing fits, any will do",
};
const MUST: Rule = Rule {
    id: "preference.must",
    title: "Includes what must be",
    expected: "all of `must-include` is among what is chosen, also where that is all",
    remedy: "begin with `must-include` and add to it",
};
const ODD: Rule = Rule {
    id: "preference.odd",
    title: "Questions without an answer",
    expected: "size 0, more than there are, no units, unknown ids: an answer or an error, never a trap",
    remedy: "no subtraction or index without looking",
};
pub(super) const PREFERENCE: &[&Rule] = &[&SIZES, &MUST, &ODD];

const TWICE: Rule = Rule {
    id: "lifecycle.twice",
    title: "Prepare and release may come twice",
    expected: "each works a second time, on every unit",
    remedy: "make what is done a state to be reached, not a step: look first, and take what is done already for done",
};
const FIRST: Rule = Rule {
    id: "lifecycle.release-first",
    title: "Release may come first",
    expected: "release of a unit that was never prepared works: the host does so after a crash",
    remedy: "the same",
};
const TOGETHER: Rule = Rule {
    id: "lifecycle.together",
    title: "Several units at once",
    expected: "prepare and release work for all units of a pool together, and for none",
    remedy: "loop over `units`",
};
const GONE: Rule = Rule {
    id: "lifecycle.gone",
    title: "A unit that is gone",
    expected: "prepare fails or works, release of what is gone works or fails; neither breaks",
    remedy: "what is gone needs no release: not-found and gone are success there",
};
pub(super) const LIFECYCLE: &[&Rule] = &[&TWICE, &FIRST, &TOGETHER, &GONE];

/// Choices of many are long, and sizes many.
const MOST_SIZES: usize = 16;

pub(super) fn preference(
    subject: &Subject,
    baseline: &Baseline,
    sheet: &mut Sheet<'_>,
) -> anyhow::Result<Option<String>> {
    if !subject.profile().preference {
        return Ok(Some("the component exports no preference".to_owned()));
    }
    let bench = subject.bench()?;
    let pools: Vec<_> = baseline
        .listed
        .pools
        .iter()
        .filter(|pool| !pool.units.is_empty())
        .collect();
    if pools.is_empty() {
        return Ok(None);
    }
    let (mut sizes, mut must, mut odd) = (Vec::new(), Vec::new(), Vec::new());
    let mut tries = 0;
    for pool in &pools {
        let ids: Vec<_> = pool.units.iter().map(|unit| unit.id().to_string()).collect();
        for size in some_sizes(ids.len()) {
            for musts in [
                &[][..],
                ids.get(..1).unwrap_or_default(),
                ids.get(ids.len() - 1..).unwrap_or_default(),
                ids.get(ids.len().saturating_sub(size)..).unwrap_or_default(),
            ] {
                if musts.len() > size {
                    continue;
                }
                tries += 1;
                let question = format!("{size} of {} of {}, with {musts:?}", ids.len(), pool.resource);
                let chosen = ask(&bench, pool, musts, size);
                match &chosen {
                    Err(CallError::Failed(_)) => {}
                    Err(error) => sizes.push(format!("choose {error}, asked for {question}")),
                    Ok(chosen) => {
                        let different: BTreeSet<_> = chosen.iter().collect();
                        if chosen.len() != size || different.len() != size || chosen.iter().any(|id| !ids.contains(id))
                        {
                            sizes.push(format!("{chosen:?}, asked for {question}"));
                        } else if musts.iter().any(|id| !chosen.contains(id)) {
                            must.push(format!("{chosen:?}, asked for {question}"));
                        }
                    }
                }
            }
        }
        let unknown = ["nobody-has-this".to_owned()];
        for (musts, size) in [
            (&[][..], 0),
            (&[], ids.len() + 1),
            (&unknown, 1),
            (&ids, 0),
            (&[], usize::MAX),
        ] {
            odd.extend(
                broke(&ask(&bench, pool, musts, size))
                    .map(|how| format!("choose {how}, asked for {size} with {} musts", musts.len())),
            );
        }
        odd.extend(
            broke(&bench.choose(pool.asked(), &[], &[], 1)).map(|how| format!("choose {how}, asked for 1 of none")),
        );
    }
    let tried = format!("{tries} questions");
    sheet.check(&SIZES, || Outcome::of(tried.clone(), sizes));
    sheet.check(&MUST, || Outcome::of(tried, must));
    sheet.check(&ODD, || Outcome::of("6 questions for each pool", odd));
    Ok(None)
}

fn ask(bench: &Bench, pool: &ListedPool, must: &[String], size: usize) -> Result<Vec<String>, CallError> {
    bench.choose(pool.asked(), &pool.units, must, u32::try_from(size).unwrap_or(u32::MAX))
}

fn some_sizes(all: usize) -> Vec<usize> {
    let mut sizes: Vec<_> = (1..=all.min(MOST_SIZES))
        .chain([all / 2, all.saturating_sub(1), all])
        .filter(|size| *size > 0)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

pub(super) fn lifecycle(
    subject: &Subject,
    baseline: &Baseline,
    sheet: &mut Sheet<'_>,
) -> anyhow::Result<Option<String>> {
    if !subject.profile().lifecycle {
        return Ok(Some("the component exports no lifecycle".to_owned()));
    }
    let pools = &baseline.listed.pools;
    if baseline.units().next().is_none() {
        return Ok(None);
    }
    let (mut twice, mut first, mut together, mut gone) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for pool in pools {
        for unit in &pool.units {
            let one = std::slice::from_ref(unit);
            let node = subject.copy();
            let bench = subject.bench_on(&node)?;
            for (call, result) in [
                ("prepare", bench.prepare(pool.asked(), one)),
                ("the second prepare", bench.prepare(pool.asked(), one)),
                ("release", bench.release(pool.asked(), one)),
                ("the second release", bench.release(pool.asked(), one)),
            ] {
                twice.extend(result.err().map(|error| format!("{call} of {} {error}", named(unit))));
            }
            let node = subject.copy();
            let released = subject.bench_on(&node)?.release(pool.asked(), one);
            first.extend(
                released
                    .err()
                    .map(|error| format!("release of {} {error}", named(unit))),
            );
        }
        let node = subject.copy();
        let bench = subject.bench_on(&node)?;
        for units in [&pool.units[..], &[]] {
            for (call, result) in [
                ("prepare", bench.prepare(pool.asked(), units)),
                ("release", bench.release(pool.asked(), units)),
            ] {
                together.extend(
                    result
                        .err()
                        .map(|error| format!("{call} of {} units {error}", units.len())),
                );
            }
        }
    }
    for (n, pool) in pools.iter().enumerate() {
        let node = subject.copy();
        if pool.units.first().is_some_and(|unit| unplug(&node, unit)) {
            let bench = subject.bench_on(&node)?;
            for call in [Call::Prepare(n, 0), Call::Release(n, 0)] {
                let (result, _) = subject.call(&bench, pools, &call, Script::default());
                gone.extend(broke(&result).map(|how| format!("{call} {how}")));
            }
        }
    }
    let tried = format!("{} units", baseline.units().count());
    sheet.check(&TWICE, || Outcome::of(tried.clone(), twice));
    sheet.check(&FIRST, || Outcome::of(tried, first));
    sheet.check(&TOGETHER, || Outcome::of(format!("{} pools", pools.len()), together));
    sheet.check(&GONE, || Outcome::of("the first unit of each pool", gone));
    Ok(None)
}
