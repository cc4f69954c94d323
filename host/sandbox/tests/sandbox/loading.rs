//! What is refused before it runs, and in which words.

use crate::fake::{Fake, enumerate, patient, try_load};
use crate::guest::{Guest, encode, other_contract, text, with_inner};
use devgate_sandbox::{LoadRequest, load};
use devgate_types::Grant;
use devgate_types::component::Profile;
use devgate_types::{ByteSize, Limits};
use insta::assert_snapshot;
use sha2::Digest;

fn refused(bytes: &[u8]) -> String {
    try_load(bytes, Limits::default()).expect_err("must be refused").to_string()
}

#[test]
fn a_component_is_loaded_with_its_profile() {
    let profile_of = |bytes: &[u8]| Profile { sha256: Some(sha2::Sha256::digest(bytes).into()), ..Profile::default() };
    let bytes = Guest::default().component();
    assert_eq!(*try_load(&bytes, Limits::default()).unwrap().profile(), profile_of(&bytes));
    let more = Guest {
        world: "export devgate:plugin/preference@0.1.0;".into(),
        ..Guest::default()
    }
    .with(
        r#"(func (export "devgate:plugin/preference@0.1.0#choose") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)"#,
    );
    let bytes = more.component();
    let expected = Profile { preference: true, ..profile_of(&bytes) };
    assert_eq!(*try_load(&bytes, Limits::default()).unwrap().profile(), expected);
}

#[test]
fn all_imports_that_are_not_granted_are_named_at_once() {
    let snoop = text(
        r#"(component
            (import "devgate:plugin/types@0.1.0" (instance))
            (import "devgate:plugin/hardware@0.1.0" (instance))
            (import "devgate:plugin/kernel-log@0.1.0" (instance))
            (import "devgate:plugin/host-paths@0.1.3" (instance))
            (import "devgate:plugin/teleport@0.1.0" (instance))
            (import "devgate:plugin/state@0.2.0" (instance))
            (import "wasi:io/streams@0.2.6" (instance))
            (import "wasi:clocks/monotonic-clock@0.2.6" (instance (export "now" (func (result u64)))))
            (import "wasi:sockets/tcp@0.2.6" (instance (export "f" (func))))
            (import "wasi:cli/stdout@0.3.0" (instance))
            (import "other:vendor/tool" (instance))
            (import "run" (func))
        )"#,
    );
    let grants = |interface: &str| match interface {
        "hardware" => Grant::NotGranted { key: "hardware" },
        "host-paths" => Grant::NotGranted { key: "host-nodes" },
        "kernel-log" => Grant::NotGranted { key: "kernel-log" },
        "wasi:clocks" => Grant::NotGranted { key: "wasi" },
        _ => Grant::Granted,
    };
    let request =
        LoadRequest { plugin: "snoop", bytes: &snoop, sha256: None, limits: Limits::default(), grants: &grants };
    assert_snapshot!(load(request).unwrap_err(), @r#"
plugin snoop: component asks for what it does not get:
  devgate:plugin/hardware@0.1.0      needs "hardware:" in the policy
  devgate:plugin/kernel-log@0.1.0    needs "kernel-log:" in the policy
  devgate:plugin/host-paths@0.1.3    needs "host-nodes:" in the policy
  devgate:plugin/teleport@0.1.0      is not an interface of the contract 0.1.0
  devgate:plugin/state@0.2.0         is another version of the contract; this host has 0.1.0: build it against that
  wasi:clocks/monotonic-clock@0.2.6  needs "wasi:" in the policy
  wasi:sockets/tcp@0.2.6             is never served: a component has no network
  wasi:cli/stdout@0.3.0              is another version of WASI; parts of 0.2 are served
  other:vendor/tool                  is not part of the contract: a component imports only devgate:plugin and parts of WASI 0.2
  run                                is not an interface: a component imports only devgate:plugin and parts of WASI 0.2
"#);
}

