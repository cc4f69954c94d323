//! What the documents show is what works.

use devgate_policy::{PolicyFile, parse};
use std::path::{Path, PathBuf};

fn file(path: &str) -> anyhow::Result<String> {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    Ok(std::fs::read_to_string(root.join(path))?)
}

/// The fenced blocks of one language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    let fence = format!("```{language}\n");
    while let Some((_, after)) = rest.split_once(&fence) {
        let (block, after) = after.split_once("```").expect("a closed block");
        found.push(block.to_owned());
        rest = after;
    }
    found
}

/// The policies that a newcomer copies first.
#[test]
fn policies_in_readmes_are_policies() -> anyhow::Result<()> {
    let mut parsed = 0;
    let mut documents = vec!["README.md".to_owned()];
    for guest in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests"))? {
        let guest = guest?;
        if guest.path().join("README.md").is_file() {
            documents.push(format!("guests/{}/README.md", guest.file_name().display()));
        }
    }
    for document in &documents {
        for block in blocks(&file(document)?, "yaml")
            .iter()
            .filter(|block| block.contains("plugins:"))
        {
            let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\n";
            let whole = if block.contains("apiVersion:") {
                block.clone()
            } else {
                format!("{head}{block}")
            };
            let text = whole.replace(", sha256: …", "");
            parse(&[PolicyFile {
                name: document,
                text: &text,
            }])
            .map_err(|errors| anyhow::anyhow!("{errors}\n{text}"))?;
            parsed += 1;
        }
    }
    assert!(parsed >= 8, "only {parsed} found");
    Ok(())
}

/// The component in the README is the SDK's own example, which is compiled by its tests.
#[test]
fn the_component_in_the_readme_is_one_that_compiles() -> anyhow::Result<()> {
    let code = |text: &str| {
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("//"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let sdk = file("guests/sdk/src/lib.rs")?;
    let example: Vec<_> = sdk
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .skip_while(|line| !line.starts_with(" ```"))
        .collect();
    let example = example
        .iter()
        .skip(1)
        .take_while(|line| !line.starts_with(" ```"))
        .copied()
        .collect::<Vec<_>>()
        .join("\n");
    let shown = blocks(&file("README.md")?, "rust");
    assert_eq!(code(&shown[0]), code(&example));
    Ok(())
}
