use super::*;

fn text(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

fn producers(bytes: &[u8]) -> Vec<Producer> {
    about(bytes).0
}

#[test]
fn what_a_component_says_of_its_tools_is_shown_and_cannot_act() {
    let strange = text(
        r#"(component (core module
            (@producers (language "Rust\1b[31m" "2024") (language "Rust" "") (sdk "kit" "1\0a"))
        ))"#,
    );
    let tools = producers(&strange);
    let shown: Vec<_> = tools.iter().map(|p| format!("{:?} {} {}", p.role, p.name, p.version)).collect();
    assert_eq!(shown, ["Language Rust ", "Language Rust\\u{1b}[31m 2024", "Sdk kit 1\\n"]);
}

/// What tools put between a module and the host is no part of what the author wrote, wherever in the file it stands.
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
        let made = producers(&text(&format!("(component {parts})")));
        let named: Vec<_> = made.iter().map(|made| made.name.as_str()).collect();
        assert_eq!(named, ["Go"], "{parts}");
    }
    // Nothing but an adapter says anything: the language is not known.
    let silent = format!(r#"(component (core module) {adapter} (import "__main_module__" "_start" (func))))"#);
    assert_eq!(producers(&text(&silent)), []);
    // One of the component's own that is written in Rust is.
    let own = format!(r#"(component {adapter} (import "env" "memory" (memory 0))))"#);
    assert_eq!(producers(&text(&own)).len(), 2);
}

/// A file can name as many tools as it likes, and damage the section as well.
#[test]
fn tools_without_end_are_cut_and_damaged_ones_are_nothing() {
    let many: String = (0..200).map(|n| format!("(processed-by \"tool{n}\" \"1\")")).collect();
    let tools = producers(&text(&format!("(component (core module (@producers {many})))")));
    assert!((1..=64).contains(&tools.len()), "{}", tools.len());
    let damaged = text(r#"(component (core module (@custom "producers" "\02\08language\7f")))"#);
    assert_eq!(producers(&damaged), []);
}

/// Sections of the outermost level, as many and as long as a file has room for.
#[test]
fn what_is_said_without_end_is_cut() {
    let section = |name: &str, contents: &str| format!("(@custom \"{name}\" \"{contents}\")");
    for (what, sections) in [
        ("a description", section("description", &r"\e2\80\ae".repeat(100_000))),
        ("many descriptions", section("description", "no").repeat(20_000)),
        ("a section's long name", section(&"n".repeat(90_000), "")),
        ("empty sections", section("", "").repeat(20_000)),
        ("a count that lies", section("producers", r"\01\03sdk\ff\ff\ff\ff\0f")),
        ("names", section("component-name", &r"\00\02\01a".repeat(10_000))),
    ] {
        let (tools, said) = about(&text(&format!("(component {sections})")));
        let shown = format!("{tools:?}{said:?}");
        assert!(shown.len() <= 64 * 1024, "{what}: {} bytes", shown.len());
    }
}
