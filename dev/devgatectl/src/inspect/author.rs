//! What a component carries for those who use it: its author's policy, where that can be used, and the schema of its `config`.

use super::{Report, skeleton};
use crate::author_policy::{AuthorPolicy, Pinned};
use crate::config_schema::ConfigSchema;
use devgate_policy::PluginPolicy;
use devgate_runner::{Programs, Runners};
use devgate_types::escape;
use devgate_types::load::Need;

impl Report {
    /// Sets the policy for a component in a file of this name.
    pub(super) fn set_policy(&mut self, name: &str, component: &[u8], sha256: [u8; 32]) {
        let unusable = match AuthorPolicy::of(component) {
            Ok(author) => {
                self.author = author;
                None
            }
            Err(why) => Some(why),
        };
        let (policy, why) = match self.author_policy(&Pinned::File { name, sha256 }, &[]) {
            Some(Ok(policy)) => (Some(policy), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, unusable),
        };
        if let Some(why) = why {
            self.author = None;
            self.policy_problem = Some(escape(&format!("{why:#}"), 512));
        }
        self.policy_by = if policy.is_some() { "author" } else { "devgate" };
        self.policy = Some(policy.unwrap_or_else(|| skeleton::of(&Pinned::File { name, sha256 }, &[], self)));
    }

    /// Sets the schema of `config`.
    pub(super) fn set_schema(&mut self, component: &[u8]) {
        match ConfigSchema::of(component) {
            Ok(schema) => {
                self.config_schema = schema.as_ref().map(|schema| schema.value().clone());
                self.schema = schema;
            }
            Err(why) => self.config_schema_problem = Some(escape(&format!("{why:#}"), 512)),
        }
    }

    /// The author's policy with this component and these keys, beneath a comment with what it need not grant; `None` if it carries none.
    pub(crate) fn author_policy(&self, component: &Pinned<'_>, keys: &[String]) -> Option<anyhow::Result<String>> {
        let policy = self.author.as_ref()?.naming(component, keys);
        let keys: Vec<_> = self.optional().into_iter().map(|(_, key)| key).collect();
        let comment = match keys.as_slice() {
            [] => String::new(),
            keys => format!("# The component is loaded without these keys, too: {}\n", keys.join(", ")),
        };
        Some(policy.map(|policy| comment + &policy))
    }

    /// The least policy, with this component and these keys.
    pub(crate) fn skeleton(&self, component: &Pinned<'_>, keys: &[String]) -> String {
        skeleton::of(component, keys, self)
    }

    /// Why the policy that it carries cannot be used, if so.
    pub(crate) fn policy_problem(&self) -> Option<&str> {
        self.policy_problem.as_deref()
    }

    /// The schema of `config` that it carries.
    pub(crate) fn config_schema(&self) -> Option<&ConfigSchema> {
        self.schema.as_ref()
    }

    /// What it carries.
    pub(crate) fn author(&self) -> Option<&AuthorPolicy> {
        self.author.as_ref()
    }
}

/// Why a host would not load a component with a plugin's policy, a line for each reason; `None` if it would.
///
/// # Errors
/// Where what reads components is not there.
pub(crate) fn not_run(component: &[u8], plugin: &PluginPolicy) -> anyhow::Result<Option<String>> {
    let grants = |interface: &str| plugin.grants(interface);
    let inspection = Runners::new(Programs::beside_or_own()?, None)?.inspect(component, &plugin.limits, &grants);
    let contents = match inspection.contents {
        Ok(contents) => contents,
        Err(why) => return Ok(Some(why.to_string())),
    };
    let missing = contents.imports.iter().filter_map(|import| match &import.need {
        Need::Key(key) => Some(format!("it imports {}, which needs \"{key}:\" in the policy", import.name)),
        Need::Never(why) => Some(format!("it imports {}: {why}", import.name)),
        Need::Nothing | Need::Granted | Need::Optional(_) => None,
    });
    let missing: Vec<_> = missing.chain(contents.profile.err().map(|why| why.to_string())).collect();
    Ok((!missing.is_empty()).then(|| missing.join("\n")))
}
