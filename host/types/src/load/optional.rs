//! What a component says that it can do without: interfaces that the policy need not grant.

use super::imports::Interface;
use std::collections::BTreeSet;

/// The custom section of a component's outermost level that says it: interfaces by their bare names (`files`), one in a line.
pub const OPTIONAL_SECTION: &str = "devgate:optional";
/// The code of the error that each function of an interface answers which is not granted.
pub const NOT_GRANTED: &str = "not-granted";
/// The longest section: many times what all names of the contract take.
const MAX_BYTES: usize = 1_024;

/// Those of `imports` that the text of the section names. The error completes a sentence that starts with the section.
pub fn optional(text: &[u8], imports: &[String]) -> Result<BTreeSet<String>, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("has {} bytes; at most {MAX_BYTES} are read", text.len()));
    }
    let text = str::from_utf8(text).map_err(|_| "is not UTF-8".to_owned())?;
    let mut found = BTreeSet::new();
    for name in text.lines() {
        let is_it = |import: &&String| Interface::parse(import).is_some_and(|it| it.name == name && it.is_granted());
        let named: Vec<_> = imports.iter().filter(is_it).cloned().collect();
        if named.is_empty() {
            return Err(format!("names {name:?}, which is no interface that it imports and a policy grants"));
        }
        found.extend(named);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &[u8]) -> Result<Vec<String>, String> {
        let imports = ["devgate:plugin/types@0.1.0", "devgate:plugin/files@0.1.0", "devgate:plugin/files@0.1.1"];
        let others = ["wasi:clocks/wall-clock@0.2.6", "other:vendor/state@0.1.0", "state"];
        let imports: Vec<_> = imports.into_iter().chain(others).map(str::to_owned).collect();
        optional(text, &imports).map(|found| found.into_iter().collect())
    }

    #[test]
    fn bare_names_stand_for_the_imports_of_every_version() {
        assert_eq!(of(b""), Ok(Vec::new()));
        let both = ["devgate:plugin/files@0.1.0", "devgate:plugin/files@0.1.1"].map(str::to_owned);
        assert_eq!(of(b"files"), Ok(both.to_vec()));
        assert_eq!(of(b"files\nfiles\n"), Ok(both.to_vec()));
    }

    #[test]
    fn what_no_policy_grants_or_is_not_imported_makes_it_invalid() {
        for odd in ["types", "hardware", "state", "wall-clock", "devgate:plugin/files@0.1.0", "files\n\n", " files"] {
            assert!(of(odd.as_bytes()).unwrap_err().starts_with("names \""), "{odd}");
        }
        assert_eq!(of(b"\xff"), Err("is not UTF-8".to_owned()));
        assert!(of(&[b'\n'; 1_025]).unwrap_err().starts_with("has 1025 bytes"));
    }
}
