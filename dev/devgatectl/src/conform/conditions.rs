//! What a component says of units that work, if it exports `conditions`.

use super::harness::{Harness, broke, named};
use super::scorecard::{Outcome, Scorecard};
use devgate_core::workbench::{ListedPool, Workbench};
use devgate_types::{CallError, Effect};

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    if !harness.profile().conditions {
        return Ok(Some("the component exports no conditions".to_owned()));
    }
    let bench = harness.bench()?;
    let (mut odd, mut words, mut gone, mut pools, mut units) = (Vec::new(), Vec::new(), Vec::new(), 0, 0);
    for (pool, _) in harness.pools() {
        pools += 1;
        let first = keys(&bench, pool);
        // What a look at their health has stored is no reason either.
        let _verdicts = bench.health(&pool.asked, &pool.units);
        match (first, keys(&bench, pool)) {
            (Ok(first), Ok(second)) if first == second => {}
            (Ok(first), Ok(second)) => odd.push(format!("{}: {first:?}, then {second:?}", pool.resource)),
            (Err(error), _) | (_, Err(error)) => odd.push(format!("{}: examine {error}", pool.resource)),
        }
        for (unit, all) in pool.units.iter().zip(bench.examine(&pool.asked, &pool.units).unwrap_or_default()) {
            let silent = all.iter().filter(|condition| !condition.message.chars().any(char::is_alphabetic));
            words.extend(silent.map(|condition| format!("{} of {}", condition.key, named(unit))));
        }
        for unit in pool.units.first().into_iter().chain(pool.units.last()) {
            let Some(node) = harness.without(unit) else { continue };
            units += 1;
            let examined = harness.bench_on(&node)?.examine(&pool.asked, &pool.units);
            gone.extend(broke(&examined).map(|how| format!("examine {how}, without {}", named(unit))));
        }
    }
    if pools == 0 {
        return Ok(None);
    }
    card.record("conditions.steady", Outcome::of(format!("{pools} pools"), odd));
    card.record("conditions.words", Outcome::of(format!("{pools} pools"), words));
    card.record("conditions.gone", Outcome::of(format!("{units} units, one at a time"), gone));
    Ok(None)
}

type Keys = Vec<Vec<(String, Effect)>>;

/// What is said of the units of a pool, but for the words.
fn keys(bench: &Workbench, pool: &ListedPool) -> Result<Keys, CallError> {
    let all = bench.examine(&pool.asked, &pool.units)?;
    Ok(all.into_iter().map(|list| list.into_iter().map(|one| (one.key, one.effect)).collect()).collect())
}
