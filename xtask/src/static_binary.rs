//! The static binaries: programs that run on any node and in an empty image, and have the same bytes wherever they are built.

mod contents;
mod linkers;
mod machine;
mod program;

use crate::build_paths::BuildPaths;
use crate::dist::{self, Out};
use crate::process;
use crate::workspace::{cargo, root, target};
use anyhow::{Context, Result};
use linkers::Way;
pub(crate) use machine::Machine;
pub(crate) use program::{Product, Program};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What to build.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which programs; may be given several times [default: devgate and what it needs beside it]
    #[arg(long = "program", value_name = "PROGRAM", value_enum)]
    programs: Vec<Program>,
    /// For which machines [default: as this one]
    #[arg(long, value_name = "TRIPLE", value_enum)]
    target: Option<Machine>,
    /// How: `dev` is what tests need, `release` what nodes need
    #[arg(long, value_enum, default_value_t = Profile::Release)]
    profile: Profile,
    #[command(flatten)]
    out: Out,
}

/// How much is done for speed and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Profile {
    /// As nodes get it
    Release,
    /// Quicker to build
    Dev,
}

impl Profile {
    /// As Cargo.toml names it.
    const fn name(self, program: Program) -> &'static str {
        match (self, program) {
            (Self::Release, Program::Devgate | Program::DevgateAgent) => "host",
            (Self::Release, Program::DevgateRunner) => "runner",
            (Self::Release, _) => "release",
            (Self::Dev, _) => "dev",
        }
    }

    /// What one call of cargo builds. Cargo unites what the programs of a call ask of a dependency, so that the one that runs
    /// components would get the compiler of the one that compiles them; a released program has a call of its own. For tests the others
    /// have one together, as each set of features is another build of what they share, which takes minutes.
    fn built_with(self, program: Program) -> Vec<Program> {
        match (self, program) {
            (Self::Release, _) | (Self::Dev, Program::DevgateRunner) => vec![program],
            (Self::Dev, _) => {
                let mut together = Product::Devgate.programs().to_vec();
                together.retain(|program| *program != Program::DevgateRunner);
                together.push(Program::Devgatectl);
                together
            }
        }
    }

    /// Where cargo puts what it builds.
    const fn folder(self, program: Program) -> &'static str {
        match self {
            Self::Release => self.name(program),
            Self::Dev => "debug",
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let machine = Machine::or_here(options.target)?;
    let programs = match options.programs.as_slice() {
        [] => Product::Devgate.programs(),
        programs => programs,
    };
    let folder = options.out.folder()?;
    for program in programs {
        build_one(*program, machine, options.profile, &folder)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The program that the stages of `cargo xtask test` pack and run, with what it needs beside it: built by the first that asks, found
/// done by the others. Without link-time optimisation, which is half of the time that a release takes and changes nothing that they
/// look at.
pub(crate) fn for_tests(product: Product) -> Result<PathBuf> {
    build(product, Machine::here()?, Profile::Dev, &Out::default().folder()?)
}

/// Builds a program and those that it needs beside it into a folder, and gives the program's file.
pub(crate) fn build(product: Product, machine: Machine, profile: Profile, folder: &Path) -> Result<PathBuf> {
    for program in product.programs() {
        build_one(*program, machine, profile, folder)?;
    }
    product.main().file(folder, machine, profile)
}

/// Builds a program into a folder. Fails when nothing here builds it, which says what to do; when the build fails; when
/// the program names a folder of this machine; and when it has something in it that belongs into another program.
fn build_one(program: Program, machine: Machine, profile: Profile, folder: &Path) -> Result<()> {
    let way = linkers::ensure(machine)?;
    let triple = way.triple(machine);
    let places = BuildPaths::here(&root(), triple)?;
    println!("Building {} for {triple}, {way} (minutes the first time) …", program.name());
    process::run(&mut command(program, machine, &way, profile, &places)?)?;
    let built = target()?.join(triple).join(profile.folder(program)).join(program.name());
    let bytes = std::fs::read(&built).with_context(|| format!("read {}", built.display()))?;
    places.refuse_in(&bytes)?;
    contents::check(program, profile, &bytes)?;
    let file = program.file(folder, machine, profile)?;
    if let Some(parent) = file.parent() {
        // Version 0.1 was one file, called as the folder is now.
        if parent.is_file() {
            std::fs::remove_file(parent).with_context(|| format!("remove {}", parent.display()))?;
        }
        std::fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
    }
    // Another process may run the old one, which cannot be written to; what is renamed in its place is another file.
    let new = file.with_extension("new");
    std::fs::copy(&built, &new).with_context(|| format!("write {}", new.display()))?;
    std::fs::rename(&new, &file).with_context(|| format!("write {}", file.display()))?;
    dist::announce(&file)
}

fn command(program: Program, machine: Machine, way: &Way, profile: Profile, places: &BuildPaths) -> Result<Command> {
    let triple = way.triple(machine);
    let mut command = cargo();
    command.args(["build", "--locked", "--target", triple, "--profile", profile.name(program)]);
    for program in profile.built_with(program) {
        command.args(["--package", program.package(), "--bin", program.name()]);
    }
    // What a user's environment says about builds would make another program.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_PROFILE_") || ["RUSTFLAGS", "CARGO_INCREMENTAL"].contains(&name.as_str()) {
            command.env_remove(name);
        }
    }
    let mut flags = places.for_rustc();
    // Said although it is musl's default: that may change. An id of the build would be a digest of what is left out.
    flags.extend(["-Ctarget-feature=+crt-static", "-Clink-arg=-Wl,--build-id=none"].map(str::to_owned));
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    command.env(format!("CARGO_PROFILE_{}_STRIP", profile.name(program).to_uppercase()), "symbols");
    // For C in crates, which `cc` compiles.
    let variable = triple.replace('-', "_");
    command.env(format!("CFLAGS_{variable}"), places.for_cc()?);
    if let Some((cc, _)) = machine.cross_cc()? {
        command.env(format!("CC_{variable}"), cc);
        command.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), cc);
    }
    // For `__DATE__` in C. Not the commit's time: then every commit would be another program.
    command.env("SOURCE_DATE_EPOCH", "0");
    Ok(command)
}
