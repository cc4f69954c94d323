//! The repository's own commands: `cargo xtask <command>`. Builds and checks; knows nothing of what devgate does, and never
//! links the runtime, so that it is there in seconds.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a command line tool says what it does on its standard output")]

mod build_paths;
mod chart;
mod cluster;
mod components;
mod demo;
mod dependencies;
mod dist;
mod harness;
mod image;
mod languages;
mod manifests;
mod manual;
mod monitoring;
mod package;
mod process;
mod release;
mod setup;
mod shipped;
mod static_binary;
mod test;
mod tools;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Builds, checks and shows devgate.
///
/// On a fresh clone: `cargo xtask demo` shows it, `cargo xtask test` checks what changes, and CI has `--full`.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Finds or installs what building components needs: a standard library for WebAssembly, and a linker
    ///
    /// Tries in this order, and says what each step found: the toolchain as it is; `rustup target add
    /// wasm32-unknown-unknown`; as root on Debian, the packages rustc-web and rust-web-src. `test` does the
    /// same by itself; `components`, `demo` and `bench` go no further than rustup.
    Setup,
    /// Builds the components in guests/ into target/components/
    ///
    /// Each is a finished WebAssembly component. Prints size and SHA-256 (which a policy names), and fails for one that
    /// imports anything of WASI: it would need what no component of this project needs.
    Components(components::Options),
    /// Builds the static binaries: programs that run on any node and in an empty image
    ///
    /// With musl, by rustup; the same commit and compiler make the same bytes, wherever they are built (CONTRIBUTING.md). Looks for
    /// compilers and runtimes in those that may not have one. Prints size and SHA-256.
    Static(static_binary::Options),
    /// Makes the image: static binaries and nothing else, as an OCI archive that podman, docker and skopeo read
    ///
    /// By buildah, without a daemon. The same binaries make the same bytes (CONTRIBUTING.md). Prints size and SHA-256.
    Image(image::Options),
    /// Makes the Debian package: devgate as a service, with the components and policies that come with it
    ///
    /// By cargo-deb, installed into target/tools if it is not there. The same binaries make the same bytes (docs/install.md).
    /// Prints size and SHA-256.
    Package(package::Options),
    /// Makes a release: programs, images, package, chart, manifests, components, bills of materials and digests, in one folder
    ///
    /// Of the last commit, and the same bytes for it each time: `--twice` makes it again from a clone elsewhere and compares
    /// (CONTRIBUTING.md). Signing and publishing are left to the maintainer.
    Release(release::Options),
    /// Runs the stages of what CI runs, in order, with the time of each
    ///
    /// Stops at the first stage that fails, and names it. What cannot run on this machine is skipped and says why.
    Test(test::Options),
    /// Packs the chart in deploy/helm into one file, as Helm takes it
    ///
    /// The same tree makes the same bytes. Prints where it is, its size and its SHA-256.
    Chart(chart::Options),
    /// Brings up a real Kubernetes of one node, installs devgate in it as an admin does, and plays scenarios
    ///
    /// In namespaces of its own, as root; everything is taken down at the end. Kubernetes' programs come from the folder that
    /// `KUBERNETES` names; CONTRIBUTING.md says how to get them. Prints a table of seconds.
    Cluster(cluster::Options),
    /// Builds devgate and its components, and runs `devgatectl demo`
    ///
    /// Arguments after `--` go to it: `cargo xtask demo -- --help`.
    Demo(Passed),
    /// Builds and runs the benchmark
    ///
    /// Arguments after `--` go to it: `cargo xtask bench -- --help`. Use an idle machine.
    Bench(Passed),
    /// Builds and runs the chaos test for hours: `cargo xtask soak --seed 7 --for 2h`
    ///
    /// Prints a line for each calm and a summary at the end; CONTRIBUTING.md says what is done and held. `cargo xtask test --full` runs
    /// a minute of the same. All options are those of the harness: `cargo xtask soak -- --help`.
    Soak(Direct),
}

/// What is handed on to another program.
#[derive(clap::Args)]
struct Passed {
    /// Handed on as they are
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// What is handed on to another program, with or without `--` before it.
#[derive(clap::Args)]
struct Direct {
    /// Handed on as they are
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Setup => setup::run(),
        Command::Components(options) => components::run(&options),
        Command::Static(options) => static_binary::run(&options),
        Command::Image(options) => image::run(&options),
        Command::Package(options) => package::run(&options),
        Command::Release(options) => release::run(&options),
        Command::Test(options) => test::run(&options),
        Command::Chart(options) => chart::run(&options),
        Command::Cluster(options) => cluster::run(&options),
        Command::Demo(passed) => demo::run(&passed.arguments),
        Command::Bench(passed) => harness::bench(&passed.arguments),
        Command::Soak(direct) => harness::run("soak", &direct.arguments),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
