//! The answer in one sentence.

use super::Explanation;
use super::find::Target;
use super::unit::{ExplainedPlugin, ExplainedUnit, LeftOutFacts};

pub(super) fn of(explanation: &Explanation, target: &Target) -> String {
    let what = &explanation.what;
    if let Some(resource) = &target.resource {
        return of_resource(explanation, resource.as_str());
    }
    let unit = explanation.units.iter().find(|unit| unit.unhealthy.is_none());
    match (unit, explanation.units.first()) {
        (Some(unit), _) => format!("{what} is offered as {}: {}", unit.resource, of_unit(unit)),
        (None, Some(unit)) => {
            let why = unit.unhealthy.as_deref().unwrap_or_default();
            format!("{what} is {} and cannot be allocated: {why}", of_unit(unit))
        }
        (None, None) => format!("{what} is not offered: {}", absence(explanation, target)),
    }
}

fn of_resource(explanation: &Explanation, resource: &str) -> String {
    let all = explanation.units.len();
    let healthy = explanation.units.iter().filter(|unit| unit.unhealthy.is_none()).count();
    let one = if all == 1 { "its unit" } else { "its units" };
    match (all, healthy) {
        (0, _) => format!("{resource} is not offered: {}", no_units(explanation, resource)),
        (1, 0) => format!("{resource} is offered, and {one} cannot be allocated"),
        (_, 0) => format!("{resource} is offered, and none of its {all} units can be allocated"),
        (1, _) => format!("{resource} is offered: {one} can be allocated"),
        _ => format!("{resource} is offered: {healthy} of {all} units can be allocated"),
    }
}

/// Why no plugin has units of a resource.
fn no_units(explanation: &Explanation, resource: &str) -> String {
    let named = |what: &str| what == format!("resource {resource}") || what.ends_with(&format!(" of {resource}"));
    let rejection = explanation.rejected.iter().find(|rejection| named(&rejection.what));
    let rejected = rejection.map(|it| format!("plugin {}: {} was rejected: {}", it.plugin, it.what, it.why));
    let Some(plugin) = explanation.plugins.first() else {
        return rejected.unwrap_or_else(|| "no plugin's resources has it".to_owned());
    };
    if let Some(why) = broken(plugin) {
        return format!("plugin {} {why}", plugin.plugin);
    }
    if let Some(rejected) = rejected {
        return rejected;
    }
    if let Some(left) = explanation.left_out.iter().find(|left| left.resource == resource) {
        let LeftOutFacts { plugin, by, at, .. } = left;
        return format!("plugin {plugin}'s {by} leaves all of it out ({at})");
    }
    format!("plugin {}: {}", plugin.plugin, nothing_of_it(explanation, plugin))
}

/// Why a plugin that works has no unit of a resource, and where to look next: what was listed and rejected is another matter than
/// what was never listed.
fn nothing_of_it(explanation: &Explanation, plugin: &ExplainedPlugin) -> String {
    let name = plugin.plugin.as_str();
    let rejected = explanation.rejected.iter().filter(|it| it.plugin == name).count();
    if rejected > 0 {
        return format!(
            "what its component lists has another name or does not pass the gate ({rejected} rejected); see below why, then \
             `resources` and its config"
        );
    }
    if plugin.units > 0 {
        let units = if plugin.units == 1 { "unit" } else { "units" };
        return format!(
            "its component lists nothing under this name, and {} {units} under others; see `resources` and its config",
            plugin.units
        );
    }
    let lists = match (plugin.unread.first(), plugin.unused.as_slice()) {
        (Some(unread), _) => format!("cannot describe {unread} now"),
        (None, [device]) => format!("may offer {device}"),
        (None, []) => "no selector lets it offer a device".to_owned(),
        (None, devices) => format!("may offer {} devices", devices.len()),
    };
    let first = match plugin.unread.first().or(plugin.unused.first()) {
        Some(device) => format!("`devgate explain {device}`"),
        None => "its selectors (use: offer), host-nodes".to_owned(),
    };
    let said = if explanation.said.iter().any(|said| said.plugin == name) { ", what it said" } else { "" };
    format!("its component lists nothing, and {lists}; see {first}{said} and its config")
}

/// How far a plugin gets that does not work, after its name.
fn broken(plugin: &ExplainedPlugin) -> Option<String> {
    // A refusal's table follows it elsewhere.
    let why = plugin.why.as_deref()?.lines().next()?.trim_end_matches(':');
    Some(match plugin.outcome {
        "idle" => format!("is idle: {why}"),
        "not-loaded" => format!("is not loaded: {why}"),
        _ => format!("does not work: {why}"),
    })
}

