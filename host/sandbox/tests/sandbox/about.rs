//! What the host does about a component, rather than in it: names, sections and texts of a vendor's, which no limit of a call
//! bounds. All of it has an end, in time and in length.

use crate::fake::{Fake, about, enumerate, error, inspect, loaded, patient, try_load};
use crate::guest::{Guest, text};
use devgate_types::Grant;
use devgate_types::component::CallKind;
use devgate_types::{ByteSize, GuestText, Limits};
use std::sync::mpsc;
use std::time::Duration;

/// What is done takes milliseconds; what has no end does not take a minute less.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The most that anybody is told of a component in one message.
const MAX_MESSAGE: usize = 64 * 1024;

/// What `work` says, which must be soon and short.
fn said(what: &str, work: impl FnOnce() -> String + Send + 'static) -> String {
    let (say, heard) = mpsc::channel();
    std::thread::spawn(move || say.send(work()));
    let said = heard.recv_timeout(TIMEOUT);
    let said = said.unwrap_or_else(|_| panic!("{what}: no answer within {TIMEOUT:?}"));
    assert!(said.len() <= MAX_MESSAGE, "{what}: {} bytes", said.len());
    said
}

/// Loads it, calls every function of it, and looks at its file.
fn everything(bytes: &[u8], limits: &Limits) -> String {
    let inspection = inspect(bytes, limits, &|_| Grant::Unknown);
    let inspected = match inspection.contents {
        Ok(contents) => format!("{contents:?}"),
        Err(refusal) => refusal.to_string(),
    };
    let plugin = match try_load(bytes, limits.clone()) {
        Ok(plugin) => plugin,
        Err(error) => return format!("{inspected}\n{error}"),
    };
    let host = || Box::new(Fake::within(limits.clone()));
    let calls = [
        enumerate(&plugin, host()).err(),
        about(&plugin, CallKind::Health, host(), &[]).err(),
        about(&plugin, CallKind::Allocate, host(), &[]).err(),
    ];
    format!("{inspected}\n{calls:?}")
}

/// A name in C++'s scheme that refers back to itself, eight times on each of twelve levels.
fn of_cpp() -> String {
    let mut name = "_Z1fSt4pairIiiE".to_owned();
    let mut before = "S0_".to_owned();
    for level in 1..13 {
        name += &format!("S_I{}E", before.repeat(8));
        let digit = char::from_digit(level, 36).unwrap().to_ascii_uppercase();
        before = format!("S{digit}_");
    }
    name
}

#[test]
fn names_of_functions() {
    for (what, name) in [
        ("C++", of_cpp()),
        ("C++, nested", format!("_Z1f{}i{}", "N1a1bI".repeat(5_000), "EE".repeat(5_000))),
        ("Rust", format!("_RINvC1a1b{}E", "T".repeat(400))),
        ("long", "n".repeat(99_000)),
        ("mangled and long", format!("_ZN{}E", "1a".repeat(49_000))),
    ] {
        // Eight frames of it, one in the other, in each of the functions.
        let frames = (0..8).map(|n| format!("(func ${name}{n} (call ${name}{}))", n + 1));
        let guest = Guest {
            enumerate: format!("(call ${name}) (i32.const 16)"),
            health: format!("(call ${name}) (i32.const 16)"),
            allocate: format!("(call ${name}) (i32.const 16)"),
            ..Guest::default()
        };
        let guest = guest.with(&format!(
            "(func ${name} (call ${name}0)) {} (func ${name}8 (unreachable))",
            frames.collect::<String>()
        ));
        let bytes = guest.component();
        let said = said(what, move || everything(&bytes, &patient()));
        assert!(said.contains("unreachable"), "{what}: {said}");
    }
}

/// One name, exactly as it is in the section.
#[test]
fn a_name_that_stands_for_more_than_there_is_memory() {
    let guest = Guest::enumerating(&format!("(call ${}) (i32.const 16)", of_cpp()))
        .with(&format!("(func ${} (unreachable))", of_cpp()));
    let plugin = loaded(&guest.component(), patient());
    let said = said("enumerate", move || error(enumerate(&plugin, Fake::boxed())));
    assert!(said.starts_with("trapped: wasm `unreachable` instruction executed at "), "{said}");
    assert!(!said.contains("pair"), "{said}");
}

