//! `devgate cdi`: devices for containers without a kubelet, asked for by name.

mod called;
mod clean;
mod generate;
mod podman;
mod serve;

pub use called::called;
pub(crate) use serve::answer;

use crate::cli::{CdiAction, CdiArgs, HostArgs, Output};
use crate::node::{self, Sources};
use crate::status::ask;
use crate::{exit, output};
use anyhow::Result;
use devgate_cdi::check::{Checked, check};
use devgate_cdi::{Lease, LeaseRequest};
use devgate_types::escape;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most characters of a name that is shown.
const SHOWN: usize = 253;

/// How long a lease is to last from now on.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Renewal {
    name: String,
    ttl: Option<u64>,
}

/// A lease that is over.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Release {
    name: String,
}

/// What became of a lease that is over.
#[derive(Serialize, Deserialize)]
struct Ended {
    /// Whether there was one.
    was_there: bool,
    /// Devices whose components have not released them yet.
    dirty: Vec<String>,
}

/// Runs the command.
pub(crate) fn cdi(args: &CdiArgs, sources: Sources) -> Result<u8> {
    match &args.action {
        CdiAction::Lease { resource, name, count, ids, ttl, host } => {
            let lease: Lease = host.ask(
                "/cdi/lease",
                &LeaseRequest {
                    name: name.clone(),
                    resource: resource.clone(),
                    count: *count,
                    ids: ids.clone(),
                    ttl: seconds(*ttl)?,
                },
            )?;
            let names = lease.devices.iter().map(|name| format!("{}\n", escape(name, SHOWN)));
            output::print(&names.collect::<String>())?;
        }
        CdiAction::Release { name, host } => {
            let ended: Ended = host.ask("/cdi/release", &Release { name: name.clone() })?;
            let name = escape(name, SHOWN);
            output::print(&match (ended.was_there, ended.dirty.as_slice()) {
                (false, _) => format!("lease {name}: there is none; nothing to do\n"),
                (true, []) => format!("lease {name}: released\n"),
                (true, dirty) => format!(
                    "lease {name}: released; not given to others before their component has released them, which is tried again: {}\n",
                    escape(&dirty.join(", "), SHOWN)
                ),
            })?;
        }
        CdiAction::Renew { name, ttl, host } => {
            let renewal = Renewal { name: name.clone(), ttl: seconds(*ttl)? };
            let lease: Lease = host.ask("/cdi/renew", &renewal)?;
            output::print(&format!("lease {}: lasts {}\n", escape(&lease.name, SHOWN), lasts(&lease)))?;
        }
        CdiAction::Leases { output, host } => {
            let leases: Vec<Lease> = host.ask("/cdi/leases", &())?;
            output::show(*output, &leases, |leases| table(leases))?;
        }
        CdiAction::Generate(args) => return generate::generate(args, sources),
        CdiAction::Check { dirs, output } => return show(dirs, *output),
        CdiAction::Probe { cdi_dir, remove } => probe(cdi_dir, *remove)?,
        CdiAction::Clean { cdi_dir, state_dir, dry_run } => return clean::clean(cdi_dir, state_dir, *dry_run),
    }
    Ok(exit::OK)
}

impl HostArgs {
    fn ask<T: DeserializeOwned>(&self, path: &str, what: &impl Serialize) -> Result<T> {
        ask::order(&self.status_socket, path, what)
    }
}

fn seconds(time: Option<Duration>) -> Result<Option<u64>> {
    match time.map(|time| time.as_secs()) {
        Some(0) => Err(exit::with_code(exit::USAGE, "--ttl: must be a second or more")),
        seconds => Ok(seconds),
    }
}

fn lasts(lease: &Lease) -> String {
    match lease.left {
        None => "until it is released".to_owned(),
        Some(left) => format!("{} more", humantime::format_duration(Duration::from_secs(left))),
    }
}

fn table(leases: &[Lease]) -> String {
    if leases.is_empty() {
        return "there are no leases\n".to_owned();
    }
    let row = |lease: &Lease| {
        [
            escape(&lease.name, SHOWN).to_string(),
            escape(&lease.resource, SHOWN).to_string(),
            escape(&lease.ids.join(" "), SHOWN).to_string(),
            lasts(lease),
            escape(&lease.devices.join(" "), SHOWN).to_string(),
        ]
    };
    let head = ["LEASE", "RESOURCE", "IDS", "LASTS", "DEVICES"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(leases.iter().map(row)).collect();
    let problems = leases.iter().filter_map(|lease| Some((lease, lease.problem.as_ref()?)));
    let problem = |(lease, why): (&Lease, &String)| {
        format!("lease {}: no container gets it: {}\n", escape(&lease.name, SHOWN), escape(why, 512))
    };
    output::columns(0, &rows) + &problems.map(problem).collect::<String>()
}

fn show(dirs: &[PathBuf], form: Output) -> Result<u8> {
    let node = node::open_live(Path::new("/"))?;
    let mut checked = check(dirs, &node).map_err(|why| exit::with_code(exit::NODE, format!("CDI directory {why}")))?;
    podman::look(dirs, &mut checked);
    output::show(form, &checked, text)?;
    Ok(if checked.findings.is_empty() { exit::OK } else { exit::FOUND })
}

fn text(checked: &Checked) -> String {
    let mut text = String::new();
    for finding in &checked.findings {
        let (style, word) = if finding.is_error { (output::BAD, "error") } else { (output::WARNING, "warning") };
        text += &format!(
            "{style}{word}{style:#}: {}: {}\n",
            escape(&finding.path.display().to_string(), 512),
            finding.what
        );
    }
    let (devices, files) = (output::count(checked.devices.len(), "device"), output::count(checked.files, "file"));
    let wrong = match checked.findings.len() {
        0 => "nothing is wrong".to_owned(),
        n => format!("{} to look at", output::count(n, "finding")),
    };
    let ours = match checked.ours {
        0 => String::new(),
        ours => format!(" ({ours} of devgate's)"),
    };
    text + &format!("{devices} in {files}{ours}: {wrong}\n")
}

fn probe(dir: &Path, remove: bool) -> Result<()> {
    let (name, bytes) = devgate_cdi::probe();
    let file = dir.join(name);
    let failed = |why: &dyn std::fmt::Display| exit::with_code(exit::NODE, format!("file {}: {why}", file.display()));
    if remove {
        return match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(&error)),
            _ => output::print(&format!("removed {}\n", file.display())),
        };
    }
    std::fs::create_dir_all(dir).map_err(|error| failed(&error))?;
    output::write_file(&file, &bytes).map_err(|error| failed(&error))?;
    output::print(&format!(
        "wrote {}: a device that sets DEVGATE_PROBE and gives nothing\n\
         a runtime that reads it prints `works`:\n  \
         podman run --rm --device devgate.probe/probe=probe IMAGE printenv DEVGATE_PROBE\n  \
         docker run --rm --device devgate.probe/probe=probe IMAGE printenv DEVGATE_PROBE\n  \
         ctr run --rm --device devgate.probe/probe=probe IMAGE probe printenv DEVGATE_PROBE\n\
         then take it away: devgate cdi probe --remove\n",
        file.display()
    ))
}
