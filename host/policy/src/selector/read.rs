//! Reading a selector.

use super::{Conditions, Selector, Use, hex16};
use crate::Origin;
use crate::attribute_rule;
use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::key;
use crate::nodes::{NodeOffer, plain_name};
use crate::pattern::Pattern;
use devgate_types::escape;

/// The most entries of `nodes:` in one selector.
const MOST_NODES: usize = 64;
/// The longest path of an attribute, in bytes.
const MOST_PATH: usize = 256;

impl Selector {
    pub(crate) fn read(item: &Item<'_>, plugin: &str, report: &mut Report) -> Option<Self> {
        let place = format!("hardware of {plugin}");
        let fields = Fields::open(item.node, &place, &key::SELECTOR, report)?;
        let subsystem = fields
            .need("subsystem", report)
            .and_then(|item| plain_name(&item, report));
        // Which identity a selector may state depends on it; the rest is still checked.
        let conditions = conditions(&fields, subsystem, report);
        let usage = usage(&fields, report);
        let mut nodes = Vec::new();
        if let Some(item) = fields.get("nodes") {
            if usage == Use::Read {
                report.error_with_hint(
                    item.key_at,
                    format!("\"nodes\" in {place} offers nodes, but the selector only reads"),
                    "add \"use: offer\"",
                );
            }
            let place = format!("nodes in {place}");
            let list = item.list(report);
            if list.len() > MOST_NODES {
                item.error(report, format!("must have at most {MOST_NODES} entries"));
            }
            let offers = list.iter().take(MOST_NODES);
            nodes.extend(offers.filter_map(|node| NodeOffer::read(node, subsystem.unwrap_or(""), &place, report)));
        }
        Some(Self {
            subsystem: subsystem?.to_owned(),
            usage,
            nodes,
            origin: Origin::new(report, item.node.at),
            conditions,
        })
    }
}

fn usage(fields: &Fields<'_>, report: &mut Report) -> Use {
    match fields.word("use", report) {
        Some("offer") => Use::Offer,
        _ => Use::Read,
    }
}

fn conditions(fields: &Fields<'_>, subsystem: Option<&str>, report: &mut Report) -> Conditions {
    let mut out = Conditions::default();
    // Everything but PCI and USB says who it is in attributes of its own.
    for (key, buses) in [
        ("vendor", &["pci", "usb"][..]),
        ("device", &["pci"]),
        ("class", &["pci"]),
        ("product", &["usb"]),
        ("serial", &["usb"]),
    ] {
        let Some(item) = fields.get(key) else { continue };
        let Some(subsystem) = subsystem else { continue };
        if !buses.contains(&subsystem) {
            let shown = escape(subsystem, 64);
            let hint = match (key, subsystem) {
                ("device", "usb") => "a USB device's is \"product\"".to_owned(),
                ("product", "pci") => "a PCI device's is \"device\"".to_owned(),
                _ => format!("state the attribute that it has: attributes: {{{key}: …}}"),
            };
            let problem = format!("is for {}, not for \"{shown}\"", buses.join(" and "));
            report.error_with_hint(item.key_at, format!("\"{key}\" in a selector {problem}"), hint);
            continue;
        }
        match key {
            "vendor" => out.vendor = identities(&item, report),
            "device" | "product" => out.device.extend(identities(&item, report)),
            "class" => out.class = classes(&item, report),
            _ => {
                out.serial = item
                    .texts(report)
                    .into_iter()
                    .map(|(_, text)| text.to_owned())
                    .collect()
            }
        }
    }
    if let Some(item) = fields.get("driver") {
        out.driver = item.patterns(Pattern::path, report);
    }
    if let Some(item) = fields.get("name") {
        out.name = item.patterns(Pattern::path, report);
    }
    if let Some(item) = fields.get("attributes") {
        for item in item.map(report) {
            if let Some(problem) = problem_of_attribute(item.key) {
                let shown = escape(item.key, 80);
                report.error(
                    item.key_at,
                    format!("the attribute \"{shown}\" in a selector {problem}"),
                );
                continue;
            }
            let values = item.patterns(Pattern::value, report);
            out.attributes.push((item.key.to_owned(), values));
        }
    }
    out
}

fn identities(item: &Item<'_>, report: &mut Report) -> Vec<u16> {
    let mut out = Vec::new();
    for (item, text) in item.texts(report) {
        match hex16(text) {
            Some(number) => out.push(number),
            None => item.error(
                report,
                format!(
                    "must be four hexadecimal digits, such as \"0x10de\", not \"{}\"",
                    escape(text, 40)
                ),
            ),
        }
    }
    out
}

fn classes(item: &Item<'_>, report: &mut Report) -> Vec<String> {
    let mut out = Vec::new();
    for (item, text) in item.texts(report) {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        if matches!(digits.len(), 2 | 4 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            out.push(digits.to_ascii_lowercase());
        } else {
            let shown = escape(text, 40);
            item.error(
                report,
                format!("must be the first two, four or all six hexadecimal digits of a class, such as \"0x0300\", not \"{shown}\""),
            );
        }
    }
    out
}

pub(crate) fn problem_of_attribute(path: &str) -> Option<String> {
    if path.len() > MOST_PATH || path.contains(char::is_control) {
        return Some(format!("must be a path of at most {MOST_PATH} bytes"));
    }
    if path.split('/').any(|component| matches!(component, "" | "." | "..")) {
        return Some("must be a path relative to the device, without \"//\", \".\" and \"..\"".to_owned());
    }
    attribute_rule(path)
        .err()
        .map(|reason| format!("is never read: it {reason}"))
}
