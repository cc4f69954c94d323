//! The configuration of NVIDIA's device plugin, for the component `nvidia-gpu`.

pub(super) mod given;
mod settings;
mod text;

use super::draft::Draft;
use super::find::Found;
use serde::Deserialize;
use serde_json::Value;
use settings::{Config, Replicated, Sharing};
use text::Base;

/// What they call a GPU, and what is put behind it where it is shared.
const GPU: &str = "nvidia.com/gpu";
const SHARED: &str = ".shared";

/// Takes a configuration over, with what the plugin is told besides.
pub(super) fn take_over(found: &Found, given: &[Value], draft: &mut Draft) {
    let config = match Config::deserialize(given::over(&found.value, given)) {
        Ok(config) => config,
        Err(why) => return draft.lose(&found.at, why),
    };
    config.lose_unknown(&found.at, draft);
    let strategy = config.flags.mig_strategy.as_deref().unwrap_or("none");
    let mut base = match strategy {
        "single" => Base::parts(GPU),
        "mixed" => {
            let why = "which profile an instance has is not known without NVML: instances are nvidia.com/mig; \
                       name them by `rename`, as guests/nvidia-gpu/README.md shows";
            draft.lose(format!("{}: flags: migStrategy mixed", found.at), why);
            Base::parts("nvidia.com/mig")
        }
        _ => Base::whole(),
    };
    if strategy == "none" {
        base.list_strategy(&config.flags.plugin.strategies(), &found.at, draft);
    }
    share(&config.sharing, strategy, &mut base, &found.at, draft);
    if config.flags.plugin.shared_devices_allocation_policy.as_deref() == Some("packed") {
        base.add("placement: packed");
    }
    draft.plugin("nvidia", &base.done());
}

/// Takes over how often each GPU is offered.
fn share(sharing: &Sharing, strategy: &str, base: &mut Base, at: &str, draft: &mut Draft) {
    if sharing.mps.is_some() {
        let why = "it needs NVIDIA's daemon, which devgate does not start; GPUs are not shared";
        return draft.lose(format!("{at}: sharing: mps"), why);
    }
    let Some(slicing) = &sharing.time_slicing else { return };
    let at = format!("{at}: sharing: timeSlicing");
    if slicing.fail_requests_greater_than_one == Some(true) {
        let why = "a request for two gets two GPUs as long as there are two";
        draft.lose(format!("{at}: failRequestsGreaterThanOne"), why);
    }
    for (n, shared) in slicing.resources.iter().enumerate() {
        let at = format!("{at}: resources[{n}]");
        if !matches!(shared.devices, Value::Null) && shared.devices != "all" {
            draft.lose(format!("{at}: devices"), "their plugin ignores it, too; `only` of a second plugin does it");
        }
        if !shared.rename.is_empty() {
            draft.lose(format!("{at}: rename"), "their plugin ignores it, too; `rename` of the policy does it");
        }
        of_one(shared, slicing.rename_by_default, strategy, base, &at, draft);
    }
}

fn of_one(shared: &Replicated, rename: bool, strategy: &str, base: &mut Base, at: &str, draft: &mut Draft) {
    let name = if shared.name.contains('/') { shared.name.clone() } else { format!("nvidia.com/{}", shared.name) };
    if name != GPU {
        let why =
            "instances have no resource of their own by profile; `replicas` of a second plugin with `only` does it";
        return draft.lose(format!("{at}: {name}"), why);
    }
    if strategy == "mixed" {
        let why = "`replicas` would share instances as well; `replicas` of a second plugin with `only` does it";
        return draft.lose(format!("{at}: {name}"), why);
    }
    base.replicas(shared.replicas);
    if rename {
        base.rename(GPU, &format!("{GPU}{SHARED}"));
    }
}

#[cfg(test)]
mod tests;
