//! The static binary: one file that runs on any node and in an empty image, and has the same bytes wherever it is built.

mod machine;
mod ways;

use crate::dist::{self, Out};
use crate::places::Places;
use crate::process;
use crate::workspace::{cargo, root, target};
use anyhow::{Context, Result};
pub(crate) use machine::Machine;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use ways::Way;

/// The programs of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Program {
    /// What a node runs
    Devgate,
    /// What vendors, testers and admins use
    Devgatectl,
}

impl Program {
    /// As cargo, a shell and an image name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Devgate => "devgate",
            Self::Devgatectl => "devgatectl",
        }
    }

    /// The file's name: a program that is not for nodes says so.
    pub(crate) fn file_name(self, machine: Machine, profile: Profile) -> Result<String> {
        let mark = match profile {
            Profile::Release => "",
            Profile::Dev => "-dev",
        };
        Ok(format!(
            "{}-{}-linux-{}{mark}",
            self.name(),
            dist::version()?,
            machine.oci()
        ))
    }

    /// Which of them a file is, by its name.
    pub(crate) fn of_file(file: &Path) -> Self {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("devgatectl") {
            Self::Devgatectl
        } else {
            Self::Devgate
        }
    }
}

/// What to build.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which program
    #[arg(long, value_enum, default_value_t = Program::Devgate)]
    program: Program,
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
    const fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "dev",
        }
    }

    /// Where cargo puts what it builds.
    const fn folder(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "debug",
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let machine = Machine::or_here(options.target)?;
    build(options.program, machine, options.profile, &options.out.folder()?)?;
    Ok(ExitCode::SUCCESS)
}

/// The program that the stages of `cargo xtask test` pack and run: built by the first that asks, found done by the others. Without
/// link-time optimisation, which is half of the time that a release takes and changes nothing that they look at.
pub(crate) fn for_tests(program: Program) -> Result<PathBuf> {
    build(program, Machine::here()?, Profile::Dev, &Out::default().folder()?)
}

/// Builds it into a folder, and gives the file.
///
/// # Errors
/// When nothing here builds it, which says what to do; when the build fails; and when the program names a folder of this machine.
pub(crate) fn build(program: Program, machine: Machine, profile: Profile, folder: &Path) -> Result<PathBuf> {
    let way = ways::ensure(machine)?;
    let triple = way.triple(machine);
    let places = Places::here(&root(), triple)?;
    println!("Building for {triple}, {way} (minutes the first time: it contains a compiler) …");
    process::run(&mut command(program, machine, &way, profile, &places)?)?;
    let built = target()?.join(triple).join(profile.folder()).join(program.name());
    let bytes = std::fs::read(&built).with_context(|| format!("read {}", built.display()))?;
    places.refuse_in(&bytes)?;
    let file = folder.join(program.file_name(machine, profile)?);
    // Another process may run the old one, which cannot be written to; what is renamed in its place is another file.
    let new = file.with_extension("new");
    std::fs::copy(&built, &new).with_context(|| format!("write {}", new.display()))?;
    std::fs::rename(&new, &file).with_context(|| format!("write {}", file.display()))?;
    dist::announce(&file)?;
    Ok(file)
}

fn command(program: Program, machine: Machine, way: &Way, profile: Profile, places: &Places) -> Result<Command> {
    let triple = way.triple(machine);
    let mut command = cargo();
    command.args(["build", "--locked", "--package", program.name(), "--target", triple]);
    command.args(["--profile", profile.name()]);
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
    command.env(
        format!("CARGO_PROFILE_{}_STRIP", profile.name().to_uppercase()),
        "symbols",
    );
    // For C in crates, which `cc` compiles.
    let variable = triple.replace('-', "_");
    command.env(format!("CFLAGS_{variable}"), places.for_cc()?);
    if let Some(cc) = machine.cross_cc()? {
        command.env(format!("CC_{variable}"), cc);
        command.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), cc);
    }
    // For `__DATE__` in C. Not the commit's time: then every commit would be another program.
    command.env("SOURCE_DATE_EPOCH", "0");
    Ok(command)
}
