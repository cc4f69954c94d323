//! The policy to be, and what of the configurations is not in it.

use super::SHOWN;
use devgate_types::escape;
use std::fmt::Display;
use std::io::Write;

/// The policy to be, and what of the configurations is not in it.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Names and texts of plugins, in their order.
    plugins: Vec<(String, String)>,
    /// What is not carried over: where it stands, and why.
    lost: Vec<String>,
}

impl Draft {
    /// Adds what is not carried over.
    pub(super) fn lose(&mut self, at: impl Display, why: impl Display) {
        self.lost.push(format!("{}: {}", escape(&at.to_string(), SHOWN), escape(&why.to_string(), SHOWN)));
    }

    /// Adds keys that mean nothing there either.
    pub(super) fn lose_unknown<'a>(&mut self, at: &str, keys: impl IntoIterator<Item = &'a String>) {
        let why = "this key is not known, and their plugin ignores it";
        keys.into_iter().for_each(|key| self.lose(format!("{at}: {key}"), why));
    }

    /// Adds a plugin: its keys as lines of YAML that are indented by four spaces, with comments. A name that is taken gets a number.
    pub(super) fn plugin(&mut self, name: &str, keys: &str) {
        let is_taken = |name: &str| self.plugins.iter().any(|(taken, _)| taken == name);
        let numbered = (2_u32..).map(|n| format!("{name}-{n}"));
        let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !is_taken(name));
        self.plugins.extend(free.map(|name| (name, keys.to_owned())));
    }

    /// Whether nothing is carried over.
    pub(super) fn is_empty(&self) -> bool {
        self.plugins.is_empty()
    }

    /// Whether everything is carried over.
    pub(super) fn is_whole(&self) -> bool {
        self.lost.is_empty()
    }

    /// Says on standard error what is not carried over.
    pub(super) fn say_lost(&self) {
        for lost in &self.lost {
            // Nothing is left to do if even this cannot be written.
            let _ = writeln!(std::io::stderr(), "{lost}");
        }
    }

    /// The policy's text.
    pub(super) fn policy(&self) -> String {
        let mut text =
            "# Made by `devgatectl migrate`: read it before a node does. Pin components by `sha256`.\n".to_owned();
        if !self.lost.is_empty() {
            text += "# Not carried over:\n";
            self.lost.iter().for_each(|lost| text += &format!("#   {lost}\n"));
        }
        text += "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
        self.plugins.iter().for_each(|(name, keys)| text += &format!("  {name}:\n{keys}"));
        text
    }

    /// What is not carried over, line by line.
    #[cfg(test)]
    pub(super) fn lost(&self) -> String {
        self.lost.join("\n")
    }

    /// The policy's text, which a host would take where there is a plugin in it, and what is not carried over.
    #[cfg(test)]
    pub(super) fn said(&self) -> (String, String) {
        let policy = self.policy();
        if !self.is_empty() {
            let parsed = devgate_policy::parse(&[devgate_policy::PolicyFile { name: "policy", text: &policy }]);
            parsed.unwrap_or_else(|errors| panic!("{errors}\n{policy}"));
        }
        (policy, self.lost())
    }
}
