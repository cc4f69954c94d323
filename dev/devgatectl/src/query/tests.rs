use super::*;

#[test]
fn queries_that_differ_in_numbers_have_one_shape() {
    let query =
        |location: &str, path: &str| Query { kind: Kind::Attribute, location: location.into(), path: path.into() };
    let one = query("pci0000:15/0000:1b:00.0", "hwmon/hwmon3/temp1_input");
    let other = query("pci0000:9d/0000:af:00.0", "hwmon/hwmon12/temp2_input");
    assert_eq!(one.shape(), other.shape());
    assert_ne!(one.shape(), query("pci0000:15/card0", "hwmon/hwmon3/temp1_input").shape());
    assert_ne!(one.shape(), query("pci0000:15/0000:1b:00.0", "device").shape());
}

#[test]
fn what_is_given_is_cut_and_refused_as_the_host_does() {
    let query = Query { kind: Kind::Attribute, location: String::new(), path: "x".into() };
    let text = |bytes: &[u8]| Fake::Bytes(bytes.to_vec()).text(&query);
    assert_eq!(text(b"ab \n"), Ok("ab".to_owned()));
    assert!(matches!(text(&[b'x'; 4_097]), Err(Denied::Failure(f)) if f.kind == FailureKind::Limit));
    assert!(matches!(text(b"a\0"), Err(Denied::Failure(f)) if f.code == "not-text"));
    assert!(matches!(text(b"\xff"), Err(Denied::Failure(f)) if f.code == "not-text"));
    assert_eq!(Fake::Bytes(b"abcde".to_vec()).range(1, 2), Ok(b"bc".to_vec()));
    assert_eq!(Fake::Bytes(b"abcde".to_vec()).range(9, 2), Ok(Vec::new()));
}
