//! What a udev rule of Akri's means: devices of the kernel, and which of their nodes.

use super::super::generic::{self, Kernel};
use super::super::pattern;
use super::super::yaml::Line;
use super::rule::{self, Match};

/// The subsystems that a USB device's nodes are of, where a rule names none.
const OF_USB: [&str; 10] =
    ["usb", "usbmisc", "tty", "hidraw", "input", "video4linux", "media", "sound", "block", "scsi_generic"];

/// What a rule has become.
#[derive(Debug)]
pub(super) struct Meant {
    pub(super) of: Kernel,
    /// The selectors of its nodes.
    pub(super) nodes: String,
    /// What is otherwise than in the rule.
    pub(super) notes: Vec<String>,
}

/// What is stated, sorted by which device it is of.
#[derive(Debug, Default)]
struct Stated {
    subsystem: Option<String>,
    name: Option<String>,
    driver: Option<String>,
    attributes: Vec<(String, String)>,
    /// Of a device of USB above it, or the device itself.
    usb: Kernel,
    is_usb: bool,
    capture: bool,
}

/// What a rule means, or why a policy cannot say that: then it is left out, as what is left of it would mean more devices.
pub(super) fn meant(rule: &str, access: &str, recursive: bool) -> Result<Meant, String> {
    let matches = rule::parse(rule)?;
    let is_of_usb = matches.iter().any(|one| one.field == "SUBSYSTEM" && one.value == "usb");
    let mut stated = Stated::default();
    for one in &matches {
        stated.add(one, is_of_usb).map_err(|why| format!("{}: {why}", one.shown()))?;
    }
    let has_id = [&stated.usb.vendor, &stated.usb.product, &stated.usb.serial].into_iter().any(Option::is_some);
    match has_id {
        true => stated.of_usb(access, recursive),
        false => stated.by_itself(access),
    }
}

