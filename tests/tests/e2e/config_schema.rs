//! The schema of `config` that travels with a component: `pack --config-schema`, `inspect`, `check`.

use crate::look::{Said, look};
use devgate_tests::{devgate, devgatectl};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["devices"],
  "additionalProperties": false,
  "properties": {"devices": {"type": "array", "items": {"type": "object", "required": ["resource"]}}}
}
"#;
const POLICY: &str = "\
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  acme:
    component: {file: vendor.wasm}
    resources: [example.com/a]
    hardware: [{subsystem: misc, name: a, use: offer, nodes: [{access: rw}]}]
    config: {devices: [{resource: example.com/a, subsystem: misc}]}
";

struct Place(TempDir);

impl Place {
    fn new() -> anyhow::Result<Self> {
        let place = Self(tempfile::tempdir()?);
        place.write("schema.json", SCHEMA)?;
        place.write("policy.yaml", POLICY)?;
        std::fs::create_dir(place.0.path().join("nodes"))?;
        for node in ["one", "two"] {
            place.write(&format!("nodes/{node}.umockdev"), "P: /devices/virtual/misc/a\nE: SUBSYSTEM=misc\n")?;
        }
        Ok(place)
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(self.at(name), text)?)
    }

    /// Packs `generic` as `vendor.wasm`.
    fn pack(&self, more: &[&str]) -> anyhow::Result<Said> {
        let generic = devgate_tests::components()?.join("generic.wasm").display().to_string();
        let out = self.at("vendor.wasm");
        look(["pack", &generic, "-o", &out].iter().chain(more))
    }

    /// Runs `check` of this program.
    fn check(&self, program: PathBuf, more: &[&str]) -> anyhow::Result<(Option<i32>, Value)> {
        let policy = self.at("policy.yaml");
        let mut command = Command::new(program);
        let output = command.args(["check", "--output", "json", "--policy", &policy]).args(more).output()?;
        let report = serde_json::from_slice(&output.stdout);
        let report = report.map_err(|_| anyhow::anyhow!("{}", String::from_utf8_lossy(&output.stderr)))?;
        Ok((output.status.code(), report))
    }
}

#[test]
fn the_schema_travels_with_the_component_and_is_printed_as_its_author_wrote_it() -> anyhow::Result<()> {
    let place = Place::new()?;
    let (schema, out) = (place.at("schema.json"), place.at("vendor.wasm"));
    let said = place.pack(&["--config-schema", &schema])?;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let named = format!("  config     a schema of {} bytes (--output config-schema)\n", SCHEMA.len());
    assert!(said.out.contains(&named), "{}", said.out);
    let said = look(["inspect", &out, "--output", "config-schema"])?;
    assert_eq!((said.code, said.out.as_str()), (Some(0), SCHEMA));
    let json: Value = serde_json::from_str(&look(["inspect", &out, "--output", "json"])?.out)?;
    assert_eq!((&json["config_schema"]["type"], &json["config_schema_problem"]), (&"object".into(), &Value::Null));
    // What is packed again keeps it, until another takes its place.
    look(["pack", &out, "-o", &out, "--version", "2"])?;
    assert_eq!(look(["inspect", &out, "--output", "config-schema"])?.out, SCHEMA);
    place.write("schema.json", "{}")?;
    look(["pack", &out, "-o", &out, "--config-schema", &schema])?;
    assert_eq!(look(["inspect", &out, "--output", "config-schema"])?.out, "{}");
    let bare = devgate_tests::components()?.join("overreach.wasm").display().to_string();
    let said = look(["inspect", &bare, "--output", "config-schema"])?;
    assert_eq!(said.code, Some(5));
    assert!(said.err.contains("carries no schema of its config"), "{}", said.err);
    Ok(())
}

/// The schema of the whole policy is another one: each version's own.
#[test]
fn check_says_what_an_earlier_version_would_refuse() -> anyhow::Result<()> {
    let place = Place::new()?;
    place.pack(&[])?;
    let (policy, node) = (place.at("policy.yaml"), place.at("nodes/one.umockdev"));
    let refused = |program| place.check(program, &["--node-root", &node, "--for", "0.1.0"]);
    let of = |report: &Value| -> Vec<Value> {
        let findings = report["plugins"][0]["findings"].as_array().cloned().unwrap_or_default();
        findings.into_iter().filter(|finding| finding["code"] == "version-refuses").collect()
    };
    let (code, report) = refused(devgatectl()?)?;
    assert_eq!((code, of(&report)), (Some(0), vec![]), "{report}");
    place.write("policy.yaml", &format!("{POLICY}    containers: {{release-hook: true}}\n"))?;
    let (code, report) = refused(devgatectl()?)?;
    let found = of(&report);
    assert_eq!((code, found.len()), (Some(5), 1), "{report}");
    assert_eq!(found[0]["at"], format!("{policy}:9"));
    assert_eq!(found[0]["message"], "acme.containers.release-hook: devgate 0.1.0 does not know this key");
    for (program, version, why) in [
        (devgatectl()?, "0.0.9", "--for: 0.0.9 is none of the versions that are known here: 0.1.0"),
        (devgate()?, "0.1.0", "--for: is an option of devgatectl's check"),
    ] {
        let output = Command::new(program).args(["check", "--for", version, "--policy", &policy]).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(why), "{said}");
    }
    Ok(())
}

