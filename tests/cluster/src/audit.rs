//! What devgate's agent asks of the API server, as that notes it.

use crate::cluster::Cluster;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Where, in the cluster's folder.
pub(crate) const AUDIT_LOG: &str = "log/audit.log";

/// Requests, by what was done to what.
#[derive(Debug, Default)]
pub(crate) struct Asked(BTreeMap<String, usize>);

impl Cluster {
    /// How much is noted by now.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn noted(&self) -> Result<usize> {
        Ok(self.audit()?.len())
    }

    /// What was asked since so much was noted.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn asked_since(&self, noted: usize) -> Result<Asked> {
        let text = self.audit()?;
        // The last line may be written just now.
        let whole = text.rfind('\n').and_then(|end| text.get(noted..end)).unwrap_or_default();
        // A watch is noted as it begins, and as it ends.
        let (mut seen, mut asked) = (BTreeSet::new(), Asked::default());
        for line in whole.lines() {
            let event: Value = serde_json::from_str(line).with_context(|| format!("the audit's line {line:?}"))?;
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            if seen.insert(text(&event["auditID"])) {
                let what = format!("{} {}", text(&event["verb"]), text(&event["objectRef"]["resource"]));
                *asked.0.entry(what.trim_end().to_owned()).or_default() += 1;
            }
        }
        Ok(asked)
    }

    fn audit(&self) -> Result<String> {
        std::fs::read_to_string(self.given.dir.join(AUDIT_LOG)).context("read the audit's log")
    }
}

impl Asked {
    /// How many requests there were.
    pub(crate) fn all(&self) -> usize {
        self.0.values().sum()
    }

    /// How many of them changed something.
    pub(crate) fn writes(&self) -> usize {
        self.writes_of("")
    }

    /// How many of them changed something of this kind, as `resourceslices`.
    pub(crate) fn writes_of(&self, kind: &str) -> usize {
        let is_write = |what: &str| {
            ["create ", "update ", "patch ", "delete "]
                .iter()
                .any(|verb| what.strip_prefix(verb).is_some_and(|of| of.starts_with(kind)))
        };
        self.0.iter().filter(|(what, _)| is_write(what)).map(|(_, count)| count).sum()
    }
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let each: Vec<_> = self.0.iter().map(|(what, count)| format!("{count} {what}")).collect();
        write!(f, "{} requests, {} writes ({})", self.all(), self.writes(), each.join(", "))
    }
}
