//! `devgatectl new`: a vendor's project to start from.
//!
//! What it writes is the example of `guests/languages` under another name, which this repository builds and tests in every
//! language, so that it cannot grow old unseen; a README, a workflow and the like from `templates/`; and all of devgate that it is
//! built of, which is in this program, so that nothing but what others wrote has to be fetched.

mod files;
mod lock;
mod names;
mod sdk;

use crate::cli::{Lang, NewArgs};
use anyhow::Context;
use devgate::{exit, output};
use devgate_types::escape;
use names::Names;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Runs the command.
pub(crate) fn new(args: &NewArgs) -> anyhow::Result<()> {
    let names = Names::try_new(&args.name, &args.vendor).map_err(|error| exit::with_code(exit::USAGE, error))?;
    let sdk = match (&args.sdk, args.lang) {
        (None, _) => None,
        (Some(checkout), Lang::Rust) => Some(sdk_in(checkout)?),
        (Some(_), _) => {
            let message = "--sdk: only Rust has an SDK outside of the project; leave it out";
            return Err(exit::with_code(exit::USAGE, message));
        }
    };
    let folder = args.dir.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    must_be_empty(&folder)?;
    let files = files::of(args.lang, &names, sdk.as_deref())?;
    for (path, text) in &files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    output::print(&summary(&folder, &names, &files))
}

/// The guests' folder of a checkout.
fn sdk_in(checkout: &Path) -> anyhow::Result<PathBuf> {
    let guests = checkout.join("guests");
    if !guests.join("sdk/Cargo.toml").is_file() {
        let message = format!("--sdk {}: this is no checkout of devgate; it has no guests/sdk", checkout.display());
        return Err(exit::with_code(exit::USAGE, message));
    }
    fs::canonicalize(&guests).with_context(|| guests.display().to_string())
}

/// What is there already is not written over.
fn must_be_empty(folder: &Path) -> anyhow::Result<()> {
    let problem = match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => return Ok(()),
        Ok(false) => "has something in it; choose another place with --dir",
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => "is no directory; choose another place with --dir",
        Err(error) => return Err(error).with_context(|| folder.display().to_string()),
    };
    let message = format!("{} {problem}", escape(&folder.to_string_lossy(), 200));
    Err(exit::with_code(exit::USAGE, message))
}

/// What was written, and what to do next.
fn summary(folder: &Path, names: &Names, files: &[(String, String)]) -> String {
    // Of what is devgate's own, how much it is.
    let (brought, own): (Vec<_>, Vec<_>) = files.iter().partition(|(path, _)| path.starts_with(sdk::FOLDER));
    let mut list: Vec<_> = own.iter().map(|(path, _)| format!("  {path}\n")).collect();
    if !brought.is_empty() {
        list.push(format!("  {}  ({} files of devgate)\n", sdk::FOLDER, brought.len()));
        list.sort();
    }
    let list = list.concat();
    let readme = files.iter().find(|(path, _)| path == "README.md");
    let next: String = readme
        .map(|(_, text)| commands(text))
        .unwrap_or_default()
        .iter()
        .map(|command| format!("  {command}\n"))
        .collect();
    format!(
        "Wrote {}, which offers {}:\n{list}\nNext:\n  cd {}\n{next}README.md says what else it needs, and where to begin.\n",
        folder.display(),
        names.resource,
        folder.display(),
    )
}

