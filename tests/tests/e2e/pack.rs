//! `devgatectl pack`.

mod preview1;

use crate::look::{Said, look};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

const WIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit");

/// A module that offers nothing, and what else it has.
fn module(more: &str) -> Vec<u8> {
    let text = format!(
        r#"(module {more}
        (memory (export "memory") 2)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
        (func (export "devgate:plugin/plugin@0.1.0#enumerate") (result i32) (i32.const 1024))
        (func (export "devgate:plugin/plugin@0.1.0#health") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
        (func (export "devgate:plugin/plugin@0.1.0#allocate") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))"#
    );
    wat::parse_str(text).expect("a module")
}

/// The same with its world in it, as bindings' generators put it there.
fn with_world(mut module: Vec<u8>) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(WIT).expect("the contract");
    let world = resolve.select_world(&[package], Some("component")).expect("its world");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata");
    module
}

struct Place(TempDir);

impl Place {
    fn new() -> anyhow::Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    fn file(&self, name: &str, bytes: &[u8]) -> anyhow::Result<PathBuf> {
        let file = self.0.path().join(name);
        std::fs::write(&file, bytes)?;
        Ok(file)
    }

    fn out(&self) -> PathBuf {
        self.0.path().join("vendor.wasm")
    }

    fn pack(&self, input: &Path, more: &[&str]) -> anyhow::Result<Said> {
        let out = self.out();
        let args = [Path::new("pack"), input, Path::new("-o"), &out];
        look(args.into_iter().chain(more.iter().map(Path::new)))
    }

    /// A policy of it, and a node.
    fn surroundings(&self) -> anyhow::Result<(PathBuf, PathBuf)> {
        let policy = self.file(
            "policy.yaml",
            b"apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n  a:\n    component: {file: vendor.wasm}\n    \
          resources: [example.com/a]\n    hardware: [{subsystem: misc, name: a}]\n",
        )?;
        Ok((policy, self.file("node.umockdev", b"P: /devices/virtual/misc/a\nE: SUBSYSTEM=misc\n")?))
    }

    /// How far the host gets with what was made.
    fn outcome(&self) -> anyhow::Result<String> {
        let (policy, node) = self.surroundings()?;
        let args = ["check", "--run", "--output=json", "--policy"].map(Path::new);
        let said = look(args.into_iter().chain([&*policy, Path::new("--node-root"), &node]))?;
        let report: Value = serde_json::from_str(&said.out)?;
        Ok(report["plugins"][0]["outcome"].as_str().unwrap_or(&said.out).to_owned())
    }

    /// What was made, in the JSON form.
    fn packed(&self, input: &Path, more: &[&str]) -> anyhow::Result<Value> {
        let more: Vec<_> = more.iter().copied().chain(["--output", "json"]).collect();
        let said = self.pack(input, &more)?;
        anyhow::ensure!(said.code == Some(0) && said.err.is_empty(), "{:?} {}", said.code, said.err);
        Ok(serde_json::from_str(&said.out)?)
    }
}

