//! The stages. Those that measure time have the machine for themselves; the cluster, which waits most of the time, has the last ones beside it.

use super::When::{Always, Full, Slow};
use super::{Outcome, Stage, cdi_library, cluster, image, package, spelling};
use crate::languages::{self, Language};
use crate::setup::Toolchain;
use crate::static_binary::{self, Product};
use crate::workspace::{WHOLE, cargo, guests, host, target};
use crate::{components, dependencies, manifests, monitoring, process, setup, tools};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

pub(super) const ALL: &[Stage] = &[
    Stage("setup", Always, ready),
    Stage("format", Always, format),
    Stage("spelling", Slow, spelling::check),
    Stage("dependencies", Always, rules),
    Stage("manifests", Always, manifests),
    Stage("monitoring", Always, watched),
    Stage("components", Always, built),
    Stage("component-c", Always, in_c),
    Stage("tests", Always, tests),
    Stage("long-tests", Full, long_tests),
    Stage("static", Full, image::program),
    Stage("image", Full, image::check),
    Stage("package", Full, package::check),
    Stage("cluster", Full, cluster::check),
    // Beside the cluster: what only compiles, or waits for nothing.
    Stage("languages", Full, in_all),
    Stage("cdi-library", Full, cdi_library::check),
    Stage("guest-tests", Always, guest_tests),
    Stage("guest-clippy", Slow, guest_clippy),
    Stage("clippy", Slow, clippy),
    Stage("doc-tests", Slow, doc_tests),
    Stage("docs", Slow, docs),
];

/// Runs cargo on the host's workspace.
pub(super) fn host_cargo(arguments: &[&str]) -> Result<()> {
    process::run(cargo().args(arguments))
}

/// Cargo on the components' workspace, with its own target folder.
fn guest_cargo(arguments: &[&str]) -> Result<Command> {
    let mut command = cargo();
    command.current_dir(guests()).args(arguments).arg("--target-dir").arg(target()?.join("guests"));
    Ok(command)
}

fn ready() -> Result<Outcome> {
    println!("{}", setup::ensure(setup::Reach::System)?);
    Ok(Outcome::Passed)
}

fn format() -> Result<Outcome> {
    host_cargo(&["fmt", "--all", "--check"])?;
    process::run(cargo().current_dir(guests()).args(["fmt", "--all", "--check"]))?;
    Ok(Outcome::Passed)
}

fn rules() -> Result<Outcome> {
    dependencies::check()?;
    match tools::cargo_deny() {
        Ok(program) => dependencies::deny(&program).map(|()| Outcome::Passed),
        Err(error) => unless_ci(error),
    }
}

/// What Helm, kubectl and Kubernetes' schemas say of the manifests, where these can be had.
fn manifests() -> Result<Outcome> {
    let programs = || {
        Ok(manifests::Programs {
            kubectl: tools::kubectl()?,
            helm: tools::helm()?,
            validate: tools::kubernetes_validate()?,
        })
    };
    match programs() {
        Ok(programs) => manifests::check(&programs).map(|()| Outcome::Passed),
        Err(error) => unless_ci(error),
    }
}

/// What cannot be had here skips its stage, but for CI.
pub(super) fn unless_ci(error: anyhow::Error) -> Result<Outcome> {
    if std::env::var_os("CI").is_none() {
        return Ok(Outcome::Skipped(format!("{error:#}")));
    }
    Err(error)
}

/// The names in alerts and dashboard; the rest is `promtool`'s.
fn watched() -> Result<Outcome> {
    monitoring::names()?;
    match tools::needs("promtool", "apt-get install prometheus; the alerts were not played") {
        Ok(()) => monitoring::promtool().map(|()| Outcome::Passed),
        Err(error) => unless_ci(error),
    }
}

fn built() -> Result<Outcome> {
    components::build()?;
    Ok(Outcome::Passed)
}

/// C is there in a second, where its compiler is there.
fn in_c() -> Result<Outcome> {
    match languages::one(Language::C) {
        Ok(()) => Ok(Outcome::Passed),
        Err(error) => unless_ci(error),
    }
}

/// The tests that compare them, with all of them.
fn in_all() -> Result<Outcome> {
    languages::build(&Language::ALL)?;
    host_cargo(&["build", WHOLE, "--locked"])?;
    let names = Language::ALL.map(Language::name).join(",");
    let mut tests = cargo();
    tests.args(["test", WHOLE, "--locked", "--test", "e2e", "--", "languages::"]);
    process::run(tests.env("DEVGATE_LANGUAGES", &names))?;
    // From an empty folder to a container, as who has a release alone.
    let mut tests = cargo();
    tests.args(["test", WHOLE, "--locked", "--test", "e2e", "--"]);
    tests.args(["new_project::a_project", "new_project::projects", "new_project::the_tests_of_a_project"]);
    tests.args(["traps::what_ends_a_call_in_go", "--show-output"]);
    tests.env("DEVGATE_LANGUAGES", names).env("DEVGATE_PROGRAM", shipped()?);
    process::run(languages::offer_go(&mut tests)?)?;
    Ok(Outcome::Passed)
}

