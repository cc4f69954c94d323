//! Which devices to take where the kubelet has a choice.

use std::collections::BTreeSet;

/// `size` ids of `available`, all of `must_include` among them, else in the order of their names; empty where that is
/// impossible.
///
/// The kubelet does not ask for it unless a plugin says that it has an opinion, and nothing does yet.
pub(crate) fn first(available: &[String], must_include: &[String], size: usize) -> Vec<String> {
    let available: BTreeSet<_> = available.iter().collect();
    let must: BTreeSet<_> = must_include.iter().collect();
    if must.len() > size || available.len() < size || !must.is_subset(&available) {
        return Vec::new();
    }
    let others = available.difference(&must).take(size - must.len());
    must.iter().chain(others).map(|id| (*id).clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::first;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_choice_is_available_complete_and_of_the_size_asked_for(
            available in prop::collection::vec("[a-e][0-9]", 0..12),
            must in prop::collection::vec("[a-e][0-9]", 0..4),
            size in 0usize..8,
        ) {
            let (all, needed): (BTreeSet<_>, BTreeSet<_>) = (available.iter().collect(), must.iter().collect());
            let possible = needed.is_subset(&all) && needed.len() <= size && size <= all.len();
            let chosen = first(&available, &must, size);
            let set: BTreeSet<_> = chosen.iter().collect();
            prop_assert_eq!(set.len(), chosen.len());
            prop_assert_eq!(chosen.len(), if possible { size } else { 0 });
            prop_assert!(set.is_subset(&all) && (!possible || needed.is_subset(&set)));
        }
    }
}
