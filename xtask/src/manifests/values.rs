//! Values that the chart takes, and those that it refuses.

use super::{Programs, render};
use crate::process;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// All of them.
const TABLE: &str = include_str!("values.yaml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    refused: Vec<Refused>,
    taken: Vec<Taken>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    set: String,
    says: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Taken {
    set: Vec<String>,
    makes: String,
}

/// Runs `helm lint` and renders with each of the values.
pub(super) fn problems(programs: &Programs, chart: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let lint = Command::new(&programs.helm).args(["lint", "--strict", "--quiet"]).arg(chart).output();
    let lint = lint.with_context(|| format!("start {}", programs.helm.display()))?;
    if !lint.status.success() {
        problems.push(format!("helm lint: {}", String::from_utf8_lossy(&lint.stdout).trim()));
    }
    // A label is text, whatever a release is called.
    let mut command = Command::new(&programs.helm);
    command.args(["template", "123"]).arg(chart);
    if !process::read(&mut command)?.contains("app.kubernetes.io/instance: \"123\"") {
        problems.push("chart: a release with a number for a name has labels that are no text".to_owned());
    }
    // What its page shows, as its reader would use it.
    let page = std::fs::read_to_string(chart.join("README.md"))?;
    let shown =
        page.split("\n```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).context("a page with values")?;
    let file = super::work("readme")?.join("values.yaml");
    std::fs::write(&file, shown)?;
    let mut command = render::template(&programs.helm, chart, render::NAME);
    if !process::read(command.arg("--values").arg(&file))?.contains("\ndata:\n  fuse.yaml: |\n") {
        problems.push("chart's README: its example makes no config map with fuse.yaml".to_owned());
    }
    let Table { refused, taken } = serde_saphyr::from_str(TABLE)?;
    for Refused { set: value, says: word } in &refused {
        let mut command = render::template(&programs.helm, chart, render::NAME);
        command.args(["--set", value]);
        let output = command.output().with_context(|| process::shown(&command))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            problems.push(format!("chart: takes {value}"));
        } else if !said.contains(word.as_str()) {
            problems.push(format!("chart: refuses {value} for another reason than {word}: {}", said.trim()));
        }
    }
    for Taken { set: values, makes: wanted } in &taken {
        let mut command = render::template(&programs.helm, chart, render::NAME);
        for value in values {
            command.args(["--set", value]);
        }
        let output = command.output().with_context(|| process::shown(&command))?;
        if !String::from_utf8_lossy(&output.stdout).contains(wanted.as_str()) {
            let said = String::from_utf8_lossy(&output.stderr);
            problems.push(format!("chart: no {wanted} with {}: {}", values.join(" "), said.trim()));
        }
    }
    println!("{} values that are refused, {} that are taken", refused.len(), taken.len());
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        let table: Table = serde_saphyr::from_str(TABLE).unwrap();
        assert!(table.refused.iter().any(|one| one.set == "overlay.nics=true" && one.says == "overlay"));
        assert!(table.taken.iter().any(|one| one.set == ["cleanup=true"] && one.makes.contains("cleanup")));
    }
}
