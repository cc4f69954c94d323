//! How many replicas of each unit: as few of one as can be.

/// What there is of one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Slots {
    /// Replicas that may be taken, those that must be included.
    pub(super) free: u32,
    /// Replicas that must be taken.
    pub(super) must: u32,
    /// Replicas that others use.
    pub(super) used: u32,
}

/// Which part of an answer is certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Base {
    /// How many replicas of each unit are taken in any case.
    pub(super) taken: Vec<u32>,
    /// Whether one more of it may be taken.
    pub(super) open: Vec<bool>,
    /// Of how many units one more is taken.
    pub(super) rest: usize,
}

impl Base {
    /// Fills all units evenly, like water, as far as what must be taken and what is free let it. What is left to decide is
    /// of which units the last one is taken: every choice of that has the fewest pairs of replicas of one unit, and no
    /// other has. Nothing where `size` cannot be reached.
    pub(super) fn of(slots: &[Slots], size: usize) -> Option<Self> {
        let taken = |level: u32| slots.iter().map(move |slot| slot.must.max(level.min(slot.free)));
        let sum = |level: u32| taken(level).fold(0, |sum: usize, count| sum.saturating_add(count as usize));
        let most = slots.iter().map(|slot| slot.free).max().unwrap_or(0);
        if sum(0) > size || sum(most) < size {
            return None;
        }
        let levels: Vec<u32> = (1..=most).collect();
        let low = levels.partition_point(|level| sum(*level) <= size);
        let low = u32::try_from(low).unwrap_or(most);
        Some(Self {
            taken: taken(low).collect(),
            open: slots.iter().map(|slot| slot.must <= low && low < slot.free).collect(),
            rest: size - sum(low),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(all: &[(u32, u32)]) -> Vec<Slots> {
        let slot = |(free, must): &(u32, u32)| Slots { free: *free, must: *must, used: 0 };
        all.iter().map(slot).collect()
    }

    #[test]
    fn one_of_each_before_two_of_any() {
        let base = Base::of(&slots(&[(4, 0), (1, 0), (4, 3), (2, 0)]), 7).unwrap();
        assert_eq!((base.taken, base.rest), (vec![1, 1, 3, 1], 1));
        assert_eq!(base.open, [true, false, false, true]);
    }

    #[test]
    fn all_none_and_too_many() {
        let all = slots(&[(2, 0), (1, 1)]);
        assert_eq!(Base::of(&all, 3).unwrap().taken, [2, 1]);
        assert_eq!(Base::of(&all, 1).unwrap().rest, 0);
        assert_eq!(Base::of(&all, 4), None);
        assert_eq!(Base::of(&all, 0), None, "one must be taken");
        assert_eq!(Base::of(&[], 0).unwrap().taken, Vec::<u32>::new());
    }
}