fn of_unit(unit: &ExplainedUnit) -> String {
    format!("id {} of plugin {}", unit.id, unit.plugin)
}

/// Why no unit has to do with it: the first thing that stands in the way.
fn absence(explanation: &Explanation, target: &Target) -> String {
    if let Some(problem) = explanation.node.as_ref().and_then(|node| node.problem.as_ref()) {
        return format!("the node cannot be looked at: {problem}");
    }
    let named =
        explanation.rejected.iter().find(|rejection| rejection.what.starts_with(&format!("id {} ", target.id())));
    if let Some(rejection) = named {
        return format!("{} was rejected: {}", rejection.what, rejection.why);
    }
    if let Some(left) = explanation.left_out.first() {
        return format!("plugin {}'s {} leaves it out ({})", left.plugin, left.by, left.at);
    }
    if explanation.devices.is_empty() && explanation.node.is_none() {
        return "this node has no such device, and no plugin such a unit".to_owned();
    }
    let sights = || explanation.devices.iter().flat_map(|device| &device.plugins);
    let listed = explanation.node.as_ref().map(|node| &node.plugins);
    let listed = listed.filter(|plugins| !plugins.is_empty());
    let withheld = listed.and_then(|plugins| plugins.iter().find_map(|plugin| plugin.withheld.as_ref()));
    if let Some(why) = withheld {
        return why.clone();
    }
    if let Some(sight) = sights().find(|sight| sight.usage == Some("offer")) {
        // Of a node, the reason for this one and not for another of its device.
        let path = explanation.node.as_ref().map(|node| &node.path);
        let names = |what: &String| {
            path.is_none_or(|path| path == what) || explanation.devices.iter().any(|device| device.name == *what)
        };
        let withheld = sight.withheld.iter().find(|withheld| names(&withheld.what));
        let plugin = explanation.plugins.iter().find(|facts| facts.plugin == sight.plugin);
        let may = format!("plugin {} may offer it", sight.plugin);
        return match (plugin.and_then(broken), withheld) {
            (Some(why), _) => format!("{may}, but {why}"),
            (None, Some(withheld)) => format!("{may}, but {}", withheld.why),
            (None, None) if path.is_some_and(|path| sight.nodes.iter().all(|node| node.path != *path)) => {
                format!("plugin {} may offer its device, and not this node (nodes)", sight.plugin)
            }
            (None, None) => format!("{may}, and {}", silence(explanation, &sight.plugin)),
        };
    }
    if let Some(listed) = listed.and_then(|plugins| plugins.first()) {
        let plugin = explanation.plugins.iter().find(|facts| facts.plugin == listed.plugin);
        let may = format!("plugin {} may hand it out", listed.plugin);
        return match plugin.and_then(broken) {
            Some(why) => format!("{may}, but {why}"),
            None => format!("{may}, and {}", silence(explanation, &listed.plugin)),
        };
    }
    match sights().find(|sight| sight.usage == Some("read")) {
        Some(sight) => format!("plugin {} may only look at it (use: offer would let it be offered)", sight.plugin),
        None => "no plugin's policy grants it".to_owned(),
    }
}

/// What is known of a component that works and does not list something.
fn silence(explanation: &Explanation, plugin: &str) -> String {
    let facts = explanation.plugins.iter().find(|facts| facts.plugin == plugin);
    let names = || explanation.devices.iter().map(|device| &device.name);
    let unread = facts.is_some_and(|facts| names().any(|name| facts.unread.contains(name)));
    let mut said = explanation.said.iter().filter(|said| said.plugin == plugin);
    let line = said.find(|said| names().any(|name| said.text.contains(name.as_str())));
    let says = line.map(|line| format!(": {}", line.text)).unwrap_or_default();
    if unread {
        return format!("its component cannot describe it now{says}");
    }
    if says.is_empty() && explanation.rejected.iter().any(|rejection| rejection.plugin == plugin) {
        // What was rejected is known by its id alone.
        return "its component does not list it, or it is part of what was rejected; see below".to_owned();
    }
    let other = says.is_empty() && explanation.said.iter().any(|said| said.plugin == plugin);
    let see = match (says.is_empty(), other) {
        (false, _) => "",
        (true, true) => "; see what it said, and its config",
        (true, false) => "; see its config",
    };
    format!("its component does not list it{says}{see}")
}
