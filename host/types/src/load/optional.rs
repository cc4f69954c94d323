//! What a component says that it can do without: interfaces that the policy need not grant.

use super::imports::Interface;
use super::refusal::Refusal;
use crate::GuestText;
use std::collections::BTreeSet;

/// The custom section of a component's outermost level that says it: interfaces by their bare names (`files`), one in a line.
pub const OPTIONAL_SECTION: &str = "devgate:optional";
/// The code of the error that each function of an interface answers which is not granted.
pub const NOT_GRANTED: &str = "not-granted";
/// The longest section: many times what all names of the contract take.
const MAX_BYTES: usize = 1_024;

/// Those of `imports` that the text of the section names. Fails with [`Refusal::Invalid`].
pub fn optional(text: &[u8], imports: &[String]) -> Result<BTreeSet<String>, Refusal> {
    let odd = |why: &str| Refusal::Invalid(GuestText::new(&format!("section {OPTIONAL_SECTION} {why}")));
    if text.len() > MAX_BYTES {
        return Err(odd(&format!("has {} bytes; at most {MAX_BYTES} are read", text.len())));
    }
    let text = str::from_utf8(text).map_err(|_| odd("is not UTF-8"))?;
    let mut found = BTreeSet::new();
    for name in text.lines() {
        let is_it = |import: &&String| Interface::parse(import).is_some_and(|it| it.name == name && it.is_granted());
        let named: Vec<_> = imports.iter().filter(is_it).cloned().collect();
        if named.is_empty() {
            return Err(odd(&format!("names {name:?}, which is no interface that it imports and a policy grants")));
        }
        found.extend(named);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &[u8]) -> Vec<String> {
        read(text).unwrap()
    }

    fn why_not(text: &[u8]) -> String {
        read(text).unwrap_err().to_string()
    }

    fn read(text: &[u8]) -> Result<Vec<String>, Refusal> {
        let imports = ["devgate:plugin/types@0.1.0", "devgate:plugin/files@0.1.0", "devgate:plugin/files@0.1.1"];
        let others = ["wasi:clocks/wall-clock@0.2.6", "other:vendor/state@0.1.0", "state"];
        let imports: Vec<_> = imports.into_iter().chain(others).map(str::to_owned).collect();
        optional(text, &imports).map(|found| found.into_iter().collect())
    }

    #[test]
    fn bare_names_stand_for_the_imports_of_every_version() {
        assert_eq!(of(b""), Vec::<String>::new());
        let both = ["devgate:plugin/files@0.1.0", "devgate:plugin/files@0.1.1"].map(str::to_owned);
        assert_eq!(of(b"files"), both);
        assert_eq!(of(b"files\nfiles\n"), both);
    }

    #[test]
    fn what_no_policy_grants_or_is_not_imported_makes_it_invalid() {
        for odd in ["types", "hardware", "state", "wall-clock", "devgate:plugin/files@0.1.0", "files\n\n", " files"] {
            let why = why_not(odd.as_bytes());
            assert!(why.contains("section devgate:optional names \""), "{why}");
        }
        assert!(why_not(b"\xff").ends_with("is not UTF-8"));
        assert!(why_not(&[b'\n'; 1_025]).contains("has 1025 bytes"));
    }
}
