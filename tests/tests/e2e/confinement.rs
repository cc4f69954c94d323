//! A host as it serves: what it gave up, what it says of that, and what it does where the kernel has less.

use crate::monitoring::{KIND, RESOURCE, get, status};
use anyhow::Context;
use devgate_tests::{Host, Setup, devgate, generic_policy, recording};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

async fn serving() -> anyhow::Result<Host> {
    let setup = Setup::new(&generic_policy(&[KIND])).on(&recording(&[KIND]));
    let host = setup.args(&["--listen", "127.0.0.1:0"]).start().await?;
    host.allocatable(RESOURCE, 2).await?;
    Ok(host)
}

/// What the kernel says of each thread of the host.
fn of_threads(host: &Host) -> anyhow::Result<Vec<String>> {
    let threads = fs::read_dir(format!("/proc/{}/task", host.pid()?))?;
    let status = threads.map(|thread| anyhow::Ok(fs::read_to_string(thread?.path().join("status"))?));
    status.collect()
}

fn value<'a>(status: &'a str, key: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    line.map(str::trim).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_thread_of_a_host_that_serves_is_filtered_and_has_no_capability() -> anyhow::Result<()> {
    let host = serving().await?;
    let syslog = 1_u64 << 34;
    let threads = of_threads(&host)?;
    assert!(threads.len() > 3, "{}", threads.len());
    for thread in threads {
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(u64::from_str_radix(value(&thread, set), 16)? & !syslog, 0, "{thread}");
        }
        assert_eq!((value(&thread, "NoNewPrivs"), value(&thread, "Seccomp")), ("1", "2"), "{thread}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fences_a_host_is_in_its_status_and_its_metrics() -> anyhow::Result<()> {
    let host = serving().await?;
    let report: serde_json::Value = serde_json::from_str(&status(&host, &["--output", "json"])?.out)?;
    let version = report["landlock"]["version"].as_u64().context("a number")?;
    let metrics = get(&host, "/metrics").await?;
    assert!(metrics.contains(&format!("\ndevgate_landlock_version {version}\n")), "{metrics}");
    let text = status(&host, &[])?.out;
    assert_eq!(text.contains("landlock: NOT in force"), version == 0, "{text}");
    let has_landlock = fs::read_to_string("/sys/kernel/security/lsm").is_ok_and(|lsm| lsm.contains("landlock"));
    assert!(version > 0 || !has_landlock, "{report}");
    Ok(())
}

/// `devgate` as a container's filter leaves it that answers for a ruleset of Landlock with this error.
fn answered(errno: &str, args: &[&str]) -> anyhow::Result<Output> {
    let built = devgate()?.parent().context("a directory")?.join("examples/try_calls");
    let until = format!("answered-{errno}");
    let parent = std::process::id().to_string();
    let mut command = Command::new(built);
    command.args([&parent, &until, "become"]).arg(devgate()?).args(args);
    Ok(command.output()?)
}

#[test]
fn a_host_without_landlock_says_so_and_ends_where_it_is_required() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let path = |name: &str| dir.path().join(name).display().to_string();
    fs::write(path("policy.yaml"), generic_policy(&[KIND]))?;
    let dirs = ["state-dir", "cdi-dir", "nfd-dir", "device-info-dir", "kubelet-dir"];
    let dirs = dirs.map(|name| [format!("--{name}"), path(name)]).concat();
    let policy = path("policy.yaml");
    let run = |errno: &str, need: &str| {
        let mut args = vec!["run", "--policy", &policy, "--node-root", "/not-there", "--landlock", need];
        args.extend(dirs.iter().map(String::as_str));
        let output = answered(errno, &args)?;
        anyhow::Ok((output.status.code(), String::from_utf8(output.stderr)?))
    };
    for (errno, why) in
        [("38", "this kernel was built or booted without it"), ("1", "forbidden by this container's or unit's filter")]
    {
        let (code, said) = run(errno, "required")?;
        assert_eq!(code, Some(4), "{said}");
        assert!(said.contains("landlock: is required (--landlock) and not in force") && said.contains(why), "{said}");
        // It goes on, to what is wrong next.
        let (code, said) = run(errno, "available")?;
        assert!(code == Some(4) && said.contains("/not-there"), "{code:?}: {said}");
        assert!(said.contains("Landlock is not in force") && said.contains(why), "{said}");
    }
    assert!(!PathBuf::from(path("state-dir")).join("host.lock").exists());
    Ok(())
}
