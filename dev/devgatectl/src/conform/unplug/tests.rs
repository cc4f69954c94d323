use super::*;

#[test]
fn moments_are_spread_over_the_whole_call() {
    assert!(moments(0).is_empty());
    assert_eq!(moments(3), [0, 1, 2]);
    let many = moments(1_000);
    assert_eq!((many.len(), many.first(), many.last()), (MAX_MOMENTS, Some(&0), Some(&999)));
}
