//! devgate on a real Kubernetes: builds what tests/cluster installs and plays, and starts it.

use crate::dist::{self, Out};
use crate::workspace::{built, root, target};
use crate::{chart, components, demo, image, languages, manifests, process, release, static_binary, tools};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What to play.
#[derive(Default, clap::Args)]
pub(crate) struct Options {
    /// What to play [default: all that there is]
    scenarios: Vec<String>,
    /// Leave the cluster up, and say how to use it; where one was left up, use that one. Without the name of a scenario devgate is
    /// installed, and nothing is played
    #[arg(long)]
    keep: bool,
    /// End a cluster that was left up
    #[arg(long, conflicts_with_all = ["keep", "scenarios"])]
    down: bool,
    /// Play the longer forms of scenarios that have one
    #[arg(long)]
    long: bool,
    /// List the scenarios
    #[arg(long)]
    list: bool,
    /// A folder with kubelet, kube-apiserver, kube-controller-manager, kube-scheduler and etcd [default: the variable KUBERNETES]
    #[arg(long, value_name = "DIR")]
    kubernetes: Option<PathBuf>,
    /// An image's archive to install [default: one of this tree, built for tests]
    #[arg(long, value_name = "FILE", requires = "program")]
    image: Option<PathBuf>,
    /// The static program of that image, which scenarios run on the node itself
    #[arg(long, value_name = "FILE", requires = "image")]
    program: Option<PathBuf>,
    /// The static program of the version before: `rollout` goes back to it, and forth again [default: this version's, in another image]
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    demo::become_it(&mut command(options)?)
}

/// What plays everything, with all that it needs built.
pub(crate) fn everything() -> Result<Command> {
    command(&Options::default())
}

/// The folder of Kubernetes' programs, as the environment has it. Fails where it has none, which says what to do.
pub(crate) fn kubernetes() -> Result<PathBuf> {
    match std::env::var_os("KUBERNETES") {
        Some(folder) if !folder.is_empty() => Ok(folder.into()),
        _ => bail!(
            "KUBERNETES names no folder with kubelet, kube-apiserver, kube-controller-manager, kube-scheduler and etcd (CONTRIBUTING.md)"
        ),
    }
}

fn command(options: &Options) -> Result<Command> {
    let program = built(&["devgate-cluster", "devgatectl"])?.join("devgate-cluster");
    let mut command = Command::new(&program);
    command.arg("--dir").arg(target()?.join("cluster"));
    if options.list || options.down {
        command.args(options.list.then_some("--list")).args(options.down.then_some("--down"));
        return Ok(command);
    }
    let kubernetes = options.kubernetes.clone().map_or_else(kubernetes, Ok)?;
    command.arg("--kubernetes").arg(std::path::absolute(kubernetes)?);
    command.args(options.keep.then_some("--keep")).args(options.long.then_some("--long"));
    command.args(&options.scenarios);
    // Before minutes go into what it would be played with.
    let mut check = Command::new(program);
    process::run(check.args(command.get_args()).arg("--check"))?;

    components::build()?;
    let out = Out::default().folder()?;
    let (image, program) = match (&options.image, &options.program) {
        (Some(image), Some(program)) => (std::path::absolute(image)?, std::path::absolute(program)?),
        _ => {
            image::needs_buildah()?;
            // A node is recorded with it.
            let workshop = static_binary::for_tests(static_binary::Product::Devgatectl)?;
            image::build(static_binary::Product::Devgatectl, &[workshop], &out)?;
            let program = static_binary::for_tests(static_binary::Product::Devgate)?;
            (image::build(static_binary::Product::Devgate, std::slice::from_ref(&program), &out)?, program)
        }
    };
    command.arg("--layout").arg(layout(&out, &image)?);
    command.arg("--image").arg(&image).arg("--program").arg(program);
    command.arg("--chart").arg(chart::pack(&manifests::chart(), &out, dist::epoch()?)?);
    let (helm, rendered) = (tools::helm()?, out.join("rendered"));
    manifests::profiles::write(&helm, &manifests::chart(), &rendered)?;
    command.arg("--rendered").arg(rendered);
    if let Some(before) = &options.before {
        command.arg("--before").arg(std::path::absolute(before)?);
    }
    command.arg("--components").arg(components::folder()?);
    // Scenarios build a plugin of another project and a component with it.
    languages::offer_go(&mut command)?;
    command.arg("--root").arg(root());
    command.arg("--kubectl").arg(tools::kubectl()?).arg("--helm").arg(helm);
    Ok(command)
}

/// What a release has for registries, of this tree and signed by a key of no worth.
fn layout(out: &Path, image: &Path) -> Result<PathBuf> {
    let folder = out.join("mirror");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir(&folder)?;
    let key = folder.join("key.pem");
    let new = ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out"];
    process::run(Command::new("openssl").args(new).arg(&key))?;
    release::layout::write(&folder.join("oci"), &[image.to_owned()], Some(&key))?;
    Ok(folder.join("oci"))
}
