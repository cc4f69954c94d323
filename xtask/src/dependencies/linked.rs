//! What may not be linked into a program, over however many steps: the one that has power over a node is to be reviewed without a runtime
//! of WebAssembly and without a client of a network, the one that runs vendors' code has nothing to reach others with, and those that
//! reach registries and the API server know nothing of a node; and what pretends is in none of them.
//!
//! Of each program as it is built for a release, by a call of cargo's own. What cargo resolves for the whole workspace has the features
//! that all its crates ask for together, so that the runner would seem to have the compiler's.

use crate::process;
use crate::workspace::cargo;
use anyhow::Result;
use std::collections::BTreeSet;

/// Each program's package, and how names of crates start that are not for it.
const FOREIGN: &[(&str, &[&str])] = &[
    (
        "devgate",
        &[
            "clap_complete",
            "clap_mangen",
            "cranelift",
            "devgate-fake",
            "devgate-pull",
            "devgate-sandbox",
            "hickory",
            "hyper-rustls",
            "icu_",
            "idna",
            "pulley",
            "reqwest",
            "rustls",
            "tokio-rustls",
            "url",
            "wasmparser",
            "wasmtime",
            "wit-",
        ],
    ),
    (
        "devgate-pull",
        &["cranelift", "devgate-core", "devgate-node", "devgate-policy", "devgate-sandbox", "h2", "tonic", "wasmtime"],
    ),
    (
        "devgate-agent",
        &["cranelift", "devgate-core", "devgate-node", "devgate-policy", "devgate-sandbox", "h2", "tonic", "wasmtime"],
    ),
    (
        "devgate-runner-program",
        &[
            "cranelift-codegen",
            "cranelift-frontend",
            "devgate-core",
            "devgate-node",
            "devgate-oci",
            "devgate-policy",
            "h2",
            "hyper",
            "reqwest",
            "rustls",
            "tonic",
        ],
    ),
    // It is there in seconds.
    ("xtask", &["wasmtime"]),
];

/// The crates that programs have and may not have.
pub(super) fn problems(platform: &str) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for (program, foreign) in FOREIGN {
        problems.extend(compare(program, foreign, &linked(program, platform)?));
    }
    Ok(problems)
}

/// The crates in a program, a line for each, which starts with its name.
pub(super) fn linked(program: &str, platform: &str) -> Result<String> {
    let what = ["tree", "--locked", "--package", program, "--target", platform];
    let how = ["--edges", "normal,no-proc-macro", "--prefix", "none"];
    process::read(cargo().args(what).args(how))
}

fn compare(program: &str, foreign: &[&str], linked: &str) -> Vec<String> {
    let names: BTreeSet<&str> = linked.lines().filter_map(|line| line.split(' ').next()).collect();
    let found = names.iter().filter(|name| foreign.iter().any(|start| name.starts_with(start)));
    found
        .map(|name| {
            format!("{program}: has {name} in it; `cargo tree --package {program} --invert {name}` says by whom")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::host;

    #[test]
    fn what_is_not_for_a_program_is_named() {
        let tree = "devgate v0.1.0 (/devgate/host/devgate)\nwasmtime-environ v48.0.8\ntokio v1.54.1\nwasmtime-environ v48.0.8 (*)\n";
        assert_eq!(
            compare("devgate", &["cranelift", "wasmtime"], tree),
            [
                "devgate: has wasmtime-environ in it; `cargo tree --package devgate --invert wasmtime-environ` says by whom"
            ]
        );
        assert_eq!(compare("devgate", &["cranelift"], tree), [""; 0]);
    }

    /// A name that cargo does not use would never be found.
    #[test]
    fn the_names_are_those_of_programs_that_have_them() {
        let has = |program: &str, name: &str| {
            let linked = linked(program, &host().unwrap()).unwrap();
            !compare(program, &[name], &linked).is_empty()
        };
        for name in ["cranelift-codegen", "cranelift-frontend", "wasmparser", "wasmtime", "devgate-sandbox"] {
            assert!(has("devgate-compile", name), "{name}");
        }
        for name in ["hickory", "hyper-rustls", "icu_", "idna", "reqwest", "rustls", "tokio-rustls", "url"] {
            assert!(has("devgate-pull", name), "{name}");
        }
        for name in ["pulley", "wasmtime"] {
            assert!(has("devgate-runner-program", name), "{name}");
        }
        for name in [
            "clap_complete",
            "clap_mangen",
            "devgate-fake",
            "devgate-node",
            "devgate-policy",
            "hyper",
            "rustls",
            "tonic",
            "wit-",
        ] {
            assert!(has("devgatectl", name), "{name}");
        }
    }
}
