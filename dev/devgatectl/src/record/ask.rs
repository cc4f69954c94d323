//! What is to be recorded.

use super::volatile_attributes::{bookkeeping, measured};
use crate::cli::RecordArgs;
use devgate::exit;
use devgate::explain::named;
use devgate_core::Grants;
use devgate_fake_node::{Recorder, Recording};
use devgate_node::{KernelLine, Node};
use devgate_policy::{FileDenied, Files, PluginPolicy, Policy, attribute_rule};
use devgate_types::escape;
use std::collections::BTreeSet;

/// A recording, and what its reader should know of it.
pub(super) struct Asked {
    pub(super) recording: Recording,
    pub(super) notes: Vec<String>,
}

impl Asked {
    /// Records what the arguments name.
    pub(super) fn of(
        args: &RecordArgs,
        node: &Node,
        policy: Option<&Policy>,
        grants: &[Grants],
    ) -> anyhow::Result<Self> {
        let may_read = |path: &str| {
            attribute_rule(path)?;
            bookkeeping(path)?;
            if args.stable { measured(path) } else { Ok(()) }
        };
        let mut recorder = Recorder::new(node, &may_read);
        let mut notes = Vec::new();
        // Which boot it is: who plays it finds it booted.
        recorder.file("/proc/sys/kernel/random/boot_id");
        for what in &args.what {
            one(&mut recorder, node, what)?;
        }
        let failed = |error: devgate_node::ReadError| exit::with_code(exit::NODE, error.to_string());
        let subsystems: BTreeSet<String> = if args.all {
            node.subsystems().map_err(failed)?.into_iter().collect()
        } else {
            args.subsystem.iter().cloned().collect()
        };
        for subsystem in &subsystems {
            let devices = node.devices(subsystem).map_err(failed)?;
            if devices.is_empty() && !args.all {
                let message = format!("subsystem {}: no device of it is here", escape(subsystem, 80));
                return Err(exit::with_code(exit::FOUND, message));
            }
            for device in devices {
                if args.all {
                    recorder.device(&device);
                } else {
                    recorder.tree(&device).map_err(failed)?;
                }
            }
        }
        for path in &args.file {
            let refused =
                |why: FileDenied| exit::with_code(exit::FOUND, format!("--file {}: {why}", escape(path, 256)));
            Files::rule(path).map_err(|why| match why {
                FileDenied::NotListed => {
                    exit::with_code(exit::USAGE, format!("--file {}: must be a plain absolute path", escape(path, 256)))
                }
                why => refused(why),
            })?;
            let there = node
                .resolve(path)
                .map_err(|error| exit::with_code(exit::FOUND, format!("--file {}: {error}", escape(path, 256))))?;
            Files::rule(&there).map_err(refused)?;
            recorder.file(path);
        }
        let plugins = policy.iter().flat_map(|policy| policy.plugins.values());
        for (view, plugin) in grants.iter().zip(plugins) {
            granted(&mut recorder, view, plugin)?;
        }
        if let Some(policy) = policy {
            kernel_log(&mut recorder, node, policy, args.no_redact, &mut notes);
        }
        let recording = recorder.finish();
        if recording.devices.0 == 0 && args.what.is_empty() && args.file.is_empty() {
            let message = "nothing that was asked for is here; nothing was recorded";
            return Err(exit::with_code(exit::FOUND, message));
        }
        Ok(Self { recording, notes })
    }
}

/// One thing by its name.
fn one(recorder: &mut Recorder<'_>, node: &Node, what: &str) -> anyhow::Result<()> {
    let devices = named(node, what);
    if what.starts_with("/dev/") && node.node_at(what).is_ok() {
        recorder.node_at(what);
    } else if devices.is_empty() {
        let message = format!(
            "{}: no such device or node here; name it as pci/0000:3b:00.0, or by its path in /dev",
            escape(what, 256)
        );
        return Err(exit::with_code(exit::FOUND, message));
    }
    for device in devices {
        recorder.tree(&device).map_err(|error| exit::with_code(exit::NODE, format!("{what}: {error}")))?;
    }
    Ok(())
}

/// What one plugin is granted.
fn granted(recorder: &mut Recorder<'_>, view: &Grants, policy: &PluginPolicy) -> anyhow::Result<()> {
    let failed = |error: devgate_node::ReadError| exit::with_code(exit::NODE, error.to_string());
    for found in view.matches().map_err(failed)? {
        recorder.device(&found.device);
        for device in view.beneath(&found.device).map_err(failed)? {
            recorder.device(&device);
        }
        for node in &found.nodes {
            recorder.node_at(&node.node.path);
        }
        for control in &policy.control {
            recorder.writable(&found.device, &control.attribute);
        }
    }
    for listed in view.host_nodes() {
        let given = listed.found.iter().map(|node| &node.node.path);
        // What is withheld here is withheld there, for the same reason.
        for path in given.chain(listed.withheld.iter().map(|withheld| &withheld.what)) {
            recorder.node_at(path);
        }
    }
    for listed in view.files() {
        for path in &listed.found {
            recorder.file(path);
        }
    }
    for mount in policy.containers.mounts.values().filter(|mount| !mount.unchecked) {
        recorder.mount_source(&mount.source);
    }
    Ok(())
}

/// Lines that patterns of the policy match: without what follows the match, which no component is told, unless everything is
/// kept.
fn kernel_log(recorder: &mut Recorder<'_>, node: &Node, policy: &Policy, whole: bool, notes: &mut Vec<String>) {
    let patterns: Vec<_> = policy.plugins.values().flat_map(|plugin| &plugin.kernel_log).collect();
    if patterns.is_empty() {
        return;
    }
    let lines = match node.events().log_lines() {
        Ok(lines) => lines,
        Err(why) => return notes.push(format!("the kernel's log cannot be read here: {why}")),
    };
    let (mut kept, mut cut) = (0, 0);
    for line in lines {
        let longest = patterns.iter().filter_map(|pattern| pattern.matched(&line.text)).max_by_key(|part| part.len());
        let Some(part) = longest else { continue };
        kept += 1;
        cut += usize::from(part.len() < line.text.len() && !whole);
        let text = if whole { line.text.clone() } else { part.to_owned() };
        recorder.line(&KernelLine { text, ..line });
    }
    if kept > 0 {
        notes.push(format!(
            "lines of the kernel's log: {kept}, of which {cut} only as far as the policy's patterns match"
        ));
    }
}
