use super::*;

/// The same code with names and without, alone and in a component.
fn files() -> [Vec<u8>; 3] {
    let named = r#"(module (import "e" "f" (func)) (func $first nop unreachable) (func $_RNvC6widget6second call 1))"#;
    let bare = r#"(module (import "e" "f" (func)) (func nop unreachable) (func call 1))"#;
    let wrapped = format!("(component (core module (func nop)) (core {}", bare.trim_start_matches('(')) + ")";
    [named.to_owned(), bare.to_owned(), wrapped].map(|text| wat::parse_str(text).unwrap())
}

/// Where in a file an instruction is.
fn offset(file: &[u8], instruction: &[u8]) -> u64 {
    file.windows(instruction.len()).position(|window| window == instruction).unwrap() as u64
}

fn run(file: &[u8], debug: Option<&[u8]>, place: &str) -> Result<Vec<Frame>, String> {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let args = TraceArgs {
        component: write("vendor.wasm", file),
        places: vec![place.to_owned()],
        debug: debug.map(|bytes| write("debug.wasm", bytes)),
        output: Output::Text,
    };
    let plain = |error: anyhow::Error| format!("{error:#}").replace(&format!("{}/", dir.path().display()), "");
    look(&args).map_err(plain)
}

/// `nop unreachable end`, and `call 1 end`.
const UNREACHABLE: &[u8] = &[0x01, 0x00, 0x0b];
const CALL: &[u8] = &[0x10, 0x01, 0x0b];

#[test]
fn a_place_is_named_by_the_same_code_with_names() {
    let [named, bare, wrapped] = files();
    for file in [bare, wrapped] {
        let at = |number: u32, code: &[u8], plus: u64| format!("{number}@{:#x}", offset(&file, code) + plus);
        let message = format!("boom (wasm `unreachable` at {} < {})", at(1, UNREACHABLE, 1), at(2, CALL, 0));
        let frames = run(&file, Some(&named), &message).unwrap();
        let names: Vec<_> = frames.iter().map(|frame| frame.name.as_deref().unwrap()).collect();
        assert_eq!(names, ["first", "widget::second"]);
        let frames = run(&file, None, &message).unwrap();
        assert!(frames.iter().all(|frame| frame.name.is_none()), "{frames:?}");
    }
}

#[test]
fn another_build_another_file_and_no_place_are_told() {
    let [named, bare, _] = files();
    let place = format!("1@{:#x}", offset(&bare, UNREACHABLE) + 1);
    let other = wat::parse_str("(module (func $first unreachable))").unwrap();
    let told = |debug: Option<&[u8]>, place: &str| run(&bare, debug, place).unwrap_err();
    insta::assert_snapshot!(told(Some(&other), &place), @"debug.wasm: is of another build than vendor.wasm: it has not its code");
    insta::assert_snapshot!(told(Some(b"elf"), &place), @"debug.wasm: is not WebAssembly");
    let wrong = place.replacen('1', "2", 1);
    let frames = run(&bare, Some(&named), &format!("1@0x1 {wrong} {place}")).unwrap();
    let problems: Vec<_> = frames.iter().map(|frame| frame.problem.as_deref().unwrap_or("none")).collect();
    let another = "is in no function of it; is it the file that ran?";
    assert_eq!(problems, [another, "is in function 1; is it the file that ran?", "none"]);
    insta::assert_snapshot!(told(None, "it trapped"), @"it trapped: there is no place in it, such as 109@0x1b3f");
    let mut damaged = named.clone();
    damaged.truncate(damaged.len() - 3);
    assert!(run(&damaged, None, &place).unwrap_err().contains("vendor.wasm: is damaged"));
}
