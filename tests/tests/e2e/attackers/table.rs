//! The table of all attackers, which is made from what they say of themselves.

use anyhow::Context;
use devgate_tests::attackers::{Attacker, Off, all};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Writes the table instead of comparing it.
const WRITE: &str = "DEVGATE_ATTACKERS_WRITE";
/// The fewest of a class.
const FEWEST: usize = 8;
/// The fewest of all classes.
const ALL: usize = 150;

const HEAD: &str = "# Attackers\n\nMade from the first lines of the files beside it. What they are is in tests/attackers/format.txt.\n";

fn table(attackers: &[Attacker]) -> String {
    let mut text = HEAD.to_owned();
    let mut class = "";
    for attacker in attackers {
        if attacker.class != class {
            class = &attacker.class;
            text += &format!(
                "\n## {class}\n\n| attacker | tries | is stopped by | an admin reads |\n| --- | --- | --- | --- |\n"
            );
        }
        let header = &attacker.header;
        let reads = header.reads.iter().map(|text| format!("`{text}`"));
        text += &format!(
            "| [{}]({class}/{}.wat) | {} | {} | {} |\n",
            attacker.name,
            attacker.name,
            header.tries.replace('|', "\\|"),
            header.stopped_by,
            reads.collect::<Vec<_>>().join(", ").replace('|', "\\|"),
        );
    }
    text + &mechanisms(attackers)
}

/// How many each mechanism stops, and what shows that it is the mechanism.
fn mechanisms(attackers: &[Attacker]) -> String {
    let mut by_name = BTreeMap::<_, (usize, Vec<String>)>::new();
    for attacker in attackers {
        let (count, shown) = by_name.entry(&attacker.header.stopped_by).or_default();
        *count += 1;
        let name = &attacker.name;
        shown.extend(match &attacker.header.off {
            Off::Policy(keys) => Some(format!("{name} with `{}`", keys.join(", "))),
            Off::Unchecked => Some(format!("{name} unchecked")),
            Off::Test(test) => Some(format!("the test `{test}`")),
            Off::Never(why) => Some(format!("nothing, because {why}")),
            Off::As(_) => None,
        });
    }
    let mut text = "\n## Mechanisms\n\n| mechanism | attackers | is off in |\n| --- | --- | --- |\n".to_owned();
    for (name, (count, mut shown)) in by_name {
        shown.dedup();
        text += &format!("| {name} | {count} | {} |\n", shown.join("; ").replace('|', "\\|"));
    }
    text
}

#[test]
fn the_table_is_what_the_attackers_say() -> anyhow::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("attackers/table.txt");
    let text = table(&all()?);
    if std::env::var_os(WRITE).is_some() {
        return Ok(std::fs::write(file, text)?);
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    anyhow::ensure!(
        written == text,
        "tests/attackers/table.txt is not what the attackers say: run this test with {WRITE}=1"
    );
    Ok(())
}

#[test]
fn each_class_has_enough_and_each_mechanism_is_shown() -> anyhow::Result<()> {
    let attackers = all()?;
    let mut counts = BTreeMap::<_, usize>::new();
    let mut by_name = BTreeMap::new();
    for attacker in &attackers {
        *counts.entry(&attacker.class).or_default() += 1;
        let other = by_name.insert(&attacker.name, attacker);
        anyhow::ensure!(other.is_none(), "two are called {}", attacker.name);
    }
    let few: Vec<_> = counts.iter().filter(|(_, count)| **count < FEWEST).collect();
    anyhow::ensure!(few.is_empty(), "fewer than {FEWEST}: {few:?}");
    anyhow::ensure!(attackers.len() >= ALL, "{} are fewer than {ALL}", attackers.len());
    // The mechanisms that some attacker, or some test, is shown to be stopped by.
    let is_shown = |attacker: &&Attacker| !matches!(attacker.header.off, Off::As(_));
    let shown = attackers.iter().filter(is_shown).map(|attacker| &attacker.header.stopped_by);
    let shown: BTreeSet<_> = shown.collect();
    let tests = crate::threats::all_tests()?;
    for attacker in &attackers {
        let header = &attacker.header;
        anyhow::ensure!(shown.contains(&header.stopped_by), "{}: {}", attacker.name, header.stopped_by);
        match &header.off {
            Off::As(other) => {
                let other = by_name.get(other).with_context(|| format!("{}: {other}", attacker.name))?;
                anyhow::ensure!(
                    other.header.stopped_by == header.stopped_by && is_shown(other),
                    "{}: {} does not show what stops it",
                    attacker.name,
                    other.name
                );
            }
            Off::Test(name) => anyhow::ensure!(tests.contains(name), "{}: no test {name}", attacker.name),
            Off::Policy(_) | Off::Unchecked | Off::Never(_) => {}
        }
    }
    Ok(())
}
