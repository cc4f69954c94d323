//! Components that import parts of WASI, as most compilers for other languages make them.

use crate::fake::{Fake, LONG, enumerate, error, limit, loaded, patient};
use crate::guest::{Guest, contract, encode};
use devgate_types::component::LogLevel;
use devgate_types::{ByteSize, Limit, Limits, escape};
use insta::assert_snapshot;
use std::sync::mpsc;

/// The parts of WASI 0.2.6 that these guests use, as WIT beside the contract.
const WASI: &str = "
    package wasi:io@0.2.6 {
        interface error { resource error; }
        interface streams {
            use error.{error};
            variant stream-error { last-operation-failed(error), closed }
            resource output-stream {
                blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
            }
        }
    }
    package wasi:cli@0.2.6 {
        interface stdout { use wasi:io/streams@0.2.6.{output-stream}; get-stdout: func() -> output-stream; }
        interface stderr { use wasi:io/streams@0.2.6.{output-stream}; get-stderr: func() -> output-stream; }
        interface exit { exit: func(status: result); }
    }";

const IMPORTS: &str = r#"
    (import "wasi:cli/stdout@0.2.6" "get-stdout" (func $stdout (result i32)))
    (import "wasi:cli/stderr@0.2.6" "get-stderr" (func $stderr (result i32)))
    (import "wasi:cli/exit@0.2.6" "exit" (func $exit (param i32)))
    (import "wasi:io/streams@0.2.6" "[method]output-stream.blocking-write-and-flush"
        (func $write (param i32 i32 i32 i32)))"#;

fn component(guest: &Guest) -> Vec<u8> {
    let world = format!(
        "package test:guest;
        {WASI}
        world guest {{
            include devgate:plugin/component@0.1.0;
            import wasi:cli/stdout@0.2.6;
            import wasi:cli/stderr@0.2.6;
            import wasi:cli/exit@0.2.6;
        }}"
    );
    encode(guest.clone().importing(IMPORTS).module(), &contract(), &world)
}

