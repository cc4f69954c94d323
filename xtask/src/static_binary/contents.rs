//! What may not be in a program: a reviewer of the one that has power over a node shall find neither a compiler nor a runtime of
//! WebAssembly in it nor what speaks to a network, and the one that runs components has no compiler. The file itself is read: cargo's own tree of dependencies does
//! not show what one build unites.

use super::{Profile, Program};
use anyhow::{Result, bail};

/// Words that a program's file has nowhere, in lower case: code that can panic names the crate that it is of, even without symbols.
const FOREIGN: &[(Program, &[&str])] = &[
    (Program::Devgate, &["cranelift", "wasmtime"]),
    (Program::Devgate, CLIENT),
    (Program::DevgatePull, &["cranelift", "wasmtime", "tonic-", "wit-parser", "devgate_core", "devgate_policy"]),
    (Program::DevgateAgent, &["cranelift", "wasmtime", "tonic-", "wit-parser", "devgate_core", "devgate_policy"]),
    // The runtime speaks of Cranelift in what it says, and has two small crates of its project (lists and maps) in it.
    (Program::DevgateRunner, COMPILER),
];

/// What a compiler is known by.
const COMPILER: &[&str] = &["cranelift-codegen", "cranelift-frontend", "regalloc2"];

/// What a client of registries is known by.
const CLIENT: &[&str] = &["hickory-", "hyper-rustls", "reqwest", "rustls-"];

/// The most that a released program may take, in bytes: one that every plugin has a process of, and one that is to be small enough to
/// be read about.
const LARGEST: &[(Program, usize)] =
    &[(Program::DevgateRunner, 2_500_000), (Program::DevgatePull, 6_000_000), (Program::DevgateAgent, 7_500_000)];

/// Looks into the file of a program. Fails when it has in it what it may not have, which is shown, or is larger than it
/// may be.
pub(super) fn check(program: Program, profile: Profile, bytes: &[u8]) -> Result<()> {
    // Where it is not found in the compiler either, nothing is known of the others.
    let missing = |words: &[&'static str]| words.iter().copied().find(|word| find(bytes, word).is_none());
    if program == Program::DevgateCompile
        && let Some(word) = missing(COMPILER)
    {
        bail!("devgate-compile: no {word} is found in it, by which a compiler is known in others");
    }
    if program == Program::DevgatePull
        && let Some(word) = missing(CLIENT)
    {
        bail!("devgate-pull: no {word} is found in it, by which a client of registries is known in others");
    }
    let words = FOREIGN.iter().filter(|(of, _)| *of == program).flat_map(|(_, words)| *words);
    for word in words {
        if let Some(shown) = find(bytes, word) {
            bail!("{}: has {word} in it: {shown}", program.name());
        }
    }
    let largest = LARGEST.iter().find(|(of, _)| *of == program);
    if let Some((_, largest)) = largest.filter(|(_, largest)| profile == Profile::Release && bytes.len() > *largest) {
        bail!("{}: {} bytes, and may have {largest}", program.name(), bytes.len());
    }
    Ok(())
}

/// The text around a word, in whatever case it is written.
fn find(bytes: &[u8], word: &str) -> Option<String> {
    let at = bytes.windows(word.len()).position(|part| part.eq_ignore_ascii_case(word.as_bytes()))?;
    let is_text = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    let (before, after) = bytes.split_at(at);
    let start = before.iter().rev().take(80).take_while(|byte| is_text(byte)).count();
    let text = before.iter().skip(at - start).chain(after.iter().take(80).take_while(|byte| is_text(byte)));
    Some(text.map(|byte| char::from(*byte)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRANELIFT: &[u8] = b"\x7fELF\0panicked at /crates/cranelift-codegen-0.135.8/src/a.rs\0more";
    const RUNTIME: &[u8] = b"\x7fELF\0/crates/cranelift-entity-0.135.8/src/map.rs\0incompatible with Cranelift\0";
    const SYMBOL: &[u8] = b"\x7fELF\0_ZN8Wasmtime7runtime\0";

    #[test]
    fn a_compiler_is_found_where_none_may_be() {
        for program in [Program::Devgate, Program::DevgateRunner] {
            let error = check(program, Profile::Dev, CRANELIFT).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{}: has cranelift", program.name())), "{error}");
            assert!(error.ends_with(" in it: panicked at /crates/cranelift-codegen-0.135.8/src/a.rs"), "{error}");
        }
        check(Program::Devgatectl, Profile::Release, CRANELIFT).unwrap();
        check(Program::Devgate, Profile::Release, b"\x7fELF\0/crates/reqwest-0.13.5/src/a.rs\0").unwrap_err();
        check(Program::DevgateRunner, Profile::Release, RUNTIME).unwrap();
        check(Program::Devgate, Profile::Release, RUNTIME).unwrap_err();
    }

    #[test]
    fn a_compiler_that_would_not_be_found_is_an_error() {
        let all = COMPILER.join("-0.1/src/lib.rs\0/crates/");
        check(Program::DevgateCompile, Profile::Dev, all.as_bytes()).unwrap();
        let error = check(Program::DevgateCompile, Profile::Dev, CRANELIFT).unwrap_err().to_string();
        assert!(error.starts_with("devgate-compile: no cranelift-frontend is found in it"), "{error}");
    }

    #[test]
    fn a_client_that_would_not_be_found_is_an_error() {
        let all = CLIENT.join("0.1/src/lib.rs\0/crates/");
        check(Program::DevgatePull, Profile::Dev, all.as_bytes()).unwrap();
        let error = check(Program::DevgatePull, Profile::Dev, b"\x7fELF").unwrap_err();
        assert!(error.to_string().starts_with("devgate-pull: no hickory- is found in it"));
    }

    #[test]
    fn a_runtime_is_found_in_devgate_alone() {
        let error = check(Program::Devgate, Profile::Release, SYMBOL).unwrap_err().to_string();
        assert_eq!(error, "devgate: has wasmtime in it: _ZN8Wasmtime7runtime");
        check(Program::DevgateRunner, Profile::Release, SYMBOL).unwrap();
        check(Program::Devgate, Profile::Release, b"\x7fELF\0a component\0").unwrap();
    }

    #[test]
    fn a_released_runner_is_small() {
        let large = vec![0; 2_500_001];
        let error = check(Program::DevgateRunner, Profile::Release, &large).unwrap_err().to_string();
        assert_eq!(error, "devgate-runner: 2500001 bytes, and may have 2500000");
        check(Program::DevgateRunner, Profile::Dev, &large).unwrap();
        check(Program::Devgate, Profile::Release, &large).unwrap();
    }
}
