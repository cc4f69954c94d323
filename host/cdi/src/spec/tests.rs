use super::*;

fn spec(text: &str) -> Spec {
    serde_json::from_str(text).unwrap()
}

/// A file with these edits of its one device.
fn with(edits: &str) -> Spec {
    let text = format!(
        r#"{{"cdiVersion":"1.1.0","kind":"vendor.com/gpu","devices":[{{"name":"a","containerEdits":{edits}}}]}}"#
    );
    spec(&text)
}

/// `specs-go/version.go`: each field and the first version that has it.
#[test]
fn cdi01_the_version_is_the_lowest_that_has_all_of_it() {
    for (edits, version) in [
        (r#"{"env":["A=1"]}"#, "0.3.0"),
        (r#"{"deviceNodes":[{"path":"/dev/a"}]}"#, "0.3.0"),
        (r#"{"mounts":[{"hostPath":"/a","containerPath":"/a","type":"bind"}]}"#, "0.4.0"),
        (r#"{"deviceNodes":[{"path":"/dev/a","hostPath":"/dev/b"}]}"#, "0.5.0"),
        (r#"{"additionalGids":[1]}"#, "0.7.0"),
        (r#"{"intelRdt":{"closID":"a"}}"#, "0.7.0"),
        (r#"{"intelRdt":{"schemata":["a"]}}"#, "1.1.0"),
        (r#"{"netDevices":[{"hostInterfaceName":"a","name":"b"}]}"#, "1.1.0"),
    ] {
        let mut now = with(edits);
        assert_eq!(now.version(), version, "{edits}");
        version.clone_into(&mut now.cdi_version);
        assert_eq!(now.check(), Ok(()), "{edits}");
        if version != "0.3.0" {
            "0.2.0".clone_into(&mut now.cdi_version);
            assert!(now.check().unwrap_err().0.contains("has not all"), "{edits}");
        }
    }
    let edits = || Edits { env: vec!["A=1".into()], ..Edits::default() };
    assert_eq!(Spec::of_one("vendor.com/gpu", "a", edits()).cdi_version, "0.3.0");
    assert_eq!(Spec::of_one("vendor.com/gpu", "0", edits()).cdi_version, "0.5.0");
    assert_eq!(Spec::of_one("vendor.com/1g.5gb", "a", edits()).cdi_version, "0.6.0");
}

/// Edits that are none, and what is said of them.
pub(crate) const REFUSED: &[(&str, &str)] = &[
    ("{}", "gives nothing"),
    (r#"{"env":["A"]}"#, "NAME=value"),
    (r#"{"env":["=1"]}"#, "NAME=value"),
    (r#"{"deviceNodes":[{"hostPath":"/dev/a"}]}"#, "no path"),
    (r#"{"deviceNodes":[{"path":"/dev/a","type":"x"}]}"#, "none of b, c, u, p"),
    (r#"{"deviceNodes":[{"path":"/dev/a","permissions":"rx"}]}"#, "not of r, w, m"),
    (r#"{"mounts":[{"hostPath":"","containerPath":"/a"}]}"#, "no hostPath"),
    (r#"{"hooks":[{"hookName":"never","path":"/a"}]}"#, "none of prestart"),
    (r#"{"hooks":[{"hookName":"poststop","path":""}]}"#, "has no path"),
    (r#"{"hooks":[{"hookName":"poststop","path":"/a","env":["x"]}]}"#, "NAME=value"),
    (r#"{"intelRdt":{"closID":"../a"}}"#, "no name"),
    (
        r#"{"netDevices":[{"hostInterfaceName":"a","name":"a"},{"hostInterfaceName":"b","name":"a"}]}"#,
        "names of their own",
    ),
];

#[test]
fn what_the_library_refuses_is_refused() {
    for (edits, why) in REFUSED {
        assert!(with(edits).check().unwrap_err().0.contains(why), "{edits}: {:?}", with(edits).check());
    }
    let good = with(r#"{"env":["A="]}"#);
    assert_eq!(good.check(), Ok(()));
    let but = |change: &dyn Fn(&mut Spec)| {
        let mut spec = good.clone();
        change(&mut spec);
        spec.check().unwrap_err().0
    };
    assert!(but(&|spec| "9.9.9".clone_into(&mut spec.cdi_version)).contains("none of 0.1.0"));
    assert!(but(&|spec| spec.devices.clear()).contains("no devices"));
    assert!(but(&|spec| spec.devices.push(good.devices[0].clone())).contains("twice"));
    for name in ["", "-a", "a-", "a b", "a/b"] {
        assert!(but(&|spec| name.clone_into(&mut spec.devices[0].name)).contains("cannot be called so"));
    }
}

#[test]
fn cdi04_a_kind_of_one_letter_is_none() {
    for good in ["vendor.com/gpu", "ab/cd", "v-1/c_2", "vendor.com/a.b"] {
        assert_eq!(problem_of_kind(good), None, "{good}");
    }
    for bad in ["a/bc", "ab/c"] {
        assert!(problem_of_kind(bad).unwrap().contains("ends every program"), "{bad}");
    }
    for bad in [
        "",
        "vendor",
        "vendor.com/",
        "/gpu",
        "1v/gpu",
        "vendor/1g",
        "vendor./gpu",
        "vendor/gpu-",
        "ven dor/gpu",
        "a/b/c",
    ] {
        assert!(problem_of_kind(bad).is_some(), "{bad}");
    }
}

#[test]
fn one_unknown_field_loses_the_file_at_any_depth() {
    let text = |node: &str, device: &str, top: &str| {
        format!(
            r#"{{"cdiVersion":"0.3.0","kind":"vendor.com/gpu","devices":[{{"name":"a","containerEdits":
            {{"deviceNodes":[{{"path":"/dev/a"{node}}}]}}{device}}}]{top}}}"#
        )
    };
    assert!(serde_json::from_str::<Spec>(&text("", "", "")).is_ok());
    let more = r#","more":1"#;
    for bad in [text(more, "", ""), text("", more, ""), text("", "", more)] {
        assert!(serde_json::from_str::<Spec>(&bad).is_err(), "{bad}");
    }
}
