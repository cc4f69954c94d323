//! What a host begins with.

use super::{Files, Stamps};
use crate::cli::RunArgs;
use crate::policy::{self, Texts};
use devgate_policy::Policy;

/// A policy with what it was read from.
pub(crate) struct Start {
    pub(crate) policy: Policy,
    pub(crate) texts: Texts,
    /// Its files when they were looked at; none where they are to be judged as any other change.
    pub(crate) seen: Stamps,
}

impl Start {
    /// What the files say now.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn read(args: &RunArgs) -> anyhow::Result<Self> {
        let seen = Files::of_policy(args).look();
        let (policy, texts) = policy::read_texts(&args.policy)?;
        Ok(Self { policy, texts, seen })
    }
}
