//! What is generated of the C headers is what `wit/` says today.
//!
//! `UPDATE=1 cargo test -p devgate-c --target "$(rustc --print host-tuple)"` writes it anew.
#![cfg(not(target_family = "wasm"))]
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::{Resolve, WorldId};

/// Everything that a component may import, and what it must export. Of what it imports, only what it calls is in a component.
const WORLD: &str = "
    package devgate:c;

    world component {
        include devgate:plugin/component@0.1.0;
        include devgate:plugin/capabilities@0.1.0;
    }
";
/// What the files are called after, and the prefix of names that no interface gives.
const NAME: &str = "devgate_bindings";

fn contract() -> (Resolve, WorldId) {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    resolve.push_dir(wit).expect("the contract parses");
    let package = resolve.push_str("c.wit", WORLD).expect("the world parses");
    let world = resolve.select_world(&[package], None).expect("the world is there");
    (resolve, world)
}

/// The files, by name.
fn generated() -> BTreeMap<String, String> {
    let (mut resolve, world) = contract();
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
    let mut texts: BTreeMap<String, String> = files
        .iter()
        .map(|(name, bytes)| {
            let text = String::from_utf8(bytes.to_vec()).expect("C is text");
            let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
            (name.to_owned(), format!("{}\n", lines.join("\n").trim_end()))
        })
        .collect();
    let source = texts.get_mut(&format!("{NAME}.c")).expect("a source file");
    source.push_str(&section());
    // What the source calls in the object file, so that linkers keep it.
    let _infallible = write!(source, "\nvoid __component_type_object_force_link_{NAME}(void) {{}}\n");
    texts
}

/// The contract as a section of the object file, from which a core module becomes a component.
fn section() -> String {
    let (resolve, world) = contract();
    let encoding = wit_component::StringEncoding::UTF8;
    let bytes = wit_component::metadata::encode(&resolve, world, encoding, None).expect("metadata");
    let mut text = String::from(
        "\n// What a core module must say of the contract that it was written for, to be made a component of.\n\
         __asm__(\n    \".section \\\".custom_section.component-type:devgate\\\",\\\"\\\",@\\n\"\n",
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
