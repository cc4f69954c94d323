//! `devgate cdi clean`: takes away files that name what no lease or pod has any more, where no host runs that would.

use crate::{cleanup, exit, output, state};
use anyhow::Result;
use devgate_core::cleanup::{Cleaner, Outcome};
use devgate_types::escape;
use std::path::Path;

/// Runs the command.
pub(super) fn clean(cdi_dir: &Path, state_dir: &Path, dry_run: bool) -> Result<u8> {
    // A host takes such files away by itself, and may be about to write one.
    let _alone = state::alone(state_dir)?;
    let recorded = state::read(state_dir)?;
    if let Some(why) = &recorded.incomplete {
        let (dir, why) = (state_dir.display(), escape(why, 512));
        return Err(exit::with_code(
            exit::FOUND,
            format!("state directory {dir}: not all is known of what was given: {why}; nothing was removed"),
        ));
    }
    let left = devgate_cdi::left_behind(cdi_dir, state_dir);
    let mut left = left.map_err(|why| exit::of_state_dir(exit::NODE, state_dir, why))?;
    left.retain(|file| file.path.exists());
    let allocations: Vec<_> = recorded.allocations().collect();
    let mut cleaner = Cleaner::new(dry_run);
    for file in &left {
        if !allocations.iter().any(|given| file.may_be_of(given.id, &given.consumer)) {
            cleaner.remove("cdi", &file.path);
        }
    }
    let found = cleaner.found();
    output::print(&output::columns(0, &found.iter().map(cleanup::row).collect::<Vec<_>>()))?;
    let stay = output::count(left.len() - found.len(), "file");
    output::print(&format!("{stay} of what leases and pods have: left\n"))?;
    let failed = found.iter().any(|found| found.outcome == Outcome::Failed);
    Ok(if failed { exit::NODE } else { exit::OK })
}
