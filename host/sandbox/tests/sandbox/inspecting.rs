//! What is said of a file that has no grants.

use crate::fake::{inspect, try_load};
use crate::guest::{Guest, text};
use devgate_types::Grant;
use devgate_types::load::{Contents, Need, Refusal};
use devgate_types::{ByteSize, Limits};

fn nothing(interface: &str) -> Grant {
    match interface {
        "types" | "config" | "log" => Grant::Always,
        "hardware" => Grant::NotGranted { key: "hardware" },
        "host-paths" => Grant::NotGranted { key: "host-nodes" },
        _ => Grant::Unknown,
    }
}

fn contents(bytes: &[u8]) -> Contents {
    inspect(bytes, &Limits::default(), &nothing).contents.unwrap_or_else(|refusal| panic!("{refusal}"))
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
    assert_eq!(contents.contract.unwrap().as_str(), "0.1.3");
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
        assert!(matches!(&refusal, Refusal::Limit { key: Some(key), .. } if *key == expected), "{key}: {refusal}");
    }
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