#[test]
fn a_module_that_carries_its_world_becomes_a_component_that_says_what_it_is() -> anyhow::Result<()> {
    let place = Place::new()?;
    let core = place.file("core.wasm", &with_world(module("")))?;
    let about = [
        "--name=gpus",
        "--version=1.2.0",
        "--license=Apache-2.0 OR MIT",
        "--source=https://example.com/gpus.git",
        "--revision=3f9a",
        "--homepage=https://example.com/gpus",
        "--description=Offers GPUs",
        "--authors=Somebody <somebody@example.com>",
    ];
    let said = place.pack(&core, &about)?;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let filters = vec![
        (r"\S*/(core|vendor)\.wasm", "[dir]/$1.wasm"),
        (r"[0-9a-f]{64}", "[digest]"),
        (r"\d+ bytes", "[n] bytes"),
        (r"(devgate|wit-component) \d+\.\d+\.\d+", "$1 [version]"),
    ];
    insta::with_settings!({filters => filters}, {
        insta::assert_snapshot!(said.out, @r#"
[dir]/vendor.wasm, from the module [dir]/core.wasm
  size       [n] bytes
  sha256     [digest]
  contract   devgate:plugin@0.1.0
  name       gpus
  version    1.2.0
  licence    Apache-2.0 OR MIT
  source     https://example.com/gpus.git
  revision   3f9a
  homepage   https://example.com/gpus
  about      Offers GPUs
  authors    Somebody <somebody@example.com>
  language   unknown
  made with  devgate [version], wit-component [version]

Imports
  devgate:plugin/types@0.1.0  every component has it

This host can run it, once the policy grants what it imports (devgatectl inspect --output policy).
"#);
    });
    let made = std::fs::read(place.out())?;
    let inspected = look([Path::new("inspect"), &place.out()])?;
    assert_eq!(inspected.code, Some(0));
    assert!(inspected.out.contains("licence    Apache-2.0 OR MIT\n"), "{}", inspected.out);
    // Nothing of when, where or by whom.
    place.pack(&core, &about)?;
    assert_eq!(std::fs::read(place.out())?, made);
    Ok(())
}

/// The host runs it.
#[test]
fn a_world_can_be_given() -> anyhow::Result<()> {
    let place = Place::new()?;
    let core = place.file("core.wasm", &module(""))?;
    let packed = place.packed(&core, &["--wit", WIT, "--world", "component"])?;
    assert_eq!((&packed["kind"], &packed["adapter"]), (&"module".into(), &false.into()));
    assert_eq!(packed["notes"], Value::Array(Vec::new()));
    assert_eq!(place.outcome()?, "works");
    Ok(())
}

/// As of a module in Go, whose world is the author's own file: what it imports a package for is exported.
#[test]
fn what_a_module_exports_of_the_contract_is_exported_whether_the_world_says_it_or_not() -> anyhow::Result<()> {
    let place = Place::new()?;
    let function = "(param i32 i32 i32 i32) (result i32) (i32.const 1024)";
    let lifecycle = ["prepare", "release"]
        .map(|name| format!("(func (export \"devgate:plugin/lifecycle@0.1.0#{name}\") {function})"));
    let core = place.file("core.wasm", &module(&lifecycle.concat()))?;
    let packed = place.packed(&core, &["--wit", WIT, "--world", "component"])?;
    let exports = serde_json::json!(["devgate:plugin/lifecycle@0.1.0", "devgate:plugin/plugin@0.1.0"]);
    assert_eq!(packed["component"]["exports"], exports);
    let half = place.file("half.wasm", &module(&lifecycle[0]))?;
    let said = place.pack(&half, &["--wit", WIT, "--world", "component"])?;
    assert_eq!(said.code, Some(5), "{}{}", said.out, said.err);
    assert!(said.err.contains("`devgate:plugin/lifecycle@0.1.0` function `release`"), "{}", said.err);
    Ok(())
}

#[test]
fn an_interface_that_the_world_lacks_is_named_with_what_to_write() -> anyhow::Result<()> {
    let place = Place::new()?;
    let import = r#"(import "devgate:plugin/state@0.1.0" "load" (func (param i32)))"#;
    let core = place.file("core.wasm", &module(import))?;
    let said = place.pack(&core, &["--wit", WIT, "--world", "component"])?;
    let name = "devgate:plugin/state@0.1.0";
    let wanted = format!("its world lacks {name}, which it calls: add `import {name};` to it");
    assert!(said.code == Some(5) && said.err.contains(&wanted), "{said:?}");
    Ok(())
}

#[test]
fn what_is_no_part_of_a_component_is_told() -> anyhow::Result<()> {
    let place = Place::new()?;
    let wasi = r#"(import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))"#;
    let core = place.file("core.wasm", &with_world(module(wasi)))?;
    let packed = place.packed(&core, &[])?;
    assert_eq!(packed["adapter"], true);
    assert!(packed["notes"][0].as_str().is_some_and(|note| note.contains("wasi_snapshot_preview1")));
    assert_eq!(place.outcome()?, "works");
    let program = place.file("program.wasm", &with_world(module("(func (export \"_start\"))")))?;
    let packed = place.packed(&program, &[])?;
    assert!(packed["notes"][0].as_str().is_some_and(|note| note.contains("main is never called")), "{packed}");
    Ok(())
}

#[test]
fn of_a_component_only_what_describes_it_changes() -> anyhow::Result<()> {
    let place = Place::new()?;
    let generic = devgate_tests::components()?.join("generic.wasm");
    let first = place.packed(&generic, &["--version=1", "--name=first"])?;
    assert_eq!(first["kind"], "component");
    let size = std::fs::metadata(place.out())?.len();
    let out = place.out();
    let again = place.packed(&out, &["--version=2"])?;
    // What is replaced is not there any more.
    assert_eq!(std::fs::metadata(place.out())?.len(), size);
    assert_eq!(
        (&again["component"]["metadata"]["version"], &again["component"]["metadata"]["name"]),
        (&"2".into(), &"first".into())
    );
    let inspected = look([Path::new("inspect"), &generic, Path::new("--output=json")])?;
    let inspected: Value = serde_json::from_str(&inspected.out)?;
    for same in ["imports", "exports", "counts", "contract"] {
        let of = |report: &Value| match same {
            // Its size is one of them.
            "counts" => report["counts"].as_array().map(|all| Value::from(all[1..].to_vec())),
            same => report.get(same).cloned(),
        };
        assert_eq!(of(&inspected), of(&again["component"]), "{same}");
    }
    Ok(())
}

#[test]
fn what_makes_no_component_is_told_and_nothing_is_written() -> anyhow::Result<()> {
    let place = Place::new()?;
    let whole = with_world(module(""));
    let other = place.0.path().join("other");
    std::fs::create_dir(&other)?;
    std::fs::write(other.join("x.wit"), "package example:x;\nworld x { export run: func(); }\nworld y {}\n")?;
    let other = other.to_str().expect("a path");
    let generic = std::fs::read(devgate_tests::components()?.join("generic.wasm"))?;
    let empty = wat::parse_str("(module)")?;
    let mut told = String::new();
    for (name, bytes, more, code) in [
        ("empty", &b""[..], &[][..], 5),
        ("script.sh", b"#!/bin/sh\n", &[], 5),
        ("text.wat", b" (module)", &[], 5),
        ("half.wasm", &whole[..whole.len() / 2], &[], 5),
        ("no-world.wasm", &module(""), &[], 5),
        ("other-world.wasm", &module(""), &["--wit", other, "--world", "x"], 5),
        ("no-plugin.wasm", &empty, &["--wit", other, "--world", "y"], 5),
        ("no-such-world.wasm", &module(""), &["--wit", other, "--world", "z"], 5),
        ("which-world.wasm", &module(""), &["--wit", other], 5),
        ("no-wit.wasm", &module(""), &["--wit", "/nope"], 5),
        ("missing-exports.wasm", &empty, &["--wit", WIT, "--world", "component"], 5),
        ("component.wasm", &generic, &["--wit", WIT], 5),
        ("licence.wasm", &whole, &["--licence", "free as in beer"], 2),
        ("source.wasm", &whole, &["--source", "here"], 2),
        ("world-alone.wasm", &whole, &["--world", "x"], 2),
        ("line.wasm", &whole, &["--name", "a\nb"], 2),
    ] {
        let input = place.file(name, bytes)?;
        let said = place.pack(&input, more)?;
        assert_eq!((said.code, said.out.as_str()), (Some(code), ""), "{name}: {}", said.err);
        let line = said.err.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        told += &format!("{line}\n");
        assert!(!place.out().exists(), "{name}");
    }
    let filters = vec![(r"\S*/(\S+: |other\b)", "[dir]/$1"), (r"at offset 0x[0-9a-f]+", "at offset [n]")];
    insta::with_settings!({filters => filters}, { insta::assert_snapshot!(told, @r#"
devgate: [dir]/empty: is not WebAssembly
devgate: [dir]/script.sh: is not WebAssembly
devgate: [dir]/text.wat: is WebAssembly as text; run `wasm-tools parse` on it first
devgate: [dir]/half.wasm: is damaged: unexpected end-of-file (at offset [n])
devgate: [dir]/no-world.wasm: is a core module that does not say which world it is of: give --wit DIR and --world NAME, or link what the bindings' generator made for it (for C, the object file `*_component_type.o`)
devgate: [dir]/other-world.wasm: --wit [dir]/other has not all that the module exports: package 'devgate:plugin@0.1.0' not found. known packages:
      example:x
      devgatectl:pack
devgate: [dir]/no-plugin.wasm: this host could not run what it makes; nothing was written:
  component does not export devgate:plugin/plugin@0.1.0; build it for the world `component` of wit/
devgate: [dir]/no-such-world.wasm: --wit [dir]/other has no world z, but x, y
devgate: [dir]/which-world.wasm: --wit [dir]/other has several worlds, give --world with one of them: x, y
devgate: [dir]/no-wit.wasm: --wit [dir]/nope: failed to read path for WIT [dir]/nope]: No such file or directory (os error 2)
devgate: [dir]/missing-exports.wasm: failed to decode world from module: module was not valid: failed to find export of interface `devgate:plugin/plugin@0.1.0` function `enumerate`
devgate: [dir]/component.wasm: is a component already, which has its world in itself: leave out --wit
devgate: --licence must be an SPDX expression such as "Apache-2.0 OR MIT", not "free as in beer"
devgate: --source must be a URL, not "here"
error: the following required arguments were not provided:
  --wit <DIR>
error: invalid value 'a
b' for '--name <TEXT>': must be one line of at most 1024 bytes
"#); });
    let unwritable = look(["pack", "/nope.wasm", "-o", "/nope/x.wasm"])?;
    assert_eq!(unwritable.code, Some(1));
    let core = place.file("core.wasm", &whole)?;
    let said = look([Path::new("pack"), &core, Path::new("-o"), place.0.path()])?;
    assert_eq!(said.code, Some(1), "{}", said.err);
    Ok(())
}

/// A component of this repository, linked by the plain linker, as other languages' are.
#[test]
fn what_the_plain_linker_makes_becomes_the_same_component() -> anyhow::Result<()> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    let library = sysroot.map(|output| {
        let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Path::new(&sysroot).join("lib/rustlib/wasm32-unknown-unknown/lib")
    });
    if !library.is_ok_and(|library| library.is_dir()) {
        println!("skipped: this Rust has no library for wasm32-unknown-unknown");
        return Ok(());
    }
    let place = Place::new()?;
    let built = devgate_tests::components()?;
    let target = built.parent().expect("a target directory").join("guests-core");
    let guests = concat!(env!("CARGO_MANIFEST_DIR"), "/../guests");
    let output = Command::new("cargo")
        .current_dir(guests)
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "rust-lld")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .args(["build", "--release", "--locked", "-p", "overreach", "--target-dir"])
        .arg(&target)
        .output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let core = target.join("wasm32-unknown-unknown/release/overreach.wasm");
    let packed = place.packed(&core, &[])?;
    assert_eq!(packed["kind"], "module");
    let inspected = look([Path::new("inspect"), &built.join("overreach.wasm"), Path::new("--output=json")])?;
    let inspected: Value = serde_json::from_str(&inspected.out)?;
    let mut imports =
        [&inspected, &packed["component"]].map(|report| report["imports"].as_array().cloned().unwrap_or_default());
    imports.iter_mut().for_each(|imports| imports.sort_by_key(|import| import["name"].to_string()));
    assert_eq!(imports[0], imports[1]);
    assert_eq!(inspected["exports"], packed["component"]["exports"]);
    Ok(())
}

/// The author's policy, with a comment that admins are to read.
const AUTHORS: &str = "\
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  acme:
    component: {file: vendor.wasm}
    resources: [example.com/a]
    # All of Example's cards.
    hardware: [{subsystem: misc, name: a, use: offer, nodes: [{access: rw}]}]
";

#[test]
fn the_authors_policy_travels_with_the_component_and_names_it_by_its_digest() -> anyhow::Result<()> {
    let place = Place::new()?;
    let core = place.file("core.wasm", &with_world(module("")))?;
    let policy = place.file("policy.yaml", AUTHORS.as_bytes())?.display().to_string();
    let packed = place.packed(&core, &["--policy", &policy])?;
    let digest = packed["component"]["sha256"].as_str().expect("a digest").to_owned();
    let args = ["inspect", &place.out().display().to_string(), "--output"].map(str::to_owned);
    let inspect = |form: &str| look(args.iter().cloned().chain([form.to_owned()]));
    let line = format!("component: {{file: \"vendor.wasm\", sha256: \"{digest}\"}}");
    assert_eq!(inspect("policy")?.out, AUTHORS.replace("component: {file: vendor.wasm}", &line));
    let json: Value = serde_json::from_str(&inspect("json")?.out)?;
    assert_eq!((&json["policy_by"], &json["policy_problem"]), (&Value::from("author"), &Value::Null));
    assert!(inspect("text")?.out.contains("Its author's policy, to start from (--output policy):"));
    // What is packed again keeps it, until another takes its place.
    place.packed(&place.out(), &["--version", "1.0"])?;
    let other = place.file("other.yaml", AUTHORS.replace("All of", "Some of").as_bytes())?.display().to_string();
    place.packed(&place.out(), &["--policy", &other])?;
    let text = inspect("policy")?.out;
    assert!(text.contains("# Some of") && !text.contains("# All of"), "{text}");
    Ok(())
}

#[test]
fn a_policy_that_no_admin_could_start_from_is_not_packed() -> anyhow::Result<()> {
    let place = Place::new()?;
    let core = place.file("core.wasm", &with_world(module("")))?;
    for (text, why) in [
        (AUTHORS.replace("hardware:", "hardwear:"), "hardwear"),
        (
            AUTHORS.replace("component: {file: vendor.wasm}", "component:\n      file: vendor.wasm"),
            "must stand in one line",
        ),
        (format!("{AUTHORS}    limits: {{component-size: 1KiB}}\n"), "limits.component-size"),
    ] {
        let policy = place.file("policy.yaml", text.as_bytes())?.display().to_string();
        let said = place.pack(&core, &["--policy", &policy])?;
        assert_eq!(said.code, Some(3), "{why}: {}", said.err);
        assert!(said.err.contains(&format!("policy {policy}: ")) && said.err.contains(why), "{why}: {}", said.err);
        assert!(!place.out().exists());
    }
    let needs = devgate_tests::components()?.join("overreach.wasm");
    let policy = place.file("policy.yaml", AUTHORS.as_bytes())?.display().to_string();
    let said = place.pack(&needs, &["--policy", &policy])?;
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert!(said.err.contains("which needs \"control:\" in the policy"), "{}", said.err);
    Ok(())
}
