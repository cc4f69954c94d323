//! The author's policy: what a component is to be granted, as its vendor sees it, in the component itself.
//!
//! It is text for an admin to start from. Nothing of it is in force unless it stands in the admin's file, and no host reads it.

use crate::custom_section;
use anyhow::{Context, bail, ensure};
use devgate_policy::{ComponentSource, PluginPolicy, PolicyFile};
use devgate_types::{Digest, PinnedReference, escape};
use regex::Regex;

/// The custom section, of the outermost component.
pub(crate) const SECTION: &str = "devgate:policy";
/// The longest text.
const MAX_BYTES: usize = 64 << 10;
/// A plugin's `component`, where it stands in one line: what is before it, and the comment behind it.
const COMPONENT: &str = r"(?m)^([ \t]+component:[ \t]*)\{.*?\}([ \t]*(?:#.*)?)$";

/// A policy of one plugin, with its comments.
#[derive(Debug)]
pub(crate) struct AuthorPolicy {
    text: String,
    plugin: PluginPolicy,
}

/// What an admin's policy names a component by.
pub(crate) enum Pinned<'a> {
    /// A file, by its name in the directory of components.
    File { name: &'a str, sha256: [u8; 32] },
    /// An artifact in a registry.
    Oci(&'a PinnedReference),
}

impl Pinned<'_> {
    /// What stands between the braces of `component`.
    pub(crate) fn yaml(&self, keys: &[String]) -> String {
        let source = match self {
            Self::File { name, sha256 } => format!("file: {}, sha256: \"{}\"", quoted(name), Digest(*sha256).hex()),
            Self::Oci(reference) => format!("oci: {}", quoted(&reference.to_string())),
        };
        let keys: Vec<_> = keys.iter().map(|key| quoted(key)).collect();
        match keys.as_slice() {
            [] => source,
            [key] => format!("{source}, signature: {{cosign-key: {key}}}"),
            keys => format!("{source}, signature: {{cosign-key: [{}]}}", keys.join(", ")),
        }
    }
}

impl AuthorPolicy {
    /// A policy that may travel with a component.
    ///
    /// # Errors
    /// Where it is too long, could not be shown as it is, is no policy of one plugin, or writes its `component` over several lines.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        ensure!(text.len() <= MAX_BYTES, "is larger than 64KiB");
        if let Some(hidden) = custom_section::hidden(text) {
            bail!("has the character {}, which could not be seen", escape(&hidden.to_string(), 1));
        }
        let plugin = one_plugin(text)?;
        let places = Regex::new(COMPONENT)?.find_iter(text).count();
        ensure!(places == 1, "component: must stand in one line, as in `component: {{file: vendor.wasm}}`");
        Ok(Self { text: text.to_owned(), plugin })
    }

    /// That of a component; `None` if it carries none.
    ///
    /// # Errors
    /// Where what it carries is none: see [`Self::parse`].
    pub(crate) fn of(component: &[u8]) -> anyhow::Result<Option<Self>> {
        let Some(carried) = custom_section::of(component, SECTION) else { return Ok(None) };
        let text = std::str::from_utf8(carried).ok().context("is not UTF-8")?;
        Self::parse(text).map(Some)
    }

    /// The one plugin of it.
    pub(crate) fn plugin(&self) -> &PluginPolicy {
        &self.plugin
    }

    /// The text, as its author wrote it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The text for an admin, which names the component so, and the keys' files beside the policy of which one must have signed it.
    ///
    /// # Errors
    /// Where the text would not mean that.
    pub(crate) fn naming(&self, component: &Pinned<'_>, keys: &[String]) -> anyhow::Result<String> {
        let source = component.yaml(keys);
        let line = |found: &regex::Captures<'_>| format!("{}{{{source}}}{}", &found[1], &found[2]);
        let text = Regex::new(COMPONENT)?.replace(&self.text, line).into_owned();
        let named = match (component, one_plugin(&text)?.component) {
            (Pinned::File { sha256, .. }, ComponentSource::File { sha256: named, .. }) => named == Some(*sha256),
            (Pinned::Oci(reference), ComponentSource::Oci(named)) => named == **reference,
            _ => false,
        };
        ensure!(named, "component: stands where it is not the plugin's");
        Ok(text)
    }
}

fn one_plugin(text: &str) -> anyhow::Result<PluginPolicy> {
    let policy = devgate_policy::parse(&[PolicyFile { name: "policy", text }]);
    let policy = policy.map_err(|errors| anyhow::anyhow!("{errors}"))?;
    let mut plugins = policy.plugins.into_values();
    match (plugins.next(), plugins.next()) {
        (Some(plugin), None) => Ok(plugin),
        _ => bail!("must have one plugin, that of the component"),
    }
}

