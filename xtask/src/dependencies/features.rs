//! One set of features for everything: the program is built with the features that its tests are built with.
//!
//! Cargo leaves out what only dev-dependencies ask for where no test is built. A package whose features differ then, and all
//! that depends on it, is compiled once for the program and once for the tests. For wasmtime that is minutes.

use crate::process;
use crate::workspace::{WHOLE, cargo};
use anyhow::Result;
use std::collections::BTreeSet;

/// The packages that would be compiled twice.
pub(super) fn problems(platform: &str) -> Result<Vec<String>> {
    Ok(compare(&selected("normal", platform)?, &selected("normal,dev", platform)?))
}

/// The packages along these edges, each with its features.
fn selected(edges: &str, platform: &str) -> Result<String> {
    let what = ["tree", "--locked", WHOLE, "--edges", edges, "--target", platform];
    let how = ["--prefix", "none", "--no-dedupe", "--format", "{p} [{f}]"];
    process::read(cargo().args(what).args(how))
}

/// What of the program is not what the tests are built with.
fn compare(program: &str, tests: &str) -> Vec<String> {
    let tests: BTreeSet<&str> = tests.lines().collect();
    let differ: BTreeSet<&str> = program.lines().filter(|line| !tests.contains(line)).collect();
    let problem = |line: &str| {
        format!(
            "{line}: a dev-dependency asks for more features, so that it is compiled twice; name that dev-dependency in \
             tests/Cargo.toml, too"
        )
    };
    differ.into_iter().map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::host;

    #[test]
    fn the_program_is_built_as_its_tests_are() {
        assert_eq!(problems(&host().unwrap()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_feature_that_only_tests_ask_for_is_a_problem() {
        let program = "a v1.0.0 [std]\nb v1.0.0 []\nb v1.0.0 []\n";
        assert_eq!(compare(program, &format!("{program}c v1.0.0 []\n")), Vec::<String>::new());
        let problems = compare(program, "a v1.0.0 [std]\nb v1.0.0 [std]\n");
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("b v1.0.0 []: "), "{problems:?}");
    }

    #[test]
    fn the_runtime_is_among_them() {
        let program = selected("normal", &host().unwrap()).unwrap();
        assert!(program.lines().any(|line| line.starts_with("wasmtime v")));
    }
}
