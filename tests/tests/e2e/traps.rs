//! What ends a call leads to its line, in C and in Go: the admin reads what the component said, the vendor finds the
//! place.
//!
//! In those that `DEVGATE_LANGUAGES` names; without it in C, where its compiler is.

use crate::new_project::{follow_text, project};
use anyhow::Context;
use std::process::Command;

fn is_asked_for(lang: &str) -> bool {
    let named = std::env::var("DEVGATE_LANGUAGES").ok();
    let has_clang = || Command::new("clang-19").arg("--version").output().is_ok() || std::env::var_os("CI").is_some();
    let asked = named.as_deref().unwrap_or("c").split(',').any(|name| name == lang);
    let asked = asked && (named.is_some() || has_clang());
    if !asked {
        println!("skipped: {lang} is not asked for, or its compiler not here");
    }
    asked
}

/// What the admin is told, and what `trace` makes of it.
struct Told {
    admin: String,
    vendor: String,
    /// The line that was put in.
    line: usize,
}

/// A project as `devgatectl new` writes it, with this as the first line of a function.
fn told(lang: &str, source: &str, function: &str, breaks: &str) -> anyhow::Result<Told> {
    let dir = tempfile::tempdir()?;
    let folder = project(dir.path(), lang, &[])?;
    let source = folder.join(source);
    let text = std::fs::read_to_string(&source)?;
    let (before, after) = text.split_once(function).with_context(|| format!("{function} is not in {text}"))?;
    std::fs::write(&source, format!("{before}{function}\n{breaks}{after}"))?;
    let line = before.lines().count() + 2;
    let vendor = follow_text(
        &folder,
        "$ make\n\
         $ devgatectl check --run --policy policy.yaml --node-root nodes/acme-npu.umockdev --components . > checked.txt || true\n\
         $ devgatectl trace acme-npu.wasm --debug build/core.wasm - < checked.txt || true\n",
        &[],
    )?;
    Ok(Told { admin: std::fs::read_to_string(folder.join("checked.txt"))?, vendor, line })
}

/// As the Makefile of a project builds it, without a word more.
#[test]
fn what_ends_a_call_in_c_is_found_in_the_source() -> anyhow::Result<()> {
    if !is_asked_for("c") {
        return Ok(());
    }
    let (source, function) = ("src/acme-npu.c", "static dg_verdict verdict(dg_unit unit) {");
    for (breaks, said) in [
        (
            "    assert(unit.id.len == 0);",
            "src/acme-npu.c:LINE: verdict: assertion failed: unit.id.len == 0 (wasm `unreachable`",
        ),
        (
            "    volatile size_t none = 0; if (unit.id.len / none > 1) { return dg_healthy(); }",
            "health trapped: integer divide by zero",
        ),
        (
            "    extern int puts(const char *); extern void abort(void); puts(\"all is lost\"); abort();",
            "said (info): all is lost\n",
        ),
    ] {
        let Told { admin, vendor, line } = told("c", source, function, breaks)?;
        assert!(admin.contains(&said.replace("LINE", &line.to_string())), "{said}: {admin}");
        assert!(vendor.contains(&format!("/{source}:{line}:")), "{breaks}: {vendor}{admin}");
    }
    Ok(())
}

/// What Go recovers from is told with its lines by the kit, innermost first. Of what it does not, it says the lines
/// itself, and traps with the numbers of its functions.
#[test]
fn what_ends_a_call_in_go_is_found_in_the_source() -> anyhow::Result<()> {
    if !is_asked_for("go") {
        return Ok(());
    }
    let (source, function) = ("acme-npu.go", "func verdict(unit plugin.Unit) plugin.Verdict {");
    for (breaks, said, named) in [
        (
            "	_ = unit.Backing[len(unit.Id)]",
            "health failed: panic: runtime error: index out of range [6] with length 1 at acme.com/acme-npu/acme-npu.go:LINE < \
             acme.com/acme-npu/acme-npu.go:",
            "",
        ),
        (
            "	go func() { panic(\"lost \" + unit.Id) }(); select {}",
            "health trapped: panic: lost W-1001 (wasm `unreachable`",
            "  main.verdict.func1\n                   acme.com/acme-npu/acme-npu.go:LINE\n",
        ),
        (
            "	select {}",
            "health trapped: fatal error: all goroutines are asleep - deadlock! (wasm `unreachable`",
            "  runtime.fatalthrow\n                   runtime/panic.go:",
        ),
    ] {
        let Told { admin, vendor, line } = told("go", source, function, breaks)?;
        assert!(admin.contains(&said.replace("LINE", &line.to_string())), "{said}: {admin}");
        // Of a trap in the lines that Go printed.
        assert!(admin.contains(&format!("acme.com/acme-npu/acme-npu.go:{line} ")), "{breaks}: {admin}");
        assert!(vendor.contains(&named.replace("LINE", &line.to_string())), "{breaks}: {vendor}{admin}");
    }
    Ok(())
}
