//! What of a scenario is kept to be looked at: what was played, and what came of it.

use super::outcome::Outcome;
use super::timeline::timeline;
use crate::stage::Stage;
use anyhow::Context;
use devgate::status::ask;
use std::path::{Component, Path, PathBuf};

/// Writes into a folder of the scenario's name: `policy.yaml` and `node.umockdev` as they were at the end, `status.json`,
/// `host.log`, `timeline.txt` and what the kubelet remembers.
pub(super) async fn keep(folder: &Path, stage: &Stage, outcome: &mut Outcome) -> anyhow::Result<()> {
    let folder = folder.join(name(&outcome.file));
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        std::fs::write(&file, text).with_context(|| file.display().to_string())
    };
    let copy = |from: PathBuf, name: &str| match std::fs::read_to_string(&from) {
        Ok(text) => write(name, &text),
        // A host that has not come so far leaves nothing.
        Err(_) => Ok(()),
    };
    copy(stage.dir().join("policy.yaml"), "policy.yaml")?;
    copy(stage.node_root.clone(), "node.umockdev")?;
    let checkpoint = devgate_fake_kubelet::CHECKPOINT;
    copy(stage.dir().join("device-plugins").join(checkpoint), checkpoint)?;
    if let Ok(report) = ask::ask(&stage.status_socket()).await {
        write("status.json", &serde_json::to_string_pretty(&report)?)?;
    }
    outcome.log = stage.lines();
    let log: String = outcome.log.iter().map(|line| format!("{}\n", line.raw)).collect();
    write("host.log", &log)?;
    write("timeline.txt", &timeline(outcome))
}

/// The scenario's path as one name.
fn name(file: &Path) -> PathBuf {
    let parts = file.with_extension("");
    let parts = parts.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("-").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_name() {
        for (file, expected) in [
            ("guests/acme/scenarios/unplug.yaml", "guests-acme-scenarios-unplug"),
            ("../x/./y.yml", "x-y"),
            ("/tmp/s.v2.yaml", "tmp-s.v2"),
        ] {
            assert_eq!(name(Path::new(file)), Path::new(expected));
        }
    }
}