#[test]
fn a_schema_that_is_none_is_not_packed_and_neither_is_a_policy_that_it_refuses() -> anyhow::Result<()> {
    let place = Place::new()?;
    let (schema, policy) = (place.at("schema.json"), place.at("policy.yaml"));
    for (text, why) in [
        ("type: object".to_owned(), "is no JSON"),
        (r#"{"type": "thing"}"#.to_owned(), "is no JSON Schema"),
        (format!("{{\"title\": \"{}\"}}", "x".repeat(64 << 10)), "is larger than 64KiB"),
        ("{\"not\":".repeat(100) + "{}" + &"}".repeat(100), "more than 48 deep"),
    ] {
        place.write("schema.json", &text)?;
        let said = place.pack(&["--config-schema", &schema])?;
        assert_eq!(said.code, Some(5), "{why}: {}", said.err);
        let begin = format!("config schema {schema}: ");
        assert!(said.err.contains(&begin) && said.err.contains(why), "{why}: {}", said.err);
        assert!(!Path::new(&place.at("vendor.wasm")).exists());
    }
    place.write("schema.json", SCHEMA)?;
    place.write("policy.yaml", &POLICY.replace("devices: [", "device: ["))?;
    let said = place.pack(&["--config-schema", &schema, "--policy", &policy])?;
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert!(said.err.contains("config: \"devices\" is a required property"), "{}", said.err);
    assert!(!Path::new(&place.at("vendor.wasm")).exists());
    Ok(())
}

#[test]
fn check_looks_at_config_by_the_schema_on_one_node_and_on_all() -> anyhow::Result<()> {
    let place = Place::new()?;
    place.pack(&["--config-schema", &place.at("schema.json")])?;
    let (node, nodes) = (place.at("nodes/one.umockdev"), place.at("nodes"));
    let (code, report) = place.check(devgatectl()?, &["--node-root", &node])?;
    assert_eq!(code, Some(0), "{report}");
    place.write("policy.yaml", &POLICY.replace("{resource: example.com/a, subsystem: misc}", "{resources: x}, 3"))?;
    let (code, report) = place.check(devgatectl()?, &["--node-root", &node])?;
    assert_eq!(code, Some(5), "{report}");
    let findings = report["plugins"][0]["findings"].as_array().expect("findings");
    let invalid: Vec<_> = findings.iter().filter(|finding| finding["code"] == "config-invalid").collect();
    let messages: Vec<_> = invalid.iter().filter_map(|finding| finding["message"].as_str()).collect();
    assert_eq!(
        messages,
        [
            "config at /devices/0: \"resource\" is a required property",
            "config at /devices/1: 3 is not of type \"object\"; `devgatectl inspect FILE --output config-schema` has what may be there"
        ]
    );
    let at = format!("{}:4", place.at("policy.yaml"));
    assert!(invalid.iter().all(|finding| finding["at"] == at.as_str()), "{report}");
    // Each once, of both nodes.
    let (code, report) = place.check(devgatectl()?, &["--nodes", &nodes])?;
    assert_eq!(code, Some(5), "{report}");
    let findings = report["plugins"][0]["findings"].as_array().expect("findings");
    let invalid: Vec<_> = findings.iter().filter(|finding| finding["code"] == "config-invalid").collect();
    assert_eq!(invalid.len(), 2, "{report}");
    assert_eq!(invalid[0]["nodes"], serde_json::json!(["one", "two"]));
    let said = look(["help", "config-invalid"])?;
    assert_eq!(said.code, Some(0), "{}", said.err);
    Ok(())
}

/// A node's own program does not read it: there the component looks at its configuration itself.
#[test]
fn a_schema_that_cannot_be_used_is_said_and_without_one_nothing_changes() -> anyhow::Result<()> {
    let place = Place::new()?;
    place.pack(&["--config-schema", &place.at("schema.json")])?;
    let file = place.at("vendor.wasm");
    let packed = std::fs::read(&file)?;
    let at = packed.windows(8).position(|bytes| bytes == b"\"object\"").expect("the schema");
    let mut damaged = packed.clone();
    damaged[at + 1..at + 7].copy_from_slice(b"abject");
    std::fs::write(&file, damaged)?;
    let (code, report) = place.check(devgatectl()?, &["--node-root", &place.at("nodes/one.umockdev")])?;
    assert_eq!(code, Some(0), "{report}");
    let findings = report["plugins"][0]["findings"].to_string();
    assert!(
        findings.contains("config-schema") && findings.contains("config is not looked at: the schema"),
        "{findings}"
    );
    let said = look(["inspect", &file])?;
    assert!(said.out.contains("  config     a schema that cannot be used: is no JSON Schema"), "{}", said.out);
    place.write("policy.yaml", &POLICY.replace("devices: [", "device: ["))?;
    std::fs::write(&file, packed)?;
    let root = place.at("root");
    std::fs::create_dir_all(format!("{root}/sys/class/misc"))?;
    std::fs::create_dir_all(format!("{root}/dev"))?;
    let (_, report) = place.check(devgate()?, &["--node-root", &root])?;
    assert!(!report.to_string().contains("config-invalid"), "devgate: {report}");
    Ok(())
}