impl Stated {
    fn add(&mut self, one: &Match, is_of_usb: bool) -> Result<(), &'static str> {
        if one.is_negated {
            return Err("what something is not, a policy cannot say");
        }
        let value = one.value.clone();
        match (one.field.as_str(), one.key.as_str()) {
            ("SUBSYSTEM", "") if value.contains(['*', '?', '[', '|']) => {
                return Err("is several subsystems; write a rule for each");
            }
            ("SUBSYSTEM", "") => self.subsystem = Some(value),
            ("KERNEL", "") if value.contains('|') => return Err("is several names; write a rule for each"),
            ("KERNEL", "") => self.name = Some(value),
            ("DRIVER", "") => self.driver = Some(pattern::whole(&value)?),
            ("ATTRS", "idVendor") | ("ENV", "ID_VENDOR_ID") => self.usb.vendor = Some(hex(&value)?),
            ("ATTRS", "idProduct") | ("ENV", "ID_MODEL_ID") => self.usb.product = Some(hex(&value)?),
            ("ATTRS", "serial") | ("ENV", "ID_SERIAL_SHORT") if value.contains(['*', '?', '[', '|']) => {
                return Err("is a pattern, and a serial number is letter by letter");
            }
            ("ATTRS", "serial") | ("ENV", "ID_SERIAL_SHORT") => self.usb.serial = Some(value),
            ("ATTR", "idVendor") if is_of_usb => self.usb.vendor = Some(hex(&value)?),
            ("ATTR", "idProduct") if is_of_usb => self.usb.product = Some(hex(&value)?),
            ("ATTR", "serial") if is_of_usb => self.usb.serial = Some(value),
            ("ATTR", name) if !name.is_empty() => self.attributes.push((name.to_owned(), value)),
            ("ATTRS", name) if !name.is_empty() => {
                self.is_usb = true;
                self.usb.attributes.push((name.to_owned(), pattern::whole(&value)?));
            }
            ("SUBSYSTEMS", "") if value == "usb" => self.is_usb = true,
            ("ENV", "DEVNAME") => self.node(&value)?,
            ("ENV", "ID_V4L_CAPABILITIES") if value.contains(":capture:") => self.capture = true,
            ("ENV" | "TAG" | "TAGS", _) => return Err("is in udev's database, which is not read"),
            ("ATTRS" | "KERNELS" | "DRIVERS" | "SUBSYSTEMS", _) => {
                return Err("is of a device above it, which only USB's vendor, product and serial number name");
            }
            ("DEVPATH", _) => return Err("is a place; name the device by what it is"),
            _ => return Err("their handler refuses the rule, too"),
        }
        Ok(())
    }

    /// By a node's path.
    fn node(&mut self, path: &str) -> Result<(), &'static str> {
        let of = generic::kernel_of(path).ok_or("it is not known which subsystem this node is of")?;
        (self.subsystem, self.name) = (Some(of.subsystem), of.name);
        Ok(())
    }

    /// One unit for each device of USB, with its nodes.
    fn of_usb(mut self, access: &str, recursive: bool) -> Result<Meant, String> {
        let subsystem = match self.subsystem.take() {
            None => self.name.as_deref().map(subsystem_of).transpose()?,
            named => named,
        };
        let mut of = Kernel { subsystem: "usb".to_owned(), ..self.usb };
        let mut notes = Vec::new();
        if subsystem.as_deref() == Some("usb") {
            (of.name, of.driver) = (self.name.take(), self.driver);
            of.attributes.extend(self.attributes);
        } else {
            let attributes = self.attributes.iter().map(|(name, _)| format!("ATTR{{{name}}}"));
            let driver = self.driver.iter().map(|_| "DRIVER".to_owned());
            let video = self.capture.then(|| "ENV{ID_V4L_CAPABILITIES}".to_owned());
            let all = attributes.chain(driver).chain(video);
            notes.extend(all.map(|lost| format!("{lost}: all such nodes of the device of USB are given")));
        }
        let line = |subsystem: &str| match subsystem {
            "usb" => Line::default().text("access", access),
            other => Line::default().text("subsystem", other).text("access", access),
        };
        let nodes = match subsystem.as_deref() {
            Some(one) => line(one).optional("name", self.name.as_ref()).done(),
            None => {
                let why = "each node of the device is a unit there; here the device is one, with all of them";
                notes.extend((!recursive).then(|| why.to_owned()));
                OF_USB.map(|one| line(one).done()).join(", ")
            }
        };
        Ok(Meant { of, nodes, notes })
    }

    /// One unit for each device that has all of it itself.
    fn by_itself(mut self, access: &str) -> Result<Meant, String> {
        if self.is_usb {
            return Err("names a device above it, and not by USB's vendor, product or serial number".to_owned());
        }
        let mut notes = Vec::new();
        if self.subsystem.is_none() {
            self.subsystem = Some(subsystem_of(self.name.as_ref().ok_or("names neither a subsystem nor a name")?)?);
        }
        if self.capture {
            notes.push(
                "ENV{ID_V4L_CAPABILITIES}: the node of index 0 in its place, which is a camera's for pictures"
                    .to_owned(),
            );
            self.attributes.push(("index".to_owned(), "0".to_owned()));
        }
        let of = Kernel {
            subsystem: self.subsystem.unwrap_or_default(),
            name: self.name,
            driver: self.driver,
            attributes: self.attributes,
            ..Kernel::default()
        };
        Ok(Meant { of, nodes: Line::default().text("access", access).done(), notes })
    }
}

/// The subsystem of devices of this name, where that is known.
fn subsystem_of(name: &str) -> Result<String, String> {
    let of = generic::kernel_of(&format!("/dev/{name}")).filter(|of| of.name.as_deref() == Some(name));
    let unknown = || format!("KERNEL==\"{name}\": `udevadm info` says which subsystem it is of; add it");
    of.map(|of| of.subsystem).ok_or_else(unknown)
}

/// Four hexadecimal digits, as the kernel writes them.
fn hex(value: &str) -> Result<String, &'static str> {
    let is_id = value.len() == 4 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { Ok(value.to_ascii_lowercase()) } else { Err("is not four hexadecimal digits") }
}
