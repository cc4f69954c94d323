//! What a well-behaved component sees and gives, and how each way to break ends.

use crate::fake::{Fake, about, enumerate, error, loaded, patient, unit};
use crate::guest::Guest;
use devgate_sandbox::Loaded;
use devgate_types::component::{CallKind, LogLevel};
use devgate_types::{
    CallError, DeviceHandle, Failure, FailureKind, HostFault, MountHandle, NodeHandle, Property, Verdict,
};
use insta::assert_snapshot;

/// Imports of `types`, `hardware`, `host-paths` and `log` that the guests here use.
const IMPORTS: &str = r#"
    (import "devgate:plugin/hardware@0.1.0" "devices" (func $devices (param i32 i32 i32)))
    (import "devgate:plugin/types@0.1.0" "[method]device.nodes" (func $nodes (param i32 i32)))
    (import "devgate:plugin/types@0.1.0" "[method]device.name" (func $name (param i32 i32)))
    (import "devgate:plugin/types@0.1.0" "[method]device.subsystem" (func $subsystem (param i32 i32)))
    (import "devgate:plugin/types@0.1.0" "[method]device.duplicate" (func $duplicate (param i32) (result i32)))
    (import "devgate:plugin/host-paths@0.1.0" "mount" (func $mount (param i32 i32 i32)))
    (import "devgate:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))"#;

/// A guest with one pool of one unit, made of the first device of a subsystem: the name at 1024, `length` bytes of it.
fn enumerating(subsystem: &str) -> Guest {
    Guest::enumerating(&format!(
        r#"
        (call $devices (i32.const 1024) (i32.const {}) (i32.const 512))
        ;; An error is returned as it came: the same layout.
        (if (i32.load8_u (i32.const 512)) (then (return (i32.const 512))))
        ;; pool: resource, units, no shared nodes, no properties
        (i32.store (i32.const 128) (i32.const 1088)) (i32.store (i32.const 132) (i32.const 7))
        (i32.store (i32.const 136) (i32.const 192)) (i32.store (i32.const 140) (i32.const 1))
        ;; unit: id from the device's name, backing, nodes
        (call $name (i32.load (i32.load (i32.const 516))) (i32.const 192))
        (call $nodes (i32.load (i32.load (i32.const 516))) (i32.const 256))
        (i32.store (i32.const 200) (i32.load (i32.const 516))) (i32.store (i32.const 204) (i32.const 1))
        (i32.store (i32.const 208) (i32.load (i32.const 260))) (i32.store (i32.const 212) (i32.const 1))
        (i32.store (i32.const 20) (i32.const 128)) (i32.store (i32.const 24) (i32.const 1))
        (i32.const 16)"#,
        subsystem.len()
    ))
    .importing(IMPORTS)
    .with(&format!(r#"(data (i32.const 1024) "{subsystem}") (data (i32.const 1088) "v.com/x")"#))
}

#[test]
fn enumerate_gives_pools_with_the_hosts_own_handles() {
    let plugin = loaded(&enumerating("pci").component(), patient());
    let (output, cost) = enumerate(&plugin, Fake::boxed()).unwrap();
    let pool = &output.pools[0];
    assert_eq!((output.pools.len(), pool.resource.as_str(), pool.units.len()), (1, "v.com/x", 1));
    let mut expected = unit("device-7", 7);
    expected.properties = vec![];
    assert_eq!(pool.units[0], expected);
    assert_eq!(cost.host_calls, 3);
    assert_eq!(cost.memory.0, 2 * 65_536);
}

#[test]
fn health_has_a_verdict_for_each_unit() {
    let plugin = loaded(&Guest::default().component(), patient());
    let units = [unit("a", 1), unit("b", 2), unit("c", 3)];
    let (output, _) = about(&plugin, CallKind::Health, Fake::boxed(), &units).unwrap();
    assert_eq!(output.verdicts, vec![Verdict::Healthy; 3]);
    // The id of the first unit as the reason of an unhealthy verdict.
    let guest = Guest {
        health: "(i32.store (i32.const 20) (i32.const 128)) (i32.store (i32.const 24) (i32.const 1))
            (i32.store8 (i32.const 128) (i32.const 1))
            (i32.store (i32.const 132) (i32.load (local.get 2))) (i32.store (i32.const 136) (i32.load offset=4 (local.get 2)))
            (i32.const 16)"
            .into(),
        ..Guest::default()
    };
    let plugin = loaded(&guest.component(), patient());
    let (output, _) = about(&plugin, CallKind::Health, Fake::boxed(), &units[..1]).unwrap();
    assert_eq!(output.verdicts, [Verdict::Unhealthy("a".into())]);
    assert_snapshot!(
        error(about(&plugin, CallKind::Health, Fake::boxed(), &units)),
        @"broke the contract: 1 verdicts for 3 units; give one for each, in their order"
    );
}

#[test]
fn allocate_gives_edits() {
    // env: resource name = first unit's id; one mount.
    let guest = Guest {
        allocate: "
            (i32.store (i32.const 128) (local.get 0)) (i32.store (i32.const 132) (local.get 1))
            (i32.store (i32.const 136) (i32.load (local.get 2))) (i32.store (i32.const 140) (i32.load offset=4 (local.get 2)))
            (i32.store (i32.const 20) (i32.const 128)) (i32.store (i32.const 24) (i32.const 1))
            (call $mount (i32.const 1024) (i32.const 3) (i32.const 512))
            (i32.store (i32.const 160) (i32.load (i32.const 516)))
            (i32.store (i32.const 28) (i32.const 160)) (i32.store (i32.const 32) (i32.const 1))
            (i32.const 16)"
            .into(),
        ..Guest::default()
    }
    .importing(IMPORTS)
    .with(r#"(data (i32.const 1024) "lib")"#);
    let plugin = loaded(&guest.component(), patient());
    let (output, _) = about(&plugin, CallKind::Allocate, Fake::boxed(), &[unit("a", 1)]).unwrap();
    let env = Property { name: "v.com/x".into(), value: "a".into() };
    assert_eq!((output.edits.env, output.edits.mounts), (vec![env], vec![MountHandle(4)]));
}

#[test]
fn what_the_host_refuses_comes_back_as_the_contracts_error() {
    let plugin = loaded(&enumerating("usb").component(), patient());
    let refused = Failure::new(FailureKind::Denied, "no such grant").with_code("test");
    assert_eq!(enumerate(&plugin, Fake::boxed()).err(), Some(CallError::Failed(refused)));
}

#[test]
fn what_ends_a_call_in_the_host_comes_out_as_it_was() {
    let plugin = loaded(&enumerating("host").component(), patient());
    let gone = HostFault("the node is gone".into());
    assert_eq!(enumerate(&plugin, Fake::boxed()).err(), Some(CallError::Host(gone)));
    let plugin = loaded(&enumerating("end").component(), patient());
    assert_snapshot!(error(enumerate(&plugin, Fake::boxed())), @"exceeded its 1KiB read from the node (limits.read)");
}

#[test]
fn a_panic_in_the_host_is_a_host_fault_and_poisons_nothing() {
    let plugin = loaded(&enumerating("panic").component(), patient());
    assert_snapshot!(error(enumerate(&plugin, Fake::boxed())), @"host fault: panic during a call: a bug in the host");
    assert!(error(enumerate(&plugin, Fake::boxed())).starts_with("host fault: panic"), "again");
    assert!(about(&plugin, CallKind::Health, Fake::boxed(), &[]).is_ok());
}

#[test]
fn a_failure_where_none_is_possible_is_a_host_fault() {
    let guest = Guest::enumerating(
        "(call $devices (i32.const 1024) (i32.const 3) (i32.const 512))
        (call $subsystem (i32.load (i32.load (i32.const 516))) (i32.const 16)) (unreachable)",
    );
    let guest = guest.importing(IMPORTS).with(r#"(data (i32.const 1024) "pci")"#);
    let plugin = loaded(&guest.component(), patient());
    assert_snapshot!(error(enumerate(&plugin, Fake::boxed())), @"host fault: answered with a failure where none is possible: must not happen");
}

#[test]
fn nothing_is_remembered_from_one_call_to_the_next() {
    // Traps when it finds what an earlier call left in its memory; leaves something and traps at every second mark.
    let guest = Guest::enumerating(
        "(if (i32.load (i32.const 8192)) (then (unreachable)))
        (i32.store (i32.const 8192) (i32.const 1))
        (i32.const 16)",
    );
    let plugin = loaded(&guest.component(), patient());
    for _ in 0..20 {
        assert!(enumerate(&plugin, Fake::boxed()).is_ok());
    }
}

#[test]
fn a_trap_costs_one_call() {
    let guest = Guest { allocate: "(unreachable)".into(), ..Guest::default() };
    let plugin = loaded(&guest.component(), patient());
    assert_snapshot!(error(about(&plugin, CallKind::Allocate, Fake::boxed(), &[])), @"trapped: wasm `unreachable` instruction executed at 3@0x2e2");
    for _ in 0..2 {
        assert!(about(&plugin, CallKind::Allocate, Fake::boxed(), &[]).is_err());
        assert!(enumerate(&plugin, Fake::boxed()).is_ok());
    }
}

#[test]
fn a_trap_says_where_and_what_was_said_last() {
    let guest = Guest::enumerating("(call $work) (i32.const 16)").importing(IMPORTS).with(
        r#"(data (i32.const 1024) "firmware table has 3 columns\1b[31m")
        (func $work (call $log (i32.const 3) (i32.const 1024) (i32.const 33)) (call $parse))
        (func $parse (call $_ZN4core9panicking9panic_fmt17h0123456789abcdefE))
        (func $_ZN4core9panicking9panic_fmt17h0123456789abcdefE (call $rust_panic))
        (func $rust_panic (unreachable))"#,
    );
    let plugin = loaded(&guest.component(), patient());
    let (host, log) = Fake::logging();
    assert_snapshot!(error(enumerate(&plugin, host)), @r#"trapped: firmware table has 3 columns\u{1b}[31m (wasm `unreachable` instruction executed at 14@0x66c < 13@0x668 < 12@0x663 < 11@0x65e < 8@0x635)"#);
    assert_eq!(log.lock().unwrap()[0].0, LogLevel::Error);
    let guest = Guest::enumerating("(i32.div_u (i32.const 1) (i32.const 0))");
    assert_snapshot!(error(enumerate(&loaded(&guest.component(), patient()), Fake::boxed())), @"trapped: integer divide by zero at 1@0x2ce");
}

#[test]
fn eight_calls_run_at_once() {
    let plugin = loaded(&enumerating("pci").component(), patient());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(
                        enumerate(&plugin, Fake::boxed()).unwrap().0.pools[0].units[0].backing,
                        [DeviceHandle(7)]
                    );
                }
            });
        }
    });
}

#[test]
fn memory_that_is_mapped_gives_the_same_answers() {
    let large = Guest { memory: "32".into(), ..enumerating("pci") };
    let mapped = loaded(&large.component(), patient());
    let copied = loaded(&enumerating("pci").component(), patient());
    let value = |plugin: &Loaded| enumerate(plugin, Fake::boxed()).unwrap().0.pools;
    assert_eq!(value(&mapped), value(&copied));
    assert_eq!(value(&mapped)[0].units[0].nodes, [NodeHandle(7)]);
}
