//! Which parts of the driver a container gets, where a claim or its class says so.

use devgate_sdk::fields::Fields;
use devgate_sdk::{Edits, Error, Origin, Setting};

/// As NVIDIA's container runtime knows them.
const PARTS: [(&str, &str); 7] = [
    ("compat32", "compat32"),
    ("compute", "compute"),
    ("display", "display"),
    ("graphics", "graphics"),
    ("ngx", "ngx"),
    ("utility", "utility"),
    ("video", "video"),
];
/// Where the runtime looks for them.
const VARIABLE: &str = "NVIDIA_DRIVER_CAPABILITIES";

/// Those of the last that says something. A claim has none that its class does not have, where that says something.
pub(crate) fn edits(settings: &[Setting]) -> Result<Edits, Error> {
    let (mut of_class, mut wanted) = (None::<Vec<&str>>, None);
    for setting in settings {
        let mut fields = Fields::setting(setting)?;
        let Some(list) = fields.take("driver-capabilities") else {
            fields.end()?;
            continue;
        };
        let mut named = Vec::new();
        for field in list.list()? {
            let part = field.choice(&PARTS)?;
            match &of_class {
                Some(most) if setting.origin == Origin::Claim && !most.contains(&part) => {
                    return Err(field.refused(&format!("its class has {} alone", most.join(", "))));
                }
                _ => named.push(part),
            }
        }
        fields.end()?;
        named.sort_unstable();
        named.dedup();
        if setting.origin == Origin::Class {
            of_class = Some(named.clone());
        }
        wanted = Some(named);
    }
    Ok(match wanted {
        Some(named) => Edits::none().with_env(VARIABLE, named.join(",")),
        None => Edits::none(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(settings: &[(Origin, &str)]) -> Result<String, String> {
        let setting = |(origin, json): &(Origin, &str)| Setting { origin: *origin, json: (*json).to_owned() };
        let settings: Vec<_> = settings.iter().map(setting).collect();
        let edits = edits(&settings).map_err(|error| error.message)?;
        let env = edits.env.iter().map(|of| format!("{}={}", of.name, of.value));
        Ok(env.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_last_word_counts_within_what_the_class_has() {
        let class = (Origin::Class, r#"{"driver-capabilities": ["video", "utility", "compute"]}"#);
        let (none, claim) = ((Origin::Claim, "{}"), r#"{"driver-capabilities": ["utility", "utility"]}"#);
        let is = |parts: &str| Ok(format!("{VARIABLE}={parts}"));
        assert_eq!(said(&[class]), is("compute,utility,video"));
        assert_eq!(said(&[class, none]), is("compute,utility,video"));
        assert_eq!(said(&[class, (Origin::Claim, claim)]), is("utility"));
        assert_eq!(said(&[(Origin::Claim, claim)]), is("utility"));
        assert_eq!(said(&[none]), Ok(String::new()));
    }

    #[test]
    fn what_is_not_understood_is_refused_and_said_whose_it_is() {
        let class = (Origin::Class, r#"{"driver-capabilities": ["compute"]}"#);
        let deep = "[".repeat(10_000);
        for (claim, why) in [
            (r#"{"driver-capabilities": ["graphics"]}"#, "claim driver-capabilities[0]: its class has compute alone"),
            (r#"{"driver-capabilities": "compute"}"#, "claim driver-capabilities: must be a list, is text"),
            (r#"{"driver-capabilities": []}"#, "claim driver-capabilities: must not be empty"),
            (r#"{"mps": {}}"#, "claim: unknown key `mps`; known here: driver-capabilities"),
            ("[1]", "claim: must be a mapping, is a list"),
            ("{", "claim: not JSON"),
            (&deep, "claim: not JSON: recursion limit exceeded"),
        ] {
            let error = said(&[class, (Origin::Claim, claim)]).unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
        let error = said(&[(Origin::Class, r#"{"driver-capabilities": ["all"]}"#)]).unwrap_err();
        assert!(error.starts_with("class driver-capabilities[0]: must be compat32, compute,"), "{error}");
    }
}
