use super::*;
use crate::tests::node;
use std::os::unix::fs::PermissionsExt;

/// Two directories, the second of which wins.
fn dirs() -> (tempfile::TempDir, [PathBuf; 2]) {
    let dir = tempfile::tempdir().unwrap();
    let dirs = ["etc", "run"].map(|name| dir.path().join(name));
    for dir in &dirs {
        fs::create_dir(dir).unwrap();
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    }
    (dir, dirs)
}

fn file(name: &str, edits: &str) -> String {
    format!(
        r#"{{"cdiVersion":"0.5.0","kind":"vendor.com/gpu","devices":[{{"name":"{name}","containerEdits":{edits}}}]}}"#
    )
}

fn found(dirs: &[PathBuf]) -> (Vec<String>, Vec<String>) {
    let checked = check(dirs, &node()).unwrap();
    let shown = |finding: &Finding| {
        let name = finding.path.file_name().unwrap().to_string_lossy();
        format!("{}{name}: {}", if finding.is_error { "! " } else { "" }, finding.what)
    };
    (checked.devices, checked.findings.iter().map(shown).collect())
}

#[test]
fn cdi19_good_files_of_both_forms_are_devices_that_can_be_had() {
    let (_dir, dirs) = dirs();
    let node = r#"{"deviceNodes":[{"path":"/dev/acme0","type":"c","major":240,"minor":0}]}"#;
    fs::write(dirs[0].join("a.json"), file("one", node)).unwrap();
    let yaml = "cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevices:\n- name: two\n  containerEdits:\n    env: [A=1]\n";
    fs::write(dirs[1].join("b.yaml"), yaml).unwrap();
    fs::write(dirs[1].join("README"), "nothing").unwrap();
    fs::create_dir(dirs[1].join("deeper.json")).unwrap();
    let none = dirs[1].join("not-there");
    let (devices, findings) = found(&[dirs[0].clone(), dirs[1].clone(), none]);
    assert_eq!(devices, ["vendor.com/gpu=one", "vendor.com/gpu=two"]);
    assert_eq!(findings, [""; 0]);
}

#[test]
fn cdi19_all_that_can_be_wrong_is_found() {
    let (dir, dirs) = dirs();
    let env = r#"{"env":["A=1"]}"#;
    let put = |at: usize, name: &str, text: &str| fs::write(dirs[at].join(name), text).unwrap();
    put(0, "low.json", &file("shadowed", env));
    put(1, "high.json", &file("shadowed", env));
    put(1, "one.json", &file("twice", env));
    put(1, "two.json", &file("twice", env));
    put(1, "unknown.json", &file("a", r#"{"env":["A=1"],"more":1}"#));
    put(1, "empty.json", &file("b", "{}"));
    put(1, "gone.json", &file("c", r#"{"deviceNodes":[{"path":"/dev/gone"}]}"#));
    put(1, "other.json", &file("d", r#"{"deviceNodes":[{"path":"/dev/acme0","major":240,"minor":9}]}"#));
    put(1, "block.json", &file("f", r#"{"deviceNodes":[{"path":"/dev/acme0","type":"b","major":240,"minor":0}]}"#));
    put(1, "new.json", &file("e", r#"{"additionalGids":[5]}"#).replace("0.5.0", "0.7.0"));
    put(1, "torn.yaml", "cdiVersion: [");
    fs::set_permissions(&dirs[1], fs::Permissions::from_mode(0o777)).unwrap();
    let (devices, findings) = found(&dirs);
    let of = |word: &str| devices.iter().any(|device| device.ends_with(word));
    assert!(of("=shadowed") && of("=c") && of("=d") && of("=e") && of("=f") && devices.len() == 5, "{devices:?}");
    let text = findings.join("\n").replace(&*dir.path().to_string_lossy(), "DIR");
    insta::assert_snapshot!(text, @r"
    low.json: device vendor.com/gpu=shadowed is in DIR/run/high.json as well, which wins
    run: others than its owner can write there, and could put anything there; take that from them (chmod go-w)
    block.json: node /dev/acme0 is c 240:0 today, and b 240:0 in it: another device, or one that is gone
    ! empty.json: no device of it can be had: device b gives nothing: its containerEdits are empty
    gone.json: node /dev/gone is not there
    new.json: is CDI 0.7.0: readers of 0.5.0 and older, such as podman 4.3, do not see it
    ! one.json: device vendor.com/gpu=twice is in DIR/run/two.json as well, so that none can be had
    other.json: node /dev/acme0 is c 240:0 today, and c 240:9 in it: another device, or one that is gone
    ! torn.yaml: no device of it can be had: error: line 1 column 13: expected string scalar
    ! unknown.json: no device of it can be had: unknown field `more`, expected one of `env`, `deviceNodes`, `netDevices`, `mounts`, `hooks`, `additionalGids`, `intelRdt` at line 1 column 107
    ");
}
