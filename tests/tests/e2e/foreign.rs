//! What is offered of machines is what their recordings say, counted by a script that knows nothing of components.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Plays recordings, those of this repository or others; `None` where there is no Python here.
fn play(recordings: &[&Path]) -> anyhow::Result<Option<Output>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("python3");
    command.arg(root.join("foreign/play.py")).args(recordings);
    command.arg("--devgatectl").arg(devgate_tests::devgatectl()?);
    command.arg("--components").arg(devgate_tests::components()?);
    match command.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null()).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && std::env::var_os("CI").is_none() => {
            println!("skipped: no python3 here");
            Ok(None)
        }
        output => Ok(Some(output?)),
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn machines_are_offered_as_their_recordings_say() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut recordings = vec![root.join("nodes/h200.umockdev")];
    for entry in std::fs::read_dir(root.join("foreign/nodes"))? {
        recordings.push(entry?.path());
    }
    let recordings: Vec<&Path> = recordings.iter().map(std::path::PathBuf::as_path).collect();
    let Some(output) = play(&recordings)? else { return Ok(()) };
    assert!(output.status.success(), "{}", said(&output));
    let machines = format!("{} machines, ", recordings.len());
    assert!(said(&output).starts_with(&machines), "{}", said(&output));
    Ok(())
}

#[test]
fn a_difference_without_a_sentence_is_told() -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let recording = place.path().join("soft.umockdev");
    std::fs::write(&recording, "P: /devices/virtual/infiniband/rxe0\nE: SUBSYSTEM=infiniband\n")?;
    let Some(output) = play(&[&recording])? else { return Ok(()) };
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).starts_with("soft, rdma: expected ['rxe0'], found []\n"), "{}", said(&output));
    Ok(())
}