/// The programs of a release by the names that people give them, in one folder: the file of devgate's. Each looks for others beside its
/// real file.
fn shipped() -> Result<PathBuf> {
    let folder = target()?.join("shipped");
    std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    for product in [Product::Devgate, Product::Devgatectl] {
        let link = folder.join(product.name());
        if link.symlink_metadata().is_ok() {
            std::fs::remove_file(&link).with_context(|| format!("remove {}", link.display()))?;
        }
        let program = static_binary::for_tests(product)?;
        std::os::unix::fs::symlink(program, &link).with_context(|| format!("make {}", link.display()))?;
    }
    Ok(folder.join(Product::Devgate.name()))
}

fn guest_tests() -> Result<Outcome> {
    process::run(&mut guest_cargo(&["test", "--workspace", "--locked", "--target", &host()?])?)?;
    Ok(Outcome::Passed)
}

fn guest_clippy() -> Result<Outcome> {
    // On the host with the tests, and as a component for what exists only there.
    let on_host = ["clippy", "--workspace", "--all-targets", "--locked", "--target", &host()?];
    process::run(guest_cargo(&on_host)?.args(["--", "-D", "warnings"]))?;
    if setup::ensure(setup::Reach::Toolchain)? == Toolchain::Installed {
        let as_components = ["clippy", "--workspace", "--release", "--locked"];
        process::run(guest_cargo(&as_components)?.args(["--", "-D", "warnings"]))?;
    }
    Ok(Outcome::Passed)
}

fn clippy() -> Result<Outcome> {
    host_cargo(&["clippy", WHOLE, "--all-targets", "--locked", "--", "-D", "warnings"])?;
    Ok(Outcome::Passed)
}

/// Tests that take long: every component against everything, attackers, chaos, fuzzing, projects that are built. By the beginnings of
/// their names.
const LONG: [&str; 24] = [
    "any_compiler_is_heard",
    "any_host_is_served",
    "any_recording_is_refused",
    "any_runner_is_heard",
    "a_gpu_that_fails_is_unhealthy_and_not_gone",
    "a_host_that_took_over_and_is_",
    "a_lease_whose_plugin_leaves_the_policy",
    "at_every_number_that_is_not_listed",
    "attackers::",
    "chaos::",
    "compiling::a_component_that_compiles_without_end",
    "every_component_with_a_recorded_node",
    "every_fault_fails_its_check",
    "every_way_of_asking_is_answered",
    "guide::",
    "its_components_and_policies_do_what_they_did",
    "languages::",
    "new_project::",
    "one_that_handed_over_is_ready_until",
    "the_node_s_labels_follow_its_devices",
    "the_scenarios_of_all_components",
    "what_the_plain_linker_makes",
    "what_was_given_anew_while_others",
    "whatever_fails_and_whenever_it_ends",
];

fn tests() -> Result<Outcome> {
    run_tests(false)
}

fn long_tests() -> Result<Outcome> {
    run_tests(true)
}

/// The long ones, or all others.
fn run_tests(long: bool) -> Result<Outcome> {
    // The end-to-end tests run the program itself, which a build of tests alone does not make.
    host_cargo(&["build", WHOLE, "--locked"])?;
    let mut tests = cargo();
    tests.env("DEVGATE_COMPONENTS", components::folder()?);
    if process::answers(cargo().args(["nextest", "--version"])) {
        let names = LONG.map(|name| format!("test({name})")).join(" + ");
        let filter = if long { names } else { format!("not ({names})") };
        // Many wait more than they compute.
        let threads = std::thread::available_parallelism()?.get().div_ceil(2) * 3;
        tests.args(["nextest", "run", WHOLE, "--locked", "-E", &filter, "--test-threads", &threads.to_string()]);
    } else {
        tests.args(["test", WHOLE, "--all-targets", "--locked", "--"]);
        match long {
            true => tests.args(LONG),
            false => tests.args(LONG.iter().flat_map(|name| ["--skip", name])),
        };
    }
    process::run(&mut tests)?;
    Ok(Outcome::Passed)
}

fn doc_tests() -> Result<Outcome> {
    host_cargo(&["test", WHOLE, "--doc", "--locked"])?;
    Ok(Outcome::Passed)
}

fn docs() -> Result<Outcome> {
    let strict = |command: &mut Command| process::run(command.env("RUSTDOCFLAGS", "-D warnings"));
    strict(cargo().args(["doc", WHOLE, "--no-deps", "--locked"]))?;
    let sdk = ["doc", "--package", "devgate-sdk", "--all-features", "--no-deps", "--locked", "--target", &host()?];
    strict(&mut guest_cargo(&sdk)?)?;
    Ok(Outcome::Passed)
}
