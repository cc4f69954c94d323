//! The policy that is shown: the author's, where a component carries one that can be used.

use super::{Report, skeleton};
use crate::author_policy::{AuthorPolicy, Pinned};
use devgate_types::escape;

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

    /// The author's policy with this component and these keys; `None` if it carries none.
    pub(crate) fn author_policy(&self, component: &Pinned<'_>, keys: &[String]) -> Option<anyhow::Result<String>> {
        Some(self.author.as_ref()?.naming(component, keys))
    }

    /// The least policy, with this component and these keys.
    pub(crate) fn skeleton(&self, component: &Pinned<'_>, keys: &[String]) -> String {
        skeleton::of(component, keys, self)
    }

    /// What it carries.
    pub(crate) fn author(&self) -> Option<&AuthorPolicy> {
        self.author.as_ref()
    }
}
