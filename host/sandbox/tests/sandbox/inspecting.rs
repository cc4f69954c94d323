//! What is said of a file that nobody has granted anything.

use crate::fake::try_load;
use crate::guest::{Guest, text};
use devgate_sandbox::{Contents, ImportGrant, Need, Refusal, Role, inspect};
use devgate_types::{ByteSize, Limits};

fn nothing(interface: &str) -> ImportGrant {
    match interface {
        "types" | "config" | "log" => ImportGrant::Always,
        "hardware" => ImportGrant::NotGranted { key: "hardware" },
        "host-paths" => ImportGrant::NotGranted { key: "host-nodes" },
        _ => ImportGrant::Unknown,
    }
}

fn contents(bytes: &[u8]) -> Contents {
    inspect(bytes, &Limits::default(), &nothing)
        .contents
        .unwrap_or_else(|refusal| panic!("{refusal}"))
}

#[test]
fn each_import_says_what_it_needs() {
    let snoop = text(
        r#"(component
            (import "devgate:plugin/types@0.1.0" (instance))
            (import "devgate:plugin/hardware@0.1.0" (instance))
            (import "devgate:plugin/host-paths@0.1.3" (instance))
            (import "devgate:plugin/teleport@0.1.0" (instance))
            (import "wasi:io/streams@0.2.6" (instance))
            (import "wasi:sockets/tcp@0.2.6" (instance (export "f" (func))))
        )"#,
    );
    let contents = contents(&snoop);
    let needs: Vec<_> = contents.imports.iter().map(|import| import.need.clone()).collect();
    let never = |why: &str| Need::Never(why.to_owned());
    assert_eq!(
        needs,
        [
            Need::Nothing,
            Need::Key("hardware"),
            Need::Key("host-nodes"),
            never("is not an interface of the contract 0.1.0"),
            Need::Nothing,
            never("is never served: a component has no network"),
        ]
    );
    assert_eq!(contents.contract.unwrap().as_str(), "0.1.0");
    assert!(contents.profile.unwrap_err().to_string().contains("does not export"));
}

/// What is counted is what is bounded: the limits that it says are enough, and one less of any is not.
#[test]
fn the_counts_are_those_that_limits_bound() {
    let bytes = Guest::default().with("(table 3 funcref) (table 7 funcref)").component();
    let counts = contents(&bytes).counts;
    let exact = Limits {
        functions: counts.functions,
        function_size: counts.function_size,
        memories: counts.memories,
        memory: counts.memory,
        tables: counts.tables,
        table_elements: u32::try_from(counts.table_elements).unwrap(),
        instances: counts.instances,
        ..Limits::default()
    };
    assert!(inspect(&bytes, &exact, &nothing).contents.is_ok());
    assert!(try_load(&bytes, exact.clone()).is_ok());
    let less = |size: ByteSize| ByteSize(size.0 - 1);
    let change = |change: &dyn Fn(&mut Limits)| {
        let mut limits = exact.clone();
        change(&mut limits);
        limits
    };
    for (key, limits) in [
        ("functions", change(&|l| l.functions -= 1)),
        ("function-size", change(&|l| l.function_size = less(l.function_size))),
        ("memories", change(&|l| l.memories -= 1)),
        ("memory", change(&|l| l.memory = less(l.memory))),
        ("tables", change(&|l| l.tables -= 1)),
        ("table-elements", change(&|l| l.table_elements -= 1)),
        ("instances", change(&|l| l.instances -= 1)),
    ] {
        let refusal = inspect(&bytes, &limits, &nothing).contents.unwrap_err();
        let expected = format!("limits.{key}");
        assert!(
            matches!(&refusal, Refusal::Limit { key: Some(key), .. } if *key == expected),
            "{key}: {refusal}"
        );
    }
}

#[test]
fn what_a_component_says_of_its_tools_is_shown_and_cannot_act() {
    let tools = contents(&Guest::default().component()).producers;
    let encoder = tools.iter().find(|producer| producer.name == "wit-component");
    assert_eq!(encoder.unwrap().role, Role::Tool);

    let strange = text(
        r#"(component (core module
            (@producers (language "Rust\1b[31m" "2024") (language "Rust" "") (sdk "kit" "1\0a"))
        ))"#,
    );
    let tools = contents(&strange).producers;
    let shown: Vec<_> = tools
        .iter()
        .map(|p| format!("{:?} {} {}", p.role, p.name, p.version))
        .collect();
    assert_eq!(
        shown,
        ["Language Rust ", "Language Rust\\u{1b}[31m 2024", "Sdk kit 1\\n"]
    );
}

/// What tools put between a module and the host is no part of what somebody wrote, wherever in the file it stands.
#[test]
fn the_makers_of_an_adapter_are_not_those_of_the_component() {
    let adapter = r#"(core module
        (@producers (language "Rust" "") (processed-by "rustc" "1.96.0"))"#;
    let main = r#"(core module (@producers (language "Go" "1.27")) (import "wasi_snapshot_preview1" "proc_exit" (func (param i32))))"#;
    for parts in [
        format!(r#"{main} {adapter} (import "__main_module__" "cabi_realloc" (func)))"#),
        format!(r#"{adapter} (func (export "cabi_import_realloc"))) {main}"#),
        format!(
            r#"(component {adapter} (import "env" "memory" (memory 0)) (import "__main_module__" "_start" (func)))) {main}"#
        ),
    ] {
        let made = contents(&text(&format!("(component {parts})"))).producers;
        let named: Vec<_> = made.iter().map(|made| made.name.as_str()).collect();
        assert_eq!(named, ["Go"], "{parts}");
    }
    // Nothing but an adapter says anything: the language is not known.
    let silent = format!(r#"(component (core module) {adapter} (import "__main_module__" "_start" (func))))"#);
    assert_eq!(contents(&text(&silent)).producers, []);
    // One of the component's own that is written in Rust is.
    let own = format!(r#"(component {adapter} (import "env" "memory" (memory 0))))"#);
    assert_eq!(contents(&text(&own)).producers.len(), 2);
}

/// A file can name as many tools as it likes, and damage the section as well.
#[test]
fn tools_without_end_are_cut_and_damaged_ones_are_nothing() {
    let many: String = (0..200).map(|n| format!("(processed-by \"tool{n}\" \"1\")")).collect();
    let tools = contents(&text(&format!("(component (core module (@producers {many})))"))).producers;
    assert!((1..=64).contains(&tools.len()), "{}", tools.len());
    let damaged = text(r#"(component (core module (@custom "producers" "\02\08language\7f")))"#);
    assert_eq!(contents(&damaged).producers, []);
}

#[test]
fn what_is_no_component_is_named() {
    for (bytes, says) in [
        (&b""[..], "is empty"),
        (b"\x7fELF\x02\x01\x01", "is native code"),
        (b"#!/bin/sh\n", "is not a WebAssembly component"),
        (&Guest::default().module(), "is a core module"),
    ] {
        let inspection = inspect(bytes, &Limits::default(), &nothing);
        let refusal = inspection.contents.unwrap_err().to_string();
        assert!(refusal.contains(says), "{refusal}");
        assert_ne!(inspection.sha256, [0; 32]);
    }
}
