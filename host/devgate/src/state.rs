//! `devgate state`: what is recorded of what was handed out, and what an admin decides about it.

use crate::cli::{KubeletArgs, Output, StateAction, StateArgs};
use crate::status::ask::block_on;
use crate::{exit, in_use, output};
use anyhow::Result;
use devgate_core::{Listed, NotForgotten, NotLocked, Recorded, StateDirLock};
use devgate_types::escape;
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// The most characters of a name that is shown.
const SHOWN: usize = 253;

/// What is listed; its names are those of the JSON form.
#[derive(Serialize)]
struct List {
    /// Why it is not all, if so.
    incomplete: Option<String>,
    allocations: Vec<Listed>,
}

/// Runs the command.
pub(crate) fn state(args: &StateArgs) -> Result<u8> {
    match &args.action {
        StateAction::List { output } => list(&args.state_dir, *output),
        StateAction::Export => {
            let recorded = read(&args.state_dir)?;
            output::print(&recorded.to_json()?)?;
            Ok(exit::OK)
        }
        StateAction::Accept => accept(&args.state_dir),
        StateAction::Forget { id, even_if_in_use, kubelet } => {
            let _alone = alone(&args.state_dir)?;
            if !even_if_in_use {
                refuse(&args.state_dir, *id, kubelet)?;
            }
            forget(&args.state_dir, *id)
        }
    }
}

fn list(dir: &Path, form: Output) -> Result<u8> {
    let recorded = read(dir)?;
    let list = List { allocations: recorded.allocations().collect(), incomplete: recorded.incomplete };
    output::show(form, &list, text)?;
    Ok(if list.incomplete.is_some() { exit::FOUND } else { exit::OK })
}

fn text(list: &List) -> String {
    let row = |listed: &Listed| {
        let since = listed.since.and_then(|s| UNIX_EPOCH.checked_add(Duration::from_secs(s)));
        let since = since.map(|at| humantime::format_rfc3339_seconds(at).to_string());
        [
            listed.id.to_string(),
            since.unwrap_or_else(|| "-".to_owned()),
            escape(&listed.consumer, SHOWN),
            escape(&listed.resource, SHOWN),
            units(listed),
        ]
    };
    let mut text = String::new();
    if let Some(why) = &list.incomplete {
        text += &format!("not all is known: {}\n", escape(why, 512));
    }
    if list.allocations.is_empty() {
        return text + "nothing is recorded as handed out\n";
    }
    let head = ["ID", "SINCE", "CONSUMER", "RESOURCE", "UNITS"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(list.allocations.iter().map(row)).collect();
    text + &output::columns(0, &rows)
}

/// Fails where a pod has it, or that cannot be seen.
fn refuse(dir: &Path, id: u64, kubelet: &KubeletArgs) -> Result<()> {
    let refused = |why: String| exit::with_code(exit::FOUND, format!("allocation {id}: {why}; nothing was forgotten"));
    let none = "there is none; `devgate state list` shows those that there are";
    let recorded = read(dir)?;
    let listed = recorded.allocations().find(|listed| listed.id == id);
    let listed = listed.ok_or_else(|| refused(none.to_owned()))?;
    // One of several replicas has its number behind the unit's id.
    let is_of = |id: &str, unit: &str| {
        let rest = id.strip_prefix(unit);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let is_ours =
        |resource: &str, id: &str| resource == listed.resource && listed.units.iter().any(|unit| is_of(id, unit));
    let claims = recorded.claims().filter(|claim| claim.allocation.id == id).collect();
    let used = block_on(in_use::find(&kubelet.pod_resources(), is_ours, Some(claims)))?;
    match used.map_err(|why| refused(why.to_string()))? {
        None => Ok(()),
        Some(used) => Err(refused(format!("{used}; end that pod first, or say --even-if-in-use"))),
    }
}

fn forget(dir: &Path, id: u64) -> Result<u8> {
    let listed = devgate_core::forget(dir, id).map_err(|why| match why {
        NotForgotten::Failed(_) => exit::of_state_dir(exit::NODE, dir, why),
        _ => exit::with_code(exit::FOUND, format!("{why}; nothing was forgotten")),
    })?;
    output::print(&format!(
        "forgotten: allocation {id} of {}: {} of {}\n",
        escape(&listed.consumer, SHOWN),
        units(&listed),
        escape(&listed.resource, SHOWN)
    ))?;
    Ok(exit::OK)
}

fn accept(dir: &Path) -> Result<u8> {
    let _alone = alone(dir)?;
    let accepted = devgate_core::accept(dir).map_err(|why| exit::of_state_dir(exit::NODE, dir, why))?;
    output::print(&match accepted {
        Some(why) => format!("accepted: what is recorded is all that was handed out; before: {}\n", escape(&why, 512)),
        None => "nothing to accept: it is known what was handed out\n".to_owned(),
    })?;
    Ok(exit::OK)
}

/// What was handed out, as far as a state directory says.
pub(crate) fn read(dir: &Path) -> Result<Recorded> {
    let help = "be root, or name another one with --state-dir";
    Recorded::read(dir)
        .map_err(|why| exit::with_code(exit::NODE, format!("state directory {}: {why}; {help}", dir.display())))
}

/// Keeps hosts out until it is dropped.
pub(crate) fn alone(dir: &Path) -> Result<Option<StateDirLock>> {
    StateDirLock::of_cleanup(dir, false).map_err(|why| {
        let is_used = matches!(why, NotLocked::Used);
        exit::of_state_dir(if is_used { exit::FOUND } else { exit::NODE }, dir, why)
    })
}

fn units(listed: &Listed) -> String {
    let units: Vec<_> = listed.units.iter().map(|unit| escape(unit, SHOWN)).collect();
    units.join(" ")
}
