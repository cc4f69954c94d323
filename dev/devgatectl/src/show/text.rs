//! What people read.

use super::Shown;
use super::beside::{Refers, States};
use crate::registry::{CARRIES, OPTIONAL};
use devgate::output::{columns, count, program};
use std::fmt::Write as _;

/// How the annotations of a component are called by `inspect`.
const NAMES: [(&str, &str); 7] = [
    ("title", "name"),
    ("version", "version"),
    ("licenses", "licence"),
    ("source", "source"),
    ("revision", "revision"),
    ("url", "homepage"),
    ("description", "about"),
];
const COMMON: &str = "org.opencontainers.image.";

pub(super) fn of(shown: &Shown) -> String {
    let mut text = format!("{}\n", shown.oci);
    let digest = shown.sha256.clone().unwrap_or_else(|| "not known: it lies in an archive".to_owned());
    let mut facts = vec![["size".into(), format!("{} bytes", shown.size)], ["sha256".into(), digest]];
    let named = NAMES.map(|(annotation, name)| (format!("{COMMON}{annotation}"), name.to_owned()));
    for (annotation, name) in &named {
        if let Some(value) = shown.annotations.get(annotation) {
            facts.push([name.clone(), value.clone()]);
        }
    }
    if let Some(interfaces) = shown.annotations.get(OPTIONAL) {
        facts.push(["can do without".into(), interfaces.replace(',', ", ")]);
    }
    let is_shown = |name: &str| [CARRIES, OPTIONAL].contains(&name) || named.iter().any(|(known, _)| known == name);
    let others = shown.annotations.iter().filter(|(name, _)| !is_shown(name));
    facts.extend(others.map(|(name, value)| [name.clone(), value.clone()]));
    facts.push(["signed".into(), signed(shown)]);
    text += &columns(2, &facts);
    for (title, list) in [("Imports", &shown.imports), ("Exports", &shown.exports)] {
        if let Some(list) = list {
            let _ = writeln!(text, "\n{title}");
            list.iter().for_each(|name| _ = writeln!(text, "  {name}"));
        }
    }
    if !shown.referrers.is_empty() {
        text += "\nBeside it\n";
        shown.referrers.iter().for_each(|one| referrer(&mut text, one));
    }
    text += "\n";
    for what in &shown.carries {
        let _ =
            writeln!(text, "{} inspect oci:{} --output {what} fetches it ({} bytes)", program(), shown.oci, shown.size);
    }
    let _ = writeln!(text, "next: {} add oci:{}", program(), shown.oci);
    text
}

fn signed(shown: &Shown) -> String {
    match (shown.signed, &shown.unsigned, shown.signatures) {
        (Some(true), ..) => "by one of the keys".to_owned(),
        (_, Some(why), _) => format!("no: it {why}"),
        (_, _, 0) => "no".to_owned(),
        (_, _, n) => format!("{}, not checked without --cosign-key", count(n, "signature")),
    }
}

fn referrer(text: &mut String, one: &Refers) {
    let kind = one.kind.as_deref().unwrap_or("of no type");
    let _ = writeln!(text, "  {kind}  {}", one.digest);
    let Some(states) = &one.states else { return };
    let _ = writeln!(text, "    {}", said(states));
    states.with.iter().for_each(|with| _ = writeln!(text, "    with {with}"));
}

fn said(states: &States) -> String {
    let result = match &states.result {
        Some(result) => {
            format!("{result}: {} passed, {} failed, {} skipped", states.passed, states.failed, states.skipped)
        }
        None => states.predicate.clone(),
    };
    let of = if states.of_this { "" } else { "; of something else" };
    let signed = match states.signed {
        Some(true) => "; signed by one of the keys",
        Some(false) => "; not signed by one of the keys",
        None => "",
    };
    format!("{result}{of}{signed}")
}
