//! Colour is for terminals, and for who asks for it.

use crate::small_node::Place;
use devgate_tests::devgatectl;
use std::process::Command;

const POLICY: &str = r#"
  gpus:
    component: {file: missing.wasm}
    resources: [fake.com/gpu]
    hardware: [{subsystem: misc, use: offer}]
    shares-hardware: true
"#;

const ERROR: &str = "\x1b[1m\x1b[31mERROR  \x1b[0m  ";

/// What `check` says, with these variables and no other about colour; `through` runs it, if anything does.
fn said(variables: &[(&str, &str)], through: Option<&str>) -> anyhow::Result<String> {
    let place = Place::new(POLICY)?;
    let args = place.args(&["check"])?;
    let dir = place.dir().display().to_string();
    let mut command = match through {
        None => Command::new(devgatectl()?),
        Some(program) => Command::new(program),
    };
    if through.is_some() {
        let words = std::iter::once(devgatectl()?).chain(args.clone());
        let line: Vec<_> = words.map(|word| format!("'{}'", word.display())).collect();
        command.args(["--quiet", "--return", "--command", &line.join(" "), "/dev/null"]);
    } else {
        command.args(&args);
    }
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(name);
    }
    let output = command.env("TERM", "xterm").envs(variables.iter().copied()).output()?;
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.replace(&dir, "[dir]"))
}

#[test]
fn a_pipe_has_no_colour_unless_it_is_asked_for() -> anyhow::Result<()> {
    let pipe = said(&[], None)?;
    assert!(pipe.contains("  ERROR    ") && !pipe.contains('\x1b'), "{pipe}");
    let forced = said(&[("CLICOLOR_FORCE", "1")], None)?;
    assert!(forced.contains(ERROR), "{forced:?}");
    assert!(forced.contains("\x1b[33mwarning\x1b[0m  "), "{forced:?}");
    assert_eq!(said(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], None)?, pipe);
    Ok(())
}

/// `script` gives it a terminal.
#[test]
fn a_terminal_has_colour_unless_it_is_unwanted() -> anyhow::Result<()> {
    assert!(said(&[], Some("script"))?.contains(ERROR));
    for unwanted in [("NO_COLOR", "1"), ("CLICOLOR", "0"), ("TERM", "dumb")] {
        let plain = said(&[unwanted], Some("script"))?;
        assert!(plain.contains("  ERROR    ") && !plain.contains('\x1b'), "{unwanted:?}: {plain:?}");
    }
    Ok(())
}
