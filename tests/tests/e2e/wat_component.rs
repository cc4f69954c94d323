//! Components written as text: small, exact, and as hostile as it gets.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Encodes a core module in text as a component for devgate's smallest world.
fn component(core: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let wit = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit");
    let (package, _) = resolve.push_dir(wit).expect("the contract parses");
    let world = resolve
        .select_world(&[package], Some("component"))
        .expect("the world is there");
    let mut module = wat::parse_str(core).expect("the module parses");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata");
    let mut encoder = ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .expect("a module of the contract");
    encoder.encode().expect("a component")
}

/// A component that offers nothing, with other text for the three calls' bodies; each must leave an `i32`.
pub(crate) fn plugin(enumerate: &str, health: &str, allocate: &str) -> Vec<u8> {
    component(&format!(
        r#"(module
            (memory (export "memory") 1)
            (global $next (mut i32) (i32.const 4096))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
                (global.set $next (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
            (func (export "devgate:plugin/plugin@0.1.0#enumerate") (result i32) {enumerate})
            (func (export "devgate:plugin/plugin@0.1.0#health") (param i32 i32 i32 i32) (result i32) {health})
            (func (export "devgate:plugin/plugin@0.1.0#allocate") (param i32 i32 i32 i32) (result i32) {allocate})
        )"#
    ))
}

/// Leaves `ok([])`: the result's area is zeroed memory.
pub(crate) const NOTHING: &str = "(i32.const 1024)";
/// Never leaves.
pub(crate) const SPIN: &str = "(loop $again (br $again)) (unreachable)";
