//! Making units ready and releasing them, if a component exports `lifecycle`.

use super::harness::{Harness, named};
use super::scorecard::{Outcome, Scorecard};
use std::slice::from_ref;

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    if !harness.profile().lifecycle {
        return Ok(Some("the component exports no lifecycle".to_owned()));
    }
    let count = harness.units().count();
    if count == 0 {
        return Ok(None);
    }
    let (mut twice, mut first, mut together) = (Vec::new(), Vec::new(), Vec::new());
    let fresh = || harness.bench_on(&harness.node.copy());
    for (pool, unit) in harness.units() {
        let (one, name, bench) = (from_ref(unit), named(unit), fresh()?);
        for (call, result) in [
            ("prepare", bench.prepare(&pool.asked, one)),
            ("the second prepare", bench.prepare(&pool.asked, one)),
            ("release", bench.release(&pool.asked, one)),
            ("the second release", bench.release(&pool.asked, one)),
        ] {
            twice.extend(result.err().map(|error| format!("{call} of {name} {error}")));
        }
        let released = fresh()?.release(&pool.asked, one).err();
        first.extend(released.map(|error| format!("release of {name} {error}")));
    }
    for pool in &harness.listed.pools {
        let bench = fresh()?;
        for units in [&pool.units[..], &[]] {
            let results = [bench.prepare(&pool.asked, units), bench.release(&pool.asked, units)];
            for (call, error) in ["prepare", "release"].iter().zip(results.into_iter().map(Result::err)) {
                together.extend(error.map(|error| format!("{call} of {} units {error}", units.len())));
            }
        }
    }
    let pools = format!("{} pools", harness.listed.pools.len());
    card.record("lifecycle.twice", Outcome::of(format!("{count} units"), twice));
    card.record("lifecycle.release-first", Outcome::of(format!("{count} units"), first));
    card.record("lifecycle.together", Outcome::of(pools, together));
    Ok(None)
}
