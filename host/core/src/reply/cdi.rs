//! Names of CDI devices: what stands behind one is in a file of the node, so a name is as good as the device.

use super::Refused;
use devgate_policy::{Record, Rules, ValueRule, is_cdi_device};
use devgate_types::escape;
use std::collections::BTreeSet;

/// The names of one allocation.
pub(super) struct Names<'a> {
    rules: &'a Rules,
    /// What the templates make of the allocated units, one name for each.
    made: BTreeSet<String>,
    chosen: BTreeSet<String>,
}

impl<'a> Names<'a> {
    /// The names that the policy's templates make of the allocated units.
    pub(super) fn of(rules: &'a Rules, records: &[Record<'_>]) -> Result<Self, Refused> {
        let mut made = BTreeSet::new();
        let templates = rules
            .cdi
            .iter()
            .filter_map(|(kind, rule)| Some((kind, rule.template()?)));
        for (kind, template) in templates {
            for record in records {
                let device = template
                    .expand(std::slice::from_ref(record))
                    .map_err(|expected| Refused(format!("CDI device of {kind}: the policy expects {expected}")))?;
                let name = format!("{kind}={device}");
                if !is_cdi_device(&name) {
                    let name = escape(&name, 160);
                    return Err(Refused(format!(
                        "CDI device \"{name}\" (containers.cdi) is not a name that CDI allows"
                    )));
                }
                made.insert(name);
            }
        }
        Ok(Self {
            rules,
            made,
            chosen: BTreeSet::new(),
        })
    }

    /// A name that the component says.
    pub(super) fn add(&mut self, name: &str) -> Result<(), Refused> {
        let shown = escape(name, 160);
        let parts = name.split_once('=').filter(|_| is_cdi_device(name));
        let Some((kind, device)) = parts else {
            return Err(Refused(format!(
                "CDI device \"{shown}\" is not a name such as vendor.com/class=name"
            )));
        };
        let Some(rule) = self.rules.cdi.get(kind) else {
            return Err(Refused(format!(
                "CDI device \"{shown}\" is not granted (containers.cdi)"
            )));
        };
        let expected = match rule {
            ValueRule::Template(template) if self.made.contains(name) => return self.keep(name),
            ValueRule::Template(template) => format!("what \"{}\" makes of the allocated units", template.as_str()),
            // One name may stand for all devices: only where the policy writes it out.
            ValueRule::Any if matches!(device, "all" | "none") => "a name for one device".to_owned(),
            ValueRule::Any => return self.keep(name),
            ValueRule::OneOf(_) => match rule.check(device, &[]) {
                Ok(()) => return self.keep(name),
                Err(expected) => expected.to_string(),
            },
        };
        Err(Refused(format!(
            "CDI device \"{shown}\" is named, but the policy expects {expected}"
        )))
    }

    /// All of them.
    pub(super) fn into_set(self) -> BTreeSet<String> {
        self.made.into_iter().chain(self.chosen).collect()
    }

    fn keep(&mut self, name: &str) -> Result<(), Refused> {
        self.chosen.insert(name.to_owned());
        Ok(())
    }
}
