//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use devgate_sdk::Error;
use serde_json::Value;

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
        Self {
            resource: "amd.com/onload".to_owned(),
            mounts: vec!["libonload".to_owned()],
            link: true,
        }
    }
}

/// Parses the configuration as the host gives it; `null` is all defaults.
///
/// # Errors
/// `invalid`, naming the key and what would be right there.
pub(crate) fn parse(json: &str) -> Result<Config, Error> {
    let refused = |problem: &str| Error::invalid(format!("config{problem}"));
    let value = serde_json::from_str(json).map_err(|error| refused(&format!(": not JSON: {error}")))?;
    let mut config = Config::default();
    let fields = match value {
        Value::Null => return Ok(config),
        Value::Object(fields) => fields,
        _ => return Err(refused(": must be a mapping")),
    };
    for (key, value) in &fields {
        match key.as_str() {
            "resource" => {
                let text = value.as_str().ok_or_else(|| refused(" resource: must be text"))?;
                config.resource = text.to_owned();
            }
            "mounts" => {
                let names = value.as_array().and_then(|list| {
                    let name = |name: &Value| Some(name.as_str()?.to_owned());
                    list.iter().map(name).collect::<Option<Vec<_>>>()
                });
                config.mounts = names.ok_or_else(|| refused(" mounts: must be a list of the policy's names"))?;
            }
            "link" => {
                config.link = match value.as_str() {
                    Some("watch") => true,
                    Some("ignore") => false,
                    _ => return Err(refused(" link: must be watch or ignore")),
                }
            }
            _ => {
                return Err(refused(&format!(
                    ": unknown key `{key}`; known here: resource, mounts, link"
                )));
            }
        }
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_has_its_default() {
        assert_eq!(parse("null").unwrap(), Config::default());
        assert_eq!(parse("{}").unwrap(), Config::default());
        let all = Config {
            resource: "example.com/onload".to_owned(),
            mounts: vec![],
            link: false,
        };
        let json = r#"{"resource": "example.com/onload", "mounts": [], "link": "ignore"}"#;
        assert_eq!(parse(json).unwrap(), all);
    }

    #[test]
    fn what_means_nothing_is_refused_and_named() {
        for (json, message) in [
            ("3", "config: must be a mapping"),
            (r#"{"resource": []}"#, "config resource: must be text"),
            (
                r#"{"mounts": "libonload"}"#,
                "config mounts: must be a list of the policy's names",
            ),
            (
                r#"{"mounts": [1]}"#,
                "config mounts: must be a list of the policy's names",
            ),
            (r#"{"link": true}"#, "config link: must be watch or ignore"),
            (
                r#"{"preload": true}"#,
                "config: unknown key `preload`; known here: resource, mounts, link",
            ),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
        assert!(parse("{").unwrap_err().message.starts_with("config: not JSON"));
    }
}
