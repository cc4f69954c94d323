//! Which program has which command.

use devgate_tests::{devgate, devgatectl};
use std::path::Path;
use std::process::Command;

const HOST: [&str; 9] = ["cdi", "check", "cleanup", "explain", "pull", "reload", "run", "state", "status"];
/// What was a command of devgate once.
const MOVED: [&str; 8] = ["conform", "demo", "inspect", "new", "pack", "push", "record", "simulate"];
/// What never was.
const NEW: [&str; 14] = [
    "add",
    "call",
    "completions",
    "dev",
    "dra",
    "fleet",
    "index",
    "man",
    "migrate",
    "plan",
    "search",
    "show",
    "trace",
    "upgrade",
];

fn say(program: &Path, args: &[&str]) -> anyhow::Result<(Option<i32>, String, String)> {
    let output = Command::new(program).args(args).output()?;
    let (out, err) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    Ok((output.status.code(), out, err))
}

/// The commands that `--help` lists.
fn commands(program: &Path) -> anyhow::Result<Vec<String>> {
    let (_, help, _) = say(program, &["-h"])?;
    let listed = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    let names = listed.unwrap_or_default().lines().filter(|line| !line.starts_with("   "));
    let mut names: Vec<_> = names.filter_map(|line| line.split_whitespace().next()).collect();
    names.retain(|name| *name != "help");
    names.sort_unstable();
    Ok(names.into_iter().map(str::to_owned).collect())
}

#[test]
fn a_node_s_program_has_what_a_node_needs_and_nothing_else() -> anyhow::Result<()> {
    assert_eq!(commands(&devgate()?)?, HOST);
    let mut all = [&HOST[..], &MOVED, &NEW].concat();
    all.sort_unstable();
    assert_eq!(commands(&devgatectl()?)?, all);
    Ok(())
}

#[test]
fn a_command_that_has_moved_says_where_to() -> anyhow::Result<()> {
    for name in MOVED {
        let (code, out, err) = say(&devgate()?, &[name, "--help"])?;
        assert_eq!((code, out.as_str()), (Some(2), ""), "{name}");
        assert!(err.contains(&format!("run `devgatectl {name}` with the same options")), "{err}");
    }
    let (code, _, err) = say(&devgate()?, &["conformity"])?;
    assert!(code == Some(2) && err.contains("unrecognized subcommand"), "{err}");
    Ok(())
}

/// All that a recording could make of a node is in the other program.
#[test]
fn a_recorded_node_is_the_workshop_s() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let file = |name: &str, text: &str| -> anyhow::Result<String> {
        let path = dir.path().join(name);
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    };
    let policy = file("policy.yaml", "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins: {}\n")?;
    let node = file("node.umockdev", "P: /devices/virtual/misc/x\nE: SUBSYSTEM=misc\n")?;
    let state = dir.path().join("state").display().to_string();
    for command in [&["check"][..], &["explain", "/dev/x"], &["run", "--state-dir", &state]] {
        let args = [command, &["--policy", &policy, "--node-root", &node]].concat();
        let (code, out, err) = say(&devgate()?, &args)?;
        assert_eq!((code, out.as_str()), (Some(2), ""), "{command:?}: {err}");
        let expected =
            format!("node root {node} is a file, not a directory; for a recorded node, run `devgatectl` with");
        assert!(err.contains(&expected), "{err}");
    }
    let (code, _, err) = say(&devgatectl()?, &["check", "--policy", &policy, "--node-root", &node])?;
    assert_eq!(code, Some(0), "{err}");
    Ok(())
}

#[test]
fn what_both_have_is_one_thing_also_as_a_plugin_of_kubectl() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let plugin = dir.path().join("kubectl-devgate");
    std::os::unix::fs::symlink(devgatectl()?, &plugin)?;
    for name in HOST {
        let help = |program: &Path| -> anyhow::Result<String> {
            let (code, help, err) = say(program, &[name, "--help"])?;
            assert_eq!(code, Some(0), "{err}");
            Ok(help.lines().filter(|line| !line.starts_with("Usage:")).collect())
        };
        assert_eq!(help(&devgate()?)?, help(&devgatectl()?)?, "{name}");
        assert_eq!(help(&devgate()?)?, help(&plugin)?, "{name}");
    }
    Ok(())
}
