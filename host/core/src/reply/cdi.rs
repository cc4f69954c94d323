//! Names of CDI devices: what stands behind one is in a file of the node, so a name is as good as the device.

use super::ReplyRefused;
use devgate_policy::{Record, Rules, ValueRule, is_cdi_device};
use devgate_types::escape;
use std::collections::BTreeSet;

/// The names of one allocation: those that the policy's templates make of its units, one for each, and those that the component says.
pub(super) fn names<'a>(
    rules: &Rules,
    records: &[Record<'_>],
    said: impl IntoIterator<Item = &'a String>,
) -> Result<BTreeSet<String>, ReplyRefused> {
    let mut made = BTreeSet::new();
    let templates = rules.cdi.iter().filter_map(|(kind, rule)| Some((kind, rule.template()?)));
    for (kind, template) in templates {
        for record in records {
            let device = template
                .expand(std::slice::from_ref(record))
                .map_err(|expected| ReplyRefused(format!("CDI device of {kind}: the policy expects {expected}")))?;
            let name = format!("{kind}={device}");
            if !is_cdi_device(&name) {
                let name = escape(&name, 160);
                return Err(ReplyRefused(format!(
                    "CDI device \"{name}\" (containers.cdi) is not a name that CDI allows"
                )));
            }
            made.insert(name);
        }
    }
    let mut names = made.clone();
    for name in said {
        check(rules, &made, name)?;
        names.insert(name.clone());
    }
    Ok(names)
}

/// Whether the component may say a name.
fn check(rules: &Rules, made: &BTreeSet<String>, name: &str) -> Result<(), ReplyRefused> {
    let shown = escape(name, 160);
    let parts = name.split_once('=').filter(|_| is_cdi_device(name));
    let Some((kind, device)) = parts else {
        return Err(ReplyRefused(format!("CDI device \"{shown}\" is not a name such as vendor.com/class=name")));
    };
    let Some(rule) = rules.cdi.get(kind) else {
        return Err(ReplyRefused(format!("CDI device \"{shown}\" is not granted (containers.cdi)")));
    };
    let expected = match rule {
        ValueRule::Template(_) if made.contains(name) => return Ok(()),
        ValueRule::Template(template) => format!("what \"{}\" makes of the allocated units", template.as_str()),
        // One name may stand for all devices: only where the policy writes it out.
        ValueRule::Any if matches!(device, "all" | "none") => "a name for one device".to_owned(),
        ValueRule::Any => return Ok(()),
        ValueRule::OneOf(_) => match rule.check(device, &[]) {
            Ok(()) => return Ok(()),
            Err(expected) => expected.to_string(),
        },
    };
    Err(ReplyRefused(format!("CDI device \"{shown}\" is named, but the policy expects {expected}")))
}
