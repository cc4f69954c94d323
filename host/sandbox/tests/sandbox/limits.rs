//! Every limit of a call, obeyed and violated.

use crate::fake::{Fake, LONG, about, enumerate, error, limit, loaded, patient, unit};
use crate::guest::{Guest, SPIN};
use devgate_types::component::{CallKind, LogLevel};
use devgate_types::{ByteSize, Limit, Limits};
use insta::assert_snapshot;
use std::time::{Duration, Instant};

fn with(change: impl Fn(&mut Limits)) -> Limits {
    let mut limits = patient();
    change(&mut limits);
    limits
}

/// Which limit `enumerate` meets within `limits`.
fn met(guest: &Guest, limits: Limits) -> Option<Limit> {
    let plugin = loaded(&guest.component(), patient());
    limit(enumerate(&plugin, Box::new(Fake::within(limits))))
}

/// `n` times `body`, then nothing to report.
fn repeated(n: u32, body: &str) -> Guest {
    Guest::enumerating(&format!(
        "(local $n i32) (local.set $n (i32.const {n}))
        (loop $again {body} (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (i32.const 16)"
    ))
}

const HARDWARE: &str = r#"
    (import "devgate:plugin/hardware@0.1.0" "devices" (func $devices (param i32 i32 i32)))
    (import "devgate:plugin/types@0.1.0" "[method]device.attribute" (func $attribute (param i32 i32 i32 i32)))
    (import "devgate:plugin/types@0.1.0" "[method]device.duplicate" (func $duplicate (param i32) (result i32)))
    (import "devgate:plugin/types@0.1.0" "[resource-drop]device" (func $drop (param i32)))
    (import "devgate:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))"#;

/// The first device's handle is at 1536 once this has run.
const FIRST: &str = "(call $devices (i32.const 1024) (i32.const 3) (i32.const 512))
    (i32.store (i32.const 1536) (i32.load (i32.load (i32.const 516))))";

fn on_device(n: u32, body: &str) -> Guest {
    let mut guest = repeated(n, body).importing(HARDWARE).with(r#"(data (i32.const 1024) "pci\00vendor")"#);
    guest.enumerate = guest.enumerate.replacen("(loop", &format!("{FIRST} (loop"), 1);
    guest
}

#[test]
fn processor_time() {
    let short = Duration::from_millis(50);
    let started = Instant::now();
    assert_eq!(met(&Guest::enumerating(SPIN), with(|l| l.cpu = short)), Some(Limit::Cpu(short)));
    assert!(started.elapsed() < LONG);
    assert_eq!(met(&repeated(1_000, ""), with(|l| l.cpu = short)), None);
}

#[test]
fn wall_clock_while_the_component_runs() {
    let short = Duration::from_millis(50);
    assert_eq!(met(&Guest::enumerating(SPIN), with(|l| l.deadline = short)), Some(Limit::Deadline(short)));
}

#[test]
fn wall_clock_while_the_host_waits() {
    let short = Duration::from_millis(50);
    let guest = on_device(
        100_000,
        "(call $attribute (i32.load (i32.const 1536)) (i32.const 1028) (i32.const 6) (i32.const 512))",
    );
    let plugin = loaded(&guest.component(), patient());
    let mut host = Fake::within(with(|l| l.deadline = short));
    host.slow = Duration::from_millis(10);
    let started = Instant::now();
    assert_eq!(limit(enumerate(&plugin, Box::new(host))), Some(Limit::Deadline(short)));
    // And not each of the 100,000 reads, of 10 ms, is waited for.
    assert!(started.elapsed() < Duration::from_secs(300));
}

#[test]
fn memory_of_all_kinds_together() {
    let page = 65_536;
    let grow = Guest::enumerating("(drop (memory.grow (i32.const 6))) (i32.const 16)");
    assert_eq!(met(&grow, with(|l| l.memory = ByteSize(8 * page))), None);
    let limit = ByteSize(8 * page - 1);
    assert_eq!(met(&grow, with(|l| l.memory = limit)), Some(Limit::Memory(limit)));
    // Already the memory that it starts with.
    let limit = ByteSize(page);
    assert_eq!(met(&Guest::default(), with(|l| l.memory = limit)), Some(Limit::Memory(limit)));
}

#[test]
fn memory_for_ever() {
    let grow = repeated(1_000_000, "(drop (memory.grow (i32.const 1)))");
    assert_eq!(met(&grow, patient()), Some(Limit::Memory(ByteSize::mib(16))));
}

#[test]
fn table_elements() {
    let grow = Guest::enumerating("(drop (table.grow $t (ref.null func) (i32.const 90))) (i32.const 16)")
        .with("(table $t 10 funcref)");
    assert_eq!(met(&grow, with(|l| l.table_elements = 100)), None);
    assert_eq!(met(&grow, with(|l| l.table_elements = 99)), Some(Limit::TableElements(99)));
}

#[test]
fn counts_of_instances_memories_and_tables_hold_for_each_call() {
    for (what, limits) in [
        ("instance", with(|l| l.instances = 0)),
        ("memory", with(|l| l.memories = 0)),
        ("table", with(|l| l.tables = 0)),
    ] {
        let plugin = loaded(&Guest::default().with("(table 1 funcref)").component(), patient());
        let text = error(enumerate(&plugin, Box::new(Fake::within(limits))));
        assert!(text.contains(&format!("{what} count too high")), "{text}");
    }
}

#[test]
fn the_stack() {
    let deep = |n: u32| {
        Guest::enumerating(&format!("(drop (call $deep (i32.const {n}))) (i32.const 16)")).with(
            "(func $deep (param i32) (result i32)
                (if (result i32) (local.get 0)
                    (then (i32.add (local.get 0) (call $deep (i32.sub (local.get 0) (i32.const 1)))))
                    (else (i32.const 0))))",
        )
    };
    assert_eq!(met(&deep(1_000), patient()), None);
    let most = Some(Limit::Stack(ByteSize::kib(256)));
    assert_eq!(met(&deep(1_000_000), patient()), most);
    // With a return address and a saved register, a frame has 16 bytes at the least: these do not fit, and not for being endless.
    assert_eq!(met(&deep(256 * 1_024 / 16), patient()), most);
}

#[test]
fn handles_that_are_held() {
    let hoard = |n| on_device(n, "(drop (call $duplicate (i32.load (i32.const 1536))))");
    // One is the list's own.
    assert_eq!(met(&hoard(9), with(|l| l.handles = 10)), None);
    assert_eq!(met(&hoard(10), with(|l| l.handles = 10)), Some(Limit::Handles(10)));
    let tidy = on_device(1_000, "(call $drop (call $duplicate (i32.load (i32.const 1536))))");
    assert_eq!(met(&tidy, with(|l| l.handles = 10)), None);
}

#[test]
fn handles_in_the_hosts_own_arguments() {
    let plugin = loaded(&Guest::default().component(), patient());
    let units = [unit("a", 1), unit("b", 2)];
    let ask = |handles| {
        let host = Fake::within(with(|l| l.handles = handles));
        limit(about(&plugin, CallKind::Health, Box::new(host), &units))
    };
    assert_eq!((ask(4), ask(3)), (None, Some(Limit::Handles(3))));
}

#[test]
fn calls_to_the_host() {
    let call = |n| {
        on_device(n, "(call $attribute (i32.load (i32.const 1536)) (i32.const 1028) (i32.const 6) (i32.const 512))")
    };
    assert_eq!(met(&call(9), with(|l| l.host_calls = 10)), None);
    assert_eq!(met(&call(10), with(|l| l.host_calls = 10)), Some(Limit::HostCalls(10)));
}

#[test]
fn bytes_read_from_the_node() {
    let read = |n| {
        on_device(n, "(call $attribute (i32.load (i32.const 1536)) (i32.const 1028) (i32.const 6) (i32.const 512))")
    };
    let limit = ByteSize(1_000);
    assert_eq!(met(&read(10), with(|l| l.read = limit)), None);
    assert_eq!(met(&read(11), with(|l| l.read = limit)), Some(Limit::Read(limit)));
}

#[test]
fn bytes_passed_in_one_argument_and_in_all_of_them() {
    let one = |bytes: u32| {
        Guest::enumerating(&format!("(call $devices (i32.const 0) (i32.const {bytes}) (i32.const 512)) (i32.const 16)"))
            .importing(HARDWARE)
    };
    let limit = ByteSize::kib(64);
    assert_eq!(met(&one(32_768), with(|l| l.transfer = limit)), None);
    assert_eq!(met(&one(100_000), with(|l| l.transfer = limit)), Some(Limit::Transfer(limit)));
    let many = |n| repeated(n, "(call $devices (i32.const 1024) (i32.const 1000) (i32.const 512))").importing(HARDWARE);
    let limit = ByteSize(10_000);
    assert_eq!(met(&many(10), with(|l| l.transfer = limit)), None);
    assert_eq!(met(&many(11), with(|l| l.transfer = limit)), Some(Limit::Transfer(limit)));
}

#[test]
fn bytes_passed_in_a_result() {
    // One pool with a resource name of so many bytes.
    let result = |bytes: u32| {
        Guest::enumerating(&format!(
            "(i32.store (i32.const 20) (i32.const 128)) (i32.store (i32.const 24) (i32.const 1))
            (i32.store (i32.const 128) (i32.const 1024)) (i32.store (i32.const 132) (i32.const {bytes}))
            (i32.const 16)"
        ))
        .with(&format!(r#"(data (i32.const 1024) "{}")"#, "x".repeat(20_000)))
    };
    let limit = ByteSize::kib(16);
    assert_eq!(met(&result(4_000), with(|l| l.transfer = limit)), None);
    assert_eq!(met(&result(20_000), with(|l| l.transfer = limit)), Some(Limit::Transfer(limit)));
}

#[test]
fn bytes_logged_are_dropped_and_counted() {
    let guest = repeated(1_000, "(call $log (i32.const 1) (i32.const 1024) (i32.const 9))")
        .importing(HARDWARE)
        .with(r#"(data (i32.const 1024) "all's \1bwell")"#);
    let plugin = loaded(&guest.component(), patient());
    let log = |limit| {
        let host = Fake::within(with(|l| l.log = limit));
        let log = std::sync::Arc::clone(&host.log);
        assert!(enumerate(&plugin, Box::new(host)).is_ok());
        std::mem::take(&mut *log.lock().unwrap())
    };
    // 14 bytes as the log has them, and 128.
    assert_eq!(log(ByteSize(142_000)).len(), 1_000);
    let lines = log(ByteSize(1_500));
    assert_eq!(lines.len(), 11);
    assert_eq!(lines[10].0, LogLevel::Warn);
    assert_snapshot!(lines[10].1, @"140580 bytes dropped: one call may log 1500B (limits.log)");
}
