//! The arithmetic of the arena, apart so that it can be tested without one.

use std::alloc::Layout;

/// Where a block of this layout starts and stops if the free memory begins at `next`; none if no address is that high.
pub(crate) fn place(next: usize, layout: Layout) -> Option<(usize, usize)> {
    let start = next.checked_next_multiple_of(layout.align())?;
    Some((start, start.checked_add(layout.size())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(next: usize, size: usize, align: usize) -> Option<(usize, usize)> {
        place(next, Layout::from_size_align(size, align).unwrap())
    }

    #[test]
    fn blocks_are_aligned_and_never_start_below_what_is_free() {
        for next in 1..70 {
            for align in [1, 2, 4, 8, 16, 64] {
                let (start, stop) = at(next, 5, align).unwrap();
                assert!(start.is_multiple_of(align) && start >= next && start - next < align && stop == start + 5);
            }
        }
    }

    #[test]
    fn the_end_of_the_address_space_is_an_answer() {
        assert_eq!(at(usize::MAX - 8, 8, 1), Some((usize::MAX - 8, usize::MAX)));
        assert_eq!(at(usize::MAX - 8, 9, 1), None);
        assert_eq!(at(usize::MAX - 8, 1, 64), None);
    }
}