#[test]
fn other_kinds_of_file_are_named() {
    assert_snapshot!(refused(&Guest::default().module()), @"plugin snoop: component is a core module, not a component; run `devgatectl pack` on it");
    assert_snapshot!(refused(b"(component)"), @"plugin snoop: component is WebAssembly as text; run `wasm-tools parse` on it and ship what comes out");
    assert_snapshot!(refused(b"\n  (component)"), @"plugin snoop: component is WebAssembly as text; run `wasm-tools parse` on it and ship what comes out");
    assert_snapshot!(refused(b"\x7fELF\x02\x01\x01"), @"plugin snoop: component is native code (precompiled or a program); ship the .wasm that it was made from");
    assert_snapshot!(refused(b""), @"plugin snoop: component is empty");
    assert_snapshot!(refused(b"#!/bin/sh\n"), @"plugin snoop: component is not a WebAssembly component");
    assert_snapshot!(refused(b"\0asm\x0d\0"), @"plugin snoop: component is cut off");
    assert_snapshot!(refused(b"\0asm\x0e\0\x01\0"), @"plugin snoop: component has a component format that this host does not know");
}

#[test]
fn code_that_wasmtime_compiled_before_is_refused() {
    let component = Guest::default().component();
    let native = wasmtime::Engine::default().precompile_component(&component).unwrap();
    assert!(refused(&native).contains("is native code"));
}

#[test]
fn a_component_cut_off_anywhere_is_refused_without_a_panic() {
    let whole = Guest::default().component();
    for length in 0..whole.len() {
        // Only custom sections may follow the export: cut off between them, it is whole.
        if let Err(error) = try_load(&whole[..length], Limits::default()) {
            assert!(!error.to_string().contains("host fault"), "{length}: {error}");
        } else {
            assert!(length > whole.len() / 2, "{length} of {} bytes are whole", whole.len());
        }
    }
}

#[test]
fn a_component_changed_anywhere_is_refused_or_loaded_without_a_panic() {
    let whole = Guest::default().component();
    for at in (8..whole.len()).step_by(7) {
        let mut changed = whole.clone();
        changed[at] ^= 0x15;
        if let Err(error) = try_load(&changed, Limits::default()) {
            assert!(!error.to_string().contains("host fault"), "{at}: {error}");
        }
    }
}

#[test]
fn the_pinned_digest_is_the_files() {
    use sha2::Digest;
    let component = Guest::default().component();
    let load_pinned = |sha256| {
        let request = LoadRequest {
            plugin: "snoop",
            bytes: &component,
            sha256: Some(sha256),
            limits: Limits::default(),
            grants: &|_| Grant::Granted,
        };
        load(request)
    };
    assert!(load_pinned(sha2::Sha256::digest(&component).into()).is_ok());
    let error = load_pinned([0xab; 32]).unwrap_err().to_string();
    assert!(error.contains(&format!("the policy pins {}", "ab".repeat(32))), "{error}");
    assert!(error.starts_with("plugin snoop: component's sha256 is "), "{error}");
}

