//! `devgatectl inspect`.

use crate::look::{look, unread};
use devgate_policy::{PolicyFile, parse};
use std::path::{Path, PathBuf};

fn built(name: &str) -> anyhow::Result<PathBuf> {
    Ok(devgate_tests::components()?.join(name))
}

fn inspect(file: &Path, form: &str) -> anyhow::Result<crate::look::Said> {
    look([Path::new("inspect"), file, Path::new("--output"), Path::new(form)])
}

/// Numbers and digests of a build are another build's others.
fn filters() -> Vec<(&'static str, &'static str)> {
    vec![
        (r"(?m)^/\S*/", "[dir]/"),
        (r"[0-9a-f]{64}", "[digest]"),
        (r"\d+ bytes", "[n] bytes"),
        (r"(?m)^(  [a-z-]+) +[0-9]+(B|KiB|MiB)? +(\S+)", "$1 [n] $3"),
        (r"(?m)^ +has +default$", "  has default"),
        (r"(?m)^(  (sdk|made with|language)) .*", "$1 [tools]"),
    ]
}

#[test]
fn a_component_is_told_as_people_read_it() -> anyhow::Result<()> {
    let generic = inspect(&built("generic.wasm")?, "text")?;
    assert_eq!((generic.code, generic.err.as_str()), (Some(0), ""));
    let over = inspect(&built("overreach.wasm")?, "text")?;
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(format!("{}\n=====\n{}", generic.out, over.out));
    });
    Ok(())
}

/// The policy to start from is one that `run` would take, and that grants what the component imports.
#[test]
fn every_built_component_gets_a_policy_that_parses() -> anyhow::Result<()> {
    let mut seen = 0;
    for file in std::fs::read_dir(devgate_tests::components()?)? {
        let file = file?.path();
        if file.extension().is_none_or(|extension| extension != "wasm") {
            continue;
        }
        let said = inspect(&file, "policy")?;
        let name = file.display();
        assert_eq!(said.err, "", "{name}");
        let policy = parse(&[PolicyFile { name: "skeleton", text: &said.out }]);
        let policy = policy.map_err(|errors| anyhow::anyhow!("{name}: {errors}\n{}", said.out))?;
        let plugin = policy.plugins.values().next().expect("a plugin");
        let json: serde_json::Value = serde_json::from_str(&inspect(&file, "json")?.out)?;
        for import in json["imports"].as_array().expect("imports") {
            if import["need"] == "key" {
                let interface = import["name"].as_str().expect("a name");
                // Of WASI, packages are granted; of the contract, interfaces.
                let part = usize::from(!interface.starts_with("wasi:"));
                let interface = interface.split(['/', '@']).nth(part).expect("an interface");
                assert_eq!(plugin.grants(interface), devgate_policy::Grant::Granted, "{name}: {interface}");
            }
        }
        assert_eq!(json["runs"], said.code == Some(0), "{name}");
        seen += 1;
    }
    assert!(seen >= 3, "only {seen} components");
    Ok(())
}

/// Only what a component says of itself: what adapters and stripped builds leave open is not known.
#[test]
fn a_language_is_named_where_the_component_names_it() -> anyhow::Result<()> {
    let mut seen = Vec::new();
    for (name, language) in [
        ("generic.wasm", "unknown"),
        ("overreach.wasm", "unknown"),
        ("widget-c.wasm", "C99"),
        ("widget-go.wasm", "Go"),
        ("widget-js.wasm", "unknown"),
        ("widget-python.wasm", "unknown"),
    ] {
        let file = built(name)?;
        if !file.is_file() {
            println!("skipped: {} is not there", file.display());
            continue;
        }
        let said = inspect(&file, "text")?;
        let line = said.out.lines().find_map(|line| line.trim_start().strip_prefix("language "));
        // Without its version.
        let shown = line.and_then(|line| line.split_whitespace().next());
        assert_eq!(shown, Some(language), "{name}: {}", said.out);
        assert_eq!(line.map(|line| line.contains(',')), Some(false), "{name}: one language: {}", said.out);
        seen.push(name);
    }
    assert!(seen.contains(&"generic.wasm"), "{seen:?}");
    Ok(())
}

#[test]
fn other_files_are_named_for_what_they_are() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let mut told = String::new();
    let generic = std::fs::read(built("generic.wasm")?)?;
    for (name, bytes) in [
        ("text.wasm", &b"(component)"[..]),
        ("module.wasm", &wat::parse_str("(module)")?),
        ("half.wasm", &generic[..generic.len() / 2]),
        ("script.sh", b"#!/bin/sh\n"),
        ("no-plugin.wasm", &wat::parse_str("(component)")?),
    ] {
        let file = dir.path().join(name);
        std::fs::write(&file, bytes)?;
        let said = inspect(&file, "text")?;
        assert_eq!((said.code, said.err.as_str()), (Some(5), ""), "{name}");
        let problem = said.out.split("This host cannot run it:\n").nth(1).expect("a problem");
        told += &format!("{name}: {}\n", problem.lines().next().unwrap_or_default().trim());
    }
    insta::with_settings!({filters => vec![(r"at offset 0x[0-9a-f]+", "at offset [n]")]}, {
        insta::assert_snapshot!(told, @r"
        text.wasm: component is WebAssembly as text; run `wasm-tools parse` on it and ship what comes out
        module.wasm: component is a core module, not a component; run `devgatectl pack` on it
        half.wasm: component is not valid: unexpected end-of-file (at offset [n])
        script.sh: component is not a WebAssembly component
        no-plugin.wasm: component does not export devgate:plugin/plugin@0.1.0; build it for the world `component` of wit/
        ");
    });
    let missing = inspect(&dir.path().join("nope.wasm"), "text")?;
    assert_eq!((missing.code, missing.out.as_str()), (Some(1), ""));
    let policy = inspect(&dir.path().join("script.sh"), "policy")?;
    assert_eq!((policy.code, policy.out.as_str()), (Some(5), ""), "no policy for what is no component");
    Ok(())
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() -> anyhow::Result<()> {
    let said = unread([Path::new("inspect"), &built("generic.wasm")?])?;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    Ok(())
}
