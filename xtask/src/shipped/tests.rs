use super::*;
use std::collections::BTreeSet;

/// Where the package puts it.
const INSTALLED: &str = "/usr/share/doc/devgate/";

/// Files and the folders that they are in.
fn there() -> BTreeSet<PathBuf> {
    let files = files().unwrap();
    files.iter().flat_map(|file| file.ancestors()).map(Path::to_owned).collect()
}

fn text(path: &Path) -> Option<String> {
    String::from_utf8(std::fs::read(root().join(path)).unwrap()).ok()
}

/// Without what is shown in blocks.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// A path without its `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.iter().filter(|part| *part != ".") {
        if part == ".." {
            assert!(plain.pop(), "{} leaves the repository", path.display());
        } else {
            plain.push(part);
        }
    }
    plain
}

/// Whatever reads like a path.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    text.split(move |c| !is_of_path(c)).map(|word| word.trim_end_matches('.'))
}

#[test]
fn every_link_leads_to_what_is_shipped() {
    let there = there();
    let mut followed = 0;
    let mut dead = Vec::new();
    for page in there.iter().filter(|path| path.extension().is_some_and(|ext| ext == "md")) {
        let text = prose(&text(page).unwrap());
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://") && !target.starts_with('#')) {
            let path = target.split('#').next().unwrap_or_default();
            followed += 1;
            if !there.contains(&plain(&page.with_file_name("").join(path))) {
                dead.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert_eq!(dead, [""; 0], "name the path as plain text, or ship it");
    assert!(followed > 150, "only {followed} found");
}

/// Comments of manifests, and what the program prints.
#[test]
fn a_page_that_is_named_is_shipped() {
    let there = there();
    let mut named = 0;
    let mut missing = Vec::new();
    let mut sources: Vec<PathBuf> = there.iter().filter(|path| root().join(path).is_file()).cloned().collect();
    for folder in ["deploy/debian", "host"] {
        sources.extend(gather(Path::new(folder)).unwrap());
    }
    for source in sources {
        let Some(text) = text(&source) else { continue };
        for word in words(&text) {
            let installed = word.strip_prefix(INSTALLED);
            // Ours are in one folder; other projects' may be deeper.
            let is_page = word.starts_with("docs/") && word.ends_with(".md") && word.matches('/').count() == 1;
            let Some(path) = installed.or(is_page.then_some(word)) else {
                continue;
            };
            named += 1;
            // Of Debian alone.
            let is_packaging =
                path.is_empty() || ["examples", "copyright", "changelog.gz"].contains(&path.split('/').next().unwrap());
            if !is_packaging && !there.contains(Path::new(path)) {
                missing.push(format!("{}: {word}", source.display()));
            }
        }
    }
    assert_eq!(missing, [""; 0]);
    assert!(named > 100, "only {named} found");
}

/// Pages and what they link to, not a copy of the repository.
#[test]
fn what_is_shipped_stays_small() {
    let size = |path: &PathBuf| std::fs::metadata(root().join(path)).unwrap().len();
    let files = files().unwrap();
    let large: Vec<_> = files.iter().filter(|path| size(path) > 150_000).collect();
    assert!(large.is_empty(), "{large:?}");
    let all: u64 = files.iter().map(size).sum();
    assert!(all < 2_000_000, "{all} bytes");
}
