//! The images: static binaries and nothing else, as an archive that podman, docker, skopeo and containerd read.
//!
//! By buildah, which needs no daemon and writes what it is told and no more. A stage of deploy/image/Dockerfile is built,
//! with programs from here in place of the stage that builds them.

use crate::dist::{self, Out};
use crate::process;
use crate::static_binary::{self, Machine, Product, Profile};
use crate::workspace::{root, target};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Where the images are in their archives, with a program's name: as the chart names devgate's when it is told nothing else. The
/// name is reserved for examples, so that nothing can be pulled in its place.
const REGISTRY: &str = "registry.example.com";

/// Where an index has the name that containerd gives to what it imports. Without it the name is the date's, and no pod can name it.
const CONTAINERD: &str = "io.containerd.image.name";

/// Where an index has the name that podman, skopeo and others go by.
const NAME: &str = "org.opencontainers.image.ref.name";

/// What to make.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which program
    #[arg(long, value_enum, default_value_t = Product::Devgate)]
    program: Product,
    /// A program that `cargo xtask static` built, with those that it needs beside it; given for two kinds of machines, one image for
    /// both [default: build it]
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    binary: Vec<PathBuf>,
    /// For which machines to build it [default: as this one]
    #[arg(long, value_name = "TRIPLE", value_enum)]
    target: Option<Machine>,
    #[command(flatten)]
    out: Out,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let folder = options.out.folder()?;
    needs_buildah()?;
    if !options.binary.is_empty() {
        build(options.program, &options.binary, &folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    let machine = Machine::or_here(options.target)?;
    let built = static_binary::build(options.program, machine, Profile::Release, &folder)?;
    build(options.program, &[built], &folder)?;
    Ok(ExitCode::SUCCESS)
}

/// Fails where buildah is not, saying what to do.
pub(crate) fn needs_buildah() -> Result<()> {
    if process::answers(Command::new("buildah").arg("--version")) {
        return Ok(());
    }
    bail!("there is no buildah here; install it (Debian: apt-get install buildah)")
}

/// Makes the archive of a program, one file for each kind of machine and with what it needs beside it, in a folder, and
/// gives the archive's file. Fails when two are for the same machines, when one lacks what it needs beside it, and when
/// buildah or tar fails.
pub(crate) fn build(product: Product, binaries: &[PathBuf], folder: &Path) -> Result<PathBuf> {
    let epoch = dist::epoch()?;
    let reference = format!("{}:{}", product.name(), dist::version()?);
    let work = tempfile::Builder::new().prefix("image-").tempdir_in(target()?)?;
    let mut machines = Vec::new();
    for binary in binaries {
        let machine = Machine::of_program(binary)?;
        if machines.contains(&machine) {
            bail!("{}: there is another one for {}", binary.display(), machine.oci());
        }
        machines.push(machine);
        one(product, binary, machine, &format!("{reference}-{}", machine.oci()), work.path())?;
    }

    let layout = work.path().join("layout");
    let destination = format!("oci:{}:{REGISTRY}/{reference}", layout.display());
    let of = |machine: &Machine| format!("localhost/{reference}-{}", machine.oci());
    let name = if let [machine] = machines.as_slice() {
        let push = ["push", "--quiet", "--format=oci", &of(machine), &destination];
        process::read(buildah(work.path()).args(push))?;
        format!("image-{}", machine.oci())
    } else {
        let list = format!("localhost/{reference}");
        process::read(buildah(work.path()).args(["manifest", "create", &list]))?;
        for machine in &machines {
            process::read(buildah(work.path()).args(["manifest", "add", &list, &of(machine)]))?;
        }
        let push = ["manifest", "push", "--quiet", "--all", &list, &destination];
        process::read(buildah(work.path()).args(push))?;
        "image".to_owned()
    };
    name_for_containerd(&layout.join("index.json"))?;
    let archive = folder.join(format!("{}-{}-{name}.tar", product.name(), dist::version()?));
    dist::tar(&layout, &archive, epoch)?;
    dist::announce(&archive)?;
    Ok(archive)
}

/// Says the name of each image in an index for containerd as well.
fn name_for_containerd(index: &Path) -> Result<()> {
    let text = std::fs::read(index).with_context(|| format!("read {}", index.display()))?;
    let mut json: Value = serde_json::from_slice(&text).with_context(|| format!("{}", index.display()))?;
    let images = json.get_mut("manifests").and_then(Value::as_array_mut);
    for image in images.context("an index without manifests")? {
        let annotations = image.get_mut("annotations").and_then(Value::as_object_mut);
        let annotations = annotations.context("an image without a name")?;
        let name = annotations.get(NAME).context("an image without a name")?.clone();
        annotations.insert(CONTAINERD.to_owned(), name);
    }
    std::fs::write(index, serde_json::to_vec(&json)?).with_context(|| format!("write {}", index.display()))
}

/// Builds the image of one kind of machine into the store of a folder.
fn one(product: Product, binary: &Path, machine: Machine, tag: &str, work: &Path) -> Result<()> {
    let context = work.join(machine.oci());
    std::fs::create_dir(&context)?;
    product.copy(binary, &context)?;
    for program in product.programs() {
        std::fs::set_permissions(context.join(program.name()), Permissions::from_mode(0o755))?;
    }

    let mut build = buildah(work);
    build.args(["build", "--quiet", "--format=oci", "--layers=false", "--isolation=chroot"]);
    build.args(["--identity-label=false", &format!("--timestamp={}", dist::epoch()?)]);
    build.arg(format!("--platform=linux/{}", machine.oci()));
    build.args(["--build-arg", &format!("VERSION={}", dist::version()?)]);
    build.args(["--build-arg", &format!("REVISION={}", dist::revision())]);
    build.args(["--target", product.name()]);
    build.args(["--build-context", &format!("build-{}={}", product.name(), context.display())]);
    build.arg("--file").arg(root().join("deploy/image/Dockerfile"));
    // As the context of the other stage, of which nothing is used.
    process::read(build.args(["--tag", tag]).arg(&context))?;
    Ok(())
}

/// Buildah with a store of its own, which needs no overlay file system and goes with the folder.
fn buildah(work: &Path) -> Command {
    let mut command = Command::new("buildah");
    command.args(["--log-level=error", "--storage-driver=vfs", "--root"]);
    command.arg(work.join("store")).arg("--runroot").arg(work.join("run"));
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn containerd_is_told_the_name_that_others_go_by() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("index.json");
        let name = format!("{REGISTRY}/devgate:1.2.3");
        let index = json!({"schemaVersion": 2, "manifests": [{"digest": "sha256:0", "annotations": {NAME: name}}]});
        std::fs::write(&file, index.to_string()).unwrap();
        name_for_containerd(&file).unwrap();
        let told: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let expected = json!({NAME: name, CONTAINERD: name});
        assert_eq!(told["manifests"][0]["annotations"], expected);
        assert_eq!(told["manifests"][0]["digest"], "sha256:0");
        for odd in ["{}", r#"{"manifests": [{}]}"#, r#"{"manifests": [{"annotations": {}}]}"#] {
            std::fs::write(&file, odd).unwrap();
            name_for_containerd(&file).unwrap_err();
        }
    }

    #[test]
    fn what_is_imported_is_what_the_manifests_name() {
        let text = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
        let values: Value = serde_saphyr::from_str(&text("deploy/helm/devgate/values.yaml")).unwrap();
        let repository = format!("{REGISTRY}/{}", Product::Devgate.name());
        assert_eq!(values["image"]["repository"], repository.as_str());
        for key in ["tag", "digest"] {
            assert_eq!(values["image"][key], "", "{key}: the chart's version is");
        }
        let chart: Value = serde_saphyr::from_str(&text("deploy/helm/devgate/Chart.yaml")).unwrap();
        assert_eq!(chart["appVersion"], dist::version().unwrap().as_str());
        for (file, times) in [("_daemonset.tpl", 2), ("cleanup.yaml", 2)] {
            let template = text(&format!("deploy/helm/devgate/templates/{file}"));
            let named = "image: {{ include \"devgate.image\" . | quote }}\n";
            assert_eq!(template.matches(named).count(), times, "{file}");
        }
    }
}
