//! `devgatectl new`, as somebody new to it would go on: what its README says, word for word.

mod in_rust;
mod shipped;

use crate::look::look;
use devgate_tests::{components, devgate};
pub(crate) use in_rust::RustPlace;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Has a project written, and says where.
pub(crate) fn project(dir: &Path, lang: &str, more: &[&str]) -> anyhow::Result<PathBuf> {
    let folder = dir.join("npu");
    let place = folder.to_string_lossy();
    let args = ["new", "acme-npu", "--vendor", "acme.com", "--lang", lang, "--dir", &place];
    let said = look([&args, more].concat())?;
    assert_eq!(said.code, Some(0), "{}", said.err);
    for command in commands(&beginning(&folder)?) {
        assert!(said.out.contains(command), "{command} is not in {}", said.out);
    }
    Ok(folder)
}

/// A README before its sections: how the project is built and tested.
fn beginning(folder: &Path) -> anyhow::Result<String> {
    let readme = std::fs::read_to_string(folder.join("README.md"))?;
    Ok(readme.split("\n## ").next().unwrap_or_default().to_owned())
}

/// One section of it.
fn section(folder: &Path, title: &str) -> anyhow::Result<String> {
    let readme = std::fs::read_to_string(folder.join("README.md"))?;
    let found = readme.split("\n## ").find_map(|section| section.strip_prefix(title)?.strip_prefix('\n'));
    Ok(found.ok_or_else(|| anyhow::anyhow!("there is no section {title}"))?.to_owned())
}

/// The commands of a README: lines behind a prompt.
fn commands(readme: &str) -> Vec<&str> {
    readme.lines().filter_map(|line| line.strip_prefix("$ ")).collect()
}

/// Does what a project's README says first.
fn follow(folder: &Path) -> anyhow::Result<String> {
    follow_text(folder, &beginning(folder)?, &[])
}

/// Runs a text's commands in order, with this build's `devgate`; what they said.
pub(crate) fn follow_text(folder: &Path, text: &str, environment: &[(&str, &str)]) -> anyhow::Result<String> {
    let program = devgate()?;
    let mut path = vec![program.parent().expect("a folder").to_owned()];
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
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command}: {}\n{out}\n{err}", output.status);
        said += &out;
    }
    Ok(said)
}

/// What the commands must have shown, in whatever language.
fn holds(said: &str) {
    for wanted in ["\n  units      3, 3 healthy\n", "offers     acme.com/acme-npu\n", "1 scenario: 1 passed, 0 failed"]
    {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

/// The SDK is that of the program alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_project_in_rust_does_what_its_readme_says() -> anyhow::Result<()> {
    let Some(place) = RustPlace::try_new()? else {
        return Ok(());
    };
    let begun = Instant::now();
    let folder = project(&place.folder, "rust", &[])?;
    let locked = std::fs::read_to_string(folder.join("Cargo.lock"))?;
    let said = place.follow(&beginning(&folder)?)?;
    let built = begun.elapsed();
    holds(&said);
    assert!(said.contains("test tests::health_is_what_the_status_says ... ok"), "{said}");
    // What cargo would have made of it: `ELSEWHERE` in dev/devgatectl/src/new/lock.rs says what is left out of the components' own.
    assert_eq!(std::fs::read_to_string(folder.join("Cargo.lock"))?, locked);
    let shipped = shipped::to_a_container(&folder, |text, environment| place.follow_with(text, environment)).await?;
    measured("rust", built, shipped);
    Ok(())
}

/// The admin reads the panic's message; the vendor finds its line from the numbers in it, though the release has neither names nor lines.
#[test]
fn a_panic_in_a_release_is_found_in_the_source() -> anyhow::Result<()> {
    let Some(place) = RustPlace::try_new()? else {
        return Ok(());
    };
    let folder = project(&place.folder, "rust", &[])?;
    let source = folder.join("src/lib.rs");
    let text = std::fs::read_to_string(&source)?;
    let begins = "fn verdict(unit: &Unit) -> Verdict {\n";
    let breaks = format!("{begins}    assert!(unit.id.is_empty(), \"firmware of {{}} is too old\", unit.id);\n");
    anyhow::ensure!(text.contains(begins), "the project has no function verdict");
    std::fs::write(&source, text.replace(begins, &breaks))?;
    let line = text.lines().take_while(|line| !line.starts_with("fn verdict")).count() + 2;
    let said = place.follow(
        "$ cargo build --profile traced --target wasm32-unknown-unknown\n\
         $ devgatectl pack target/wasm32-unknown-unknown/traced/acme_npu.wasm -o acme_npu.wasm\n\
         $ devgatectl check --run --policy policy.yaml --node-root nodes/acme-npu.umockdev --components . > checked.txt || true\n\
         $ devgatectl trace acme_npu.wasm --debug target/wasm32-unknown-unknown/traced/acme_npu.wasm - < checked.txt\n",
    )?;
    let checked = std::fs::read_to_string(folder.join("checked.txt"))?;
    let message = format!("panicked at src/lib.rs:{line}:5: firmware of ");
    assert!(checked.contains(&message), "{checked}");
    assert!(said.lines().any(|said| said.ends_with(&format!("/src/lib.rs:{line}:5"))), "{said}");
    Ok(())
}

#[test]
fn a_checkout_can_be_named_for_the_sdk() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let checkout = repository().canonicalize()?;
    let folder = project(dir.path(), "rust", &["--sdk", &checkout.to_string_lossy()])?;
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml"))?;
    let sdk = checkout.join("guests/sdk");
    assert!(manifest.contains(&format!("devgate-sdk = {{ path = {sdk:?} }}")), "{manifest}");
    assert!(!folder.join("devgate/guests").exists());
    Ok(())
}

