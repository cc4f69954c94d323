//! What the admin writes under `config:`.

use devgate_sdk::Error;
use serde_json::Value;

/// The mode that containers are told: `fast`, or what the policy says.
///
/// # Errors
/// `invalid` for anything but `fast` and `safe`.
pub(crate) fn mode(json: &str) -> Result<&'static str, Error> {
    let config: Value = serde_json::from_str(json).map_err(|error| Error::invalid(format!("config: {error}")))?;
    match config.get("mode") {
        _ if !(config.is_null() || config.is_object()) => Err(Error::invalid("config: is not a mapping")),
        None => Ok("fast"),
        Some(mode) if mode == "fast" => Ok("fast"),
        Some(mode) if mode == "safe" => Ok("safe"),
        Some(_) => Err(Error::invalid("config: mode is neither fast nor safe")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_one_of_two() {
        assert_eq!(mode("null").unwrap(), "fast");
        assert_eq!(mode(r#"{"other": 1}"#).unwrap(), "fast");
        assert_eq!(mode(r#"{"mode": "safe"}"#).unwrap(), "safe");
        for wrong in [r#"{"mode": "slow"}"#, r#"{"mode": 1}"#, "[]", "7"] {
            assert!(mode(wrong).unwrap_err().message.starts_with("config: "), "{wrong}");
        }
    }
}