#[test]
fn standard_streams_go_to_the_log_line_by_line() {
    let guest = Guest::enumerating(
        "(call $write (call $stdout) (i32.const 1024) (i32.const 11) (i32.const 512))
        (call $write (call $stderr) (i32.const 1040) (i32.const 4) (i32.const 512))
        (i32.const 16)",
    )
    .with(r#"(data (i32.const 1024) "one\0atwo\0athr") (data (i32.const 1040) "oops")"#);
    let plugin = loaded(&component(&guest), patient());
    assert!(plugin.profile().wasi);
    let (host, log) = Fake::logging();
    assert!(enumerate(&plugin, host).is_ok());
    let line = |level, text: &str| (level, text.to_owned());
    assert_eq!(
        *log.lock().unwrap(),
        [
            line(LogLevel::Info, "one"),
            line(LogLevel::Info, "two"),
            line(LogLevel::Info, "thr"),
            line(LogLevel::Warn, "oops")
        ]
    );
}

#[test]
fn standard_streams_work_on_a_thread_of_a_runtime_that_may_block() {
    let guest = Guest::enumerating(
        "(call $write (call $stdout) (i32.const 1024) (i32.const 4) (i32.const 512)) (i32.const 16)",
    )
    .with(r#"(data (i32.const 1024) "one\0a")"#);
    let plugin = loaded(&component(&guest), patient());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let call = runtime.spawn_blocking(move || enumerate(&plugin, Fake::boxed()).map(|(output, _)| output.pools));
    assert_eq!(runtime.block_on(call).unwrap(), Ok(vec![]));
}

#[test]
fn a_panic_message_on_standard_error_is_what_the_trap_says() {
    let guest = Guest::enumerating(
        "(call $write (call $stderr) (i32.const 1024) (i32.const 107) (i32.const 512)) (unreachable)",
    )
    .with(
        r#"(data (i32.const 1024) "thread 'main' panicked at src/lib.rs:3:5:\0aindex out of bounds\0anote: run with `RUST_BACKTRACE=1` for more\0a")"#,
    );
    let plugin = loaded(&component(&guest), patient());
    assert_snapshot!(error(enumerate(&plugin, Fake::boxed())), @"trapped: thread 'main' panicked at src/lib.rs:3:5: index out of bounds (wasm `unreachable` instruction executed at 5@0x595)");
}

/// A line is more in the log than its text, and what is escaped is more than it was.
#[test]
fn lines_of_nothing_and_of_what_is_escaped_are_held_to_what_a_call_may_log() {
    let log = ByteSize(20_000);
    for text in ["\n", "a\n", "\u{1}\n", "\u{202e}\u{202e}\u{202e}\n"] {
        let written = text.repeat(400);
        let data: String = written.bytes().map(|byte| format!(r"\{byte:02x}")).collect();
        for write in [
            "(call $write (call $stderr) (i32.const 1024) (i32.const LEN) (i32.const 512))",
            "(call $write (call $stdout) (i32.const 1024) (i32.const LEN) (i32.const 512))",
            "(call $log (i32.const 3) (i32.const 1024) (i32.const LEN))",
        ] {
            let write = write.replace("LEN", &written.len().to_string());
            let guest = Guest::enumerating(&format!("{} (i32.const 16)", write.repeat(20)))
                .importing(r#"(import "devgate:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))"#)
                .with(&format!(r#"(data (i32.const 1024) "{data}")"#));
            let plugin = loaded(&component(&guest), patient());
            let host = Fake::within(Limits { log, ..patient() });
            let lines = std::sync::Arc::clone(&host.log);
            assert!(enumerate(&plugin, Box::new(host)).is_ok());
            let lines = lines.lock().unwrap();
            let (dropped, lines) = lines.split_last().unwrap();
            assert!(dropped.1.contains("bytes dropped"), "{text:?} {write}: {}", dropped.1);
            // What stands before a line in the log is about this long.
            let bytes: usize = lines.iter().map(|(_, line)| 89 + escape(line, 1_024).len()).sum();
            assert!(bytes <= log.as_usize(), "{text:?} {write}: {bytes} bytes");
        }
    }
}

/// Each write is a call to the host, and what is written is passed to it, whatever comes of it in the log.
#[test]
fn standard_streams_are_held_to_what_a_call_may_pass_to_the_host() {
    let guest = Guest::enumerating(
        "(local $stderr i32) (local.set $stderr (call $stderr))
        (loop $again
            (call $write (local.get $stderr) (i32.const 1024) (i32.const 1000) (i32.const 512))
            (br $again))
        (unreachable)",
    )
    .with(&format!(r#"(data (i32.const 1024) "{}")"#, "x".repeat(999) + r"\0a"));
    let plugin = loaded(&component(&guest), patient());
    let met = |limits| limit(enumerate(&plugin, Box::new(Fake::within(limits))));
    let (transfer, host_calls) = (ByteSize(100_000), 50);
    assert_eq!(met(Limits { transfer, ..patient() }), Some(Limit::Transfer(transfer)));
    assert_eq!(met(Limits { host_calls, ..patient() }), Some(Limit::HostCalls(host_calls)));
}

#[test]
fn exit_ends_the_call() {
    for (status, text) in [(0, "exited with status 0"), (1, "exited with status 1")] {
        let guest = Guest::enumerating(&format!("(call $exit (i32.const {status})) (unreachable)"));
        let plugin = loaded(&component(&guest), patient());
        assert_eq!(error(enumerate(&plugin, Fake::boxed())), text);
    }
}

/// The parts of WASI 0.2.6 that a policy grants.
const GRANTED: &str = "
    package wasi:io@0.2.6 { interface poll { resource pollable { block: func(); } } }
    package wasi:clocks@0.2.6 {
        interface monotonic-clock {
            use wasi:io/poll@0.2.6.{pollable};
            now: func() -> u64;
            subscribe-duration: func(when: u64) -> pollable;
        }
        interface wall-clock {
            record datetime { seconds: u64, nanoseconds: u32 }
            now: func() -> datetime;
        }
    }
    package wasi:random@0.2.6 {
        interface random { get-random-bytes: func(len: u64) -> list<u8>; get-random-u64: func() -> u64; }
    }";

const GRANTED_IMPORTS: &str = r#"
    (import "wasi:clocks/monotonic-clock@0.2.6" "now" (func $now (result i64)))
    (import "wasi:clocks/monotonic-clock@0.2.6" "subscribe-duration" (func $wait (param i64) (result i32)))
    (import "wasi:io/poll@0.2.6" "[method]pollable.block" (func $block (param i32)))
    (import "wasi:clocks/wall-clock@0.2.6" "now" (func $today (param i32)))
    (import "wasi:random/random@0.2.6" "get-random-bytes" (func $bytes (param i64 i32)))
    (import "wasi:random/random@0.2.6" "get-random-u64" (func $random (result i64)))"#;

/// One that asks for clocks and random numbers, and traps where `body` does.
fn asking(body: &str) -> Vec<u8> {
    let world = format!(
        "package test:guest;
        {GRANTED}
        world guest {{
            include devgate:plugin/component@0.1.0;
            import wasi:clocks/monotonic-clock@0.2.6;
            import wasi:clocks/wall-clock@0.2.6;
            import wasi:random/random@0.2.6;
        }}"
    );
    let guest = Guest::enumerating(&format!("{body} (i32.const 16)")).importing(GRANTED_IMPORTS);
    encode(guest.module(), &contract(), &world)
}

#[test]
fn clocks_that_are_granted_go_on() {
    // The seconds of a day after 2020, and a second look that is not before the first.
    let body = "(call $today (i32.const 512))
        (if (i64.lt_u (i64.load (i32.const 512)) (i64.const 1577836800)) (then (unreachable)))
        (i64.store (i32.const 520) (call $now))
        (if (i64.gt_u (i64.load (i32.const 520)) (call $now)) (then (unreachable)))";
    let plugin = loaded(&asking(body), patient());
    assert!(enumerate(&plugin, Fake::boxed()).is_ok());
}

#[test]
fn a_wait_of_a_year_is_over_at_once() {
    let plugin = loaded(&asking("(call $block (call $wait (i64.const 31536000000000000)))"), patient());
    // On a thread of its own, as no limit of a call ends a wait in the host. A minute is no year, on any machine.
    let (say, heard) = mpsc::channel();
    std::thread::spawn(move || say.send(enumerate(&plugin, Fake::boxed()).is_ok()));
    assert_eq!(heard.recv_timeout(LONG), Ok(true));
}

#[test]
fn random_numbers_that_are_granted_differ() {
    let body = "(if (i64.eq (call $random) (call $random)) (then (unreachable)))
        (call $bytes (i64.const 65536) (i32.const 512))
        (if (i32.ne (i32.load (i32.const 516)) (i32.const 65536)) (then (unreachable)))";
    let plugin = loaded(&asking(body), patient());
    assert!(enumerate(&plugin, Fake::boxed()).is_ok());
}

#[test]
fn more_random_bytes_than_there_are_end_the_call() {
    let plugin = loaded(&asking("(call $bytes (i64.const 65537) (i32.const 512))"), patient());
    assert_snapshot!(error(enumerate(&plugin, Fake::boxed())), @"broke the contract: requested len 65537 exceeds limit 65536");
}
