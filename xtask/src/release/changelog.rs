//! What changed in a version, as CHANGELOG.md tells it.

use crate::workspace::root;
use anyhow::{Context, Result, bail};

/// The section of a version, with a heading of its own. Fails when there is none or an empty one: nothing is released
/// that is not described.
pub(super) fn of(version: &str) -> Result<String> {
    let file = root().join("CHANGELOG.md");
    let text = std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    section(&text, version)
}

fn section(text: &str, version: &str) -> Result<String> {
    let is_heading = |line: &&str| line.starts_with("## ");
    // A date may follow: `## 0.1.0, 2026-11-22`.
    let named = |line: &&str| {
        let name = line.strip_prefix("## ").unwrap_or_default();
        name.split([' ', ',']).next() == Some(version)
    };
    let mut lines = text.lines().skip_while(|line| !named(line));
    let Some(heading) = lines.next() else {
        bail!("CHANGELOG.md has no section \"## {version}\"; say there what changed");
    };
    let body: Vec<&str> = lines.take_while(|line| !is_heading(line)).collect();
    let body = body.join("\n");
    if body.trim().is_empty() {
        bail!("CHANGELOG.md: the section of {version} is empty; say there what changed");
    }
    Ok(format!("# devgate {}\n\n{}\n", heading.trim_start_matches("## "), body.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# Changes\n\nWords.\n\n## 0.2.0, 2026-12-01\n\n### Host\n\n- More.\n\n## 0.1.0\n\n- First.\n\n## 0.0.1\n\n";

    #[test]
    fn a_version_has_its_own_section() {
        assert_eq!(section(TEXT, "0.2.0").unwrap(), "# devgate 0.2.0, 2026-12-01\n\n### Host\n\n- More.\n");
        assert_eq!(section(TEXT, "0.1.0").unwrap(), "# devgate 0.1.0\n\n- First.\n");
    }

    #[test]
    fn a_version_that_nobody_described_is_refused() {
        let error = section(TEXT, "0.1").unwrap_err().to_string();
        assert_eq!(error, "CHANGELOG.md has no section \"## 0.1\"; say there what changed");
        let error = section(TEXT, "0.0.1").unwrap_err().to_string();
        assert_eq!(error, "CHANGELOG.md: the section of 0.0.1 is empty; say there what changed");
    }

    #[test]
    fn this_version_is_described() {
        assert!(of(env!("CARGO_PKG_VERSION")).is_ok());
    }
}
