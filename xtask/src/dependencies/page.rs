//! The numbers of docs/supply-chain.md: how many crates each program links.

use super::linked::linked;
use crate::static_binary::Product;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::Path;

const PAGE: &str = "docs/supply-chain.md";
/// What the page counts for: what a program links does not depend on who builds it.
const PLATFORM: &str = "x86_64-unknown-linux-musl";
/// Numbers that are others by now.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let page = std::fs::read_to_string(root.join(PAGE)).with_context(|| format!("read {PAGE}"))?;
    let mut problems = Vec::new();
    for program in Product::Devgate.programs() {
        problems.extend(compare(&page, program.name(), count(&linked(program.package(), PLATFORM)?)));
    }
    Ok(problems)
}

/// How many crates are in a list, in which one may be several times.
fn count(linked: &str) -> usize {
    let crates = linked.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?))
    });
    crates.collect::<BTreeSet<_>>().len()
}

fn compare(page: &str, program: &str, counted: usize) -> Option<String> {
    let row = format!("| `{program}` | {counted} |");
    let is_said = page.lines().any(|line| line == row);
    (!is_said).then(|| format!("{PAGE}: {program} links {counted} crates, and the page says something else"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_counts_once_and_another_number_is_a_problem() {
        let linked = "a v1.0.0 (/a)\nb v1.0.0\nb v1.0.0 (*)\nb v2.0.0\n";
        assert_eq!(count(linked), 3);
        let page = "| program | crates |\n| `a` | 3 |\n";
        assert_eq!(compare(page, "a", 3), None);
        let problem = compare(page, "a", 4).unwrap();
        assert_eq!(problem, "docs/supply-chain.md: a links 4 crates, and the page says something else");
        assert!(compare(page, "b", 3).is_some());
    }
}
