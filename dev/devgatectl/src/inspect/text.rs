//! What people read.

use super::{Producer, Report};
use devgate::output::columns;
use std::fmt::Write;

pub(super) fn of(report: &Report) -> String {
    let mut text = format!("{}\n{}", report.file, facts(report));
    if report.policy.is_some() {
        list(&mut text, "Exports", &report.exports);
        counts(&mut text, report);
    }
    text.push('\n');
    if report.problems.is_empty() {
        text += "This host can run it, once the policy grants what it imports.\n";
    } else {
        text += "This host cannot run it:\n";
        for problem in &report.problems {
            let _ = writeln!(text, "  {problem}");
        }
    }
    if let Some(policy) = &report.policy {
        if let Some(why) = &report.policy_problem {
            let _ = writeln!(text, "\nThe policy that it carries cannot be used: {why}");
        }
        let whose = if report.policy_by == "author" { "Its author's policy" } else { "The least policy for it" };
        let _ = writeln!(text, "\n{whose}, to start from (--output policy):");
        for line in policy.lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

/// What it is, and what it imports.
pub(super) fn facts(report: &Report) -> String {
    let mut facts = vec![["size".into(), format!("{} bytes", report.size)], ["sha256".into(), report.sha256.clone()]];
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            facts.push([name.into(), value]);
        }
    };
    let contract = report.contract.as_ref();
    fact("contract", contract.map(|v| format!("devgate:plugin@{v}")).unwrap_or_default());
    let metadata = &report.metadata;
    for (name, value) in [
        ("name", &metadata.name),
        ("version", &metadata.version),
        ("licence", &metadata.licences),
        ("source", &metadata.source),
        ("revision", &metadata.revision),
        ("homepage", &metadata.homepage),
        ("about", &metadata.description),
        ("authors", &metadata.authors),
    ] {
        fact(name, value.clone().unwrap_or_default());
    }
    if report.policy.is_some() {
        let languages = producers(&report.languages);
        let unknown = languages.is_empty().then(|| "unknown".to_owned());
        fact("language", unknown.unwrap_or(languages));
    }
    fact("sdk", producers(&report.sdks));
    let schema = report
        .schema
        .as_ref()
        .map(|schema| format!("a schema of {} bytes (--output config-schema)", schema.text().len()));
    let unusable = report.config_schema_problem.as_ref().map(|why| format!("a schema that cannot be used: {why}"));
    fact("config", schema.or(unusable).unwrap_or_default());
    fact("made with", producers(&report.tools));
    let mut text = columns(2, &facts);
    if report.policy.is_some() {
        imports(&mut text, report);
    }
    text
}

fn producers(list: &[Producer]) -> String {
    let one = |producer: &Producer| format!("{} {}", producer.name, producer.version).trim_end().to_owned();
    list.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn imports(text: &mut String, report: &Report) {
    let rows = report.imports.iter().map(|import| {
        let need = match (import.key, &import.reason) {
            (Some(key), _) if import.need == "optional" => format!("can do without {key}: in the policy"),
            (Some(key), _) => format!("needs {key}: in the policy"),
            (None, Some(reason)) => reason.clone(),
            (None, None) if import.name.starts_with("wasi:") => "served, with nothing behind it".to_owned(),
            (None, None) => "every component has it".to_owned(),
        };
        [import.name.clone(), need]
    });
    let rows: Vec<_> = rows.collect();
    *text += "\nImports\n";
    *text += if rows.is_empty() { "  nothing\n" } else { "" };
    *text += &columns(2, &rows);
}

fn list(text: &mut String, title: &str, names: &[String]) {
    let _ = writeln!(text, "\n{title}");
    if names.is_empty() {
        *text += "  nothing\n";
    }
    for name in names {
        let _ = writeln!(text, "  {name}");
    }
}

fn counts(text: &mut String, report: &Report) {
    *text += "\nLimits\n";
    let head = ["".into(), "has".into(), "default".into(), String::new()];
    let rows = report.counts.iter().map(|count| {
        let needs = count.needs.as_ref();
        let needs = needs.map(|needs| format!("needs limits: {{{}: {needs}}}", count.limit));
        [count.limit.to_owned(), count.found.clone(), count.default.clone(), needs.unwrap_or_default()]
    });
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    *text += &columns(2, &rows);
}
