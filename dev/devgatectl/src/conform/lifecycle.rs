//! Making units ready and releasing them, if a component exports `lifecycle`.

use super::harness::{Harness, named};
use super::scorecard::{Outcome, Scorecard};
use devgate_types::component::CallKind;
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
            ("prepare", bench.call(pool.about(CallKind::Prepare), one)),
            ("the second prepare", bench.call(pool.about(CallKind::Prepare), one)),
            ("release", bench.call(pool.about(CallKind::Release), one)),
            ("the second release", bench.call(pool.about(CallKind::Release), one)),
        ] {
            twice.extend(result.err().map(|error| format!("{call} of {name} {error}")));
        }
        let released = fresh()?.call(pool.about(CallKind::Release), one).err();
        first.extend(released.map(|error| format!("release of {name} {error}")));
    }
    for pool in &harness.listed.pools {
        let bench = fresh()?;
        for units in [&pool.units[..], &[]] {
            let call = |kind| bench.call(pool.about(kind), units);
            let results = [call(CallKind::Prepare), call(CallKind::Release)];
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
