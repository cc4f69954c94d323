//! The vendors' guide: the port that it shows, file by file and command by command.

use crate::new_project::{follow_text, ready_for_rust, repository};
use std::path::Path;

/// Writes the files of a page: each a fenced block behind `<!-- file: NAME -->`.
fn write_files(page: &str, folder: &Path) -> anyhow::Result<usize> {
    let marked: Vec<_> = page.split("<!-- file: ").skip(1).collect();
    for text in &marked {
        let (name, rest) = text.split_once(" -->\n```").expect("a name, then a block");
        let (_language, rest) = rest.split_once('\n').expect("a block");
        let (content, _) = rest.split_once("\n```\n").expect("a closed block");
        let place = folder.join(name);
        std::fs::create_dir_all(place.parent().expect("a folder"))?;
        std::fs::write(place, format!("{content}\n"))?;
    }
    Ok(marked.len())
}

#[test]
fn the_port_in_the_guide_does_what_the_guide_says() -> anyhow::Result<()> {
    let (dir, root) = (tempfile::tempdir()?, repository().canonicalize()?);
    let page = std::fs::read_to_string(root.join("docs/vendors.md"))?;
    assert_eq!(write_files(&page, dir.path())?, 7);
    // What a vendor gets from the repository, from this checkout of it.
    let manifest = dir.path().join("Cargo.toml");
    let mut text = std::fs::read_to_string(&manifest)?;
    for (name, folder) in [("devgate-sdk", "sdk"), ("devgate-testing", "testing")] {
        let from = format!("{name} = {{ git = \"https://github.com/devgate/devgate\" }}");
        assert!(text.contains(&from), "{text}");
        let path = root.join("guests").join(folder);
        text = text.replace(&from, &format!("{name} = {{ path = {path:?} }}"));
    }
    std::fs::write(&manifest, text)?;
    if !ready_for_rust(dir.path())? {
        return Ok(());
    }
    let (_, commands) = page.split_once("### 8. Try it").expect("the commands");
    let (commands, _) = commands.split_once("\n### ").expect("their end");
    let said = follow_text(dir.path(), commands, &[("CARGO_NET_OFFLINE", "true")])?;
    for wanted in [
        "test result: ok. 2 passed",
        "\n  units      1, 1 healthy\n",
        "1 scenario: 1 passed, 0 failed",
        "checks passed",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    Ok(())
}
