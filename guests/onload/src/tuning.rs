//! What Onload is told by the claim that a container has, and by its class: its own variables, as far as the policy has them.

use devgate_sdk::fields::Fields;
use devgate_sdk::{Error, Origin, Property, Setting};

/// How its variables begin. No other is set, whatever the policy has.
const OWN: &str = "EF_";

/// The most variables.
const MOST: usize = 64;

/// All variables. What a class sets stays, and a later word counts otherwise.
pub(crate) fn variables(settings: &[Setting]) -> Result<Vec<Property>, Error> {
    let mut set: Vec<(String, String, Origin)> = Vec::new();
    for setting in settings {
        let mut fields = Fields::setting(setting)?;
        let entries = fields.take("variables").map_or_else(|| Ok(Vec::new()), |field| field.entries())?;
        fields.end()?;
        for (name, field) in entries {
            if !name.starts_with(OWN) {
                return Err(field.refused("is no variable of Onload's, which begin with EF_"));
            }
            let value = field.text()?.to_owned();
            let is_full = set.len() == MOST;
            match set.iter_mut().find(|(known, ..)| *known == name) {
                Some((.., Origin::Class)) if setting.origin == Origin::Claim => {
                    return Err(field.refused("is set by the class"));
                }
                Some((_, old, _)) => *old = value,
                None if is_full => return Err(field.refused("is one more than 64 variables")),
                None => set.push((name, value, setting.origin)),
            }
        }
    }
    Ok(set.into_iter().map(|(name, value, _)| Property::new(name, value)).collect())
}
