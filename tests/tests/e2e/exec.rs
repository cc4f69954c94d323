//! The protocol of 2017, driven as a program by a link, with environments and configurations as its callers have them.

use crate::look::{Said, look};
use anyhow::Context;
use devgate_fake_kubelet::Pod;
use devgate_tests::{Devices, Host, Kind, Setup, recording};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BENCH: &str = "devgate.dev/bench0";
const KIND: Kind = Kind { class: 0, count: 3 };
const CONFIG: &str = r#"{"cdiVersion": "0.0.1", "name": "x", "type": "bench", "plugin": "acme"}"#;

struct Machine {
    host: Host,
    /// The link in what is `/opt/cdi/bin` elsewhere.
    program: PathBuf,
    _bin: tempfile::TempDir,
    _devices: Devices,
}

impl Machine {
    async fn start() -> anyhow::Result<Self> {
        let devices = Devices::new(&[KIND])?;
        let text = devices.policy();
        let policy = text.replace("    config:", &format!("    exec: {{type: bench, resource: {BENCH}}}\n    config:"));
        let setup = Setup::new(&policy);
        let is_real = text.contains("zram");
        let setup = if is_real { setup } else { setup.on(&recording(&[KIND])) };
        let bin = tempfile::tempdir()?;
        let cdi = bin.path().join("cdi").display().to_string();
        let host = setup.args(&["--cdi-dir", &cdi]).start().await?;
        host.allocatable(BENCH, 3).await?;
        let program = bin.path().join("acme");
        std::os::unix::fs::symlink(devgate_tests::devgate()?, &program)?;
        Ok(Self { host, program, _bin: bin, _devices: devices })
    }

