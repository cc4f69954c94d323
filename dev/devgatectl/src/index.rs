//! `devgatectl index` and `search`: which components there are, as one artifact that anybody can keep, mirror and sign.

mod build;
mod search;

pub(crate) use build::build;
pub(crate) use search::search;

use devgate_types::{Reference, escape};
use serde::{Deserialize, Serialize};

/// The largest text of one, and the most components.
const MAX_BYTES: u64 = 8 << 20;
const MAX_COMPONENTS: usize = 10_000;
/// How much of a text is shown.
const SHOWN: usize = 512;
const API_VERSION: &str = "devgate.dev/v1alpha1";
const KIND: &str = "Index";

/// The artifact's text; its names are those of the JSON form.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    api_version: String,
    kind: String,
    components: Vec<Entry>,
}

/// One component.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Entry {
    name: String,
    version: Option<String>,
    /// With its digest.
    oci: String,
    description: Option<String>,
    /// Who is responsible for it.
    vendor: Option<String>,
    licence: Option<String>,
    /// What it may offer, by its author's policy.
    #[serde(default)]
    resources: Vec<String>,
    size: u64,
}

impl Index {
    /// Reads one, of whoever wrote it.
    fn parse(text: &[u8]) -> Result<Self, String> {
        let index: Self = serde_json::from_slice(text).map_err(|error| format!("cannot be read: {error}"))?;
        if (index.api_version.as_str(), index.kind.as_str()) != (API_VERSION, KIND) {
            let (version, kind) = (escape(&index.api_version, 80), escape(&index.kind, 80));
            return Err(format!("is {version}, {kind}, and only {API_VERSION}, {KIND} is known"));
        }
        if index.components.len() > MAX_COMPONENTS {
            return Err(format!("has {} components, more than {MAX_COMPONENTS}", index.components.len()));
        }
        // What is printed with a command to copy is a reference and nothing else.
        let is_pinned = |entry: &&Entry| entry.oci.parse::<Reference>().is_ok_and(|oci| oci.digest.is_some());
        match index.components.iter().find(|entry| !is_pinned(entry)) {
            Some(entry) => Err(format!("names {}, which is no reference with a digest", escape(&entry.oci, 120))),
            None => Ok(index),
        }
    }
}

impl Entry {
    /// The same, as it may be shown.
    fn shown(&self) -> Self {
        let text = |text: &str| escape(text, SHOWN);
        let maybe = |value: &Option<String>| value.as_deref().map(text);
        Self {
            name: text(&self.name),
            version: maybe(&self.version),
            oci: text(&self.oci),
            description: maybe(&self.description),
            vendor: maybe(&self.vendor),
            licence: maybe(&self.licence),
            resources: self.resources.iter().take(64).map(|resource| text(resource)).collect(),
            size: self.size,
        }
    }

    /// Whether each of these words, in lower case, is somewhere in it.
    fn has(&self, words: &[String]) -> bool {
        let texts = [Some(&self.name), Some(&self.oci), self.description.as_ref(), self.vendor.as_ref()];
        let texts = texts.into_iter().flatten().chain(&self.resources);
        let all: Vec<_> = texts.map(|text| text.to_lowercase()).collect();
        words.iter().all(|word| all.iter().any(|text| text.contains(word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_of_whoever_wrote_it_is_read_or_says_what_is_wrong() {
        let oci = format!("registry.example.com/vendor/gpu:1@sha256:{}", "ab".repeat(32));
        let text = |oci: &str, kind: &str| {
            format!(
                r#"{{"apiVersion": "{API_VERSION}", "kind": "{kind}", "more": 1, "components": [{{"name": "gpu\u001b", "oci": "{oci}", "size": 1, "resources": ["example.com/GPU"]}}]}}"#
            )
        };
        let index = Index::parse(text(&oci, KIND).as_bytes()).unwrap();
        let entry = &index.components[0];
        assert_eq!(entry.shown().name, "gpu\\u{1b}");
        let has = |words: &[&str]| entry.has(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        assert!(has(&[]) && has(&["gpu"]) && has(&["example.com/gpu", "vendor"]) && !has(&["gpu", "nic"]));
        let refused = |text: &str| Index::parse(text.as_bytes()).unwrap_err();
        insta::assert_snapshot!(refused(&text(&oci, "Policy")), @"is devgate.dev/v1alpha1, Policy, and only devgate.dev/v1alpha1, Index is known");
        insta::assert_snapshot!(refused(&text("x; rm -rf .", KIND)), @"names x; rm -rf ., which is no reference with a digest");
        insta::assert_snapshot!(refused(&text("registry.example.com/gpu:1", KIND)), @"names registry.example.com/gpu:1, which is no reference with a digest");
        assert!(refused("{").starts_with("cannot be read: "));
        let many = format!(
            r#"{{"apiVersion": "{API_VERSION}", "kind": "{KIND}", "components": [{}]}}"#,
            vec![format!(r#"{{"name": "a", "oci": "{oci}", "size": 1}}"#); MAX_COMPONENTS + 1].join(",")
        );
        insta::assert_snapshot!(refused(&many), @"has 10001 components, more than 10000");
    }
}
