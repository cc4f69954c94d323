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
const BASE: &str = "
    include devgate:plugin/component@0.1.0;
    include devgate:plugin/capabilities@0.1.0;
    import devgate:plugin/clock@0.1.1;
    import devgate:plugin/uevents@0.1.1;
";
/// What a component may export besides, each by itself: the interface and its version. Each is a package of that name, with what is
/// written by hand: what the generated exports call.
const OPTIONAL: [(&str, &str); 4] =
    [("preference", "0.1.0"), ("lifecycle", "0.1.0"), ("parameters", "0.1.1"), ("conditions", "0.1.1")];
/// The module in this folder.
const MODULE: &str = "devgate.dev/plugin";
/// Written by hand: what the generated exports call.
const OWN: &str = "bindings/export_devgate_plugin_plugin";
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The files of a world, by their path in the folder `bindings`.
fn bindings(world: &str) -> BTreeMap<String, String> {
    let mut resolve = Resolve::default();
    let wit = folder().join("../../wit");
    resolve.push_dir(&wit).expect("the contract parses");
    if world.contains("@0.1.1") {
        resolve.push_dir(wit.join("0.1.1")).expect("what came later parses");
    }
    let world = format!("package devgate:go;\nworld component {{ {world} }}");
    let package = resolve.push_str("go.wit", &world).expect("the world parses");
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
        let text = unversioned(&text.replace("go.bytecodealliance.org/pkg/", &format!("{MODULE}/")));
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        format!("{}\n", lines.join("\n").trim_end())
    };
    files.iter().map(|(name, bytes)| (unversioned(name), text(bytes))).collect()
}

/// An interface has one version, so that names need none.
fn unversioned(text: &str) -> String {
    text.replace("devgate_plugin_0_1_0_", "devgate_plugin_").replace("devgate_plugin_0_1_1_", "devgate_plugin_")
}

/// The files, by their path in the module.
fn generated() -> BTreeMap<String, String> {
    let base = bindings(BASE).into_iter().map(|(name, text)| (format!("bindings/{name}"), text));
    base.chain(OPTIONAL.into_iter().flat_map(exported)).collect()
}

/// The package of an optional interface: its types, and its exports, so that importing it is what exports.
fn exported((interface, version): (&'static str, &str)) -> impl Iterator<Item = (String, String)> {
    let mut files = bindings(&format!("export devgate:plugin/{interface}@{version};"));
    let package = format!("devgate_plugin_{interface}");
    let called = format!("export_{package}");
    [(package.clone(), "wit_bindings.go"), ("wit_exports".to_owned(), "wit_exports.go")].into_iter().map(
        move |(from, name)| {
            let text = files.remove(&format!("{from}/{name}")).expect("it is generated");
            let text = text
                .replace(&format!("package {from}"), &format!("package {interface}"))
                .replace(&format!("\"{MODULE}/bindings/{called}\"\n"), "")
                .replace(&format!("\"{MODULE}/bindings/{package}\"\n"), "")
                .replace(&format!("{called}."), "on")
                .replace(&format!("{package}."), "");
            (format!("{interface}/{name}"), text)
        },
    )
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
    let mut packages: BTreeSet<&str> = wanted
        .keys()
        .filter_map(|name| Some(name.rsplit_once('/')?.0))
        .filter(|package| package.starts_with("bindings/"))
        .collect();
    packages.insert(OWN);
    let there: Vec<String> = fs::read_dir(folder().join("bindings"))
        .expect("the bindings are there")
        .map(|entry| format!("bindings/{}", entry.expect("an entry").file_name().to_string_lossy()))
        .collect();
    assert_eq!(there.iter().map(String::as_str).collect::<BTreeSet<_>>(), packages);
}