/// A section of the outermost level.
fn section(name: &str, contents: &[u8]) -> Vec<u8> {
    let mut inner = leb(name.len());
    inner.extend_from_slice(name.as_bytes());
    inner.extend_from_slice(contents);
    let mut all = vec![0];
    all.extend(leb(inner.len()));
    all.extend(inner);
    all
}

fn leb(mut n: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(n & 0x7f).unwrap();
        n >>= 7;
        bytes.push(if n > 0 { byte | 0x80 } else { byte });
        if n == 0 {
            return bytes;
        }
    }
}

fn string(text: &str) -> Vec<u8> {
    [leb(text.len()), text.as_bytes().to_vec()].concat()
}

/// `count` tools, each with a name of so many bytes.
fn producers(count: usize, length: usize) -> Vec<u8> {
    let value = |n: usize| [string(&format!("{n:0length$}")), string("\u{1b}[31m")].concat();
    let values: Vec<u8> = (0..count).flat_map(value).collect();
    [leb(1), string("processed-by"), leb(count), values].concat()
}

#[test]
fn custom_sections() {
    let good = Guest::default().component();
    let mut small = vec![1_u8];
    small.extend([leb(4), leb(1), leb(0), string("a")[1..].to_vec()].concat());
    for (what, sections) in [
        ("many producers", section("producers", &producers(100_000, 8))),
        ("long producers", section("producers", &producers(30, 60_000))),
        ("many sections of producers", section("producers", &producers(1, 8)).repeat(50_000)),
        ("a count that lies", section("producers", &[leb(1), string("sdk"), leb(u32::MAX as usize)].concat())),
        ("a description", section("description", "\u{202e}".repeat(1_000_000).as_bytes())),
        ("many descriptions", section("description", b"no").repeat(100_000)),
        ("a section's long name", section(&"n".repeat(90_000), b"")),
        ("empty sections", section("", b"").repeat(500_000)),
        ("names", section("component-name", &small.repeat(100_000))),
    ] {
        let bytes = [good.clone(), sections].concat();
        said(what, move || everything(&bytes, &patient()));
    }
}

#[test]
fn imports_and_exports() {
    let wide = Limits { component_size: ByteSize::mib(64), ..patient() };
    // As many names as fit, each of an instance that has as many types.
    let types = (0..20_000).map(|n| format!(r#"(export "t{n}" (type (sub resource)))"#));
    let imports = |count: usize| (0..count).map(|n| format!(r#"(import "wasi:a/b{n}@0.2.0" (instance (type 0)))"#));
    let exports = (0..100_000).map(|n| format!(r#"(export "e{n}" (type $t))"#));
    for (what, component) in [
        (
            "imports",
            format!(
                "(component (type (instance {})) {})",
                types.collect::<String>(),
                imports(20_000).collect::<String>()
            ),
        ),
        ("imports that no host has", format!("(component (type (instance)) {})", imports(900).collect::<String>())),
        ("exports", format!("(component (type $t u8) {})", exports.collect::<String>())),
        ("a long name", format!(r#"(component (import "{}" (func)))"#, "a".repeat(90_000))),
    ] {
        let (bytes, limits) = (text(&component), wide.clone());
        said(what, move || everything(&bytes, &limits));
    }
    let many = text(&format!("(component (type (instance)) {})", imports(1_001).collect::<String>()));
    assert!(everything(&many, &wide).contains("component has 1001 imports, more than 1000"));
}

/// Whatever a component is told to have said is cut where it is made.
#[test]
fn what_a_call_says_of_itself() {
    let long = GuestText::MAX_CHARS * 4;
    let guest =
        Guest::enumerating(&format!("(call $log (i32.const 3) (i32.const 1024) (i32.const {long})) (unreachable)"))
            .importing(r#"(import "devgate:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))"#)
            .with(&format!(r#"(data (i32.const 1024) "{}")"#, r"\e2\80\ae".repeat(long / 3)));
    let plugin = loaded(&guest.component(), patient());
    let said = error(enumerate(&plugin, Fake::boxed()));
    assert!(said.chars().count() <= "trapped: ".len() + 8 * GuestText::MAX_CHARS, "{}", said.len());
}
