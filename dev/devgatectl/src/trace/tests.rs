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

/// A table as Go's linker makes it of one function, `first` of [`files`], in a file `a/b.go`: at its beginning in line 7, and from its
/// first call on in line 9. And where the first of these numbers are.
fn go_table() -> Vec<u8> {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let numbers = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    // Names of functions, files of the package, their names, values, functions.
    let parts = [
        Vec::new(),
        numbers(&[0]),
        b"a/b.go\0\0".to_vec(),
        // From none, +1 for two places: the file. +8 for one, +2 for one: the lines.
        [&[2_u8, 2, 0][..], &[16, 1, 4, 1, 0], &[0; 8]].concat(),
        numbers(&[0x1000, 8, 0, 0, 0, 0, 0, 0, 3, 0, 0]),
    ];
    let mut at = 8 + 8 * 8;
    let mut header = vec![1, 1, 0];
    for part in &parts {
        header.push(at);
        at += part.len() as u64;
    }
    [&[0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8][..], &words(&header), &parts.concat()].concat()
}

/// One function, which writes down that it goes on at its second place, and traps there.
fn in_go(table: &[u8]) -> (Vec<u8>, String) {
    let data: String = table.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let (one, other) = data.split_at(3 * 90);
    let text = format!(
        r#"(module (import "e" "f" (func)) (memory 1)
        (func $main.first i64.const 0x10000002 drop nop unreachable)
        (data (i32.const 16) "{one}") (data (i32.const {}) "{other}"))"#,
        16 + 90
    );
    let file = wat::parse_str(text).unwrap();
    let place = format!("1@{:#x}", offset(&file, UNREACHABLE) + 1);
    (file, place)
}

#[test]
fn a_place_in_go_is_found_by_the_table_of_its_runtime() {
    let table = go_table();
    let (file, place) = in_go(&table);
    let frames = run(&file, Some(&file), &place).unwrap();
    assert_eq!(frames[0].lines.iter().map(|line| line.at.as_str()).collect::<Vec<_>>(), ["a/b.go:9"], "{frames:?}");
    assert_eq!(frames[0].name.as_deref(), Some("main.first"));
    // Before its call it is at its beginning.
    let first = place.replace("0x", "").split_once('@').map(|(_, at)| u64::from_str_radix(at, 16).unwrap() - 9);
    let frames = run(&file, Some(&file), &format!("1@{:#x}", first.unwrap())).unwrap();
    assert_eq!(frames[0].lines.iter().map(|line| line.at.as_str()).collect::<Vec<_>>(), ["a/b.go:7"], "{frames:?}");
}

/// Whatever its bytes are, the name stays.
#[test]
fn a_damaged_table_of_go_tells_no_line_and_breaks_nothing() {
    let table = go_table();
    for at in 8..table.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = table.clone();
            damaged[at] = byte;
            let (file, place) = in_go(&damaged);
            let frames = run(&file, Some(&file), &place).unwrap();
            assert_eq!(frames[0].name.as_deref(), Some("main.first"), "{at} {byte}");
        }
    }
}
