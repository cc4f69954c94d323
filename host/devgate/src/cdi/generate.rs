//! `devgate cdi generate`: files of devices that any number of containers may have, without a host that runs.

use crate::cli::GenerateArgs;
use crate::loader::ComponentLoader;
use crate::node::Sources;
use crate::progress::Progress;
use crate::{exit, output, policy};
use anyhow::Result;
use devgate_cdi::{Kind, file_of};
use devgate_core::Loader;
use devgate_core::offer::Reply;
use devgate_core::workbench::{ListedPool, ListedUnit, Workbench};
use devgate_node::Node;
use devgate_policy::PluginPolicy;
use devgate_types::{ResourceName, Verdict, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What was found, and what was not taken.
#[derive(Default)]
struct FoundUnits {
    /// By resource, its units with what a container with one gets.
    units: BTreeMap<ResourceName, Vec<(String, Reply)>>,
    /// Resources that are listed, whatever is taken of them.
    listed: BTreeSet<ResourceName>,
    /// Why something is left out, for people.
    left_out: Vec<String>,
    /// What is taken and may do harm, for people.
    warnings: Vec<String>,
}

/// Runs the command.
pub(super) fn generate(args: &GenerateArgs, sources: Sources) -> Result<u8> {
    let (policy, _) = policy::read_of(&args.place)?;
    let node = (sources.node)(&args.place.node_root)?;
    let components = args.place.looking((sources.puller)());
    let loader = ComponentLoader::new(sources.runners(None)?, components);
    let wanted: BTreeSet<_> = args.resources.iter().map(String::as_str).collect();
    let is_wanted = |name: &ResourceName| wanted.is_empty() || wanted.contains(name.as_str());
    let mut found = FoundUnits::default();
    let may_list = |plugin: &&PluginPolicy| {
        let is_its = |name: &&str| ResourceName::try_new(name).is_ok_and(|name| plugin.grants_resource(&name));
        wanted.is_empty() || wanted.iter().any(is_its)
    };
    let mut failed = false;
    for plugin in policy.plugins.values().filter(may_list) {
        let _progress = Progress::begin(format!("asking plugin {}", plugin.name));
        if let Err(why) = found.ask(&loader, plugin, &node, args.all_units, is_wanted) {
            found.left_out.push(format!("plugin {}: {why:#}", plugin.name));
            failed = true;
        }
    }
    let is_listed = |name: &&&str| found.listed.iter().any(|known| known.as_str() == **name);
    for name in wanted.iter().filter(|name| !failed && !is_listed(name)) {
        let name = escape(name, 160);
        found.left_out.push(format!("resource {name}: no plugin lists a device of it"));
    }
    found.look_for_clashes();
    for why in &found.warnings {
        exit::say(&anyhow::anyhow!("warning: {why}"));
    }
    for why in &found.left_out {
        exit::say(&anyhow::anyhow!("left out: {why}"));
    }
    write(args, &node, &found)?;
    Ok(if found.left_out.is_empty() { exit::OK } else { exit::FOUND })
}

impl FoundUnits {
    /// Takes in what a plugin lists.
    fn ask(
        &mut self,
        loader: &ComponentLoader,
        plugin: &PluginPolicy,
        node: &Node,
        all_units: bool,
        is_wanted: impl Fn(&ResourceName) -> bool,
    ) -> Result<()> {
        let component = loader.load(plugin)?;
        let has_life_cycle = component.profile().lifecycle;
        let bench = Workbench::new(&Arc::new(plugin.clone()), node, component)?;
        let listed = bench.enumerate()?;
        let rejected = listed.rejected.iter().map(ToString::to_string);
        let contested = listed.contested.iter().map(|(id, why)| format!("id {id}: {why}"));
        self.left_out.extend(rejected.chain(contested));
        for pool in listed.pools.iter().filter(|pool| is_wanted(&pool.resource)) {
            let name = &pool.resource;
            self.listed.insert(name.clone());
            if has_life_cycle {
                self.left_out.push(format!(
                    "resource {name}: its component makes a device ready for each container, which no file does: lease it (devgate cdi lease)"
                ));
                continue;
            }
            let may_be_shared = plugin.shares_hardware || plugin.replicas > 1;
            if all_units && !may_be_shared {
                self.warnings.push(format!(
                    "resource {name}: its devices are one container's each, and the file gives them to any container that asks, also to several at once \
                     and to what pods and leases have (--all-units)"
                ));
            } else if !may_be_shared {
                self.left_out.push(format!(
                    "resource {name}: its devices are one container's each (the policy has neither replicas nor shares-hardware), and a file gives \
                     them to any container that asks: lease them (devgate cdi lease), or say --all-units"
                ));
                continue;
            }
            let units = pool.units.iter().filter(|unit| !listed.contested.contains_key(&unit.id));
            let units: Vec<_> = units.cloned().collect();
            self.take(&bench, pool, &units)?;
        }
        Ok(())
    }

    /// A reply is made for one unit: what several set is the last one's.
    fn look_for_clashes(&mut self) {
        for (resource, units) in &self.units {
            let mut values = BTreeMap::<_, BTreeSet<_>>::new();
            for (name, value) in units.iter().flat_map(|(_, reply)| &reply.env) {
                values.entry(name).or_default().insert(value);
            }
            for (name, _) in values.iter().filter(|(_, values)| values.len() > 1) {
                self.warnings.push(format!(
                    "resource {resource}: variable {} is another for each device: a container with several of them has that of one",
                    escape(name, 80)
                ));
            }
        }
    }

    /// Takes in the healthy units of a resource.
    fn take(&mut self, bench: &Workbench, pool: &ListedPool, units: &[ListedUnit]) -> Result<()> {
        let verdicts = bench.health(&pool.asked, units)?;
        for (unit, verdict) in units.iter().zip(verdicts) {
            let what = format!("id {} of {}", unit.id, pool.resource);
            match verdict {
                Verdict::Healthy => {}
                Verdict::Unhealthy(why) | Verdict::Unknown(why) => {
                    self.left_out.push(format!("{what}: is not healthy: {}", escape(&why, 256)));
                    continue;
                }
            }
            match bench.allocate(pool, std::slice::from_ref(unit), &[]) {
                Ok(reply) => self.units.entry(pool.resource.clone()).or_default().push((unit.id.to_string(), reply)),
                Err(why) => self.left_out.push(format!("{what}: {why}")),
            }
        }
        Ok(())
    }
}

/// One file for each resource; on standard output where there is one alone and no place for it.
fn write(args: &GenerateArgs, node: &Node, found: &FoundUnits) -> Result<()> {
    let mut files = Vec::new();
    for (resource, units) in &found.units {
        let file = file_of(resource, units, node).map_err(|why| exit::with_code(exit::NODE, why.to_string()))?;
        files.extend(file.map(|text| (Kind::of(resource).generated_file(), text)));
    }
    match (files.as_slice(), &args.output_dir) {
        ([], _) => {}
        ([(_, text)], None) => output::print(&String::from_utf8_lossy(text))?,
        (_, None) => {
            let names: Vec<_> = found.units.keys().map(ResourceName::as_str).collect();
            let why = format!(
                "each resource has a file of its own: name one of {}, or a directory with --output-dir",
                names.join(", ")
            );
            return Err(exit::with_code(exit::USAGE, why));
        }
        (files, Some(dir)) => {
            let failed = |file: &Path, why: anyhow::Error| {
                exit::with_code(exit::NODE, format!("file {}: {why:#}", file.display()))
            };
            std::fs::create_dir_all(dir).map_err(|why| failed(dir, why.into()))?;
            for (name, text) in files {
                let file = dir.join(name);
                output::write_file(&file, text).map_err(|why| failed(&file, why))?;
                output::print(&format!("wrote {}\n", file.display()))?;
            }
        }
    }
    Ok(())
}
