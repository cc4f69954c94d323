//! The demo's story, as a newcomer reads it.

use devgate_tests::{components, devgatectl};
use std::path::Path;
use std::process::Command;

fn demo(node_root: &Path) -> anyhow::Result<String> {
    let output = Command::new(devgatectl()?)
        .args([Path::new("demo"), Path::new("--components"), &components()?, Path::new("--node-root"), node_root])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(text)
}

/// On a recorded node, where everything but the times is the same each time.
#[test]
fn the_story_is_told() -> anyhow::Result<()> {
    let node = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dev/devgatectl/src/demo/node.umockdev");
    let text = demo(&node)?;
    insta::with_settings!({filters => vec![(r"\d+\.\d ms", "[time]"), (r"in \d+\.\d s", "in [time]")]}, {
        insta::assert_snapshot!(text);
    });
    Ok(())
}

/// On this machine: the same steps, whatever devices there are.
#[test]
fn the_story_is_told_of_this_machine() -> anyhow::Result<()> {
    if !Path::new("/sys/class/misc").is_dir() {
        println!("skipped: this machine has no /sys");
        return Ok(());
    }
    // A node of it is renamed for a moment.
    let _alone = devgate_tests::machine::alone()?;
    let text = demo(Path::new("/"))?;
    for step in
        ["1. What", "2. Registered", "3. A pod", "4. A device fails", "5. A component", "6. The kubelet", "All of this"]
    {
        assert!(text.contains(step), "no \"{step}\" in:\n{text}");
    }
    Ok(())
}

#[test]
fn a_demo_that_cannot_be_told_says_so() -> anyhow::Result<()> {
    let empty = tempfile::tempdir()?;
    let output = Command::new(devgatectl()?)
        .args([Path::new("demo"), Path::new("--components"), empty.path(), Path::new("--node-root"), empty.path()])
        .output()?;
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr)?;
    insta::with_settings!({filters => vec![(r"/\S*/generic", "[dir]/generic")]}, {
        insta::assert_snapshot!(
            said,
            @"devgate: component [dir]/generic.wasm is not there: run `cargo xtask components`, or give --components"
        );
    });
    Ok(())
}
