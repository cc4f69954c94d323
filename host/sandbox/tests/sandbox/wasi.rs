//! Components that import parts of WASI, as most compilers for other languages make them.

use crate::fake::{Fake, error, loaded, patient};
use crate::guest::{Guest, contract, encode};
use devgate_plugin::component::{Component, LogLevel};
use insta::assert_snapshot;

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
    assert!(plugin.enumerate(host).is_ok());
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
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let call = runtime.spawn_blocking(move || plugin.enumerate(Fake::boxed()).map(|answer| answer.value));
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
    assert_snapshot!(error(plugin.enumerate(Fake::boxed())), @"trapped: thread 'main' panicked at src/lib.rs:3:5: index out of bounds (wasm `unreachable` instruction executed in enumerate)");
}

#[test]
fn exit_ends_the_call() {
    for (status, text) in [(0, "exited with status 0"), (1, "exited with status 1")] {
        let guest = Guest::enumerating(&format!("(call $exit (i32.const {status})) (unreachable)"));
        let plugin = loaded(&component(&guest), patient());
        assert_eq!(error(plugin.enumerate(Fake::boxed())), text);
    }
}
