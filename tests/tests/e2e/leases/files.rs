//! CDI files that a person or a tool wrote, and those that need no host.

use super::*;

#[test]
fn cdi23_what_may_be_shared_is_a_file_without_a_host() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let (policy, out) = (dir.path().join("policy.yaml"), dir.path().join("cdi"));
    let (policy_arg, out_arg) = (policy.to_str().unwrap(), out.to_str().unwrap());
    let components = devgate_tests::components()?;
    let components = components.to_str().unwrap();
    let place = ["--policy", policy_arg, "--components", components];
    let generate = |more: &[&str]| look(["cdi", "generate"].iter().chain(more).chain(&place));
    if !["/dev/fuse", "/dev/loop7"].into_iter().all(|path| Path::new(path).exists()) {
        println!("skipped: there are no fuse and loop devices here");
        anyhow::ensure!(std::env::var_os("CI").is_none(), "there are no fuse and loop devices here");
        return Ok(());
    }
    fs::write(&policy, POLICY.replacen("    config:", "    replicas: 9\n    config:", 1))?;
    let alone = generate(&["devgate.dev/fuse"])?;
    // Nothing else is asked, and that takes its time on a busy machine.
    let is_progress = |line: &str| line == "devgate: asking plugin fuse …";
    assert!(alone.code == Some(0) && alone.err.lines().all(is_progress), "{alone:?}");
    assert!(alone.out.contains("\"unit:fuse\"") && alone.out.contains("\"/dev/fuse\""), "{alone:?}");
    assert_eq!(generate(&["devgate.dev/fuse"])?.out, alone.out);
    let one_each = generate(&["devgate.dev/loop"])?;
    assert!(one_each.code == Some(5) && one_each.out.is_empty(), "{one_each:?}");
    assert!(one_each.err.contains("lease them") && !one_each.err.contains("no plugin lists"), "{one_each:?}");
    let several = generate(&["--all-units"])?;
    assert!(several.code == Some(2) && several.err.contains("--output-dir"), "{several:?}");
    // A loop device that is in use is left out.
    let files = generate(&["--all-units", "--output-dir", out_arg])?;
    let all = if files.err.contains("left out") { Some(5) } else { Some(0) };
    assert_eq!((files.code, files.out.matches("wrote ").count()), (all, 3), "{files:?}");
    assert!(
        files.err.contains("warning: resource devgate.dev/loop: its devices are one container's each"),
        "{files:?}"
    );
    let check = look(["cdi", "check", out_arg])?;
    let is_right = check.code == Some(0) && check.out.ends_with(" in 3 files (3 of devgate's): nothing is wrong\n");
    assert!(is_right, "{check:?}");
    assert_eq!(fs::read_to_string(out.join("units-devgate.devgate.dev_fuse.json"))?, alone.out);
    let none = generate(&["devgate.dev/none"])?;
    assert!(none.code == Some(5) && none.err.contains("no plugin lists a device of it"), "{none:?}");
    Ok(())
}

#[test]
fn cdi19_check_finds_what_is_wrong_with_anybodys_files() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("vendor.json");
    let good =
        r#"{"cdiVersion":"0.5.0","kind":"vendor.com/gpu","devices":[{"name":"a","containerEdits":{"env":["A=1"]}}]}"#;
    fs::write(&file, good)?;
    let check = || look(["cdi", "check", dir.path().to_str().unwrap()]);
    let said = check()?;
    assert_eq!((said.code, &*said.out), (Some(0), "1 device in 1 file: nothing is wrong\n"));
    fs::write(&file, good.replace("env", "environment"))?;
    let said = check()?;
    assert!(said.code == Some(5) && said.out.contains("unknown field `environment`"), "{said:?}");
    // Where the podman that is installed looks elsewhere, a container only says that there is no such device.
    fs::write(&file, good.replace("vendor.com", "devgate.vendor.com"))?;
    let podman = dir.path().join("podman");
    fs::write(&podman, "#!/bin/sh\necho podman version 5.5.1\n")?;
    fs::set_permissions(&podman, fs::Permissions::from_mode(0o755))?;
    let mut command = Command::new(devgate_tests::devgate()?);
    command.args(["cdi", "check"]).arg(dir.path()).env("PATH", dir.path());
    let said = command.output()?;
    let out = String::from_utf8(said.stdout)?;
    assert!(
        said.status.code() == Some(5)
            && out.contains("podman 5.5.1 is installed here, and reads /etc/cdi alone")
            && out.ends_with("1 device in 1 file (1 of devgate's): 1 finding to look at\n"),
        "{out}"
    );
    Ok(())
}
