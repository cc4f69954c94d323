//! `help`: commands, and what the codes mean that other commands show.

use devgate_tests::{devgate, devgatectl};
use std::path::PathBuf;
use std::process::{Command, Output};

fn run(program: anyhow::Result<PathBuf>, args: &[&str]) -> anyhow::Result<(Option<i32>, String, String)> {
    let Output { status, stdout, stderr } = Command::new(program?).args(args).output()?;
    Ok((status.code(), String::from_utf8(stdout)?, String::from_utf8(stderr)?))
}

#[test]
fn a_code_is_explained_by_both_programs_and_a_check_by_the_one_that_has_it() -> anyhow::Result<()> {
    let (_, said, _) = run(devgatectl(), &["help", "component-digest"])?;
    insta::assert_snapshot!(said, @r"
    component-digest (error)
      meaning  not the file that the policy pins
      to do    where this file is meant, write its digest into component.sha256; else find out who put it there
    ");
    assert_eq!(run(devgate(), &["help", "component-digest"])?.1, said);
    insta::assert_snapshot!(run(devgatectl(), &["help", "ids.alone"])?.1, @r"
    ids.alone (checked by `conform`)
      meaning  health of each unit alone gives the verdict that it has in company
      to do    judge each unit by its own backing and properties
    ");
    assert!(run(devgate(), &["help", "codes"])?.1.lines().any(|line| line.starts_with("component-digest ")));
    Ok(())
}

#[test]
fn what_is_neither_a_command_nor_a_code_is_told_with_what_is_near() -> anyhow::Result<()> {
    let words = [("component-dig", "component-digest"), ("Explain", "explain"), ("unplug_health", "unplug.health")];
    for (word, near) in words {
        let (code, out, err) = run(devgatectl(), &["help", word])?;
        assert_eq!((code, out.as_str()), (Some(2), ""), "{word}");
        assert!(err.contains(&format!("did you mean {near}?")), "{err}");
    }
    let (_, _, err) = run(devgate(), &["help", "nonsense"])?;
    assert!(err.contains("`devgate help codes` lists the codes"), "{err}");
    Ok(())
}

/// As clap's own did.
#[test]
fn help_of_a_command_is_that_commands() -> anyhow::Result<()> {
    for command in [&[][..], &["check"], &["cdi"], &["cdi", "lease"], &["conform"]] {
        let asked = run(devgatectl(), &[&["help"], command].concat())?;
        let own = run(devgatectl(), &[command, &["--help"]].concat())?;
        assert_eq!(asked, own, "{command:?}");
    }
    assert_eq!(run(devgatectl(), &["help", "cdi", "nonsense"])?.0, Some(2));
    Ok(())
}
