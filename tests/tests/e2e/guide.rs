//! The port that the page for vendors shows, file by file and command by command.

use crate::new_project::{RustPlace, follow_text, repository};
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
fn the_port_on_the_page_does_what_the_page_says() -> anyhow::Result<()> {
    let Some(place) = RustPlace::try_new()? else {
        return Ok(());
    };
    let page = std::fs::read_to_string(repository().join("guests/PORTING.md"))?;
    let section = |from: &str, to: &str| {
        let (_, text) = page.split_once(from).expect("its start");
        text.split_once(to).expect("its end").0
    };
    follow_text(&place.folder, section("# Porting a device plugin", "\n## 1. "), &[])?;
    assert_eq!(write_files(&page, &place.folder.join("npu"))?, 5);
    let said = place.follow(section("## 8. Try it", "\n## "))?;
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
