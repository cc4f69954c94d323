//! The static binaries and the images of them.

use super::Outcome;
use super::stages::host_cargo;
use crate::dist::Out;
use crate::static_binary::{self, Product};
use crate::workspace::{WHOLE, cargo, target};
use crate::{components, image, process};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// What is built here is built once: later stages find it done.
pub(super) fn program() -> Result<Outcome> {
    static_binary::for_tests(Product::Devgate)?;
    static_binary::for_tests(Product::Devgatectl)?;
    Ok(Outcome::Passed)
}

/// The image is the same bytes when it is made again, and serves a kubelet as a container.
pub(super) fn check() -> Result<Outcome> {
    match tools() {
        Ok(()) => {}
        Err(error) if std::env::var_os("CI").is_none() => return Ok(Outcome::Skipped(format!("{error:#}"))),
        Err(error) => return Err(error),
    }
    let folder = Out::default().folder()?;
    let binary = static_binary::for_tests(Product::Devgate)?;
    let archive = image::build(Product::Devgate, std::slice::from_ref(&binary), &folder)?;
    let again = tempfile::tempdir_in(target()?)?;
    same(&archive, &image::build(Product::Devgate, &[binary], again.path())?)?;
    let workshop = static_binary::for_tests(Product::Devgatectl)?;
    let workshop = image::build(Product::Devgatectl, &[workshop], &folder)?;

    components::build()?;
    host_cargo(&["build", WHOLE, "--locked"])?;
    let mut tests = cargo();
    tests.args(["test", WHOLE, "--locked", "--test", "e2e", "--", "image::"]);
    process::run(tests.env("DEVGATE_IMAGE", &archive).env("DEVGATECTL_IMAGE", &workshop))?;
    Ok(Outcome::Passed)
}

/// What makes the image and runs it.
fn tools() -> Result<()> {
    image::needs_buildah()?;
    if !process::answers(Command::new("podman").arg("--version")) {
        bail!("there is no podman here; install it (Debian: apt-get install podman runc)");
    }
    if process::read(Command::new("id").arg("-u"))? != "0" {
        bail!("running the image as a node does needs root");
    }
    Ok(())
}

pub(super) fn same(one: &Path, other: &Path) -> Result<()> {
    let read = |file: &Path| std::fs::read(file).with_context(|| format!("read {}", file.display()));
    if read(one)? != read(other)? {
        bail!("{}: other bytes when it is made again", one.display());
    }
    println!("made again: the same bytes");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_compared() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let file = dir.path().join(name);
            std::fs::write(&file, text).unwrap();
            file
        };
        let (one, two, three) = (file("one", "a"), file("two", "a"), file("three", "b"));
        assert!(same(&one, &two).is_ok());
        let error = same(&one, &three).unwrap_err().to_string();
        assert!(error.ends_with("other bytes when it is made again"), "{error}");
    }
}
