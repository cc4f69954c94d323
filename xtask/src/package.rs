//! The Debian package: devgate as a service of the node, with the components and policies that come with it.
//!
//! By cargo-deb, from `[package.metadata.deb]` in host/devgate/Cargo.toml. What is built is put where that says `target/release`.

use crate::dist::{self, Out};
use crate::static_binary::{self, Machine, Product, Profile};
use crate::workspace::{cargo, copy, guests, root, target};
use crate::{components, manual, process, shipped, tools};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Whom the package's changelog names, as in its manifest.
const MAINTAINER: &str = "The devgate authors <devgate@users.noreply.github.com>";

/// Exact: the package's bytes depend on it.
const CARGO_DEB: &str = "3.8.0";

/// What to make.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The devgate that `cargo xtask static` built, with the programs beside it [default: build it]
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    binary: Option<PathBuf>,
    /// For which machines [default: as this one]
    #[arg(long, value_name = "TRIPLE", value_enum)]
    target: Option<Machine>,
    #[command(flatten)]
    out: Out,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let folder = options.out.folder()?;
    let binary = match &options.binary {
        Some(file) => file.clone(),
        None => static_binary::build(Product::Devgate, Machine::or_here(options.target)?, Profile::Release, &folder)?,
    };
    components::build()?;
    build(&binary, &folder)?;
    Ok(ExitCode::SUCCESS)
}

/// Makes the package of a program and of the components that were built, and gives its file. Fails when cargo-deb
/// cannot be had, which says why, or fails.
pub(crate) fn build(binary: &Path, folder: &Path) -> Result<PathBuf> {
    let machine = Machine::of_program(binary)?;
    let work = tempfile::Builder::new().prefix("package-").tempdir_in(target()?)?;
    stage(binary, &work.path().join(machine.musl()).join("release"))?;
    let mut command = Command::new(tools::from_crate("cargo-deb", CARGO_DEB)?);
    command
        .args(["--no-build", "--no-strip", "--quiet", "--target", machine.musl()])
        .arg("--manifest-path")
        .arg(root().join("host/devgate/Cargo.toml"))
        .arg("--output")
        .arg(folder)
        .env("CARGO_TARGET_DIR", work.path())
        .env("SOURCE_DATE_EPOCH", dist::epoch()?.to_string())
        // cargo-deb asks cargo where things are.
        .env("CARGO", cargo().get_program());
    let said = process::read(&mut command)?;
    let file = PathBuf::from(said.lines().last().context("cargo-deb names no file")?);
    dist::announce(&file)?;
    Ok(file)
}

/// Puts what is built into a folder that cargo-deb takes for cargo's.
fn stage(binary: &Path, folder: &Path) -> Result<()> {
    let (wasm, policies) = (folder.join("components"), folder.join("policies"));
    Product::Devgate.copy(binary, folder)?;
    // Where people and units look for it; it looks for the others beside its real file.
    std::os::unix::fs::symlink("../libexec/devgate/devgate", folder.join("devgate-link"))?;
    for name in components::shipped()? {
        let file = format!("{name}.wasm");
        copy(&components::folder()?.join(&file), &wasm.join(&file))?;
        let policy = guests().join(&name).join("policy.yaml");
        if policy.exists() {
            copy(&policy, &policies.join(format!("{name}.yaml")))?;
        }
    }
    // Last: where both have one, the node's is for people, and the component's for its tests.
    let theirs = root().join("deploy/policies");
    for entry in std::fs::read_dir(&theirs).with_context(|| format!("read {}", theirs.display()))? {
        let entry = entry?;
        copy(&entry.path(), &policies.join(entry.file_name()))?;
    }
    shipped::copy(&folder.join("doc"))?;
    manual::write(folder)?;
    let changelog = folder.join("changelog");
    std::fs::write(&changelog, changelog_of(&dist::version()?, dist::epoch()?)?)?;
    // cargo-deb would leave what was built as it is.
    process::run(Command::new("gzip").args(["-9", "--no-name", "--recursive"]).args([changelog, folder.join("man")]))
}

/// One entry, as Debian's tools read it: what is new is told where a release is.
fn changelog_of(version: &str, epoch: u64) -> Result<String> {
    let at = format!("--date=@{epoch}");
    let time = process::read(Command::new("date").args(["--utc", "--rfc-email", &at]).env("LC_ALL", "C"))?;
    // As cargo-deb: what comes before a release sorts before it.
    let debian = version.replacen('-', "~", 1);
    Ok(format!(
        "devgate ({debian}) stable; urgency=medium\n\n  * Released. What is new:\n    \
         https://github.com/devgate/devgate/releases/tag/v{version}\n\n -- {MAINTAINER}  {time}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changelog_depends_on_version_and_time_alone() {
        let expected = "devgate (1.2.0~rc.1) stable; urgency=medium\n\n  * Released. What is new:\n    \
                        https://github.com/devgate/devgate/releases/tag/v1.2.0-rc.1\n\n -- The devgate authors \
                        <devgate@users.noreply.github.com>  Tue, 14 Nov 2023 22:13:20 +0000\n";
        assert_eq!(changelog_of("1.2.0-rc.1", 1_700_000_000).unwrap(), expected);
        let manifest = std::fs::read_to_string(root().join("host/devgate/Cargo.toml")).unwrap();
        assert!(manifest.contains(MAINTAINER), "the changelog's and the package's are one");
    }
}