/// Those that `DEVGATE_LANGUAGES` names; without it C, where its compiler is.
#[tokio::test(flavor = "multi_thread")]
async fn projects_in_other_languages_do_what_their_readmes_say() -> anyhow::Result<()> {
    let named = std::env::var("DEVGATE_LANGUAGES").ok();
    let has_clang = Command::new("clang-19").arg("--version").output().is_ok();
    if named.is_none() && !has_clang && std::env::var_os("CI").is_none() {
        println!("skipped: there is no clang-19 here");
        return Ok(());
    }
    for lang in named.as_deref().unwrap_or("c").split(',') {
        let (dir, begun) = (tempfile::tempdir()?, Instant::now());
        let folder = project(dir.path(), lang, &[])?;
        holds(&follow(&folder)?);
        let built = begun.elapsed();
        let shipped = shipped::to_a_container(&folder, |text, more| follow_text(&folder, text, more)).await?;
        measured(lang, built, shipped);
    }
    Ok(())
}

/// How long it takes from an empty folder.
fn measured(lang: &str, built: Duration, shipped: Option<Duration>) {
    let minutes = |time: Duration| time.as_secs_f64() / 60.0;
    let shipped = shipped.map(|time| format!(", {:.1} more to a container that has its device", minutes(time)));
    println!("measured: {lang}: {:.1} minutes to a tested component{}", minutes(built), shipped.unwrap_or_default());
}

/// With the example's own functions, and nothing that the project does not have.
#[test]
fn a_project_exports_more_by_what_came_with_it() -> anyhow::Result<()> {
    let languages = repository().join("guests/languages");
    let named = std::env::var("DEVGATE_LANGUAGES").unwrap_or_else(|_| "c".to_owned());
    let has_clang = Command::new("clang-19").arg("--version").output().is_ok();
    for (lang, from, to, make) in [
        (
            "c",
            "c/optional/optional.c",
            "devgate/optional.c",
            "make EXPORTS='preference lifecycle parameters conditions'",
        ),
        ("go", "go/optional.go", "optional.go", "make"),
    ] {
        if !named.split(',').any(|name| name == lang) || (lang == "c" && !has_clang && std::env::var_os("CI").is_none())
        {
            println!("skipped: {lang} is not asked for, or its compiler not here");
            continue;
        }
        let dir = tempfile::tempdir()?;
        let folder = project(dir.path(), lang, &[])?;
        let more = std::fs::read_to_string(languages.join(from))?.replace("//go:build optional\n", "");
        std::fs::write(folder.join(to), more)?;
        let said = follow_text(&folder, &format!("$ {make}\n$ devgatectl inspect acme-npu.wasm\n"), &[])?;
        for interface in ["preference@0.1.0", "lifecycle@0.1.0", "parameters@0.1.1", "conditions@0.1.1"] {
            assert!(said.contains(&format!("\n  devgate:plugin/{interface}\n")), "{lang}: {said}");
        }
    }
    Ok(())
}

/// In each language whose tools are here, on the example's component in Rust, which answers the same in all of them; and they fail where
/// that answers otherwise.
#[test]
fn the_tests_of_a_project_ask_its_component_with_call() -> anyhow::Result<()> {
    let has =
        |program: &str, of: &str| Command::new(program).arg(of).output().is_ok_and(|output| output.status.success());
    for (lang, command, is_here) in [
        ("c", "make -o widget.wasm test", has("make", "--version")),
        ("go", "go test -count=1 ./tests", has("go", "version")),
        ("js", "node --test", has("node", "--version")),
        ("python", "python3 -m unittest discover tests", has("python3", "--version")),
    ] {
        if !is_here {
            println!("skipped: {lang}'s tools are not here");
            continue;
        }
        let dir = tempfile::tempdir()?;
        let folder = dir.path().join("widget");
        let said =
            look(["new", "widget", "--lang", lang, "--vendor", "example.com", "--dir", &folder.to_string_lossy()])?;
        assert_eq!(said.code, Some(0), "{}", said.err);
        let readme = std::fs::read_to_string(folder.join("README.md"))?;
        let shown = command.replace("-o widget.wasm ", "");
        assert!(commands(&readme).contains(&&*shown), "{lang}: {readme}");
        std::fs::copy(components()?.join("widget.wasm"), folder.join("widget.wasm"))?;
        follow_text(&folder, &format!("$ {command}\n"), &[])?;
        let policy = std::fs::read_to_string(folder.join("policy.yaml"))?;
        std::fs::write(folder.join("policy.yaml"), policy.replace("{mode: safe}", "{mode: fast}"))?;
        follow_text(&folder, &format!("$ ! {command}\n"), &[])?;
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
