//! Which units a component chooses, if it exports `preference`.

use super::harness::{Harness, broke};
use super::scorecard::{Outcome, Scorecard};
use devgate_types::CallError;
use devgate_types::component::{Call, CallKind};
use std::collections::BTreeSet;

/// Choices of many are long, and sizes many.
const MAX_SIZES: usize = 16;

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    if !harness.profile().preference {
        return Ok(Some("the component exports no preference".to_owned()));
    }
    if harness.pools().next().is_none() {
        return Ok(None);
    }
    let bench = harness.bench()?;
    let (mut sizes, mut must, mut odd, mut tries) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (pool, _) in harness.pools() {
        let ids: Vec<_> = pool.units.iter().map(|unit| unit.id.to_string()).collect();
        let ask = |must_include: &[String], size| {
            let size = u32::try_from(size).unwrap_or(u32::MAX);
            let call = Call { must_include, size, ..pool.about(CallKind::Choose) };
            Ok(bench.call(call, &pool.units)?.choice)
        };
        for size in some_sizes(ids.len()) {
            let last = |n| ids.get(ids.len().saturating_sub(n)..).unwrap_or_default();
            let first = ids.get(..1).unwrap_or_default();
            for musts in [&[], first, last(1), last(size)] {
                tries += 1;
                let question = format!("asked for {size} of {} of {}, with {musts:?}", ids.len(), pool.resource);
                match ask(musts, size) {
                    Err(CallError::Failed(_)) => {}
                    Err(error) => sizes.push(format!("choose {error}, {question}")),
                    Ok(chosen) => {
                        let different: BTreeSet<_> = chosen.iter().filter(|id| ids.contains(id)).collect();
                        if chosen.len() != size || different.len() != size {
                            sizes.push(format!("{chosen:?}, {question}"));
                        } else if musts.iter().any(|id| !chosen.contains(id)) {
                            must.push(format!("{chosen:?}, {question}"));
                        }
                    }
                }
            }
        }
        let unknown = ["no-unit-has-this".to_owned()];
        for (musts, size) in [(&[][..], 0), (&[], ids.len() + 1), (&unknown, 1), (&ids, 0), (&[], usize::MAX)] {
            let how = broke(&ask(musts, size));
            odd.extend(how.map(|how| format!("choose {how}, asked for {size} with {} musts", musts.len())));
        }
        let how = broke(&bench.call(Call { size: 1, ..pool.about(CallKind::Choose) }, &[]));
        odd.extend(how.map(|how| format!("choose {how}, asked for 1 of none")));
    }
    card.record("preference.sizes", Outcome::of(format!("{tries} questions"), sizes));
    card.record("preference.must", Outcome::of(format!("{tries} questions"), must));
    card.record("preference.odd", Outcome::of("6 questions for each pool", odd));
    Ok(None)
}

fn some_sizes(all: usize) -> BTreeSet<usize> {
    let sizes = (1..=all.min(MAX_SIZES)).chain([all / 2, all.saturating_sub(1), all]);
    sizes.filter(|size| *size > 0).collect()
}
