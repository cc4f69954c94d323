//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use devgate_sdk::Error;
use devgate_sdk::fields::Fields;

/// The whole configuration; every key has a default.
#[derive(Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) naming: Naming,
    /// The most uncorrectable memory errors that a healthy GPU may have had.
    pub(crate) uncorrectable_errors: u64,
    /// The most pages of memory that a healthy GPU may have lost to errors; nothing does not look.
    pub(crate) bad_pages: Option<u64>,
    /// Whether a GPU that KFD does not list counts as well, for graphics and video.
    pub(crate) graphics: bool,
}

/// Which resource a part is offered as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// `amd.com/gpu`, whatever it is.
    Single,
    /// By its mode, such as `amd.com/cpx_nps4`.
    Mixed,
}

impl Default for Config {
    fn default() -> Self {
        Self { naming: Naming::Single, uncorrectable_errors: 0, bad_pages: None, graphics: false }
    }
}

/// Parses the configuration as the host gives it; `null` is all defaults.
///
/// # Errors
/// `invalid`, naming the key and what would be right there.
pub(crate) fn parse(json: &str) -> Result<Config, Error> {
    let mut fields = Fields::parse(json)?;
    let default = Config::default();
    let names = [("single", Naming::Single), ("mixed", Naming::Mixed)];
    let config = Config {
        naming: fields.choice("naming", &names)?.unwrap_or(default.naming),
        uncorrectable_errors: fields.number("uncorrectable-errors")?.unwrap_or(default.uncorrectable_errors),
        bad_pages: fields.number("bad-pages")?,
        graphics: fields.switch("graphics")?.unwrap_or(default.graphics),
    };
    fields.end()?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_all_defaults() {
        assert_eq!(parse("null").unwrap(), Config::default());
        assert_eq!(parse("{}").unwrap(), Config::default());
    }

    #[test]
    fn every_key_is_understood() {
        let json = r#"{"naming": "mixed", "uncorrectable-errors": 2, "bad-pages": 64, "graphics": true}"#;
        let expected = Config { naming: Naming::Mixed, uncorrectable_errors: 2, bad_pages: Some(64), graphics: true };
        assert_eq!(parse(json).unwrap(), expected);
        assert_eq!(parse(r#"{"naming": "single"}"#).unwrap(), Config::default());
    }

    #[test]
    fn mistakes_are_named() {
        for (json, message) in [
            ("[]", "config: must be a mapping, is a list"),
            (r#"{"naming": "both"}"#, "config naming: must be single or mixed"),
            (r#"{"bad-pages": -1}"#, "config bad-pages: must be a whole number, 0 or more"),
            (r#"{"graphics": "yes"}"#, "config graphics: must be true or false, is text"),
        ] {
            assert_eq!(parse(json).unwrap_err().message, message);
        }
        let unknown = parse(r#"{"names": "mixed"}"#).unwrap_err().message;
        assert!(unknown.starts_with("config: unknown key `names`; known here: naming,"), "{unknown}");
        assert!(parse("{").unwrap_err().message.starts_with("config: not JSON"));
    }
}
