//! Values that stand for one unit, and may stand for no other: those by which a runtime or a library gives devices.
//!
//! A component says what its units' properties are, and nothing makes two of them differ. Most need not: a model, a driver's
//! version. What names a device must: a name of CDI, and a variable by which devices are chosen. Two units with one such value are
//! one device to any program that reads it.

use crate::units::UnitRecord;
use devgate_policy::{PluginPolicy, Record, Template, ValueRule};
use devgate_types::ResourceName;

/// Parts of names of variables by which devices are chosen: `ACME_VISIBLE_DEVICES` (container runtimes and vendors' libraries), `PCIDEVICE_…` (network plugins), `PCI_RESOURCE_…` (KubeVirt). What other variables
/// say is for people and programs, and two units may say the same.
const WORD: &str = "VISIBLE";
const STARTS: [&str; 2] = ["PCIDEVICE_", "PCI_RESOURCE_"];

/// The values that stand for a unit where it is offered as `resource`, as people know them: `acme.com/gpu=GPU-1`,
/// `ACME_VISIBLE_DEVICES=GPU-1`. No two plugins may set one variable, so each means the same on the whole host. One that cannot be made now fails allocations, and
/// stands for nothing.
pub(super) fn of(policy: &PluginPolicy, resource: &ResourceName, unit: &UnitRecord) -> Vec<String> {
    let rules = policy.containers.rules(resource);
    let record = Record { id: unit.id.as_str(), properties: &unit.properties };
    let variables = rules.env.iter().filter(|(name, _)| chooses_devices(name));
    let value = |(key, rule): (&String, &ValueRule)| {
        let template = rule.template().filter(|template| !Template::is_fixed(template))?;
        let value = template.expand(std::slice::from_ref(&record)).ok()?;
        Some(format!("{key}={value}"))
    };
    let mut values: Vec<_> = rules.cdi.iter().chain(variables).filter_map(value).collect();
    values.sort();
    values
}

fn chooses_devices(variable: &str) -> bool {
    variable.split('_').any(|word| word == WORD) || STARTS.iter().any(|start| variable.starts_with(start))
}
