//! Building the components in `guests/`.

mod imports;

use crate::workspace::{WASM, cargo, guests, metadata, target};
use crate::{process, setup};
use anyhow::{Context, Result, bail};
use cargo_metadata::CrateType;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn run() -> Result<ExitCode> {
    build()?;
    Ok(ExitCode::SUCCESS)
}

/// Where the components are.
pub(crate) fn folder() -> Result<PathBuf> {
    Ok(target()?.join("components"))
}

/// Builds all components into [`folder`], checks and lists them.
pub(crate) fn build() -> Result<()> {
    let toolchain = setup::ensure(setup::Reach::Toolchain)?;
    let built = target()?.join("guests");
    let mut command = cargo();
    // Not in the host's target folder, whose lock another cargo may hold.
    command
        .current_dir(guests())
        .args(["build", "--release", "--locked", "--target-dir"])
        .arg(&built);
    // These would take the place of what guests/.cargo/config.toml says.
    command
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET");
    toolchain.apply(&mut command)?;
    println!("Building components …");
    process::run(&mut command)?;

    let folder = folder()?;
    std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let mut rows = Vec::new();
    for (package, library) in packages()? {
        let file = built.join(WASM).join("release").join(format!("{library}.wasm"));
        let bytes = std::fs::read(&file).with_context(|| format!("read {}", file.display()))?;
        let imports = imports::of(&bytes).with_context(|| file.display().to_string())?;
        if let Some(wasi) = imports.iter().find(|import| import.starts_with("wasi:")) {
            bail!("component {package} imports {wasi}; find what uses it (printing, time, randomness) and remove it");
        }
        let place = folder.join(format!("{package}.wasm"));
        keep(&place, &bytes)?;
        rows.push((package, bytes.len(), digest(&bytes), grantable(&imports)));
    }
    println!("{}", folder.display());
    for (package, size, digest, imports) in rows {
        println!(
            "  {:<20} {size:>8} bytes  sha256 {digest}  needs: {imports}",
            format!("{package}.wasm")
        );
    }
    Ok(())
}

/// Package and library of each component.
fn packages() -> Result<Vec<(String, String)>> {
    let metadata = metadata(&guests())?;
    let mut components = Vec::new();
    for package in metadata.workspace_packages() {
        for target in package
            .targets
            .iter()
            .filter(|target| target.crate_types.contains(&CrateType::CDyLib))
        {
            components.push((package.name.to_string(), target.name.replace('-', "_")));
        }
    }
    components.sort();
    Ok(components)
}

/// Writes a file as a whole, and only if it differs: its time tells others whether to load it again.
fn keep(place: &Path, bytes: &[u8]) -> Result<()> {
    if std::fs::read(place).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let new = place.with_extension("wasm.new");
    std::fs::write(&new, bytes).with_context(|| format!("write {}", new.display()))?;
    std::fs::rename(&new, place).with_context(|| format!("write {}", place.display()))
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

/// The capabilities that a policy must grant, by their short names.
fn grantable(imports: &[String]) -> String {
    let always = ["types", "config", "log"];
    let short = |import: &String| Some(import.strip_prefix("devgate:plugin/")?.split('@').next()?.to_owned());
    let names: Vec<String> = imports
        .iter()
        .filter_map(short)
        .filter(|name| !always.contains(&name.as_str()))
        .collect();
    if names.is_empty() {
        "nothing".to_owned()
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_policy_grants_is_listed() {
        let imports = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let all = [
            "devgate:plugin/types@0.1.0",
            "devgate:plugin/hardware@0.1.0",
            "devgate:plugin/log@0.1.0",
        ];
        assert_eq!(grantable(&imports(&all)), "hardware");
        assert_eq!(grantable(&imports(&["devgate:plugin/config@0.1.0"])), "nothing");
    }

    #[test]
    fn digests_are_as_sha256sum_prints_them() {
        assert_eq!(
            digest(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_file_that_did_not_change_keeps_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a.wasm");
        keep(&place, b"one").unwrap();
        let written = |time: u64| std::time::UNIX_EPOCH + std::time::Duration::from_secs(time);
        let file = std::fs::File::options().write(true).open(&place).unwrap();
        file.set_modified(written(1_000)).unwrap();
        keep(&place, b"one").unwrap();
        assert_eq!(std::fs::metadata(&place).unwrap().modified().unwrap(), written(1_000));
        keep(&place, b"two").unwrap();
        assert_eq!(std::fs::read(&place).unwrap(), b"two");
        assert!(!place.with_extension("wasm.new").exists());
    }
}
