//! Building the components in `guests/`.

mod config_schema;
mod imports;
mod optional;
mod section;

use crate::build_paths::BuildPaths;
use crate::languages::{self, Language};
use crate::workspace::{WASM, cargo, guests, metadata, target};
use crate::{process, setup};
use anyhow::{Context, Result, bail};
use cargo_metadata::CrateType;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What to build.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Build the example in other languages, too: all of them, or those named [possible values: c, go, js, python]
    ///
    /// `--languages`, or `--languages=c,python`. Brings what each needs: with pip and npm into target/tools, as root on Debian a
    /// compiler of C from its packages, and for Go devgate itself. Without a name, a language whose tools cannot be had here is left out and says why.
    #[arg(long, value_name = "LANGUAGE", value_enum, num_args = 0.., value_delimiter = ',', require_equals = true)]
    #[arg(hide_possible_values = true)]
    languages: Option<Vec<Language>>,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    build()?;
    match options.languages.as_deref() {
        None => {}
        Some([]) => {
            for language in Language::ALL {
                if let Err(error) = languages::one(language) {
                    println!("{} is left out: {error:#}", language.name());
                }
            }
        }
        Some(named) => languages::build(named)?,
    }
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
    let places = BuildPaths::here(&guests(), WASM)?;
    let mut command = cargo();
    // Not in the host's target folder, whose lock another cargo may hold.
    command
        .current_dir(guests())
        .args(["build", "--release", "--locked", "--target-dir"])
        .arg(&built)
        .args(["--config", &renamed(&places)?]);
    // These would take the place of what guests/.cargo/config.toml says, and incremental compilation makes other bytes.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let ours = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_INCREMENTAL"];
        if ours.contains(&name.as_str()) || name.starts_with("CARGO_PROFILE_") {
            command.env_remove(name);
        }
    }
    toolchain.apply(&mut command)?;
    println!("Building components …");
    process::run(&mut command)?;

    let mut rows = Vec::new();
    for Package { name, library, source, optional } in packages()? {
        let file = built.join(WASM).join("release").join(format!("{library}.wasm"));
        let program = std::fs::read(&file).with_context(|| format!("read {}", file.display()))?;
        places.refuse_in(&program).with_context(|| format!("component {name}"))?;
        let component = optional::carried(program, &optional).with_context(|| format!("component {name}"))?;
        let component = config_schema::carried(component, &source)?;
        rows.push(taken(&component, &name).with_context(|| file.display().to_string())?);
    }
    println!("{}", folder()?.display());
    print!("{}", Row::table(&rows));
    Ok(())
}

/// Adds to the flags in guests/.cargo/config.toml those that keep this machine's folders out.
fn renamed(places: &BuildPaths) -> Result<String> {
    let flags = serde_json::to_string(&places.for_rustc())?;
    Ok(format!("target.{WASM}.rustflags={flags}"))
}

/// What is said of a component that was built.
pub(crate) struct Row {
    name: String,
    size: usize,
    digest: String,
    needs: String,
}

impl Row {
    /// A line for each.
    pub(crate) fn table(rows: &[Self]) -> String {
        rows.iter().fold(String::new(), |mut text, row| {
            let Self { name, size, digest, needs } = row;
            let _infallible = writeln!(text, "  {name:<20} {size:>8} bytes  sha256 {digest}  needs: {needs}");
            text
        })
    }
}

/// Takes a file that was built into [`folder`] as `<name>.wasm`, if it is a component and imports nothing of WASI.
pub(crate) fn take(file: &Path, name: &str) -> Result<Row> {
    let bytes = std::fs::read(file).with_context(|| format!("read {}", file.display()))?;
    taken(&bytes, name).with_context(|| file.display().to_string())
}

fn taken(bytes: &[u8], name: &str) -> Result<Row> {
    let imports = imports::of(bytes)?;
    if let Some(import) = imports.iter().find(|import| import.starts_with("wasi:")) {
        bail!("component {name} imports {import}; find what uses it (printing, time, randomness) and remove it");
    }
    let folder = folder()?;
    std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let name = format!("{name}.wasm");
    keep(&folder.join(&name), bytes)?;
    Ok(Row { name, size: bytes.len(), digest: digest(bytes), needs: grantable(&imports, &optional::of(bytes)) })
}

/// Components that are of no use on a node: for tests, and examples.
const NOT_FOR_NODES: [&str; 6] = ["example", "lifecycle-probe", "misfit", "overreach", "prowler", "widget"];

/// The components that come with devgate.
pub(crate) fn shipped() -> Result<Vec<String>> {
    let names = packages()?.into_iter().map(|package| package.name);
    Ok(names.filter(|name| !NOT_FOR_NODES.contains(&name.as_str())).collect())
}

/// A component's package.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    library: String,
    /// The library's file.
    source: PathBuf,
    /// Interfaces that it can do without.
    optional: Vec<String>,
}

/// That of each component.
fn packages() -> Result<Vec<Package>> {
    let metadata = metadata(&guests())?;
    let mut components = Vec::new();
    for package in metadata.workspace_packages() {
        for target in package.targets.iter().filter(|target| target.crate_types.contains(&CrateType::CDyLib)) {
            let (name, library) = (package.name.to_string(), target.name.replace('-', "_"));
            let optional = optional::named(&package.metadata);
            components.push(Package { name, library, source: target.src_path.clone().into(), optional });
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

/// The SHA-256, as hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

/// The capabilities that a policy must grant, by their short names, and those that it may.
fn grantable(imports: &[String], optional: &[String]) -> String {
    let always = ["types", "config", "log", "clock"];
    let ours = |import: &str| Some(import.strip_prefix("devgate:plugin/")?.split('@').next()?.to_owned());
    let names = imports.iter().filter_map(|import| ours(import)).filter(|name| !always.contains(&name.as_str()));
    let (optional, needed): (Vec<String>, Vec<String>) = names.partition(|name| optional.contains(name));
    let needed = if needed.is_empty() { "nothing".to_owned() } else { needed.join(", ") };
    if optional.is_empty() { needed } else { format!("{needed}; can do without {}", optional.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_policy_grants_is_listed() {
        let imports = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let all = ["devgate:plugin/types@0.1.0", "devgate:plugin/hardware@0.1.0", "devgate:plugin/log@0.1.0"];
        assert_eq!(grantable(&imports(&all), &[]), "hardware");
        assert_eq!(grantable(&imports(&all), &imports(&["hardware"])), "nothing; can do without hardware");
        assert_eq!(grantable(&imports(&["devgate:plugin/config@0.1.0"]), &[]), "nothing");
    }

    #[test]
    fn what_is_not_for_nodes_is_not_shipped() {
        let all: Vec<String> = packages().unwrap().into_iter().map(|package| package.name).collect();
        let shipped = shipped().unwrap();
        for name in NOT_FOR_NODES {
            assert!(all.iter().any(|one| one == name), "there is no {name} any more");
            assert!(!shipped.iter().any(|one| one == name), "{name}");
        }
        assert!(shipped.iter().any(|name| name == "generic"));
    }

    #[test]
    fn digests_are_as_sha256sum_prints_them() {
        assert_eq!(digest(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
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