/// A text in double quotes, which both JSON and YAML read.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# GPUs of Example.
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  gpu:
    component: {file: gpu.wasm, signature: {cosign-key: old.pem}} # pin {it}
    resources: [example.com/gpu]
    # All of its functions.
    hardware: [{subsystem: pci, vendor: \"0x1234\", use: offer, nodes: [{subsystem: drm}]}]
";

    #[test]
    fn an_admin_gets_the_text_with_this_component_and_every_comment() {
        let policy = AuthorPolicy::parse(TEXT).unwrap();
        assert_eq!((policy.plugin().name.as_str(), policy.text()), ("gpu", TEXT));
        let file = policy.naming(&Pinned::File { name: "x \"y\".wasm", sha256: [7; 32] }, &[]).unwrap();
        let line =
            format!("    component: {{file: \"x \\\"y\\\".wasm\", sha256: \"{}\"}} # pin {{it}}\n", "07".repeat(32));
        let old = "    component: {file: gpu.wasm, signature: {cosign-key: old.pem}} # pin {it}\n";
        assert_eq!(file, TEXT.replace(old, &line));
        let reference = format!("registry.example.com/gpu:1@sha256:{}", "ab".repeat(32));
        let pinned = reference.parse::<devgate_types::Reference>().unwrap().pinned().unwrap();
        let oci = policy.naming(&Pinned::Oci(&pinned), &["vendor.pem".to_owned()]).unwrap();
        let line = format!(
            "    component: {{oci: \"{reference}\", signature: {{cosign-key: \"vendor.pem\"}}}} # pin {{it}}\n"
        );
        assert_eq!(oci, TEXT.replace(old, &line));
    }

    #[test]
    fn what_an_admin_could_not_read_or_use_is_refused() {
        let refused = |text: &str, why: &str| {
            let error = AuthorPolicy::parse(text).map(drop).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        refused(&format!("{TEXT}# \u{1b}[2J\n"), "the character \\u{1b}, which could not be seen");
        refused(&format!("{TEXT}# \u{202e}\n"), "could not be seen");
        refused(&format!("{TEXT}#{}\n", "x".repeat(64 << 10)), "is larger than 64KiB");
        refused("apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins: {}\n", "must have one plugin");
        refused(
            &format!("{TEXT}  other:\n    component: {{file: o.wasm}}\n    resources: [example.com/o]\n"),
            "one plugin",
        );
        refused(&TEXT.replace("hardware:", "hardwear:"), "hardwear");
        let block = TEXT.replace(
            "component: {file: gpu.wasm, signature: {cosign-key: old.pem}} # pin {it}",
            "component:\n      file: gpu.wasm",
        );
        refused(&block, "must stand in one line");
    }

    /// The line that is replaced is in a text, and the component's is written otherwise.
    #[test]
    fn a_line_that_only_looks_like_it_is_found_out() {
        let text = "\
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  gpu:
    \"component\": {file: gpu.wasm}
    resources: [example.com/gpu]
    hardware: [{subsystem: pci, vendor: \"0x1234\", use: offer}]
    config:
      text: |
          component: {file: gpu.wasm}
";
        let policy = AuthorPolicy::parse(text).unwrap();
        let error = policy.naming(&Pinned::File { name: "gpu.wasm", sha256: [7; 32] }, &[]).unwrap_err();
        assert!(error.to_string().contains("stands where it is not the plugin's"), "{error}");
    }

    #[test]
    fn it_is_read_from_the_outermost_component() {
        let within = format!(
            "(component (component (@custom \"{SECTION}\" \"x\")) (core module (@custom \"{SECTION}\" \"x\")))"
        );
        assert!(AuthorPolicy::of(&wat::parse_str(within).unwrap()).unwrap().is_none());
        let quoted = TEXT.replace('\n', "\\n").replace('"', "\\\"");
        let carried = wat::parse_str(format!("(component (@custom \"{SECTION}\" \"{quoted}\"))")).unwrap();
        assert_eq!(AuthorPolicy::of(&carried).unwrap().unwrap().text(), TEXT);
        let odd = wat::parse_str(format!("(component (@custom \"{SECTION}\" \"\\ff\"))")).unwrap();
        assert_eq!(AuthorPolicy::of(&odd).map(|_| ()).unwrap_err().to_string(), "is not UTF-8");
    }
}
