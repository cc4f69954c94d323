//! The recorded nodes of a plan, and what is held on them.

use devgate::exit;
use devgate::node::{recorded_name, recordings};
use devgate_fake_node::RecordedNode;
use devgate_types::escape;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest file of what is held.
const MAX_HELD: u64 = 64 << 20;

/// One recorded node, for all of its kind.
pub(super) struct PlannedNode {
    pub(super) known: KnownNode,
    pub(super) recorded: RecordedNode,
}

/// What is known of a node besides its devices.
#[derive(Default)]
pub(crate) struct KnownNode {
    /// The recording's name without its ending.
    pub(super) name: String,
    /// The recording, as it is shown.
    pub(super) file: String,
    /// Who has which unit there, by resource and id; `None` where nothing says so.
    pub(super) held: Option<BTreeMap<(String, String), String>>,
    /// Why that is not all, if so.
    pub(super) incomplete: Option<String>,
}

/// What `devgate state list --output json` prints.
#[derive(Deserialize)]
struct HeldFile {
    incomplete: Option<String>,
    allocations: Vec<HeldAllocation>,
}

#[derive(Deserialize)]
struct HeldAllocation {
    consumer: String,
    resource: String,
    units: Vec<String>,
}

/// Reads all of them. Says of each that cannot be read why, not of the first alone.
pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<PlannedNode>> {
    let (mut nodes, mut problems) = (Vec::new(), Vec::new());
    for file in recordings(paths)? {
        match PlannedNode::read(&file) {
            Ok(node) => nodes.push(node),
            Err(why) => problems.push(why),
        }
    }
    if problems.is_empty() { Ok(nodes) } else { Err(exit::with_code(exit::NODE, problems.join("\n"))) }
}

impl PlannedNode {
    fn read(file: &Path) -> Result<Self, String> {
        let recorded = RecordedNode::open(file).map_err(|why| why.to_string())?;
        let name = recorded_name(file);
        let held = file.with_file_name(format!("{name}.held.json"));
        let (held, incomplete) = held_in(&held).map_err(|why| format!("held devices {}: {why}", held.display()))?;
        let known = KnownNode { name, file: escape(&file.to_string_lossy(), 1024), held, incomplete };
        Ok(Self { known, recorded })
    }
}

/// Who has what, and why that is not all.
type Held = (Option<BTreeMap<(String, String), String>>, Option<String>);

/// Nothing where there is no such file.
fn held_in(file: &Path) -> Result<Held, String> {
    let opened = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((None, None)),
        opened => opened.map_err(|error| error.to_string())?,
    };
    let mut text = String::new();
    let read = opened.take(MAX_HELD + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if u64::try_from(read).unwrap_or(u64::MAX) > MAX_HELD {
        return Err("is larger than 64MiB".to_owned());
    }
    let listed: HeldFile = serde_json::from_str(&text)
        .map_err(|why| format!("is not what `devgate state list --output json` prints: {why}"))?;
    let units = listed.allocations.into_iter().flat_map(|allocation| {
        let HeldAllocation { consumer, resource, units } = allocation;
        units.into_iter().map(move |id| ((resource.clone(), id), consumer.clone()))
    });
    Ok((Some(units.collect()), listed.incomplete.map(|why| escape(&why, 512))))
}
