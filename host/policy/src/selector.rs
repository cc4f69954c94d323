//! Selectors: which kernel devices a plugin may see, and which of them it may offer.

mod read;

pub(crate) use read::problem_of_attribute;

use crate::Origin;
use crate::nodes::{NodeGrant, NodeOffer};
use crate::pattern::Pattern;

/// What may be done with the devices that a selector matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Use {
    /// Look at them.
    #[default]
    Read,
    /// Look at them, and offer units that they back.
    Offer,
}

impl Use {
    /// As a policy writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Offer => "offer",
        }
    }
}

/// What a selector may ask of a device; implemented by the caller over the device tree, so that an attribute is read
/// only where a selector asks for it.
pub trait DeviceFacts {
    /// The bus or class, such as `pci`.
    fn subsystem(&self) -> &str;
    /// The kernel's name, such as `0000:3b:00.0`.
    fn name(&self) -> &str;
    /// The bound driver.
    fn driver(&self) -> Option<String>;
    /// A text attribute without its trailing white space, by its path relative to the device.
    fn attribute(&self, path: &str) -> Option<String>;
}

/// One entry of `hardware:`. All that it states must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// The bus or class of the kernel that the device must be of.
    pub subsystem: String,
    /// What may be done with the devices.
    pub usage: Use,
    /// The nodes of the devices, and of those beneath them, that may be handed out.
    pub nodes: Vec<NodeOffer>,
    /// Where it is written.
    pub origin: Origin,
    conditions: Conditions,
}

/// What a selector states; an empty list states nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Conditions {
    /// PCI `vendor`, USB `idVendor`.
    vendor: Vec<u16>,
    /// PCI `device`, USB `idProduct`.
    device: Vec<u16>,
    /// Prefixes of a PCI class, in lower-case hexadecimal digits.
    class: Vec<String>,
    serial: Vec<String>,
    driver: Vec<Pattern>,
    name: Vec<Pattern>,
    attributes: Vec<(String, Vec<Pattern>)>,
}

impl Selector {
    /// Whether all that the selector states holds for a device.
    #[must_use]
    pub fn matches(&self, device: &dyn DeviceFacts) -> bool {
        self.unmet(device).is_none()
    }

    /// The first key of the selector that does not hold for a device, as the policy writes it.
    ///
    /// A PCI bridge (class `0x0604`) is met only by a selector that states its `name` in full: a selector by vendor
    /// or class means the functions, and a grant for a bridge reaches what is behind it.
    #[must_use]
    pub fn unmet(&self, device: &dyn DeviceFacts) -> Option<&'static str> {
        let stated = &self.conditions;
        let any = |list: &[Pattern], text: &str| list.is_empty() || list.iter().any(|pattern| pattern.matches(text));
        if self.subsystem != device.subsystem() {
            return Some("subsystem");
        }
        if !any(&stated.name, device.name()) {
            return Some("name");
        }
        let usb = self.subsystem == "usb";
        let (vendor, product) = if usb { ("idVendor", "idProduct") } else { ("vendor", "device") };
        let number = |attribute| device.attribute(attribute).as_deref().and_then(hex16);
        if !stated.vendor.is_empty() && number(vendor).is_none_or(|n| !stated.vendor.contains(&n)) {
            return Some("vendor");
        }
        if !stated.device.is_empty() && number(product).is_none_or(|n| !stated.device.contains(&n)) {
            return Some(if usb { "product" } else { "device" });
        }
        if self.subsystem == "pci" {
            let class = device.attribute("class").unwrap_or_default().to_ascii_lowercase();
            let class = class.trim().trim_start_matches("0x");
            if !stated.class.is_empty() && !stated.class.iter().any(|prefix| class.starts_with(prefix)) {
                return Some("class");
            }
            let named = stated.name.iter().any(|name| name.is_literal() && name.matches(device.name()));
            if class.starts_with("0604") && !named {
                return Some("name");
            }
        }
        let one_of = |list: &[String], text: Option<String>| text.is_some_and(|text| list.contains(&text));
        if !stated.serial.is_empty() && !one_of(&stated.serial, device.attribute("serial")) {
            return Some("serial");
        }
        if !stated.driver.is_empty() && device.driver().is_none_or(|driver| !any(&stated.driver, &driver)) {
            return Some("driver");
        }
        let holds =
            |(path, values): &(String, Vec<Pattern>)| device.attribute(path).is_some_and(|text| any(values, &text));
        (!stated.attributes.iter().all(holds)).then_some("attributes")
    }

    /// Whether the selector states nothing but the subsystem, and so matches everything of it; a name that may be any is nothing.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        let any = |name: &Pattern| name.as_str().bytes().all(|b| b == b'*');
        let names = &self.conditions.name;
        let others = Conditions { name: Vec::new(), ..self.conditions.clone() };
        others == Conditions::default() && (names.is_empty() || names.iter().any(any))
    }

    /// How a node may be handed out that is owned by a kernel device of that subsystem and name, which is the matched
    /// device or beneath it. Where several entries match, the first says which access and which path in a container, and one that is not shared makes
    /// the node exclusive.
    #[must_use]
    pub fn node_offer(&self, owner_subsystem: &str, owner_name: &str) -> Option<NodeGrant> {
        let mut found = self.nodes.iter().filter(|offer| offer.matches(owner_subsystem, owner_name));
        let first = &found.next()?.grant;
        Some(NodeGrant { shared: first.shared && found.all(|offer| offer.grant.shared), ..first.clone() })
    }
}

/// A number of four hexadecimal digits, with or without `0x`.
fn hex16(text: &str) -> Option<u16> {
    let digits = text.trim();
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let ok = digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if ok { u16::from_str_radix(digits, 16).ok() } else { None }
}
