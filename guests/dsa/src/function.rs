//! A whole accelerator that is bound to vfio: no queue of the kernel's, but a PCI function that a program sets up by
//! itself.

use devgate_sdk::{Device, Error, Unit};

/// DSAs by their PCI device ids, which Intel's plugin knows (`cmd/dsa_plugin`): `drivers/dma/idxd/registers.h` and
/// `init.c`.
const DSA: [&str; 3] = ["0x0b25", "0x11fb", "0x1212"];

/// Whether a PCI function is a DSA.
pub(crate) fn is_dsa(function: &Device) -> bool {
    let is = |attribute: &str, known: &[&str]| {
        function.attribute(attribute).is_ok_and(|value| known.contains(&value.as_str()))
    };
    is("device", &DSA) && is("vendor", &["0x8086"])
}

/// The unit that it is; nothing where it is bound to another driver.
///
/// # Errors
/// Why it cannot be described now.
pub(crate) fn unit(function: Device) -> Result<Option<Unit>, Error> {
    let Some(driver) = function.driver() else {
        return Err(Error::busy("it has no driver"));
    };
    if !devgate_vfio::is_vfio(&driver) {
        return Ok(None);
    }
    let (name, nodes) = (function.name(), function.nodes()?);
    let numa = function.numa_node();
    let unit = Unit::of(name.clone(), function, nodes).with("pci", name).with("driver", driver);
    Ok(Some(match numa {
        Some(numa) => unit.with("numa", numa.to_string()),
        None => unit,
    }))
}
