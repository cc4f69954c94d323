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
        for block in blocks(&file(document)?, "yaml").iter().filter(|block| block.contains("plugins:")) {
            let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\n";
            let whole = if block.contains("apiVersion:") { block.clone() } else { format!("{head}{block}") };
            let text = whole.replace(", sha256: …", "");
            parse(&[PolicyFile { name: document, text: &text }])
                .map_err(|errors| anyhow::anyhow!("{errors}\n{text}"))?;
            parsed += 1;
        }
    }
    assert!(parsed >= 8, "only {parsed} found");
    Ok(())
}

/// The shipped one is what podman is given in the stage `package`.
#[test]
fn the_quadlet_in_the_page_of_cdi_is_the_one_that_is_shipped() -> anyhow::Result<()> {
    let shipped = file("deploy/systemd/quadlet/job1.container")?;
    let lines: Vec<_> = shipped.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(blocks(&file("docs/cdi.md")?, "ini"), [lines.join("\n") + "\n"]);
    Ok(())
}

/// What the SDK's page shows, which its own tests compile.
#[test]
fn the_example_of_a_component_is_the_sdk_s() -> anyhow::Result<()> {
    let code = |text: &str| {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
        lines.filter(|line| !line.starts_with("#!")).map(str::to_owned).collect::<Vec<_>>()
    };
    let sdk = file("guests/sdk/src/lib.rs")?;
    let example: Vec<_> =
        sdk.lines().filter_map(|line| line.strip_prefix("//!")).skip_while(|line| !line.starts_with(" ```")).collect();
    let example =
        example.iter().skip(1).take_while(|line| !line.starts_with(" ```")).copied().collect::<Vec<_>>().join("\n");
    assert_eq!(code(&file("examples/component/src/lib.rs")?), code(&example));
    Ok(())
}

#[test]
fn the_policy_in_the_readme_is_the_example() -> anyhow::Result<()> {
    let example = file("examples/policy.yaml")?;
    let (schema, policy) = example.split_once('\n').expect("a first line");
    assert!(schema.starts_with("# yaml-language-server: "), "{schema}");
    assert_eq!(blocks(&file("README.md")?, "yaml"), [policy]);
    Ok(())
}

/// The documents, by their places in the repository.
fn documents() -> anyhow::Result<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let alone = [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "guests/README.md",
        "guests/PARITY.md",
        "guests/PORTING.md",
        "deploy/helm/devgate/README.md",
        "host/core/README.md",
        "host/cdi/CONFORMANCE.md",
        "host/dra/CONFORMANCE.md",
        "host/device-plugin/tests/conformance/README.md",
    ];
    let mut found: Vec<_> = alone.map(str::to_owned).into();
    for entry in std::fs::read_dir(root.join("docs"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            found.push(format!("docs/{name}"));
        }
    }
    for entry in std::fs::read_dir(root.join("guests"))? {
        let page = format!("guests/{}/README.md", entry?.file_name().display());
        if root.join(&page).is_file() {
            found.push(page);
        }
    }
    Ok(found)
}

/// Without what is shown in blocks.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// What GitHub makes of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn links_between_documents_lead_somewhere() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut followed = 0;
    let mut broken = Vec::new();
    for document in documents()? {
        let text = prose(&file(&document)?);
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://")) {
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let folder = Path::new(&document).parent().unwrap_or(Path::new(""));
            let to = if path.is_empty() { root.join(&document) } else { root.join(folder).join(path) };
            let is_there = if heading.is_empty() {
                to.exists()
            } else {
                let page = std::fs::read_to_string(&to).unwrap_or_default();
                let page = prose(&page);
                let mut headings = page.lines().filter(|line| line.starts_with('#'));
                headings.any(|line| anchor(line.trim_start_matches('#')) == heading)
            };
            followed += 1;
            if !is_there {
                broken.push(format!("{document}: {target}"));
            }
        }
    }
    assert_eq!(broken, [""; 0]);
    assert!(followed > 150, "only {followed} found");
    Ok(())
}

/// A reader finds every page from the first one.
#[test]
fn the_readme_has_all_pages() -> anyhow::Result<()> {
    let readme = file("README.md")?;
    let pages = documents()?;
    let pages = pages.iter().filter(|page| page.starts_with("docs/") || !page.contains('/') && *page != "README.md");
    let missing: Vec<_> = pages.filter(|page| !readme.contains(&format!("]({page})"))).collect();
    assert_eq!(missing, [""; 0]);
    Ok(())
}

/// What is read before anything else is short.
#[test]
fn the_readme_is_read_in_minutes_and_all_pages_in_an_afternoon() -> anyhow::Result<()> {
    let words = |page: &String| file(page).map(|text| text.split_whitespace().count());
    let readme = words(&"README.md".to_owned())?;
    assert!(readme <= 900, "README.md has {readme} words");
    let pages = documents()?;
    let pages = pages.iter().filter(|page| !page.starts_with("guests/") && !page.starts_with("host/"));
    let all: usize = pages.map(words).sum::<anyhow::Result<_>>()?;
    assert!(all <= 30_000, "the pages have {all} words");
    Ok(())
}
