//! Variables of containers that a claim or its class chooses the values of.

use crate::config::Config;
use devgate_sdk::fields::{Field, Fields};
use devgate_sdk::{Error, Origin, Setting};

/// A variable and the values that it may have.
pub(crate) type Choice = (String, Vec<String>);

/// The choices of a mapping.
///
/// # Errors
/// `invalid`, naming the place and what would be right there.
pub(crate) fn rules(field: Field) -> Result<Vec<Choice>, Error> {
    let choice = |(name, field): (String, Field)| Ok((name, field.texts()?));
    field.entries()?.into_iter().map(choice).collect()
}

/// What is chosen for units of a resource. What a class chooses stays; else the last word counts.
///
/// # Errors
/// `invalid` where a value is none of those that there are.
pub(crate) fn chosen(config: &Config, resource: &str, settings: &[Setting]) -> Result<Vec<(String, String)>, Error> {
    let mut all: Vec<(String, String, Origin)> = Vec::new();
    for setting in settings {
        let mut fields = Fields::setting(setting)?;
        for (name, values) in config.choices(resource) {
            let Some(field) = fields.take(name) else { continue };
            let value = field.text()?.to_owned();
            if !values.contains(&value) {
                return Err(field.refused(&format!("must be one of {}", values.join(", "))));
            }
            match all.iter_mut().find(|(known, ..)| known == name) {
                Some((.., Origin::Class)) if setting.origin == Origin::Claim => {
                    return Err(field.refused("is chosen by the class"));
                }
                Some((_, old, _)) => *old = value,
                None => all.push((name.clone(), value, setting.origin)),
            }
        }
        fields.end()?;
    }
    Ok(all.into_iter().map(|(name, value, _)| (name, value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    fn said(settings: &[(Origin, &str)]) -> Result<String, String> {
        let config = r#"{"devices": [{"resource": "a.com/x", "subsystem": "video4linux", "choices": {"MODE": ["slow", "fast"], "ONE": "1"}}]}"#;
        let setting = |(origin, json): &(Origin, &str)| Setting { origin: *origin, json: (*json).to_owned() };
        let settings: Vec<_> = settings.iter().map(setting).collect();
        let chosen = chosen(&parse(config).unwrap(), "a.com/x", &settings).map_err(|error| error.message)?;
        Ok(chosen.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn one_of_those_that_there_are_is_chosen() {
        use Origin::{Claim, Class};
        assert_eq!(said(&[(Claim, "{}")]), Ok(String::new()));
        assert_eq!(said(&[(Claim, r#"{"MODE": "fast"}"#), (Claim, r#"{"ONE": "1"}"#)]), Ok("MODE=fast ONE=1".into()));
        assert_eq!(said(&[(Class, r#"{"MODE": "slow"}"#), (Class, r#"{"MODE": "fast"}"#)]), Ok("MODE=fast".into()));
        assert_eq!(
            said(&[(Class, r#"{"MODE": "slow"}"#), (Claim, r#"{"MODE": "fast"}"#)]),
            Err("claim MODE: is chosen by the class".into())
        );
        assert_eq!(said(&[(Claim, r#"{"MODE": "odd"}"#)]), Err("claim MODE: must be one of slow, fast".into()));
        assert!(said(&[(Claim, r#"{"OTHER": "1"}"#)]).unwrap_err().contains("OTHER"));
    }
}
