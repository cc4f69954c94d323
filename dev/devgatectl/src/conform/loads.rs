//! Whether the component can be run at all.

use super::scorecard::{Outcome, Scorecard};
use devgate::components::Components;
use devgate_core::LoadFailure;
use devgate_policy::{ComponentSource, PluginPolicy};
use devgate_runner::Runners;
use devgate_types::load::Need;
use devgate_types::{Digest, escape};

/// Checks the file alone. What it compiles to is checked by loading it.
pub(super) fn run(runners: &Runners, components: &Components, policy: &PluginPolicy, card: &mut Scorecard) {
    let (name, sha256, is_artifact) = match &policy.component {
        ComponentSource::File { path, sha256 } => (path.clone(), *sha256, false),
        ComponentSource::Oci(reference) => (reference.to_string(), None, true),
    };
    let bytes = match components.read(policy) {
        Ok(bytes) => bytes,
        Err(LoadFailure::Refused(why) | LoadFailure::Guest(why) | LoadFailure::Host(why)) => {
            return card.record("loads.file", Outcome::of(escape(&name, 512), [why]));
        }
    };
    let inspection = runners.inspect(&bytes, &policy.limits, &|interface| policy.grants(interface));
    let digest = Digest(inspection.sha256).hex();
    let other = sha256.filter(|pinned| *pinned != inspection.sha256);
    let other = other.map(|pinned| format!("it is {digest}, the policy pins {}", Digest(pinned).hex()));
    let outcome = match sha256 {
        Some(_) => Outcome::of(digest, other),
        None if is_artifact => Outcome::of("the artifact is what the digest of oci says", None),
        None => Outcome::skipped("the policy pins no digest (component.sha256)"),
    };
    card.record("loads.digest", outcome);
    let refused = match &inspection.contents {
        Err(refusal) => Some(refusal.to_string()),
        Ok(contents) => contents.profile.as_ref().err().map(ToString::to_string),
    };
    let tried = format!("{} bytes of at most {}", bytes.len(), policy.limits.component_size);
    card.record("loads.file", Outcome::of(tried, refused));
    if let Ok(contents) = inspection.contents {
        let refused = contents.imports.iter().filter_map(|import| match &import.need {
            Need::Nothing | Need::Granted | Need::Optional(_) => None,
            Need::Key(key) => Some(format!("{} needs \"{key}:\" in the policy", import.name)),
            Need::Never(why) => Some(format!("{} {why}", import.name)),
        });
        let tried = format!("{} imports", contents.imports.len());
        card.record("loads.imports", Outcome::of(tried, refused));
    }
}
