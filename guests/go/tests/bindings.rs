//! What is generated of the Go packages is what `wit/` says today.
//!
//! `UPDATE=1 cargo test -p devgate-go --target "$(rustc --print host-tuple)"` writes it anew.
#![cfg(not(target_family = "wasm"))]
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::Resolve;

/// Everything that a component may import, and what it must export. Of what it imports, only what it calls is in a component.
const WORLD: &str = "
    package devgate:go;

    world component {
        include devgate:plugin/component@0.1.0;
        include devgate:plugin/capabilities@0.1.0;
    }
";
/// The module in this folder.
const MODULE: &str = "devgate.dev/plugin";
/// Written by hand: what the generated exports call.
const OWN: &str = "export_devgate_plugin_plugin";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bindings")
}

/// The files, by their path in the folder.
fn generated() -> BTreeMap<String, String> {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    resolve.push_dir(wit).expect("the contract parses");
    let package = resolve.push_str("go.wit", WORLD).expect("the world parses");
    let world = resolve.select_world(&[package], None).expect("the world is there");
    let options = wit_bindgen_go::Opts {
        // As it comes: nobody needs Go for this test.
        format: wit_bindgen_go::Format::False,
        pkg_name: Some(format!("{MODULE}/bindings")),
        ..wit_bindgen_go::Opts::default()
    };
    let mut files = Files::default();
    let mut generator = options.build();
    generator.generate(&mut resolve, world, &mut files).expect("bindings");
    let text = |bytes: &[u8]| {
        // What they all use is in this module, too, so that nothing has to be fetched.
        let text = String::from_utf8(bytes.to_vec()).expect("Go is text");
        let text = text.replace("go.bytecodealliance.org/pkg/", &format!("{MODULE}/"));
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        format!("{}\n", lines.join("\n").trim_end())
    };
    files.iter().map(|(name, bytes)| (name.to_owned(), text(bytes))).collect()
}

#[test]
fn the_packages_are_what_the_contract_says() {
    let update = std::env::var_os("UPDATE").is_some();
    let wanted = generated();
    assert!(!wanted.is_empty());
    for (name, text) in &wanted {
        let file = folder().join(name);
        if update {
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(&file, text).expect("written");
        }
        let there = fs::read_to_string(&file).unwrap_or_default();
        assert!(&there == text, "{name} is not what wit/ says; the first lines of this test say how to write it anew");
    }
}

#[test]
fn no_package_is_left_of_an_older_contract() {
    let wanted = generated();
    let mut packages: BTreeSet<&str> = wanted.keys().filter_map(|name| name.split('/').next()).collect();
    packages.insert(OWN);
    let there: Vec<String> = fs::read_dir(folder())
        .expect("the bindings are there")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(there.iter().map(String::as_str).collect::<BTreeSet<_>>(), packages);
}
