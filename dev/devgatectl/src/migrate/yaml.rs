//! Parts of a policy's text.

use std::fmt::Display;

/// Words that YAML, old or new, does not read as text.
const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// A text as a scalar, in quotes where it needs them.
pub(super) fn scalar(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    if begins && text.chars().all(is_plain) && !WORDS.contains(&text.to_ascii_lowercase().as_str()) {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}

/// A list in one line.
pub(super) fn list<T: AsRef<str>>(texts: &[T]) -> String {
    let all: Vec<_> = texts.iter().map(|text| scalar(text.as_ref())).collect();
    format!("[{}]", all.join(", "))
}

/// A mapping in one line.
#[derive(Debug, Default)]
pub(super) struct Line(Vec<String>);

impl Line {
    /// With a value that is YAML already.
    pub(super) fn with(mut self, key: &str, value: impl Display) -> Self {
        self.0.push(format!("{key}: {value}"));
        self
    }

    /// With a text.
    pub(super) fn text(self, key: &str, text: &str) -> Self {
        self.with(key, scalar(text))
    }

    /// With a text, where there is one.
    pub(super) fn optional(self, key: &str, text: Option<&String>) -> Self {
        text.into_iter().fold(self, |line, text| line.text(key, text))
    }

    /// With a text under a key that is a text as well.
    pub(super) fn key(self, key: &str, text: &str) -> Self {
        self.text(&scalar(key), text)
    }

    /// With texts, if there are any; one stands alone.
    pub(super) fn texts<T: AsRef<str>>(self, key: &str, texts: &[T]) -> Self {
        match texts {
            [] => self,
            [one] => self.text(key, one.as_ref()),
            several => self.with(key, list(several)),
        }
    }

    /// With a list of texts, if there are any.
    pub(super) fn list<T: AsRef<str>>(self, key: &str, texts: &[T]) -> Self {
        if texts.is_empty() { self } else { self.with(key, list(texts)) }
    }

    /// With `true`, where it is so.
    pub(super) fn flag(self, key: &str, is_so: bool) -> Self {
        if is_so { self.with(key, true) } else { self }
    }

    /// In braces.
    pub(super) fn done(self) -> String {
        format!("{{{}}}", self.0.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_yaml_would_take_for_something_else_is_in_quotes() {
        for plain in ["ens1f0", "mlx5_core", "intel.com/sriov_a", "/dev/vfio/vfio", "vfio-pci"] {
            assert_eq!(scalar(plain), plain);
        }
        for quoted in ["8086", "0000:3b:00.0", "15b3", "*", "no", "a: b", "", "-x", "{a}", "p0#1-2", "a\"b"] {
            assert_eq!(scalar(quoted), serde_json::Value::from(quoted).to_string());
        }
        let line = Line::default().texts("a", &["x"]).texts("b", &["1", "y"]).list("c", &["z"]).flag("d", false);
        assert_eq!(line.texts::<&str>("e", &[]).flag("f", true).done(), r#"{a: x, b: ["1", "y"], c: [z], f: true}"#);
    }
}
