//! Environment variables that the configuration asks for.

/// What stands for the ids of the units given, joined by commas.
const IDS: &str = "{ids}";

/// A rule with its place for the ids filled in.
pub(crate) fn fill(rule: &str, ids: &[&str]) -> String {
    rule.replace(IDS, &ids.join(","))
}

/// What is wrong with a rule, if anything.
pub(crate) fn problem(rule: &str) -> Option<&'static str> {
    rule.replace(IDS, "").contains(['{', '}']).then_some("may contain no braces but those of {ids}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_filled_in() {
        assert_eq!(fill("{ids}", &["a", "b"]), "a,b");
        assert_eq!(fill("serial:{ids}", &["a"]), "serial:a");
        assert_eq!(fill("plain", &["a"]), "plain");
    }

    #[test]
    fn other_places_are_refused() {
        assert_eq!(problem("x{ids}y"), None);
        for bad in ["{id}", "{property.uuid}", "{", "}"] {
            assert!(problem(bad).is_some(), "{bad}");
        }
    }
}
