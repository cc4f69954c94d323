//! Instances are made anew for every call, also where the memory that they are made in is not.

use crate::fake::{Fake, LONG, about, enumerate, error, limit, loaded, patient};
use crate::guest::Guest;
use devgate_sandbox::Loaded;
use devgate_types::component::CallKind;
use devgate_types::{ByteSize, Limit, Limits};
use std::sync::Barrier;

fn on(guest: &Guest, limits: Limits) -> Loaded {
    loaded(&guest.component(), limits)
}

/// One whose first memory is copied into each instance, and one whose memory is mapped.
fn both() -> [Guest; 2] {
    [8, 32].map(suspicious)
}

/// Traps where anything is left of an earlier instance: in memory, near and far, in memory that was
/// grown, in a table, in a global. Then leaves something in all of them.
fn suspicious(pages: u32) -> Guest {
    let dirty = [60_000, 300_000, 500_000];
    let grown = pages * 65_536 + 75_000;
    let check: String = dirty.map(|at| format!("(if (i32.load (i32.const {at})) (then (unreachable)))")).concat();
    let leave: String = dirty.map(|at| format!("(i32.store (i32.const {at}) (i32.const 1))")).concat();
    let body = format!(
        "(if (global.get $left) (then (unreachable)))
        (if (i32.ne (memory.size) (i32.const {pages})) (then (unreachable)))
        (if (i32.eqz (ref.is_null (table.get $left (i32.const 9)))) (then (unreachable)))
        {check} {leave}
        (global.set $left (i32.const 1))
        (table.set $left (i32.const 9) (ref.func $enumerate))
        (if (i32.eq (memory.grow (i32.const 2)) (i32.const -1)) (then (unreachable)))
        (if (i32.load (i32.const {grown})) (then (unreachable)))
        (i32.store (i32.const {grown}) (i32.const 1))
        (i32.const 16)"
    );
    let mut guest = Guest::enumerating(&body)
        .with("(global $left (mut i32) (i32.const 0)) (table $left 10 funcref) (elem declare func $enumerate)");
    guest.memory = pages.to_string();
    guest
}

#[test]
fn nothing_is_left_of_earlier_calls() {
    for guest in both() {
        let plugin = on(&guest, patient());
        for _ in 0..50 {
            assert!(enumerate(&plugin, Fake::boxed()).unwrap().0.pools.is_empty());
        }
    }
}

#[test]
fn nothing_is_left_of_another_component() {
    for guest in both() {
        let plugins = [(); 3].map(|()| on(&guest, patient()));
        for plugin in plugins.iter().cycle().take(50) {
            assert!(enumerate(plugin, Fake::boxed()).unwrap().0.pools.is_empty());
        }
    }
}

#[test]
fn nothing_is_left_of_a_call_that_trapped() {
    for guest in both() {
        let mut guest = guest;
        // The same, but it ends badly.
        guest.health = "(drop (call $enumerate)) (unreachable)".into();
        let plugin = on(&guest, patient());
        for _ in 0..20 {
            let trapped = "trapped: wasm `unreachable` instruction executed at 2@";
            let said = error(about(&plugin, CallKind::Health, Fake::boxed(), &[]));
            assert!(said.starts_with(trapped), "{said}");
            assert!(enumerate(&plugin, Fake::boxed()).unwrap().0.pools.is_empty());
        }
    }
}

#[test]
fn eight_callers_at_once_have_an_instance_each() {
    for guest in both() {
        let plugin = on(&guest, patient());
        let together = Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        together.wait();
                        assert!(enumerate(&plugin, Fake::boxed()).unwrap().0.pools.is_empty());
                    }
                });
            }
        });
    }
}

#[test]
fn a_component_goes_on_while_another_one_takes_its_place() {
    for guest in both() {
        let mut plugin = on(&guest, patient());
        // More than there are places for at once, but never more than two together.
        for _ in 0..80 {
            let next = on(&guest, patient());
            assert!(enumerate(&plugin, Fake::boxed()).unwrap().0.pools.is_empty());
            plugin = next;
        }
    }
}

/// Grows to so many pages.
fn growing(pages: u64) -> Guest {
    Guest::enumerating(&format!(
        "(if (i32.eq (memory.grow (i32.sub (i32.const {pages}) (memory.size))) (i32.const -1)) (then (unreachable)))
        (i32.const 16)"
    ))
}

#[test]
fn memory_up_to_the_limit_is_given_and_more_is_not() {
    for size in [16, 64, 128].map(ByteSize::mib) {
        let limits = Limits { memory: size, ..patient() };
        let host = || Box::new(Fake::within(limits.clone()));
        let pages = size.0 / 65_536;
        let all = on(&growing(pages), limits.clone());
        assert_eq!(enumerate(&all, host()).unwrap().1.memory, size);
        let more = on(&growing(pages + 1), limits.clone());
        assert_eq!(limit(enumerate(&more, host())), Some(Limit::Memory(size)));
    }
}

#[test]
fn both_kinds_of_engine_end_a_loop() {
    let short = std::time::Duration::from_millis(50);
    let limits = Limits { cpu: short, ..patient() };
    // The second one's memory is mapped: another engine's epoch must move, too.
    for pages in ["2", "32"] {
        let mut guest = Guest::enumerating(crate::guest::SPIN);
        guest.memory = pages.into();
        let plugin = on(&guest, limits.clone());
        let begun = std::time::Instant::now();
        let outcome = enumerate(&plugin, Box::new(Fake::within(limits.clone())));
        assert_eq!(limit(outcome), Some(Limit::Cpu(short)));
        assert!(begun.elapsed() < LONG);
    }
}
