//! Making units ready and releasing them, if a component exports `lifecycle`.

use super::fault_injector::Script;
use super::harness::{Call, Function, Harness, broke, named};
use super::scorecard::{Outcome, Scorecard};

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    if !harness.profile().lifecycle {
        return Ok(Some("the component exports no lifecycle".to_owned()));
    }
    let count = harness.units().count();
    if count == 0 {
        return Ok(None);
    }
    let (mut twice, mut first, mut together, mut gone) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let fresh = || harness.bench_on(&harness.node.copy());
    for (n, pool) in harness.listed.pools.iter().enumerate() {
        for unit in &pool.units {
            let one = std::slice::from_ref(unit);
            let bench = fresh()?;
            for (call, result) in [
                ("prepare", bench.prepare(&pool.asked, one)),
                ("the second prepare", bench.prepare(&pool.asked, one)),
                ("release", bench.release(&pool.asked, one)),
                ("the second release", bench.release(&pool.asked, one)),
            ] {
                twice.extend(result.err().map(|error| format!("{call} of {} {error}", named(unit))));
            }
            let released = fresh()?.release(&pool.asked, one).err();
            first.extend(released.map(|error| format!("release of {} {error}", named(unit))));
        }
        let bench = fresh()?;
        for units in [&pool.units[..], &[]] {
            for (call, result) in [
                ("prepare", bench.prepare(&pool.asked, units)),
                ("release", bench.release(&pool.asked, units)),
            ] {
                together.extend(
                    result
                        .err()
                        .map(|error| format!("{call} of {} units {error}", units.len())),
                );
            }
        }
        if let Some(node) = pool.units.first().and_then(|unit| harness.without(unit)) {
            let bench = harness.bench_on(&node)?;
            for call in [Function::Prepare, Function::Release].map(|function| Call::of(function, n, 0)) {
                let (called, _) = harness.call(&bench, call, Script::default());
                gone.extend(broke(&called).map(|how| format!("{call} {how}")));
            }
        }
    }
    let pools = format!("{} pools", harness.listed.pools.len());
    card.record("lifecycle.twice", Outcome::of(format!("{count} units"), twice));
    card.record("lifecycle.release-first", Outcome::of(format!("{count} units"), first));
    card.record("lifecycle.together", Outcome::of(pools, together));
    card.record("lifecycle.gone", Outcome::of("the first unit of each pool", gone));
    Ok(None)
}