    fn command(&self, env: &[(&str, &str)]) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(env.iter().copied());
        command.env("DEVGATE_STATUS_SOCKET", self.host.dir().join("status.sock"));
        command.env("DEVGATE_STATE_DIR", self.host.dir().join("state"));
        command
    }

    fn call_with(&self, env: &[(&str, &str)], stdin: &str) -> anyhow::Result<Said> {
        let mut command = self.command(env);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        // VERSION does not read it.
        let _ = child.stdin.take().map(|mut pipe| pipe.write_all(stdin.as_bytes()));
        let said = child.wait_with_output()?;
        let said = Said {
            code: said.status.code(),
            out: String::from_utf8(said.stdout)?,
            err: String::from_utf8(said.stderr)?,
        };
        // One object and the end of its line, or nothing; what is for people is no JSON.
        assert!(said.out.is_empty() || said.out.ends_with("}\n") && said.out.matches('\n').count() == 1, "{said:?}");
        assert!(said.err.lines().all(|line| serde_json::from_str::<Value>(line).is_err()), "{said:?}");
        Ok(said)
    }

    fn call(&self, command: &str, more: &[(&str, &str)]) -> anyhow::Result<(Option<i32>, Value)> {
        let env = [&[("CDI_VERSION", "0.0.2"), ("CDI_COMMAND", command)][..], more].concat();
        let said = self.call_with(&env, CONFIG)?;
        let object = if said.out.is_empty() { Value::Null } else { serde_json::from_str(&said.out)? };
        Ok((said.code, object))
    }

    fn add(&self, amount: u32, id: &str) -> anyhow::Result<(Option<i32>, Value)> {
        self.call("ADD", &[("CDI_REQUEST", &format!("bench:{amount}")), ("CDI_REQUEST_ID", id)])
    }

    fn del(&self, id: &str) -> anyhow::Result<(Option<i32>, Value)> {
        self.call("DEL", &[("CDI_REQUEST_ID", id)])
    }

    /// Waits until an answer is so: the host may just have started.
    async fn until(
        &self,
        ask: impl Fn(&Self) -> anyhow::Result<(Option<i32>, Value)>,
        code: Option<i32>,
    ) -> anyhow::Result<Value> {
        let begun = Instant::now();
        loop {
            let (now, object) = ask(self)?;
            if now == code && object["error"].is_null() {
                return Ok(object);
            }
            anyhow::ensure!(begun.elapsed() < Duration::from_secs(60), "{now:?} {object}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cdi30_cdi31_cdi32_devices_are_given_as_a_whole_and_once() -> anyhow::Result<()> {
    let mut machine = Machine::start().await?;
    let info = || machine.call("INFO", &[]);
    assert_eq!(info()?, (Some(0), serde_json::json!({"cdiVersion": "0.0.2", "bench": 3})));
    let (code, given) = machine.add(2, "one")?;
    let paths: Vec<_> =
        given["devices"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    assert!(code == Some(0) && paths.len() == 2 && paths.is_sorted(), "{given}");
    assert_eq!(machine.add(2, "one")?, (code, given.clone()), "the same again is answered again");
    let (code, taken) = machine.add(1, "one")?;
    assert_eq!((code, &taken["error"]), (Some(1), &103.into()), "{taken}");
    let (code, short) = machine.add(2, "two")?;
    assert_eq!((code, &short["error"]), (Some(1), &102.into()), "{short}");
    assert!(short["details"].as_str().is_some_and(|why| why.contains("bench request one")), "{short}");
    let (code, one) = machine.add(1, "two")?;
    assert!(code == Some(0) && !paths.iter().any(|path| one["devices"][0] == **path), "{one}");
    assert_eq!(machine.add(0, "three")?.1["devices"], serde_json::json!([]));
    assert_eq!(info()?.1["bench"], 3, "given away or not");
    machine.host.allocatable(BENCH, 0).await?;
    machine.host.kubelet.admit(&Pod::new("a", &[(BENCH, 1)])).await.unwrap_err();

    // Killed, it knows what it gave.
    machine.host.end(Signal::KILL).await?;
    machine.host.spawn()?;
    assert_eq!(machine.until(|machine| machine.add(2, "one"), Some(0)).await?, given);
    assert_eq!(machine.del("one")?, (Some(0), Value::Null));
    assert_eq!(machine.del("one")?.1["error"], 5);
    machine.host.allocatable(BENCH, 2).await?;
    Ok(())
}

/// Neither has what the other has, and each says who does.
#[tokio::test(flavor = "multi_thread")]
async fn cdi20_a_lease_and_a_request_exclude_each_other() -> anyhow::Result<()> {
    let machine = Machine::start().await?;
    let socket = machine.host.dir().join("status.sock").display().to_string();
    let lease = |name: &str, count: &str| {
        let to = ["--count", count, "--for", name, "--status-socket", &socket];
        look(["cdi", "lease", BENCH].into_iter().chain(to))
    };
    let said = lease("job1", "2")?;
    assert_eq!(said.code, Some(0), "{said:?}");
    let (code, short) = machine.add(2, "one")?;
    let why = short["details"].as_str().unwrap_or_default();
    assert!(code == Some(1) && short["error"] == 102 && why.contains("lease job1"), "{short}");
    assert_eq!(machine.add(1, "one")?.0, Some(0));
    let said = lease("job2", "1")?;
    assert!(said.code == Some(5) && said.err.contains("bench request one"), "{said:?}");
    machine.del("one")?;
    assert_eq!(lease("job2", "1")?.code, Some(0));
    let version = machine.call_with(&[("CDI_COMMAND", "VERSION")], "")?;
    let versions = "{\"cdiVersion\":\"0.0.2\",\"supportedVersions\":[\"0.0.1\",\"0.0.2\"]}\n";
    assert_eq!((version.code, &*version.out), (Some(0), versions));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cdi32_two_at_once_have_no_device_together() -> anyhow::Result<()> {
    let machine = Machine::start().await?;
    let begin = |n: usize| {
        let (request, id) = ("bench:1", format!("job-{n}"));
        let env =
            [("CDI_VERSION", "0.0.1"), ("CDI_COMMAND", "ADD"), ("CDI_REQUEST", request), ("CDI_REQUEST_ID", &*id)];
        let mut child =
            machine.command(&env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        child.stdin.take().map(|mut pipe| pipe.write_all(CONFIG.as_bytes())).transpose()?;
        anyhow::Ok(child)
    };
    let begun: Vec<_> = (0..5).map(begin).collect::<Result<_, _>>()?;
    let mut paths = Vec::new();
    for child in begun {
        let said = child.wait_with_output()?;
        let object: Value = serde_json::from_slice(&said.stdout)?;
        match said.status.code() {
            Some(0) => paths.push(object["devices"][0].to_string()),
            _ => assert_eq!(object["error"], 102, "{object}"),
        }
    }
    paths.sort_unstable();
    let all = paths.len();
    paths.dedup();
    assert_eq!((all, paths.len()), (3, 3));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cdi34_what_ended_while_no_host_was_there_is_worked_off() -> anyhow::Result<()> {
    let mut machine = Machine::start().await?;
    assert_eq!(machine.add(3, "one")?.0, Some(0));
    machine.host.end(Signal::KILL).await?;
    let (code, away) = machine.add(1, "two")?;
    assert_eq!((code, &away["error"]), (Some(1), &106.into()), "{away}");
    let (code, noted) = machine.del("one")?;
    assert_eq!((code, &noted["error"]), (Some(0), &106.into()), "{noted}");
    let note = machine.host.dir().join("state/ended-requests/bench=one");
    assert!(note.exists());
    machine.host.spawn()?;
    machine.until(|machine| machine.add(3, "two"), Some(0)).await?;
    assert!(!note.exists());
    // What its caller cannot be told is not lost: an ADD fails and can be asked again, and an end is one.
    let untold = |command: &str, id: &str| {
        let env =
            [("CDI_COMMAND", command), ("CDI_VERSION", "0.0.1"), ("CDI_REQUEST", "bench:3"), ("CDI_REQUEST_ID", id)];
        let full = fs::File::options().write(true).open("/dev/full")?;
        let mut child = machine.command(&env).stdin(Stdio::piped()).stdout(full).spawn()?;
        let mut stdin = child.stdin.take().context("no stdin")?;
        stdin.write_all(CONFIG.as_bytes())?;
        drop(stdin);
        anyhow::Ok(child.wait()?.code())
    };
    assert_eq!(untold("ADD", "two")?, Some(1));
    assert_eq!(machine.add(3, "two")?.0, Some(0));
    assert_eq!(untold("DEL", "nobody")?, Some(0));
    let broken = machine.call_with(&[("CDI_COMMAND", "DEL"), ("CDI_REQUEST_ID", "two")], "{")?;
    assert_eq!((broken.code, &*broken.out), (Some(0), ""), "{broken:?}");
    machine.host.allocatable(BENCH, 3).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cdi35_killed_at_any_moment_it_is_given_or_not() -> anyhow::Result<()> {
    let mut machine = Machine::start().await?;
    let mut seen = BTreeSet::new();
    for round in 0..100_u32 {
        if round >= 10 && seen.len() == 2 {
            break;
        }
        let id = format!("job-{round}");
        let env =
            [("CDI_VERSION", "0.0.1"), ("CDI_COMMAND", "ADD"), ("CDI_REQUEST", "bench:2"), ("CDI_REQUEST_ID", &*id)];
        let mut child =
            machine.command(&env).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        child.stdin.take().map(|mut pipe| pipe.write_all(CONFIG.as_bytes())).transpose()?;
        tokio::time::sleep(Duration::from_millis(u64::from(3 * round))).await;
        machine.host.end(Signal::KILL).await?;
        child.wait()?;
        let state = machine.host.dir().join("state");
        let recorded = look(["state", "list", "--state-dir", &state.display().to_string()])?;
        assert_eq!(recorded.code, Some(0), "{recorded:?}");
        seen.insert(recorded.out.contains(&id));
        machine.host.spawn()?;
        machine.until(|machine| machine.add(2, &id), Some(0)).await?;
        assert_eq!(machine.del(&id)?, (Some(0), Value::Null));
    }
    assert_eq!(seen.len(), 2, "each was given, or none");
    machine.until(|machine| machine.add(3, "last"), Some(0)).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cdi37_nobody_but_root_gets_an_answer() -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() {
        anyhow::ensure!(std::env::var_os("CI").is_none(), "this test needs root");
        return Ok(());
    }
    let machine = Machine::start().await?;
    // Where the files' modes would let him in.
    let allow = |path: PathBuf, mode| fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode));
    allow(machine.host.dir().to_owned(), 0o755)?;
    allow(machine.host.dir().join("status.sock"), 0o666)?;
    let copy = tempfile::Builder::new().permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755)).tempdir()?;
    let program = copy.path().join("acme");
    fs::copy(devgate_tests::devgate()?, &program)?;
    let mut command = Command::new(&program);
    command.env_clear().uid(65_534).env("CDI_COMMAND", "INFO");
    command.env("DEVGATE_STATUS_SOCKET", machine.host.dir().join("status.sock"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    child.stdin.take().map(|mut pipe| pipe.write_all(CONFIG.as_bytes())).transpose()?;
    let said = child.wait_with_output()?;
    let object: Value = serde_json::from_slice(&said.stdout)?;
    assert_eq!((said.status.code(), &object["error"]), (Some(1), &106.into()), "{object}");
    Ok(())
}

#[test]
fn cdi38_a_policy_whose_types_cannot_be_served_is_refused() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("policy.yaml");
    let plugin = |name: &str, more: &str| {
        format!(
            "  {name}:\n    component: {{file: generic.wasm}}\n    resources: [devgate.dev/{name}]\n    hardware: [{{subsystem: misc, name: {name}, use: \
             offer, nodes: [{{access: rw}}]}}]\n{more}"
        )
    };
    let check = |plugins: &str| {
        fs::write(&file, format!("apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n{plugins}"))?;
        look(["check", "--policy", file.to_str().unwrap()])
    };
    let exec = |kind: &str, resource: &str| format!("    exec: {{type: {kind}, resource: devgate.dev/{resource}}}\n");
    for (plugins, why) in [
        (plugin("a", &exec("cdiVersion", "a")), "a word of the protocol's own answers"),
        (plugin("a", &exec("a-b", "a")), "must be a letter"),
        (plugin("a", &exec("a", "b")), "none of the plugin's resources"),
        (plugin("a", &exec("x", "a")) + &plugin("b", &exec("x", "b")), "a caller can ask for a type alone"),
        (plugin("a", &(exec("x", "a") + "    containers: {env: {A: \"1\"}}\n")), "nodes-only: true"),
        (plugin("a", &(exec("x", "a") + "    prepare: start\n")), "no caller says when a container starts"),
    ] {
        let said = check(&plugins)?;
        assert!(said.code == Some(3) && said.err.contains(why), "{why}: {said:?}");
    }
    let more = exec("x", "a").replace('}', ", nodes-only: true}") + "    containers: {env: {A: \"1\"}}\n";
    assert_ne!(check(&plugin("a", &more))?.code, Some(3));
    Ok(())
}
