//! Compiling: in a child that has limits and an end, once for each component.

use crate::wat_component::{NOTHING, plugin};
use devgate_tests::process::children;
use devgate_tests::{Host, Kind, Setup, generic_policy, recording};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, Instant};

const KIND: Kind = Kind { class: 0, count: 1 };
const GOOD: &str = "devgate.dev/bench0";

/// A component with a function that nobody calls.
fn with_function(function: &str) -> Vec<u8> {
    plugin(&format!("{NOTHING}) {function} (func (result i32) (i32.const 0)"), NOTHING, NOTHING)
}

/// 43 KB that took more than 6.5 GB: 120 blocks within each other that leave a thousand values each, and jumps to all of them.
fn large() -> Vec<u8> {
    let (blocks, values) = (120, "i32 ".repeat(1_000));
    let targets: String = (1..=blocks).map(|depth| format!("{depth} ")).collect();
    let jump = format!("(block (br_if 0 (local.get 0)) (call $many) (br_table {targets} (local.get 0)))");
    with_function(&format!(
        "(func $many (result {values}) {}) (func (param i32) {} {} (call $many) {} {})",
        "(i32.const 0)".repeat(1_000),
        format!("(block (result {values})").repeat(blocks),
        jump.repeat(100),
        ")".repeat(blocks),
        "(drop)".repeat(1_000),
    ))
}

/// 36 KB, after 20 KB that took more than 280 s: loops within each other, and variables that are others each time. With more of those it
/// would be memory that ends first.
fn slow() -> Vec<u8> {
    let (loops, locals) = (4_000, 30);
    let change: String =
        (1..=locals).map(|n| format!("(local.set {n} (i32.add (local.get {n}) (local.get 0)))")).collect();
    let again: String = (0..loops).map(|depth| format!("(br_if {depth} (local.get 0))")).collect();
    with_function(&format!(
        "(func (param i32) (local {}) {} {change} {again} {})",
        "i32 ".repeat(locals),
        "(loop ".repeat(loops),
        ")".repeat(loops),
    ))
}

/// 2 KB that are put together to a hundred million instances: components within each other, each of which makes the next a hundred times.
fn many() -> Vec<u8> {
    let inner = (0..4).fold("(component (core module) (core instance (instantiate 0)))".to_owned(), |inner, _| {
        format!("(component {inner} {})", "(instance (instantiate 0))".repeat(100))
    });
    // Sections at the end of a component that has one within it, for its exports.
    let more = wat::parse_str(format!("(component {inner} (instance (instantiate 1)))")).expect("sections");
    let mut bytes = plugin(NOTHING, NOTHING, NOTHING);
    bytes.extend_from_slice(more.get(8..).unwrap_or_default());
    bytes
}

fn policy() -> String {
    let entry =
        |name: &str| format!("  {name}:\n    component: {{file: {name}.wasm}}\n    resources: [devgate.dev/{name}]\n");
    let entries = ["large", "many", "slow"].map(entry).concat();
    generic_policy(&[KIND]) + &entries
}

/// The compilers of a host.
fn compilers(host: &Host) -> anyhow::Result<Vec<String>> {
    let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).ok();
    let names = children(host.pid()?)?.into_iter().filter_map(name);
    Ok(names.filter(|name| name.starts_with("devgate-compile")).collect())
}

/// The bombs of the audit of version 0.1: neither the time nor the memory that they would take is the host's.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_compiles_without_end_is_refused_by_the_limit_and_costs_only_itself() -> anyhow::Result<()> {
    let (large, slow) = (large(), slow());
    assert!(large.len() < 100 << 10 && slow.len() < 100 << 10, "{} {}", large.len(), slow.len());
    let begun = Instant::now();
    let host = Setup::new(&policy())
        .on(&recording(&[KIND]))
        .with("large.wasm", large)
        .with("many.wasm", many())
        .with("slow.wasm", slow)
        .start()
        .await?;
    host.allocatable(GOOD, 1).await?;
    assert!(begun.elapsed() < Duration::from_secs(15), "they hold nobody up: {:?}", begun.elapsed());
    let mut said = String::new();
    for name in ["large", "many", "slow"] {
        let line = host.logged(|line| line.plugin == name && line.level == "ERROR").await?;
        said += &format!("{} ({})\n", line.message.lines().next().unwrap_or_default(), line.family);
    }
    insta::assert_snapshot!(said, @"
    plugin large: component takes too much memory to compile, more than 130MiB (guest)
    plugin many: component takes too much memory to compile, more than 129MiB (guest)
    plugin slow: component takes too long to compile, more than 20 s of the processor (guest)
    ");
    assert_eq!(compilers(&host)?, [""; 0], "they have ended");
    let status = fs::read_to_string(format!("/proc/{}/status", host.pid()?))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let peak: u64 = peak.unwrap_or_default().parse()?;
    assert!((1..100 << 10).contains(&peak), "{peak} kB");
    host.allocatable(GOOD, 1).await?;
    Ok(())
}

/// Killed while it compiles, it leaves no child behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_killed_takes_its_compiler_along() -> anyhow::Result<()> {
    let mut host = Setup::new(&policy())
        .on(&recording(&[KIND]))
        .with("large.wasm", vec![0])
        .with("many.wasm", vec![0])
        .with("slow.wasm", slow())
        .start()
        .await?;
    host.allocatable(GOOD, 1).await?;
    let pid = host.pid()?;
    let begun = Instant::now();
    let compiling = || compilers(&host).map(|all| !all.is_empty());
    while !compiling()? {
        anyhow::ensure!(begun.elapsed() < Duration::from_secs(20), "nothing is compiled");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    host.end(Signal::KILL).await?;
    let parent = format!("devgate-compile\0{pid}\0");
    let begun = Instant::now();
    loop {
        let all = fs::read_dir("/proc")?.flatten();
        let mut all = all.filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok());
        if !all.any(|line| line.starts_with(&parent)) {
            return Ok(());
        }
        anyhow::ensure!(begun.elapsed() < Duration::from_secs(5), "it still runs");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What was compiled is kept: a second start compiles nothing, also after a kill; what is not as it was written is made anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_is_compiled_once_and_not_at_each_start() -> anyhow::Result<()> {
    let mut host = Setup::new(&generic_policy(&[KIND])).on(&recording(&[KIND])).start().await?;
    host.allocatable(GOOD, 1).await?;
    let dir = host.dir().join("state/compiled");
    let only = || -> anyhow::Result<_> {
        let files: Vec<_> =
            fs::read_dir(&dir)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        let [file] = files.as_slice() else { anyhow::bail!("{files:?}") };
        let made = fs::metadata(file)?.ino();
        Ok((file.clone(), made))
    };
    let (file, made) = only()?;
    host.end(Signal::KILL).await?;
    host.spawn()?;
    host.allocatable(GOOD, 1).await?;
    assert_eq!(only()?.1, made, "it was not written again");

    host.end(Signal::TERM).await?;
    let mut code = fs::read(&file)?;
    let middle = code.len() / 2;
    code[middle] ^= 0x40;
    fs::write(&file, code)?;
    host.spawn()?;
    host.logged(|line| line.message.contains("is not as it was written, and is made anew")).await?;
    host.allocatable(GOOD, 1).await?;
    assert_ne!(only()?.1, made);

    // A directory that others can write in is not used, and nothing else is the worse for it.
    host.end(Signal::TERM).await?;
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777))?;
    host.spawn()?;
    host.logged(|line| line.level == "WARN" && line.message.contains("others than its owner can write there")).await?;
    host.allocatable(GOOD, 1).await?;
    Ok(())
}
