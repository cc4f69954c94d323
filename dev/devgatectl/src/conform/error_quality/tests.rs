use super::*;

#[test]
fn a_text_for_people_has_words_and_nothing_that_acts() {
    assert_eq!(problem("the device does not answer", false, 64), None);
    for bad in ["", " \n", "42"] {
        assert!(problem(bad, false, 64).is_some() && problem(bad, true, 64).is_some(), "{bad:?}");
    }
    for bad in ["a\tb", "a\u{1b}[2J", &"x".repeat(64)] {
        assert!(problem(bad, false, 64).is_some() && problem(bad, true, 64).is_none(), "{bad:?}");
    }
}