/// The commands that a README begins with: lines behind a prompt, before its sections.
fn commands(readme: &str) -> Vec<&str> {
    let first = readme.split("\n## ").next().unwrap_or_default();
    first.lines().filter_map(|line| line.strip_prefix("$ ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names::try_new("acme-npu", "acme.com").unwrap()
    }

    #[test]
    fn nothing_is_left_of_the_example_and_nothing_names_a_place_to_fetch_devgate_from() {
        for lang in [Lang::Rust, Lang::C, Lang::Python, Lang::Js, Lang::Go] {
            for (path, text) in files::of(lang, &names(), None).unwrap() {
                let left = |word: &str| text.to_lowercase().contains(word) || path.contains(word);
                assert!(!left(env!("CARGO_PKG_REPOSITORY")), "{lang:?}: {path}");
                assert!(!path.starts_with('/') && !path.contains(".."), "{path}");
                // The SDK has examples of its own.
                let is_ours = !path.starts_with(sdk::FOLDER);
                assert!(!(is_ours && left("widget")), "{lang:?}: {path}");
                assert!(!(is_ours && left("example.com")), "{lang:?}: {path}");
            }
        }
    }

    #[test]
    fn every_language_has_what_a_project_needs() {
        for lang in [Lang::Rust, Lang::C, Lang::Python, Lang::Js, Lang::Go] {
            let files = files::of(lang, &names(), None).unwrap();
            for wanted in [
                ".gitignore",
                "config.schema.json",
                ".github/workflows/test.yaml",
                "README.md",
                "nodes/acme-npu.umockdev",
                "policy.yaml",
                "scenarios/a-day.yaml",
            ] {
                assert!(files.iter().any(|(path, _)| path == wanted), "{lang:?}: {wanted}");
            }
            let text = |wanted: &str| &files.iter().find(|(path, _)| path == wanted).unwrap().1;
            assert!(!commands(text("README.md")).is_empty(), "{lang:?}");
            let policy = text("policy.yaml");
            let file = devgate_policy::PolicyFile { name: "policy.yaml", text: policy };
            let parsed = devgate_policy::parse(&[file]);
            assert!(parsed.is_ok(), "{lang:?}: {policy}");
            assert!(policy.contains("acme.com/acme-npu") && policy.contains("ACME_NPU_MODE"), "{policy}");
            let schema = crate::config_schema::ConfigSchema::parse(text("config.schema.json")).unwrap();
            let plugin = parsed.unwrap().plugins.into_values().next().unwrap();
            assert_eq!(schema.problems(&plugin.config), [], "{lang:?}");
        }
    }

    #[test]
    fn a_place_that_has_something_in_it_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(must_be_empty(dir.path()).is_ok());
        assert!(must_be_empty(&dir.path().join("not/there")).is_ok());
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let problem = |path: &Path| must_be_empty(path).unwrap_err().to_string();
        assert!(problem(&file).ends_with("is no directory; choose another place with --dir"));
        assert!(problem(dir.path()).ends_with("has something in it; choose another place with --dir"));
    }

    #[test]
    fn the_sdk_is_that_of_the_checkout_or_comes_with_the_project() {
        let project = |sdk: Option<&Path>| {
            let files = files::of(Lang::Rust, &names(), sdk).unwrap();
            let manifest = files.iter().find(|(path, _)| path == "Cargo.toml").unwrap().1.clone();
            let has_sdk = files.iter().any(|(path, _)| path == "devgate/guests/sdk/Cargo.toml");
            (manifest, has_sdk)
        };
        let (manifest, has_sdk) = project(Some(Path::new("/checkout \"x\"/guests")));
        assert!(manifest.contains(r#"devgate-sdk = { path = "/checkout \"x\"/guests/sdk" }"#), "{manifest}");
        assert!(manifest.contains(r#"devgate-testing = { path = "/checkout \"x\"/guests/testing" }"#), "{manifest}");
        assert!(!has_sdk);
        let (manifest, has_sdk) = project(None);
        assert!(manifest.contains(r#"devgate-sdk = { path = "devgate/guests/sdk" }"#), "{manifest}");
        assert!(has_sdk);
    }

    #[test]
    fn what_was_written_is_told_without_each_file_of_devgates_own() {
        let files = files::of(Lang::Rust, &names(), None).unwrap();
        let said = summary(Path::new("npu"), &names(), &files);
        assert!(said.contains("\n  src/lib.rs\n"), "{said}");
        assert!(said.contains(" files of devgate)\n") && said.lines().count() < 30, "{said}");
    }
}
