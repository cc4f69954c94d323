//! CDI devices: names that a container runtime looks up in the node's CDI specifications.

use super::RuleEntry;
use crate::fields::Item;
use crate::value_rule::ValueRule;
use devgate_types::escape;

/// The most kinds of one plugin.
const MAX_KINDS: usize = 16;

/// Whether this is a CDI device's fully qualified name, such as `vendor.com/gpu=0` (CDI specification 0.8, "Kind" and
/// "Device names").
#[must_use]
pub fn is_cdi_device(name: &str) -> bool {
    name.split_once('=').is_some_and(|(kind, device)| is_kind(kind) && is_name(device))
}

pub(crate) fn read(cdi: &Item<'_>) -> Vec<RuleEntry> {
    cdi.map(MAX_KINDS).iter().filter_map(one).collect()
}

fn one(entry: &Item<'_>) -> Option<RuleEntry> {
    if !is_kind(entry.key) {
        let shown = escape(entry.key, 80);
        let hint = "a vendor and a class, such as vendor.com/gpu; the devices' names stand in the rule";
        entry.error_at_key(format!("\"{shown}\" is not a kind of CDI device; {hint}"));
        return None;
    }
    let read = RuleEntry::read(entry)?;
    let wrong = match &read.rule {
        ValueRule::Any => None,
        ValueRule::OneOf(names) => names.iter().find(|name| !is_name(name)).map(String::as_str),
        ValueRule::Template(template) => {
            let literal = template.literals().any(|text| !text.bytes().all(may_be_in_name));
            (literal || template.names_resource()).then_some(template.as_str())
        }
    };
    if let Some(name) = wrong {
        let shown = escape(name, 80);
        entry.error(format!(
            "has \"{shown}\", but a CDI device's name consists of letters, digits, \"_\", \"-\", \".\" and \":\""
        ));
        return None;
    }
    Some(read)
}

fn is_kind(kind: &str) -> bool {
    let part = |text: &str| {
        let ok = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
        text.len() <= 253
            && text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.ends_with(|c: char| c.is_ascii_alphanumeric())
            && text.bytes().all(ok)
    };
    kind.split_once('/').is_some_and(|(vendor, class)| part(vendor) && part(class))
}

fn is_name(name: &str) -> bool {
    let end = |c: char| c.is_ascii_alphanumeric();
    name.len() <= 253 && name.starts_with(end) && name.ends_with(end) && name.bytes().all(may_be_in_name)
}

fn may_be_in_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"_-.:".contains(&b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cdi_names_are_those_of_the_specification() {
        for good in ["example.com/gpu=GPU-1", "v/c=0", "v.com/net-x=0000:3b:00.0", "v.com/c=all"] {
            assert!(is_cdi_device(good), "{good}");
        }
        for bad in [
            "",
            "gpu=0",
            "v.com/gpu",
            "v.com/gpu=",
            "v.com/gpu=a=b",
            "1v.com/gpu=0",
            "v.com/=0",
            "v.com/gpu=-a",
            "v.com/gpu=a,b",
            "v.com/a/b=0",
        ] {
            assert!(!is_cdi_device(bad), "{bad}");
        }
    }
}