#[test]
fn the_export_must_be_there_and_of_this_contract() {
    assert_snapshot!(refused(&text("(component)")), @"plugin snoop: component does not export devgate:plugin/plugin@0.1.0; build it for the world `component` of wit/");
    assert_snapshot!(
        refused(&text(r#"(component (instance $i) (export "devgate:plugin/plugin@0.2.0" (instance $i)))"#)),
        @"plugin snoop: component exports devgate:plugin/plugin@0.2.0; this host has devgate:plugin@0.1.0"
    );
    assert_snapshot!(
        refused(&text(r#"(component (instance $i) (export "devgate:plugin/plugin@0.1.0" (instance $i)))"#)),
        @"plugin snoop: component does not fit this host: instance export `devgate:plugin/plugin@0.1.0` does not have export `enumerate`"
    );
}

const WORLD: &str = "package test:guest; world guest {
    include devgate:plugin/component@0.1.0;
    include devgate:plugin/capabilities@0.1.0;
}";

#[test]
fn a_function_that_this_host_does_not_have_is_named() {
    let newer = other_contract("entries: func(path: string)", "symlinks: func() -> u32;\n entries: func(path: string)");
    let guest = Guest::default().importing(
        r#"(import "devgate:plugin/types@0.1.0" "[method]device.symlinks" (func (param i32) (result i32)))"#,
    );
    assert_snapshot!(refused(&encode(guest.module(), &newer, WORLD)), @"plugin snoop: component does not fit this host: [method]device.symlinks of devgate:plugin/types@0.1.0 is newer than this host, which has 0.1.0; build the component against devgate:plugin@0.1.0");
    // Not calling it is fine: the import is not there.
    assert!(try_load(&encode(Guest::default().module(), &newer, WORLD), Limits::default()).is_ok());
}

#[test]
fn a_function_of_another_type_is_named() {
    let changed = other_contract("numa-node: func() -> option<u32>", "numa-node: func() -> u32");
    let guest = Guest::default().importing(
        r#"(import "devgate:plugin/types@0.1.0" "[method]device.numa-node" (func (param i32) (result i32)))"#,
    );
    assert_snapshot!(refused(&encode(guest.module(), &changed, WORLD)), @"plugin snoop: component does not fit this host: [method]device.numa-node of devgate:plugin/types@0.1.0 has another type here: expected `option` found `u32`");
    let changed = other_contract("enumerate: func() -> result<list<pool>, error>", "enumerate: func() -> list<pool>");
    assert_snapshot!(refused(&encode(Guest::default().module(), &changed, WORLD)), @"plugin snoop: component does not fit this host: devgate:plugin/plugin has another type here: failed to convert function to given type: type mismatch with results: expected `result` found `list`");
}

#[test]
fn features_of_webassembly_that_are_off_are_refused() {
    let module = |fields: &str| refused(&text(&format!("(component (core module {fields}))")));
    assert_snapshot!(module("(memory i64 1)"), @"plugin snoop: component is not valid: memory64 must be enabled for 64-bit memories (at offset 0x15)");
    assert_snapshot!(module("(memory 1) (memory 1)"), @"plugin snoop: component has 2 memories, more than 1 (limits.memories)");
    assert_snapshot!(module("(memory 1 1 shared)"), @"plugin snoop: component is not valid: threads must be enabled for shared memories (at offset 0x15)");
    assert_snapshot!(module("(tag)"), @"plugin snoop: component is not valid: exceptions proposal not enabled (at offset 0x1a)");
    assert_snapshot!(module("(type (struct))"), @"plugin snoop: component is not valid: struct indexed types not supported without the gc feature (at offset 0x15)");
    assert_snapshot!(module("(func return_call 0)"), @"plugin snoop: component is not valid: tail calls support is not enabled (at offset 0x21)");
    let component = |fields: &str| refused(&text(&format!("(component {fields})")));
    assert_snapshot!(component("(type (stream u8))"), @"plugin snoop: component is not valid: `stream` requires the component model async feature (at offset 0xb)");
    assert_snapshot!(component("(type (func async))"), @"plugin snoop: component is not valid: async component functions require the component model async feature (at offset 0xb)");
}

fn with(change: impl Fn(&mut Limits)) -> Limits {
    let mut limits = patient();
    change(&mut limits);
    limits
}

/// Refused with a limit of `n`, loaded with one more.
fn violated_and_obeyed(bytes: &[u8], refused_with: Limits, loaded_with: Limits) -> String {
    if let Err(error) = try_load(bytes, loaded_with) {
        panic!("must load: {error}");
    }
    try_load(bytes, refused_with).expect_err("must be refused").to_string()
}

#[test]
fn every_limit_on_what_a_component_may_be() {
    let small = Guest::default().component();
    let size = ByteSize(small.len() as u64);
    let too_large = violated_and_obeyed(
        &small,
        with(|l| l.component_size = ByteSize(size.0 - 1)),
        with(|l| l.component_size = size),
    );
    assert!(too_large.starts_with(&format!("plugin snoop: component has {} bytes, more than ", size.0)), "{too_large}");
    assert!(too_large.ends_with(" (limits.component-size)"), "{too_large}");

    let functions = violated_and_obeyed(&small, with(|l| l.functions = 3), with(|l| l.functions = 4));
    assert_snapshot!(functions, @"plugin snoop: component has 4 functions, more than 3 (limits.functions)");

    let long = Guest::enumerating(&format!("{} (i32.const 16)", "(drop (i32.const 1))".repeat(400))).component();
    let long = violated_and_obeyed(
        &long,
        with(|l| l.function_size = ByteSize::kib(1)),
        with(|l| l.function_size = ByteSize::kib(2)),
    );
    assert_snapshot!(long, @"plugin snoop: component has a function of 1204 bytes, more than 1KiB (limits.function-size)");

    let memory = Guest { memory: "16384".into(), ..Guest::default() };
    let memory = violated_and_obeyed(
        &memory.component(),
        with(|l| l.memory = ByteSize::mib(16)),
        with(|l| l.memory = ByteSize::mib(1024)),
    );
    assert_snapshot!(memory, @"plugin snoop: component starts with 1GiB of memory, more than 16MiB (limits.memory)");

    let table = Guest::default().with("(table 1000000 funcref)");
    let table = violated_and_obeyed(
        &table.component(),
        with(|l| l.table_elements = 999_999),
        with(|l| l.table_elements = 1_000_000),
    );
    assert_snapshot!(table, @"plugin snoop: component has 1000000 table elements, more than 999999 (limits.table-elements)");

    let tables = Guest::default().with("(table 1 funcref) (table 1 funcref)").component();
    assert_snapshot!(violated_and_obeyed(&tables, with(|l| l.tables = 1), with(|l| l.tables = 2)), @"plugin snoop: component has 2 tables, more than 1 (limits.tables)");

    let inner = "(core module $m) (core instance (instantiate $m)) (core instance (instantiate $m))";
    let instances = with_inner(&small, inner);
    assert_snapshot!(violated_and_obeyed(&instances, with(|l| l.instances = 2), with(|l| l.instances = 3)), @"plugin snoop: component has 3 core instances, more than 2 (limits.instances)");

    let inner = "(core module $m (memory 1)) (core instance (instantiate $m))";
    let memories = with_inner(&small, inner);
    assert_snapshot!(violated_and_obeyed(&memories, with(|l| l.memories = 1), with(|l| l.memories = 2)), @"plugin snoop: component has 2 memories, more than 1 (limits.memories)");
}

/// A component with two components in it, of which the second calls the first with text: both have a memory, and the module that copies
/// from one to the other has both. It is the second within what it is added to.
const PASSES_TEXT: &str = r#"(component
    (component $first
        (core module $m
            (memory (export "memory") 1)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 16)
            (func (export "f") (param i32 i32)))
        (core instance $i (instantiate $m))
        (func (export "f") (param "text" string)
            (canon lift (core func $i "f") (memory $i "memory") (realloc (func $i "realloc")))))
    (component $second
        (import "f" (func $f (param "text" string)))
        (core module $memory (memory (export "memory") 1))
        (core instance $own (instantiate $memory))
        (core func $lowered (canon lower (func $f) (memory $own "memory")))
        (core module $m (import "" "f" (func (param i32 i32))))
        (core instance (instantiate $m (with "" (instance (export "f" (func $lowered)))))))
    (instance $a (instantiate $first))
    (instance (instantiate $second (with "f" (func $a "f")))))
    (instance (instantiate 1))
"#;

#[test]
fn components_within_a_component_pass_each_other_text() {
    let three = with(|l| l.memories = 3);
    let bytes = with_inner(&Guest::default().component(), PASSES_TEXT);
    let loaded = try_load(&bytes, three.clone()).unwrap_or_else(|error| panic!("{error}"));
    assert!(enumerate(&loaded, Box::new(Fake::within(three.clone()))).unwrap().0.pools.is_empty());
    // One module still has one memory, however many the component may have.
    let two = text("(component (core module (memory 1) (memory 1)))");
    let refusal = try_load(&two, three).expect_err("must be refused").to_string();
    assert_snapshot!(refusal, @"plugin snoop: component is not valid: multiple memories (at offset 0x14)");
}

#[test]
fn components_within_components_have_an_end() {
    let nested = |n: usize| text(&format!("(component {}{})", "(component ".repeat(n), ")".repeat(n)));
    assert_snapshot!(refused(&nested(9)), @"plugin snoop: component has 9 components within components, more than 8");
    assert!(refused(&nested(8)).contains("does not export"), "eight are allowed");
}
