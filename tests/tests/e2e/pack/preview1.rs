//! What a component gets of WASI preview 1: what is within it, and nothing of the host but lines of the log.

use super::{Place, with_world};
use crate::look::{Said, look};
use std::path::Path;

/// A module whose `enumerate` does this, then offers nothing. `$print` writes memory to a file, `$must` traps where it
/// is told 0.
fn module(data: &str, body: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
        (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "args_sizes_get" (func $arguments (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environment (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_prestat_get" (func $directory (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "path_open"
          (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
        (memory (export "memory") 2)
        (data (i32.const 4096) "{data}")
        (func $must (param i32) (if (i32.eqz (local.get 0)) (then (unreachable))))
        (func $print (param $file i32) (param $at i32) (param $size i32)
          (i32.store (i32.const 16) (local.get $at))
          (i32.store (i32.const 20) (local.get $size))
          (call $must (i32.eqz (call $write (local.get $file) (i32.const 16) (i32.const 1) (i32.const 24))))
          (call $must (i32.eq (i32.load (i32.const 24)) (local.get $size))))
        (func $now (result i64)
          (call $must (i32.eqz (call $clock (i32.const 1) (i64.const 1) (i32.const 32))))
          (i64.load (i32.const 32)))
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
        (func (export "devgate:plugin/plugin@0.1.0#enumerate") (result i32) {body} (i32.const 1024))
        (func (export "devgate:plugin/plugin@0.1.0#health") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
        (func (export "devgate:plugin/plugin@0.1.0#allocate") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))"#
    );
    with_world(wat::parse_str(text).expect("a module"))
}

fn enumerated(place: &Place, data: &str, body: &str) -> anyhow::Result<Said> {
    let core = place.file("core.wasm", &module(data, body))?;
    let packed = place.packed(&core, &[])?;
    let imports = packed["component"]["imports"].as_array().expect("imports");
    let imports: Vec<_> = imports.iter().filter_map(|import| import["name"].as_str()).collect();
    assert_eq!(imports, ["devgate:plugin/types@0.1.0", "devgate:plugin/log@0.1.0"], "{packed}");
    let (policy, node) = place.surroundings()?;
    let args = [Path::new("call"), &place.out(), Path::new("enumerate"), Path::new("--policy"), &policy];
    look(args.into_iter().chain([Path::new("--node-root"), &node]))
}

/// What was logged as the module printed.
fn printed(data: &str, body: &str) -> anyhow::Result<Vec<String>> {
    let said = enumerated(&Place::new()?, data, body)?;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    Ok(said.out.lines().filter_map(|line| Some(line.strip_prefix("said ")?.to_owned())).collect())
}

fn print(file: i32, at: usize, size: usize) -> String {
    format!("(call $print (i32.const {file}) (i32.const {}) (i32.const {size}))", 4096 + at)
}

/// As Go's runtime prints: word by word.
#[test]
fn what_is_printed_in_parts_is_a_line_of_the_log() -> anyhow::Result<()> {
    let lines = printed("fatal error: lost, out", &[print(2, 0, 17), print(1, 19, 3)].concat())?;
    assert_eq!(lines, Vec::<String>::new(), "neither line has an end");
    let data = r"fatal error: lost\0aout, and more\0aa warning\0a\0a";
    let body = [print(2, 0, 13), print(1, 18, 3), print(2, 13, 5), print(1, 21, 11), print(2, 32, 11)].concat();
    let lines = printed(data, &body)?;
    assert_eq!(lines, ["(error): fatal error: lost", "(info): out, and more", "(warn): a warning"]);
    Ok(())
}

#[test]
fn what_is_no_text_and_what_is_too_long_reaches_the_log_as_text() -> anyhow::Result<()> {
    let cases = [
        (r"plain \c3\a9 \e2\82\ac \f0\9f\98\80", "plain é € 😀"),
        (r"\ff\c3(\80", "??(?"),
        (r"long \c0\af \e0\82\82 \f0\82\82\ac", "long ?? ??? ????"),
        (r"half \ed\a0\80 beyond \f4\90\80\80", "half ??? beyond ????"),
        (r"cut \e2\82", "cut ??"),
    ];
    for (bytes, text) in cases {
        let size = wat::parse_str(format!(r#"(module (memory 1) (data (i32.const 0) "{bytes}"))"#))?;
        // The data is the file's end.
        let size = size.len() - wat::parse_str(r#"(module (memory 1) (data (i32.const 0) ""))"#)?.len();
        let lines = printed(&format!(r"{bytes}\0a"), &print(2, 0, size + 1))?;
        assert_eq!(lines, [format!("(warn): {text}")], "{bytes}");
    }
    let long = format!(r"{}\c3\a9 and more\0anext\0a", "x".repeat(1_023));
    let lines = printed(&long, &print(1, 0, 1_023 + 2 + 9 + 1 + 5))?;
    assert_eq!(lines, [format!("(info): {}?", "x".repeat(1_023)), "(info): next".to_owned()]);
    Ok(())
}

#[test]
fn the_end_of_a_program_is_a_crash_with_its_code_or_with_what_it_said() -> anyhow::Result<()> {
    let exit = "(call $exit (i32.const 142))";
    for (data, body, why) in [
        ("", exit.to_owned(), "exited with code 142 (wasm `unreachable`"),
        (r"panic: no card", print(2, 0, 14) + exit, "panic: no card (wasm `unreachable`"),
        (r"fatal error: x\0agoroutine 1\0a", print(2, 0, 27) + exit, "fatal error: x (wasm `unreachable`"),
    ] {
        let said = enumerated(&Place::new()?, data, &body)?;
        let told = format!("{}{}", said.out, said.err);
        assert_eq!(said.code, Some(5), "{told}");
        assert!(told.contains(why), "{why}: {told}");
    }
    Ok(())
}

/// Each `$must` is one of the promises.
#[test]
fn time_only_counts_chance_repeats_and_there_is_nothing_else() -> anyhow::Result<()> {
    let body = r#"(local $then i64)
      (local.set $then (call $now))
      (call $must (i64.gt_s (local.get $then) (i64.const 0)))
      (call $must (i64.eq (i64.sub (call $now) (local.get $then)) (i64.const 1000)))
      ;; A day, of which it is told at once that it is over, and of a file that there is none.
      (i64.store (i32.const 200) (i64.const 7))
      (i64.store (i32.const 224) (i64.const 86400000000000))
      (i64.store (i32.const 248) (i64.const 8))
      (i32.store8 (i32.const 256) (i32.const 1))
      (call $must (i32.eqz (call $poll (i32.const 200) (i32.const 400) (i32.const 2) (i32.const 500))))
      (call $must (i32.eq (i32.load (i32.const 500)) (i32.const 2)))
      (call $must (i64.eq (i64.load (i32.const 400)) (i64.const 7)))
      (call $must (i64.eqz (i64.load (i32.const 408))))
      (call $must (i64.eq (i64.load (i32.const 432)) (i64.const 8)))
      (call $must (i32.eq (i32.load (i32.const 440)) (i32.const 0x10008)))
      (call $must (i64.ge_u (i64.sub (call $now) (local.get $then)) (i64.const 86400000000000)))
      ;; For ever, and once more: the time is none before the first.
      (i64.store (i32.const 224) (i64.const -1))
      (call $must (i32.eqz (call $poll (i32.const 200) (i32.const 400) (i32.const 1) (i32.const 500))))
      (call $must (i32.eqz (call $poll (i32.const 200) (i32.const 400) (i32.const 1) (i32.const 500))))
      (call $must (i64.gt_s (call $now) (local.get $then)))
      (call $must (i32.eq (call $poll (i32.const 200) (i32.const 400) (i32.const 0) (i32.const 500)) (i32.const 28)))
      (call $must (i32.eqz (call $random (i32.const 600) (i32.const 16))))
      (call $must (i64.ne (i64.load (i32.const 600)) (i64.load (i32.const 608))))
      (i64.store (i32.const 600) (i64.and (i64.load (i32.const 600)) (i64.const 0x7f7f7f7f7f7f7f7f)))
      (i64.store (i32.const 600) (i64.or (i64.load (i32.const 600)) (i64.const 0x4040404040404040)))
      (i32.store8 (i32.const 608) (i32.const 10))
      (call $print (i32.const 1) (i32.const 600) (i32.const 9))
      (i64.store (i32.const 700) (i64.const -1))
      (call $must (i32.eqz (call $arguments (i32.const 700) (i32.const 704))))
      (call $must (i64.eqz (i64.load (i32.const 700))))
      (i64.store (i32.const 700) (i64.const -1))
      (call $must (i32.eqz (call $environment (i32.const 700) (i32.const 704))))
      (call $must (i64.eqz (i64.load (i32.const 700))))
      (call $must (i32.eq (call $directory (i32.const 3) (i32.const 700)) (i32.const 8)))
      (call $must (i32.eq (call $write (i32.const 3) (i32.const 16) (i32.const 1) (i32.const 24)) (i32.const 8)))
      (call $must (i32.eq (i32.const 8) (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 0)
        (i32.const 0) (i64.const 0) (i64.const 0) (i32.const 0) (i32.const 700))))
      (call $must (i32.eqz (call $yield)))"#;
    let drawn = printed("", body)?;
    assert_eq!(drawn.len(), 1, "{drawn:?}");
    assert_eq!(printed("", body)?, drawn);
    Ok(())
}
