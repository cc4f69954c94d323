//! What is not as it should be with a unit that works, by its devices' attributes.

use crate::glob::fits;
use crate::machine::KernelDevice;
use devgate_sdk::fields::Field;
use devgate_sdk::{Condition, Effect, Error};

/// One element of an entry's `conditions:`.
#[derive(Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) key: String,
    attribute: String,
    /// The pattern of the values at which it holds.
    is: String,
    effect: Effect,
}

/// The rules of a mapping, by their keys.
///
/// # Errors
/// `invalid`, naming the place and what would be right there.
pub(crate) fn rules(field: Field) -> Result<Vec<Rule>, Error> {
    let effects = [("inform", Effect::Inform), ("no-new", Effect::NoNew), ("evict", Effect::Evict)];
    let mut rules = Vec::new();
    for (key, field) in field.entries()? {
        if !is_key(&key) {
            return Err(field.refused("must be named by lower-case letters, digits and dashes, at most 63"));
        }
        let mut fields = field.fields()?;
        let attribute = fields.require("attribute")?.text()?.to_owned();
        let is = fields.require("is")?.text()?.to_owned();
        let effect = fields.choice("effect", &effects)?.unwrap_or(Effect::NoNew);
        fields.end()?;
        rules.push(Rule { key, attribute, is, effect });
    }
    Ok(rules)
}

fn is_key(key: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    key.len() <= 63 && key.split('-').all(is_word)
}

/// Those that hold for a unit of these devices, each key once. What cannot be read does not hold.
pub(crate) fn of(rules: &[&Rule], devices: &[impl KernelDevice]) -> Vec<Condition> {
    let mut found: Vec<Condition> = Vec::new();
    for Rule { key, attribute, is, effect } in rules {
        if found.iter().any(|known| known.key == *key) {
            continue;
        }
        let value = |device| KernelDevice::attribute(device, attribute).ok().filter(|value| fits(is, value));
        if let Some((device, value)) = devices.iter().find_map(|device| Some((device, value(device)?))) {
            let message = format!("{attribute} of {} is {value}", device.name());
            found.push(Condition::new(key, *effect, message));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use crate::machine::fake::FakeDevice;
    use devgate_sdk::ErrorKind;

    fn found(rules: &str, devices: &[FakeDevice]) -> Vec<String> {
        let json =
            format!(r#"{{"devices": [{{"resource": "a.com/x", "subsystem": "block", "conditions": {rules}}}]}}"#);
        let config = parse(&json).unwrap();
        let found = of(&config.conditions("a.com/x"), devices);
        found.iter().map(|found| format!("{} {:?}: {}", found.key, found.effect, found.message)).collect()
    }

    #[test]
    fn each_holds_where_a_device_has_the_value() {
        let disk = |ro| FakeDevice::new("block", "sda", &[]).with("ro", ro);
        let rules = r#"{"read-only": {"attribute": "ro", "is": "1"}, "any": {"attribute": "ro", "is": "*", "effect": "inform"}}"#;
        assert_eq!(found(rules, &[disk(Ok("0"))]), ["any Inform: ro of sda is 0"]);
        let both = ["any Inform: ro of sda is 0", "read-only NoNew: ro of sda is 1"];
        let mut all = found(rules, &[disk(Ok("0")), disk(Ok("1"))]);
        all.sort();
        assert_eq!(all, both, "of the first device that has it");
        assert!(found(rules, &[disk(Err(ErrorKind::Gone)), FakeDevice::new("tty", "ttyS0", &[])]).is_empty());
    }

    #[test]
    fn mistakes_are_named() {
        for (rules, why) in [
            (r#"{"Read": {"attribute": "ro", "is": "1"}}"#, "lower-case letters"),
            (r#"{"a": {"is": "1"}}"#, "`attribute` is missing"),
            (r#"{"a": {"attribute": "ro"}}"#, "`is` is missing"),
            (r#"{"a": {"attribute": "ro", "is": 1}}"#, "must be text"),
            (r#"{"a": {"attribute": "ro", "is": "1", "effect": "kill"}}"#, "inform, no-new or evict"),
        ] {
            let json =
                format!(r#"{{"devices": [{{"resource": "a.com/x", "subsystem": "block", "conditions": {rules}}}]}}"#);
            let error = parse(&json).unwrap_err().message;
            assert!(error.contains(why) && error.contains("conditions"), "{error}");
        }
    }
}
