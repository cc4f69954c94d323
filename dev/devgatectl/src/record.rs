//! `devgatectl record`: parts of a node as text, to be played elsewhere, by people who must not know whose node it was.

mod ask;
mod redact;
mod summary;
mod volatile_attributes;

use crate::cli::RecordArgs;
use anyhow::Context;
use ask::Asked;
use devgate::{exit, output, policy};
use devgate_core::Grants;
use devgate_fake_node::Recording;
use redact::Redactor;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use summary::Summary;

/// Runs the command.
pub(crate) fn record(args: &RecordArgs) -> anyhow::Result<u8> {
    let mut redactor =
        Redactor::new(&args.redact).map_err(|error| exit::with_code(exit::USAGE, format!("{error:#}")))?;
    if let Some(out) = args.out.as_deref().filter(|out| !args.force && out.exists()) {
        return Err(there(out));
    }
    let policy = match args.policy.as_slice() {
        [] => None,
        paths => Some(policy::read(paths)?),
    };
    let node = crate::node::open(&args.node_root)?;
    if !node.has_devices() {
        let message = format!("node root {}: there is no device tree", args.node_root.display());
        return Err(exit::with_code(exit::NODE, message));
    }
    let _progress = (!args.quiet).then(|| devgate::progress::Progress::begin("recording".to_owned()));
    let grants: Vec<_> = policy
        .iter()
        .flat_map(|policy| policy.plugins.values())
        .map(|plugin| Grants::new(node.clone(), Arc::new(plugin.clone())))
        .collect();
    let asked = Asked::of(args, &node, policy.as_ref(), &grants)?;
    let (notes, recording) = (asked.notes, asked.recording);
    let mut summary = Summary::new(notes, &recording);
    let Recording { node: copy, .. } = recording;
    let copy = if args.no_redact {
        copy
    } else {
        redactor.know_host(&node);
        let redacted = redactor.redact(&copy).map_err(|error| anyhow::anyhow!("{error}"))?;
        summary.redacted(&redactor);
        redacted
    };
    if let Some(policy) = &policy {
        summary.compare(policy, &grants, &copy);
    }
    let written = copy.written(&about(args)).context("write the recording")?;
    summary.unwritten(written.unwritten.clone());
    let summary = summary.text(args.verbose);
    let inside = args.quiet.then(|| written.with_notes(summary.lines().map(str::to_owned)));
    let text = inside.as_ref().unwrap_or(&written.text);
    match &args.out {
        None => output::print(text)?,
        Some(out) => write(out, text, args.force)?,
    }
    if !args.quiet {
        // Nothing is left to do if even this cannot be written.
        let _ = std::io::stderr().write_all(summary.as_bytes());
    }
    Ok(exit::OK)
}

/// What the text says of itself: nothing that differs from one time to the next.
fn about(args: &RecordArgs) -> Vec<String> {
    let version = env!("CARGO_PKG_VERSION");
    let redacted = if args.no_redact {
        "Serial numbers, addresses and ids are as they were."
    } else {
        "Serial numbers, addresses and ids are made up; equal ones were equal."
    };
    vec![
        format!("Recorded by devgate {version}; for devgatectl --node-root FILE and umockdev-run --device FILE."),
        redacted.to_owned(),
    ]
}

fn there(out: &Path) -> anyhow::Error {
    let message = format!("{}: is there already; --force writes over it", out.display());
    exit::with_code(exit::USAGE, message)
}

fn write(out: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    // A file that was made in the meantime is not overwritten.
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let mut file = match options.open(out) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(there(out)),
        opened => opened.with_context(|| out.display().to_string())?,
    };
    file.write_all(text.as_bytes()).with_context(|| out.display().to_string())
}
