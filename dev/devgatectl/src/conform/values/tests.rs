use super::*;

#[test]
fn numbers_are_replaced_where_they_stand() {
    assert_eq!(with_numbers("bad: 0\nok: 12", "-1"), "bad: -1\nok: -1");
    assert_eq!(with_numbers("8.0 GT/s", ""), ". GT/s");
    assert_eq!(with_numbers("no", "1"), "no");
}

#[test]
fn each_way_makes_something_else_than_what_is_known() {
    for way in TEXTS {
        for known in [None, Some(""), Some("x"), Some("é"), Some("8.0 GT/s PCIe")] {
            let made = fakes(way, known);
            assert!(made.iter().any(|given| *given != text(known.unwrap_or_default().to_owned())));
        }
    }
}
