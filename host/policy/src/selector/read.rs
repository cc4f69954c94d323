//! Reading a selector.

use super::{Conditions, Selector, Use, hex16};
use crate::error::Problem;
use crate::fields::{Fields, Item};
use crate::nodes::{NodeOffer, plain_name};
use crate::pattern::Pattern;
use crate::{attribute_rule, key};
use devgate_types::escape;

/// The most entries of `nodes:` in one selector.
const MAX_NODES: usize = 64;
/// The longest path of an attribute, in bytes.
const MAX_PATH: usize = 256;

impl Selector {
    pub(crate) fn read(item: &Item<'_>, plugin: &str) -> Option<Self> {
        let place = format!("hardware of {plugin}");
        let fields = item.open(&place, &key::SELECTOR)?;
        let subsystem = fields.need("subsystem").and_then(|item| plain_name(&item));
        // Which identity a selector may state depends on it; the rest is still checked.
        let conditions = conditions(&fields, subsystem);
        let usage = match fields.word("use") {
            Some("offer") => Use::Offer,
            _ => Use::Read,
        };
        let nodes = fields.read("nodes", |item| {
            if usage == Use::Read {
                item.error_at_key(format!(
                    "\"nodes\" in {place} offers nodes, but the selector only reads; add \"use: offer\""
                ));
            }
            let place = format!("nodes in {place}");
            let offers = item.list(MAX_NODES).into_iter();
            let read = |node: Item<'_>| NodeOffer::read(&node, subsystem.unwrap_or(""), &place);
            offers.filter_map(read).collect()
        });
        Some(Self { subsystem: subsystem?.to_owned(), usage, nodes, origin: item.origin(), conditions })
    }
}

fn conditions(fields: &Fields<'_>, subsystem: Option<&str>) -> Conditions {
    // Everything but PCI and USB says who it is in attributes of its own.
    let own = |key: &str, buses: &[&str]| {
        let (item, subsystem) = (fields.get(key)?, subsystem?);
        if buses.contains(&subsystem) {
            return Some(item);
        }
        let hint = match (key, subsystem) {
            ("device", "usb") => "a USB device's is \"product\"".to_owned(),
            ("product", "pci") => "a PCI device's is \"device\"".to_owned(),
            _ => format!("state the attribute that it has: attributes: {{{key}: …}}"),
        };
        let (buses, shown) = (buses.join(" and "), escape(subsystem, 64));
        item.error_at_key(format!("\"{key}\" in a selector is for {buses}, not for \"{shown}\"; {hint}"));
        None
    };
    let numbers = |item: Item<'_>| item.each(usize::MAX, identity);
    let texts = |item: Item<'_>, make: fn(&str) -> Result<String, Problem>| item.each(usize::MAX, make);
    let device = [own("device", &["pci"]), own("product", &["usb"])];
    let mut attributes = Vec::new();
    for item in fields.read("attributes", |item| item.map(usize::MAX)) {
        match problem_of_attribute(item.key) {
            None => attributes.push((item.key.to_owned(), item.patterns(Pattern::value))),
            Some(problem) => {
                let shown = escape(item.key, 80);
                item.error_at_key(format!("the attribute \"{shown}\" in a selector {problem}"));
            }
        }
    }
    Conditions {
        vendor: own("vendor", &["pci", "usb"]).map(numbers).unwrap_or_default(),
        device: device.into_iter().flatten().flat_map(numbers).collect(),
        class: own("class", &["pci"]).map_or(Vec::new(), |item| texts(item, class)),
        serial: own("serial", &["usb"]).map_or(Vec::new(), |item| texts(item, |text| Ok(text.to_owned()))),
        driver: fields.patterns("driver", Pattern::path),
        name: fields.patterns("name", Pattern::path),
        attributes,
    }
}

fn identity(text: &str) -> Result<u16, Problem> {
    let shown = escape(text, 40);
    let problem = || format!("must be four hexadecimal digits, such as \"0x10de\", not \"{shown}\"");
    hex16(text).ok_or_else(|| Problem(problem()))
}

fn class(text: &str) -> Result<String, Problem> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if matches!(digits.len(), 2 | 4 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(digits.to_ascii_lowercase());
    }
    let shown = escape(text, 40);
    Err(Problem(format!(
        "must be the first two, four or all six hexadecimal digits of a class, such as \"0x0300\", not \"{shown}\""
    )))
}

pub(crate) fn problem_of_attribute(path: &str) -> Option<String> {
    if path.len() > MAX_PATH || path.contains(char::is_control) {
        return Some(format!("must be a path of at most {MAX_PATH} bytes"));
    }
    if path.split('/').any(|component| matches!(component, "" | "." | "..")) {
        return Some("must be a path relative to the device, without \"//\", \".\" and \"..\"".to_owned());
    }
    attribute_rule(path).err().map(|reason| format!("is never read: it {reason}"))
}
