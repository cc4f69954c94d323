//! `devgatectl dev`.

use crate::small_node::{GPUS, Place};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(60);

/// The program, while it runs, and what it prints.
struct Dev {
    child: Child,
    lines: Receiver<String>,
}

impl Dev {
    fn start(place: &Place, components: &Path, more: &[&str]) -> anyhow::Result<Self> {
        let mut child = Command::new(devgate_tests::devgatectl()?)
            .current_dir(place.dir())
            .args(["dev", "--policy", "policy.yaml", "--node-root", "node.umockdev", "--components"])
            .arg(components)
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let (send, lines) = channel();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        std::thread::spawn(move || output.lines().map_while(Result::ok).all(|line| send.send(line).is_ok()));
        Ok(Self { child, lines })
    }

    /// What is printed up to a line with this in it.
    fn until(&self, what: &str) -> anyhow::Result<String> {
        let (begun, mut seen) = (Instant::now(), String::new());
        while let Ok(line) = self.lines.recv_timeout(TIMEOUT.saturating_sub(begun.elapsed())) {
            seen += &format!("{line}\n");
            if line.contains(what) {
                return Ok(seen);
            }
        }
        anyhow::bail!("no line with {what:?} in:\n{seen}")
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_is_saved_is_looked_at_and_what_changed_is_told() -> anyhow::Result<()> {
    let place = Place::new(GPUS)?;
    let dev = Dev::start(&place, &devgate_tests::components()?, &[])?;
    let first = dev.until("  health ")?;
    assert!(first.contains("plugin gpus: works, 2 units, 2 healthy\n"), "{first}");
    assert!(first.contains(" host calls"), "{first}");
    // The node: a driver lets go of nothing, a node goes.
    let node = place.dir().join("node.umockdev");
    let text = std::fs::read_to_string(&node)?;
    std::fs::write(&node, text.replace("0000:00:02.0", "0000:00:04.0"))?;
    let moved = dev.until("comes")?;
    assert!(moved.contains("since the last look:\n") && moved.contains("fake.com/gpu 0000:00:02.0 goes"), "{moved}");
    // A mistake in the policy, and its mending.
    let policy = place.dir().join("policy.yaml");
    let text = std::fs::read_to_string(&policy)?;
    std::fs::write(&policy, text.replace("hardware:", "hardwear:"))?;
    dev.until("hardwear")?;
    std::fs::write(&policy, format!("{text}    except: [{{id: \"0000:00:01.0\"}}]\n"))?;
    let refused = dev.until("not offered")?;
    assert!(refused.contains("plugin gpus: works, 1 unit, 1 healthy"), "{refused}");
    Ok(())
}

#[test]
fn a_source_that_is_saved_is_built_and_a_build_that_fails_is_told() -> anyhow::Result<()> {
    let place = Place::new(&GPUS.replace("generic.wasm", "vendor.wasm"))?;
    let source = place.dir().join("source");
    std::fs::create_dir(&source)?;
    std::fs::write(source.join("build.sh"), "exit 3\n")?;
    let generic = devgate_tests::components()?.join("generic.wasm");
    let dev = Dev::start(&place, place.dir(), &["--watch", "source", "--", "sh", "source/build.sh"])?;
    dev.until("sh: exit status: 3; what was built before is looked at")?;
    dev.until("not-loaded")?;
    std::fs::write(source.join("build.sh"), format!("cp '{}' vendor.wasm\n", generic.display()))?;
    let built = dev.until("plugin gpus: works, 2 units, 2 healthy")?;
    assert!(built.contains("built in "), "{built}");
    Ok(())
}
