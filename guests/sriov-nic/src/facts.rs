//! What is known of one virtual function, as plain data.

use crate::link::uplinks;
use crate::select::LinkType;
use devgate_sdk::{Device, Error, Presence};
use devgate_vfio::is_vfio;
use std::collections::HashMap;

/// Interfaces of one function that are shown: one, or a few where it has several ports.
const SHOWN: usize = 8;

/// What selects a function, and what people want to know about it.
#[derive(Debug, PartialEq)]
pub(crate) struct Facts {
    pub(crate) pci: String,
    /// Four hexadecimal digits.
    pub(crate) vendor: String,
    pub(crate) device: String,
    pub(crate) driver: String,
    pub(crate) pf_address: String,
    /// The interfaces of the physical function; none where they are in a pod's network namespace, or not granted.
    pub(crate) pf_names: Vec<String>,
    /// Its number, as in `virtfn3`; not known where the physical function is not granted.
    pub(crate) index: Option<u32>,
    /// Not known where neither its own interface nor the physical function's is here.
    pub(crate) link_type: Option<LinkType>,
    /// Whether it has an RDMA device; not known where its interface is in a pod's network namespace, as the device may be, too.
    pub(crate) rdma: Option<bool>,
    pub(crate) rdma_device: Option<String>,
}

/// What is asked of a physical function once, for all of its virtual ones.
pub(crate) struct Pf {
    pub(crate) is_granted: bool,
    names: Vec<String>,
    link_type: Option<LinkType>,
    /// By the address of the virtual function.
    indices: HashMap<String, u32>,
}

impl Pf {
    pub(crate) fn of(device: Option<&Device>) -> Self {
        let Some(device) = device else {
            return Self { is_granted: false, names: Vec::new(), link_type: None, indices: HashMap::new() };
        };
        let names = uplinks(device).unwrap_or_default();
        let mut indices = HashMap::new();
        for entry in device.entries("").unwrap_or_default() {
            let index = entry.strip_prefix("virtfn").and_then(|number| number.parse().ok());
            if let (Some(index), Ok(address)) = (index, device.link(&entry)) {
                indices.insert(address, index);
            }
        }
        Self { is_granted: true, link_type: link_type(device, &names), names, indices }
    }
}

impl Facts {
    /// Reads what is not known yet.
    ///
    /// # Errors
    /// Why it cannot be described now.
    pub(crate) fn of(function: &Device, pf_address: String, pf: &Pf) -> Result<Self, Error> {
        let pci = function.name();
        let driver = function.driver();
        let driver = driver.ok_or_else(|| Error::busy("it has no driver"))?;
        let digits = |value: String| value.strip_prefix("0x").unwrap_or(&value).to_owned();
        let names = function.entries("net").if_present()?.unwrap_or_default();
        let rdma_devices = function.entries("infiniband").if_present()?.unwrap_or_default();
        // A network driver without an interface here: it is in the network namespace of a pod.
        let is_elsewhere = names.is_empty() && !is_vfio(&driver);
        Ok(Self {
            vendor: digits(function.attribute("vendor")?),
            device: digits(function.attribute("device")?),
            driver,
            pf_address,
            pf_names: pf.names.clone(),
            index: pf.indices.get(&pci).copied(),
            link_type: link_type(function, &names).or(pf.link_type),
            rdma: match rdma_devices.is_empty() {
                false => Some(true),
                true if is_elsewhere => None,
                true => Some(false),
            },
            rdma_device: rdma_devices.into_iter().next(),
            pci,
        })
    }

    /// For rules, filters and people.
    pub(crate) fn properties(&self) -> Vec<(&'static str, String)> {
        let mut properties = vec![
            ("pci", self.pci.clone()),
            ("pf", self.pf_address.clone()),
            ("vendor", self.vendor.clone()),
            ("device", self.device.clone()),
            ("driver", self.driver.clone()),
        ];
        if !self.pf_names.is_empty() {
            let names: Vec<&str> = self.pf_names.iter().take(SHOWN).map(String::as_str).collect();
            properties.push(("pf-name", names.join(" ")));
        }
        properties.extend(self.index.map(|index| ("vf", index.to_string())));
        properties.extend(self.link_type.map(|link| ("link-type", link.word().to_owned())));
        properties.extend(self.rdma_device.clone().map(|device| ("rdma", device)));
        properties
    }
}

fn link_type(function: &Device, names: &[String]) -> Option<LinkType> {
    let number = |name: &String| function.attribute(&format!("net/{name}/type")).ok();
    names.iter().filter_map(number).find_map(|number| LinkType::from_number(&number))
}
