//! What the pages for admins show: their policies are held against recorded nodes, and what they say that devgate says is what devgate says.
//!
//! A block behind `<!-- check: NODE -->` is a policy that has no error on that node. One behind `<!-- says: CODE -->` is a command that
//! ends with that code and says, among other lines, those that follow it, in this order. `…` stands for any text, and alone in a line
//! for any lines. The policies that such a command names are in `refusals/`.

use crate::new_project::repository;
use devgate_tests::{components, devgate, devgatectl};
use std::path::Path;
use std::process::{Command, Stdio};

/// Those that are held: of the components' the ones that say what becomes of another plugin's settings.
const PAGES: [&str; 9] = [
    "docs/install.md",
    "docs/troubleshooting.md",
    "guests/amd-gpu/README.md",
    "guests/dsa/README.md",
    "guests/generic/README.md",
    "guests/intel-gpu/README.md",
    "guests/nvidia-gpu/README.md",
    "guests/qat/README.md",
    "guests/sriov-nic/README.md",
];

/// A block behind a mark.
struct Marked<'a> {
    /// `check` or `says`.
    kind: &'a str,
    /// What the mark names.
    what: &'a str,
    text: &'a str,
}

/// The marked blocks of a page, in their order.
fn marked(page: &str) -> Vec<Marked<'_>> {
    let mut found = Vec::new();
    for part in page.split("<!-- ").skip(1) {
        let Some((mark, rest)) = part.split_once(" -->\n```") else {
            continue;
        };
        let Some((kind, what)) = mark.split_once(": ") else {
            continue;
        };
        let (_language, rest) = rest.split_once('\n').expect("a block");
        let (text, _) = rest.split_once("\n```\n").expect("a closed block");
        found.push(Marked { kind, what, text });
    }
    found
}

/// What the pages' commands are given: components, and recorded nodes.
fn desk() -> anyhow::Result<tempfile::TempDir> {
    let (dir, root) = (tempfile::tempdir()?, repository().canonicalize()?);
    let link = |from: &Path, name: &str| std::os::unix::fs::symlink(from, dir.path().join(name));
    link(&root.join("guests"), "guests")?;
    link(&components()?, "components")?;
    link(&root.join("tests/nodes/misfit.umockdev"), "misfit.umockdev")?;
    for policy in std::fs::read_dir(root.join("tests/tests/e2e/refusals"))? {
        let policy = policy?;
        link(&policy.path(), &policy.file_name().to_string_lossy())?;
    }
    Ok(dir)
}

/// Runs a command line that begins with `devgate`; its exit code, and the lines that it said.
fn run(dir: &Path, line: &str) -> anyhow::Result<(Option<i32>, Vec<String>)> {
    let mut words = line.split_whitespace();
    let program = match words.next() {
        Some("devgate") => devgate()?,
        Some("devgatectl") => devgatectl()?,
        _ => panic!("{line}"),
    };
    let mut command = Command::new(program);
    let output = command.args(words).current_dir(dir).stdin(Stdio::null()).output()?;
    let said = [output.stdout, output.stderr].concat();
    let lines = String::from_utf8(said)?.lines().map(|line| line.trim_end().to_owned()).collect();
    Ok((output.status.code(), lines))
}

/// Whether a line is what the page shows, in which `…` stands for any text.
fn is(shown: &str, line: &str) -> bool {
    let Some((start, rest)) = shown.split_once('…') else {
        return shown == line;
    };
    let Some(line) = line.strip_prefix(start) else {
        return false;
    };
    (0..=line.len()).any(|at| line.get(at..).is_some_and(|line| is(rest, line)))
}

fn check(dir: &Path, page: &str, node: &str, policy: &str) -> anyhow::Result<()> {
    // What a reader puts in its place.
    let policy = policy.replace(", sha256: …", "");
    std::fs::write(dir.join("policy.yaml"), format!("{policy}\n"))?;
    let line = format!("devgatectl check --policy policy.yaml --components components --node-root {node} --run");
    let (code, lines) = run(dir, &line)?;
    let all = lines.join("\n");
    assert_eq!(code, Some(0), "{page}: {node}: {all}");
    // It offers something there: a policy that matches nothing has no error either.
    let units: Vec<_> = lines.iter().filter(|line| line.starts_with("  units ")).collect();
    assert!(!units.is_empty(), "{page}: {node}: {all}");
    for line in units {
        assert!(!line.contains(" 0 healthy") && !line.contains("unknown"), "{page}: {node}: {all}");
    }
    Ok(())
}

fn says(dir: &Path, page: &str, code: &str, text: &str) -> anyhow::Result<()> {
    let (command, shown) = text.split_once('\n').expect("a command, then what it says");
    let command = command.strip_prefix("$ ").expect("a prompt");
    let (ended, lines) = run(dir, command)?;
    assert_eq!(ended, Some(code.parse()?), "{page}: {command}: {}", lines.join("\n"));
    let mut said = lines.iter();
    for shown in shown.lines().filter(|line| line.trim() != "…") {
        let found = said.any(|line| is(shown.trim_end(), line));
        assert!(found, "{page}: {command}: not said: {shown}\n{}", lines.join("\n"));
    }
    Ok(())
}

#[test]
fn what_the_pages_for_admins_show_is_so() -> anyhow::Result<()> {
    let (mut checked, mut said) = (0, 0);
    for page in PAGES {
        let text = std::fs::read_to_string(repository().join(page))?;
        let dir = desk()?;
        for block in marked(&text) {
            match block.kind {
                "check" => {
                    check(dir.path(), page, block.what, block.text)?;
                    checked += 1;
                }
                "says" => {
                    says(dir.path(), page, block.what, block.text)?;
                    said += 1;
                }
                other => panic!("{page}: <!-- {other}: -->"),
            }
        }
        // A policy without a mark is held against nothing.
        let policies = text.matches("\n```yaml\napiVersion: devgate.dev").count();
        let held = marked(&text).iter().filter(|block| block.kind == "check").count();
        assert_eq!(policies, held, "{page}");
    }
    assert!(checked >= 6 && said >= 4, "{checked} policies and {said} commands");
    Ok(())
}

#[test]
fn a_gap_in_what_is_shown_stands_for_any_text() {
    assert!(is("a … c", "a b c") && is("…", "") && is("a", "a") && is("a … c … e", "a b c d e"));
    assert!(!is("a … c", "a b d") && !is("a", "ab") && !is("… c", "c d"));
}
