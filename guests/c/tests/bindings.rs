//! What is generated of the C headers is what `wit/` says today.
//!
//! `UPDATE=1 cargo test -p devgate-c --target "$(rustc --print host-tuple)"` writes it anew.
#![cfg(not(target_family = "wasm"))]
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::{Resolve, WorldId};

/// Everything that a component may import, and what it must export. Of what it imports, only what it calls is in a component.
const BASE: &str = "
    include devgate:plugin/component@0.1.0;
    include devgate:plugin/capabilities@0.1.0;
    import devgate:plugin/clock@0.1.1;
    import devgate:plugin/uevents@0.1.1;
";
/// What a component may export besides, each by itself: the interface and its version.
const OPTIONAL: [(&str, &str); 4] =
    [("preference", "0.1.0"), ("lifecycle", "0.1.0"), ("parameters", "0.1.1"), ("conditions", "0.1.1")];
/// What the files are called after, and the prefix of names that no interface gives.
const NAME: &str = "devgate_bindings";

fn export((interface, version): (&str, &str)) -> String {
    format!("export devgate:plugin/{interface}@{version};\n")
}

/// The world of this name that imports and exports this.
fn contract(name: &str, world: &str) -> (Resolve, WorldId) {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    resolve.push_dir(&wit).expect("the contract parses");
    resolve.push_dir(wit.join("0.1.1")).expect("what came later parses");
    let text = format!("package devgate:c;\nworld {name} {{ {world} }}");
    let package = resolve.push_str("c.wit", &text).expect("the world parses");
    let world = resolve.select_world(&[package], None).expect("the world is there");
    (resolve, world)
}

/// The bindings of a world: header and source.
fn bindings(world: &str) -> [String; 2] {
    let (mut resolve, world) = contract("component", world);
    let options = wit_bindgen_c::Opts {
        // They free memory, which goes when the call ends, and not handles.
        no_helpers: true,
        // The section is in the source, so that text is all that there is.
        no_object_file: true,
        rename_world: Some(NAME.to_owned()),
        ..wit_bindgen_c::Opts::default()
    };
    let mut files = Files::default();
    let mut generator = options.build();
    generator.generate(&mut resolve, world, &mut files).expect("bindings");
    ["h", "c"].map(|extension| {
        let (_, bytes) =
            files.iter().find(|(name, _)| *name == format!("{NAME}.{extension}")).expect("both are written");
        let text = String::from_utf8(bytes.to_vec()).expect("C is text");
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        unversioned(&format!("{}\n", lines.join("\n").trim_end()))
    })
}

/// An interface has one version, so that names need none.
fn unversioned(text: &str) -> String {
    ["0_1_0", "0_1_1"].iter().fold(text.to_owned(), |text, version| {
        text.replace(&format!("devgate_plugin_{version}_"), "devgate_plugin_")
            .replace(&format!("DEVGATE_PLUGIN_{version}_"), "DEVGATE_PLUGIN_")
    })
}

/// The files, by name. The header has all of the contract; what exports an optional interface is a source of its own.
fn generated() -> BTreeMap<String, String> {
    let all: String = OPTIONAL.map(export).concat();
    let [header, _] = bindings(&format!("{BASE}{all}"));
    let [_, base] = bindings(BASE);
    let mut files = BTreeMap::from([(format!("{NAME}.h"), header)]);
    for optional in OPTIONAL {
        let (name, _) = optional;
        let [_, source] = bindings(&export(optional));
        let source = format!("{}{}", besides(&source, &base), section(&export(optional), name));
        files.insert(format!("exports/bindings/{name}.c"), source);
    }
    let mut base = format!("{base}{}", section(BASE, "component"));
    // What the source calls in the object file, so that linkers keep it.
    let _infallible = write!(base, "\nvoid __component_type_object_force_link_{NAME}(void) {{}}\n");
    files.insert(format!("{NAME}.c"), base);
    files
}

/// What of a source another one does not have; but each has a place of its own for what its exports return.
fn besides(source: &str, other: &str) -> String {
    let there: BTreeSet<String> = items(other).into_iter().collect();
    let own = |item: &String| !there.contains(item) || item.contains(" RET_AREA[") || item.contains("#include");
    items(source).into_iter().filter(own).collect::<Vec<_>>().join("\n")
}

/// What stands between empty lines, outside of braces.
fn items(source: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0;
    for line in source.lines() {
        if line.is_empty() && depth == 0 {
            items.push(String::new());
            continue;
        }
        depth = depth + line.matches('{').count() - line.matches('}').count();
        if let Some(item) = items.last_mut() {
            let _infallible = writeln!(item, "{line}");
        }
    }
    items.retain(|item| !item.is_empty());
    items
}

/// A world as a section of the object file, from which a core module becomes a component: of all worlds that it has. Section and world
/// have names of their own, or linkers make one of them.
fn section(world: &str, name: &str) -> String {
    let (resolve, world) = contract(name, world);
    let encoding = wit_component::StringEncoding::UTF8;
    let bytes = wit_component::metadata::encode(&resolve, world, encoding, None).expect("metadata");
    let mut text = format!(
        "\n// What a core module must say of the contract that it was written for, to be made a component of.\n\
         __asm__(\n    \".section \\\".custom_section.component-type:devgate-{name}\\\",\\\"\\\",@\\n\"\n",
    );
    for line in bytes.chunks(24) {
        text.push_str("    \".ascii \\\"");
        for byte in line {
            let _infallible = match byte {
                b'"' | b'\\' => write!(text, "\\\\\\{}", char::from(*byte)),
                b' '..=b'~' => write!(text, "{}", char::from(*byte)),
                _ => write!(text, "\\\\{byte:03o}"),
            };
        }
        text.push_str("\\\"\\n\"\n");
    }
    text.push_str("    \".text\\n\");\n");
    text
}

#[test]
fn the_headers_are_what_the_contract_says() {
    let update = std::env::var_os("UPDATE").is_some();
    for (name, text) in generated() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
        if update {
            std::fs::write(&file, &text).expect("written");
        }
        let there = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(there == text, "{name} is not what wit/ says; the first lines of this test say how to write it anew");
    }
}
