//! A release: everything that is given to others, in one folder, the same bytes for the same commit.

mod changelog;
mod compare;
mod contents;
pub(crate) mod layout;
mod sbom;
mod sums;

use crate::dist;
use crate::static_binary::{self, Machine, Product, Profile};
use crate::workspace::target;
use crate::{components, image, package};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// What to make.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where to put it; must not be there yet [default: dist/devgate-VERSION in cargo's target folder, made anew]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// For which machines; may be given several times [default: as this one]
    #[arg(long = "target", value_name = "TRIPLE", value_enum)]
    targets: Vec<Machine>,
    /// Of a tree that is not as it was committed, to try it
    #[arg(long)]
    dirty: bool,
    /// Make it a second time, from a clone in another folder, and compare the bytes of every file
    #[arg(long, conflicts_with = "dirty")]
    twice: bool,
    /// Sign the components with this private key in PEM, which is not encrypted
    #[arg(long, value_name = "FILE", conflicts_with = "twice")]
    key: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let version = dist::version()?;
    if !options.dirty && dist::revision().ends_with("-dirty") {
        bail!("the tree is not as it was committed, and a release is made of a commit: commit, or try it with --dirty");
    }
    // Before what takes minutes.
    let notes = changelog::of(&version)?;
    let folder = place(options.out.as_deref(), &version)?;
    let start = Instant::now();
    make(options, &version, &notes, &folder)?;
    print!("\n{}", contents::table(&folder)?);
    println!("{} in {} s", folder.display(), start.elapsed().as_secs());
    if options.twice {
        compare::with_a_clone(&folder, &options.targets)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder that it goes to. One that was asked for must be new: what lay there would be taken for a part of it.
fn place(out: Option<&Path>, version: &str) -> Result<PathBuf> {
    let Some(out) = out else {
        return Ok(target()?.join("dist").join(format!("devgate-{version}")));
    };
    if out.exists() {
        bail!("{} is there already; name a folder that is not", out.display());
    }
    std::path::absolute(out).with_context(|| out.display().to_string())
}

/// Makes all of it beside the place, which it takes as a whole.
fn make(options: &Options, version: &str, notes: &str, place: &Path) -> Result<()> {
    let name = place.file_name().context("a release needs a folder")?.to_string_lossy();
    let folder = place.with_file_name(format!("{name}.new"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;

    step("components");
    components::build()?;
    contents::components(&folder)?;
    let here = [Machine::here()?];
    let machines: &[Machine] = if options.targets.is_empty() { &here } else { &options.targets };
    let build = |product: Product| {
        step(product.name());
        let built = machines.iter().map(|machine| static_binary::build(product, *machine, Profile::Release, &folder));
        built.collect::<Result<Vec<_>>>()
    };
    let (host, workshop) = (build(Product::Devgate)?, build(Product::Devgatectl)?);
    step("images");
    let images =
        [image::build(Product::Devgate, &host, &folder)?, image::build(Product::Devgatectl, &workshop, &folder)?];
    for program in &host {
        step("package");
        package::build(program, &folder)?;
    }
    step("layout, chart and manifests");
    let (chart, stamp) =
        layout::write(&folder.join(format!("devgate-{version}-oci")), &images, options.key.as_deref())?;
    dist::announce(&chart)?;
    contents::manifests(&folder, version, &stamp)?;
    step("bills of materials");
    sbom::write(machines, &folder)?;
    std::fs::write(folder.join("CHANGELOG.md"), notes)?;
    sums::write(&folder)?;

    if place.exists() {
        std::fs::remove_dir_all(place).with_context(|| format!("remove {}", place.display()))?;
    }
    std::fs::rename(&folder, place).with_context(|| format!("write {}", place.display()))
}

fn step(name: &str) {
    println!("\n== {name} ==");
}
