//! The names in a project, all made of two.

use devgate_types::{PluginName, ResourceName, escape};

/// Words that Cargo and Rust keep for themselves.
const KEPT: [&str; 49] = [
    "abstract", "alloc", "as", "async", "await", "become", "box", "break", "const", "continue", "core", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "std", "struct",
    "super", "test", "trait", "true", "try", "type", "unsafe", "use",
];
/// Further ones of Rust, C, Python, JavaScript, Go and WIT that are a single word, and names in the example.
const KEPT_ELSEWHERE: [&str; 68] = [
    "and",
    "any",
    "auto",
    "case",
    "chan",
    "char",
    "class",
    "component",
    "config",
    "constructor",
    "def",
    "default",
    "defer",
    "del",
    "described",
    "devgate",
    "double",
    "error",
    "export",
    "fallthrough",
    "finally",
    "float",
    "from",
    "func",
    "function",
    "global",
    "go",
    "goto",
    "hardware",
    "import",
    "include",
    "init",
    "inline",
    "int",
    "interface",
    "is",
    "json",
    "lambda",
    "log",
    "long",
    "main",
    "map",
    "mode",
    "name",
    "new",
    "none",
    "not",
    "or",
    "package",
    "pass",
    "plugin",
    "raise",
    "range",
    "register",
    "resource",
    "select",
    "short",
    "string",
    "strings",
    "switch",
    "types",
    "unit",
    "var",
    "verdict",
    "void",
    "volatile",
    "while",
    "world",
];

/// What a project's things are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    /// `acme-npu`: the project, the plugin, the component.
    pub(super) kebab: String,
    /// `acme_npu`: the class of the kernel, and in code.
    pub(super) snake: String,
    /// `AcmeNpu`: a type.
    pub(super) camel: String,
    /// `ACME_NPU`: the start of a variable's name.
    pub(super) upper: String,
    /// `acme.com`
    pub(super) vendor: String,
    /// `acme.com/acme-npu`
    pub(super) resource: String,
}

impl Names {
    /// Makes them of the device's name and the vendor's domain.
    ///
    /// # Errors
    /// What is wrong with which of the two, and the rule.
    pub(super) fn try_new(name: &str, vendor: &str) -> Result<Self, String> {
        let shown = escape(name, 80);
        let word = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_lowercase())
                && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        if name.len() > 40 || !name.split('-').all(word) {
            return Err(format!(
                "name \"{shown}\": must be words of lower-case letters and digits, joined by single hyphens, each starting with a \
                 letter, 40 bytes at most; such as acme-npu"
            ));
        }
        if KEPT.contains(&name) || KEPT_ELSEWHERE.contains(&name) {
            return Err(format!(
                "name \"{shown}\": means something to a compiler; use another one, such as acme-{name}"
            ));
        }
        let resource = format!("{vendor}/{name}");
        let checked = ResourceName::try_new(&resource).map(drop);
        checked
            .and_then(|()| PluginName::try_new(name).map(drop))
            .map_err(|error| format!("vendor \"{}\": {}", escape(vendor, 80), error.problem()))?;
        let capital = |word: &str| {
            let mut letters = word.chars();
            letters
                .next()
                .map_or_else(String::new, |first| format!("{}{}", first.to_ascii_uppercase(), letters.as_str()))
        };
        Ok(Self {
            kebab: name.to_owned(),
            snake: name.replace('-', "_"),
            camel: name.split('-').map(capital).collect(),
            upper: name.replace('-', "_").to_uppercase(),
            vendor: vendor.to_owned(),
            resource,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_the_devices_and_the_vendors() {
        let names = Names::try_new("acme-npu2", "acme.com").unwrap();
        assert_eq!((names.snake.as_str(), names.camel.as_str()), ("acme_npu2", "AcmeNpu2"));
        assert_eq!((names.upper.as_str(), names.resource.as_str()), ("ACME_NPU2", "acme.com/acme-npu2"));
        assert!(Names::try_new(&"a".repeat(40), "acme.com").is_ok());
    }

    #[test]
    fn what_breaks_a_rule_is_refused_with_the_rule() {
        let long = "a".repeat(41);
        for wrong in ["", "Npu", "npu_1", "1npu", "npu-", "npu--x", "npu-1", "a b", "../x", "ä", "\n", &long] {
            let problem = Names::try_new(wrong, "acme.com").unwrap_err();
            assert!(problem.ends_with("such as acme-npu") && !problem.contains('\n'), "{problem}");
        }
        for kept in ["test", "import", "self", "types"] {
            let problem = Names::try_new(kept, "acme.com").unwrap_err();
            assert!(problem.contains("means something to a compiler"), "{problem}");
        }
        for wrong in ["", "Acme.com", "acme.com/x", "a b", "kubernetes.io"] {
            let problem = Names::try_new("npu", wrong).unwrap_err();
            assert!(problem.starts_with("vendor \""), "{problem}");
        }
    }
}
