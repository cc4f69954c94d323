//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use crate::choices::{self, Choice};
use crate::conditions::{self, Rule};
use crate::{env, id};
use devgate_sdk::Error;
use devgate_sdk::fields::{Field, Fields};

/// The whole configuration.
#[derive(Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) entries: Vec<Entry>,
}

/// One element of `devices:`.
#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) resource: String,
    /// Name and rule of each environment variable.
    env: Vec<(String, String)>,
    choices: Vec<Choice>,
    conditions: Vec<Rule>,
    pub(crate) units: Units,
}

/// Which units an entry makes.
#[derive(Debug, PartialEq)]
pub(crate) enum Units {
    /// One for each device that matches.
    Each(Selector),
    /// One of all members together.
    Group { id: String, members: Vec<Member> },
}

/// One element of `group:`.
#[derive(Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) what: What,
    /// Whether the group is offered without it.
    pub(crate) optional: bool,
}

/// What a member is.
#[derive(Debug, PartialEq)]
pub(crate) enum What {
    /// All devices that match; at least one.
    Devices(Selector),
    /// A node by its path.
    Node(String),
}

/// Which devices are meant; everything that is stated must hold.
#[derive(Debug, PartialEq)]
pub(crate) struct Selector {
    pub(crate) subsystem: String,
    /// Patterns for the kernel's name and the driver's.
    pub(crate) name: Option<String>,
    pub(crate) driver: Option<String>,
    /// Attributes and the exact values that they must have, in lower case (the ids of USB).
    pub(crate) exact: Vec<(&'static str, String)>,
    /// Attributes and the patterns that their values must fit.
    pub(crate) attributes: Vec<(String, String)>,
}

impl Config {
    /// The resources, each once, in the order written.
    pub(crate) fn resources(&self) -> Vec<&str> {
        let mut resources: Vec<&str> = Vec::new();
        for entry in &self.entries {
            if !resources.contains(&entry.resource.as_str()) {
                resources.push(&entry.resource);
            }
        }
        resources
    }

    /// What a claim may choose for units of this resource.
    pub(crate) fn choices(&self, resource: &str) -> impl Iterator<Item = &Choice> {
        self.of(resource).flat_map(|entry| &entry.choices)
    }

    /// What is not as it should be with units of this resource.
    pub(crate) fn conditions(&self, resource: &str) -> Vec<&Rule> {
        self.of(resource).flat_map(|entry| &entry.conditions).collect()
    }

    fn of(&self, resource: &str) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.resource == resource)
    }

    /// The environment of a container that is given units of this resource: names and rules.
    pub(crate) fn env(&self, resource: &str) -> Vec<(&str, &str)> {
        let mut env: Vec<(&str, &str)> = Vec::new();
        for (name, rule) in self.of(resource).flat_map(|entry| &entry.env) {
            if !env.iter().any(|(held, _)| held == name) {
                env.push((name, rule));
            }
        }
        env
    }
}

/// Parses the configuration as the host gives it.
///
/// # Errors
/// `invalid`, naming the place and what would be right there.
pub(crate) fn parse(json: &str) -> Result<Config, Error> {
    let mut fields = Fields::parse(json)?;
    if fields.is_empty() {
        return Err(fields.refused("empty; write `devices:` with a list of what to offer"));
    }
    let list = fields.require("devices")?.list()?;
    fields.end()?;
    let entries: Vec<Entry> = list.into_iter().map(entry).collect::<Result<_, _>>()?;
    one_meaning(&entries)?;
    Ok(Config { entries })
}

fn entry(field: Field) -> Result<Entry, Error> {
    let mut fields = field.fields()?;
    let resource = fields.require("resource")?.resource()?.to_owned();
    let env = fields.take("env").map(rules).transpose()?.unwrap_or_default();
    let choices = fields.take("choices").map(choices::rules).transpose()?.unwrap_or_default();
    let conditions = fields.take("conditions").map(conditions::rules).transpose()?.unwrap_or_default();
    let units = match fields.take("group") {
        None => Units::Each(selector(&mut fields)?),
        Some(group) => {
            let field = fields.require("id")?;
            let id = field.text()?;
            if let Some(problem) = id::problem(id) {
                return Err(field.refused(problem));
            }
            Units::Group {
                id: id.to_owned(),
                members: group.list()?.into_iter().map(member).collect::<Result<_, _>>()?,
            }
        }
    };
    fields.end()?;
    Ok(Entry { resource, env, choices, conditions, units })
}

fn rules(field: Field) -> Result<Vec<(String, String)>, Error> {
    let mut rules = Vec::new();
    for (name, field) in field.entries()? {
        let rule = field.text()?;
        if let Some(problem) = env::problem(rule) {
            return Err(field.refused(problem));
        }
        rules.push((name, rule.to_owned()));
    }
    Ok(rules)
}

fn member(field: Field) -> Result<Member, Error> {
    let mut fields = field.fields()?;
    let optional = fields.switch("optional")?.unwrap_or(false);
    let what = match fields.take("node") {
        None => What::Devices(selector(&mut fields)?),
        Some(node) => What::Node(node.text()?.to_owned()),
    };
    fields.end()?;
    Ok(Member { what, optional })
}

fn selector(fields: &mut Fields) -> Result<Selector, Error> {
    let usb = fields.take("usb");
    let mut subsystem = fields.text("subsystem")?;
    let exact = match usb {
        None => Vec::new(),
        Some(usb) => {
            if subsystem.get_or_insert_with(|| "usb".to_owned()) != "usb" {
                return Err(usb.refused("only for `subsystem: usb`"));
            }
            usb_ids(usb)?
        }
    };
    Ok(Selector {
        subsystem: subsystem.ok_or_else(|| fields.refused("`subsystem` is missing"))?,
        name: fields.text("name")?,
        driver: fields.text("driver")?,
        exact,
        attributes: fields.take("attributes").map(patterns).transpose()?.unwrap_or_default(),
    })
}

fn patterns(field: Field) -> Result<Vec<(String, String)>, Error> {
    let pattern = |(name, field): (String, Field)| Ok((name, field.text()?.to_owned()));
    field.entries()?.into_iter().map(pattern).collect()
}

fn usb_ids(field: Field) -> Result<Vec<(&'static str, String)>, Error> {
    let mut fields = field.fields()?;
    let mut exact = Vec::new();
    for (key, attribute) in [("vendor", "idVendor"), ("product", "idProduct")] {
        if let Some(field) = fields.take(key) {
            let text = field.text()?;
            let digits = text.strip_prefix("0x").unwrap_or(text).to_ascii_lowercase();
            if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(field.refused("must be four hexadecimal digits in quotes, as in \"0403\""));
            }
            exact.push((attribute, digits));
        }
    }
    if let Some(serial) = fields.text("serial")? {
        exact.push(("serial", serial));
    }
    if exact.is_empty() {
        return Err(fields.refused("must name a vendor, product or serial"));
    }
    fields.end()?;
    Ok(exact)
}

/// Two entries of one resource may not disagree: a container is given units of both alike.
fn one_meaning(entries: &[Entry]) -> Result<(), Error> {
    let variables =
        || entries.iter().flat_map(|entry| entry.env.iter().map(|(name, rule)| (&entry.resource, name, rule)));
    for (i, (resource, name, rule)) in variables().enumerate() {
        if variables().skip(i + 1).any(|other| (other.0, other.1) == (resource, name) && other.2 != rule) {
            return Err(Error::invalid(format!("config: {resource}: two different values for variable {name}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
