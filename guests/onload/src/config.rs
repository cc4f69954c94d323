//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use devgate_sdk::Error;
use devgate_sdk::fields::{Field, Fields};

/// The whole configuration; every key has a default.
#[derive(Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) resource: String,
    /// The names of the policy's mounts that every container gets.
    pub(crate) mounts: Vec<String>,
    /// Whether an adapter without a link is unhealthy.
    pub(crate) link: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { resource: "amd.com/onload".to_owned(), mounts: vec!["libonload".to_owned()], link: true }
    }
}

/// Parses the configuration as the host gives it; `null` is all defaults.
///
/// # Errors
/// `invalid`, naming the key and what would be right there.
pub(crate) fn parse(json: &str) -> Result<Config, Error> {
    let mut fields = Fields::parse(json)?;
    let default = Config::default();
    let config = Config {
        resource: fields.resource("resource")?.unwrap_or(default.resource),
        mounts: fields.take("mounts").map_or(Ok(default.mounts), names)?,
        link: fields.choice("link", &[("watch", true), ("ignore", false)])?.unwrap_or(default.link),
    };
    fields.end()?;
    Ok(config)
}

/// None is a meaning of its own: what the image needs is in it.
fn names(list: Field) -> Result<Vec<String>, Error> {
    let name = |field: Field| Ok(field.text()?.to_owned());
    list.elements()?.into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_has_its_default() {
        assert_eq!(parse("null").unwrap(), Config::default());
        assert_eq!(parse("{}").unwrap(), Config::default());
        let all = Config { resource: "example.com/onload".to_owned(), mounts: vec![], link: false };
        let json = r#"{"resource": "example.com/onload", "mounts": [], "link": "ignore"}"#;
        assert_eq!(parse(json).unwrap(), all);
    }

    #[test]
    fn what_means_nothing_is_refused_and_named() {
        for (json, message) in [
            ("3", "config: must be a mapping, is a number"),
            (r#"{"resource": []}"#, "config resource: must be a resource's name, such as vendor.com/device, is a list"),
            (r#"{"mounts": "libonload"}"#, "config mounts: must be a list, is text"),
            (r#"{"mounts": [1]}"#, "config mounts[0]: must be text in quotes, is a number"),
            (r#"{"link": true}"#, "config link: must be watch or ignore, is true or false"),
            (r#"{"preload": true}"#, "config: unknown key `preload`; known here: resource, mounts, link"),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
        assert!(parse("{").unwrap_err().message.starts_with("config: not JSON"));
    }
}
