use super::*;

fn parsed(devices: &str) -> Config {
    parse(&format!(r#"{{"devices": [{devices}]}}"#)).unwrap()
}

fn refused(json: &str) -> String {
    parse(json).unwrap_err().message
}

#[test]
fn every_key_is_read() {
    let config = parsed(
        r#"{"resource": "a.com/x", "subsystem": "usb", "name": "1-*", "driver": "usb", "env": {"X": "{ids}"},
            "usb": {"vendor": "0x0403", "product": "6A01", "serial": "A5"}, "attributes": {"speed": "480"}},
           {"resource": "a.com/rig", "id": "rig", "group": [
               {"subsystem": "misc"}, {"node": "/dev/net/tun", "optional": true}]},
           {"resource": "a.com/x", "usb": {"serial": "B6"}}"#,
    );
    assert_eq!(config.resources(), ["a.com/x", "a.com/rig"]);
    assert_eq!(config.env("a.com/x"), [("X", "{ids}")]);
    assert!(config.env("a.com/rig").is_empty());
    let misc = Selector { subsystem: "misc".to_owned(), name: None, driver: None, exact: vec![], attributes: vec![] };
    let usb = |exact: &[(&'static str, &str)]| Selector {
        subsystem: "usb".to_owned(),
        exact: exact.iter().map(|(attribute, value)| (*attribute, (*value).to_owned())).collect(),
        name: None,
        driver: None,
        attributes: vec![],
    };
    let first = Selector {
        name: Some("1-*".to_owned()),
        driver: Some("usb".to_owned()),
        attributes: vec![("speed".to_owned(), "480".to_owned())],
        ..usb(&[("idVendor", "0403"), ("idProduct", "6a01"), ("serial", "A5")])
    };
    let member = |what, optional| Member { what, optional };
    let members = vec![member(What::Devices(misc), false), member(What::Node("/dev/net/tun".to_owned()), true)];
    let units: Vec<Units> = config.entries.into_iter().map(|entry| entry.units).collect();
    let group = Units::Group { id: "rig".to_owned(), members };
    assert_eq!(units, [Units::Each(first), group, Units::Each(usb(&[("serial", "B6")]))]);
}

#[test]
fn errors_say_where_and_what_would_be_right() {
    let entry =
        |entry: &str| refused(&format!(r#"{{"devices": [{{"resource": "a.com/x", "subsystem": "misc"}}, {entry}]}}"#));
    for (message, expected) in [
        (refused("null"), "config: empty; write `devices:` with a list of what to offer"),
        (refused("{}"), "config: empty; write `devices:` with a list of what to offer"),
        (refused(r#"{"device": []}"#), "config: `devices` is missing"),
        (refused(r#"{"devices": []}"#), "config devices: must not be empty"),
        (refused(r#"{"devices": {}}"#), "config devices: must be a list, is a mapping"),
        (refused(r#"[1]"#), "config: must be a mapping, is a list"),
        (
            refused(r#"{"device": [], "devices": [{"resource": "a.com/x", "subsystem": "misc"}]}"#),
            "config: unknown key `device`; known here: devices",
        ),
        (entry("3"), "config devices[1]: must be a mapping, is a number"),
        (entry(r#"{"subsystem": "misc"}"#), "config devices[1]: `resource` is missing"),
        (entry(r#"{"resource": "a.com/y"}"#), "config devices[1]: `subsystem` is missing"),
        (
            entry(r#"{"resource": "a.com/y", "subsistem": "misc", "subsystem": "x"}"#),
            "config devices[1]: unknown key `subsistem`; known here: resource, env, choices, conditions, group, usb, subsystem, name, driver, \
             attributes",
        ),
        (
            entry(r#"{"resource": "a.com/y", "usb": {"vendor": 403}}"#),
            "config devices[1].usb.vendor: must be text in quotes, is a number",
        ),
        (
            entry(r#"{"resource": "a.com/y", "usb": {"vendor": "403"}}"#),
            "config devices[1].usb.vendor: must be four hexadecimal digits in quotes, as in \"0403\"",
        ),
        (
            entry(r#"{"resource": "a.com/y", "usb": {}}"#),
            "config devices[1].usb: must name a vendor, product or serial",
        ),
        (
            entry(r#"{"resource": "a.com/y", "subsystem": "tty", "usb": {"vendor": "0403"}}"#),
            "config devices[1].usb: only for `subsystem: usb`",
        ),
        (
            entry(r#"{"resource": "a.com/y", "subsystem": "misc", "attributes": {"dev": 10}}"#),
            "config devices[1].attributes.dev: must be text in quotes, is a number",
        ),
        (
            entry(r#"{"resource": "a.com/y", "subsystem": "misc", "env": {"X": "{id}"}}"#),
            "config devices[1].env.X: may contain no braces but those of {ids}",
        ),
        (entry(r#"{"resource": "a.com/y", "group": []}"#), "config devices[1]: `id` is missing"),
        (
            entry(r#"{"resource": "a.com/y", "id": "a b", "group": [{"subsystem": "misc"}]}"#),
            "config devices[1].id: must have 1 to 63 letters, digits and -_.:+@!, start with a letter or digit, and \
             contain no \"::\"",
        ),
        (
            entry(r#"{"resource": "a.com/y", "id": "a", "group": [{"subsystem": "misc"}, {"optional": 1}]}"#),
            "config devices[1].group[1].optional: must be true or false, is a number",
        ),
        (
            entry(r#"{"resource": "a.com/y", "id": "a", "subsystem": "misc"}"#),
            "config devices[1]: unknown key `id`; known here: resource, env, choices, conditions, group, usb, subsystem, name, driver, \
             attributes",
        ),
    ] {
        assert_eq!(message, expected);
    }
    assert!(refused("{").starts_with("config: not JSON: "));
}

#[test]
fn entries_of_one_resource_agree_about_variables() {
    let entry = |resource: &str, value: &str| {
        format!(r#"{{"resource": "{resource}", "subsystem": "misc", "env": {{"X": "{value}"}}}}"#)
    };
    let shared = parsed(&[entry("a.com/x", "1"), entry("a.com/x", "1")].join(","));
    assert_eq!(shared.env("a.com/x"), [("X", "1")]);
    let both = |one: String, other: String| parse(&format!(r#"{{"devices": [{one}, {other}]}}"#));
    assert!(both(entry("a.com/x", "1"), entry("a.com/x", "1")).is_ok());
    assert!(both(entry("a.com/x", "1"), entry("a.com/y", "2")).is_ok());
    let error = both(entry("a.com/x", "1"), entry("a.com/x", "2")).unwrap_err();
    assert_eq!(error.message, "config: a.com/x: two different values for variable X");
}

#[test]
fn nesting_without_end_is_an_error_and_no_overflow() {
    assert!(refused(&"[".repeat(100_000)).starts_with("config: not JSON: recursion limit exceeded"));
}
