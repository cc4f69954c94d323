//! What `devgatectl completions` prints, loaded by the shells that are here.

use devgate_tests::devgatectl;
use std::process::Command;

fn script(shell: &str, program: &str) -> anyhow::Result<String> {
    let said = Command::new(devgatectl()?).args(["completions", shell, program]).output()?;
    assert!(said.status.success(), "{shell} {program}");
    Ok(String::from_utf8(said.stdout)?)
}

/// What bash offers for the last of these words.
fn offered(program: &str, words: &[&str]) -> anyhow::Result<Vec<String>> {
    let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
    let all = words.join("' '");
    let ask = format!(
        "{}\nCOMP_WORDS=('{all}'); COMP_CWORD={}; _{program} {program} '{last}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script("bash", program)?,
        words.len() - 1
    );
    let said = Command::new("bash").args(["--norc", "-c", &ask]).output()?;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    Ok(String::from_utf8(said.stdout)?.lines().map(str::to_owned).collect())
}

#[test]
fn bash_completes_commands_and_options_of_both_programs() -> anyhow::Result<()> {
    assert_eq!(offered("devgate", &["devgate", "che"])?, ["check"]);
    assert_eq!(offered("devgate", &["devgate", "sim"])?, [""]);
    assert_eq!(offered("devgatectl", &["devgatectl", "sim"])?, ["simulate"]);
    assert_eq!(offered("devgatectl", &["devgatectl", "check", "--stri"])?, ["--strict"]);
    assert_eq!(offered("devgate", &["devgate", "check", "--output", "j"])?, ["json"]);
    Ok(())
}

#[test]
fn each_shell_has_a_script_that_names_every_command() -> anyhow::Result<()> {
    for (shell, begins) in [("zsh", "#compdef devgate\n"), ("fish", "# Print an optspec"), ("bash", "_devgate() {")] {
        let script = script(shell, "devgate")?;
        assert!(script.starts_with(begins), "{shell}: {script}");
        for command in ["run", "check", "explain", "status", "cdi", "cleanup"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
        // Where the shell is here, it reads it without a complaint.
        if let Ok(said) = Command::new(shell).args(["-n", "-c", &script]).output() {
            assert!(said.status.success(), "{shell}: {}", String::from_utf8_lossy(&said.stderr));
        }
    }
    Ok(())
}
