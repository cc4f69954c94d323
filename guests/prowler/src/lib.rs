//! Is granted some files, mounts and hardware, and asks for others besides: files by links, mounts that others could have
//! changed, an iommu group that is not all its own. For tests of the host; never deploy it.
#![forbid(unsafe_code)]

use devgate_sdk::{Device, Edits, Error, Node, Plugin, Pool, Preference, Property, Unit, Verdict};
use devgate_sdk::{files, hardware, host_paths};

/// What it was given although nobody granted it.
fn loot() -> String {
    let mut loot = Vec::new();
    for path in ["/etc/shadow", "/proc/1/environ", "/proc/driver/fake/shadow", "/proc/driver/fake/../../1/environ"] {
        if files::text(path).is_ok() || files::read(path, 0, 1).is_ok() || files::entries(path).is_ok() {
            loot.push(path);
        }
    }
    for mount in ["etc", "open", "link"] {
        if host_paths::mount(mount).is_ok() {
            loot.push(mount);
        }
    }
    for path in ["/dev/vfio/7", "/dev/mem"] {
        if host_paths::node_at(path).is_ok() {
            loot.push(path);
        }
    }
    if loot.is_empty() { "nothing".to_owned() } else { loot.join(" ") }
}

/// One unit for each function, with whatever nodes the host lets it have.
fn unit(function: Device) -> Result<Unit, Error> {
    let nodes: Vec<Node> = function.nodes()?;
    Ok(Unit::of(function.name(), function.duplicate(), nodes))
}

struct Prowler;

impl Plugin for Prowler {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        // What is granted works, or the rest would prove nothing.
        let version = files::text("/proc/driver/fake/version")?;
        let listed = files::entries("/proc/driver/fake/gpus")?.join(" ");
        let loot = loot();
        let complete = |unit: Unit| {
            unit.with("version", version.clone()).with("listed", listed.clone()).with("loot", loot.clone())
        };
        let units: Result<Vec<Unit>, Error> = hardware::devices("pci")?.into_iter().map(unit).collect();
        Ok(vec![Pool::new("example.com/prey", units?.into_iter().map(complete).collect())])
    }

    fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        Ok(units.iter().map(|_| Verdict::Healthy).collect())
    }

    fn allocate(_resource: String, units: Vec<Unit>) -> Result<Edits, Error> {
        // A granted mount is given whenever it is asked for; a pod need not have it.
        host_paths::mount("lib")?;
        let told = ["version", "listed", "loot"].into_iter().filter_map(|name| {
            let value = units.first()?.property(name)?;
            Some(Property::new(format!("PREY_{}", name.to_uppercase()), value))
        });
        Ok(Edits { env: told.collect(), ..Edits::none() })
    }
}

impl Preference for Prowler {
    /// The last ones first.
    fn choose(
        _resource: String,
        available: Vec<Unit>,
        must_include: Vec<String>,
        size: u32,
    ) -> Result<Vec<String>, Error> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let others = available.into_iter().rev().map(|unit| unit.id).filter(|id| !must_include.contains(id));
        Ok(must_include.iter().cloned().chain(others).take(size).collect())
    }
}

devgate_sdk::export!(Prowler: preference);
