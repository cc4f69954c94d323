//! The least policy that could run a component, as YAML to start from.

use super::Report;
use crate::author_policy::Pinned;
use std::fmt::Write;

/// The keys that grant interfaces, each with the least that it may say. What must be changed matches nothing as it stands.
const LEAST: [(&str, &str); 6] = [
    (
        "hardware",
        "    hardware:                       # the kernel devices that it may see and offer\n      \
         - {subsystem: misc, name: CHANGE-ME, use: offer, nodes: [{access: rw}]}\n",
    ),
    (
        "host-nodes",
        "    host-nodes:                     # nodes in /dev that belong to no kernel device\n      \
         exclusive: [/dev/CHANGE-ME]\n",
    ),
    ("files", "    files: [/proc/CHANGE-ME]        # what it may read outside the device tree\n"),
    ("kernel-log", "    kernel-log: ['^CHANGE-ME (.+)'] # lines of the kernel's log that it may have captures of\n"),
    (
        "control",
        "    control:                        # attributes that it may write\n      \
         - {attribute: CHANGE-ME, values: [\"1\"], moment: release}\n",
    ),
    ("state", "    state: true                     # a blob that survives restarts\n"),
];

/// The policy for a component that is named so, and must be signed by one of these keys if there are any.
pub(super) fn of(component: &Pinned<'_>, keys: &[String], report: &Report) -> String {
    let name = plugin_name(match component {
        Pinned::File { name, .. } => name,
        Pinned::Oci(reference) => reference.repository.name.rsplit('/').next().unwrap_or_default(),
    });
    let source = component.yaml(keys);
    let mut text = format!(
        "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n  {name}:\n    component: {{{source}}}\n    \
         resources: [example.com/{name}] # what it may offer; the vendor says which names it uses\n",
    );
    for import in report.imports.iter().filter(|import| import.need == "never") {
        let reason = import.reason.as_deref().unwrap_or_default();
        let _ = writeln!(text, "    # It cannot run: {} {reason}", import.name);
    }
    let asks = |key: &str, need: &str| report.imports.iter().any(|it| it.key == Some(key) && it.need == need);
    for (_, least) in LEAST.iter().filter(|(key, _)| asks(key, "key")) {
        text += least;
    }
    let optional: Vec<_> = LEAST.iter().filter(|(key, _)| asks(key, "optional")).collect();
    if !optional.is_empty() {
        text += "    # What it can do without; take the # away to grant it:\n";
    }
    for line in optional.iter().flat_map(|(_, least)| least.lines()) {
        let _ = writeln!(text, "    # {}", line.strip_prefix("    ").unwrap_or(line));
    }
    let wasi: Vec<_> = ["clocks", "random"]
        .into_iter()
        .filter(|word| {
            report
                .imports
                .iter()
                .any(|import| import.key == Some("wasi") && import.name.starts_with(&format!("wasi:{word}/")))
        })
        .collect();
    if !wasi.is_empty() {
        let _ = writeln!(text, "    wasi: [{}] # beside what has nothing behind it", wasi.join(", "));
    }
    let limits: Vec<_> =
        report.counts.iter().filter_map(|count| Some(format!("{}: {}", count.limit, count.needs.as_ref()?))).collect();
    if !limits.is_empty() {
        let _ = writeln!(text, "    limits: {{{}}} # what it is; what its calls take comes on top", limits.join(", "));
    }
    text
}

/// A plugin's name out of a file's.
fn plugin_name(file: &str) -> String {
    let stem = file.strip_suffix(".wasm").unwrap_or(file).to_ascii_lowercase();
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(63).collect();
    match name.trim_matches('-') {
        "" => "vendor".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Import, Report};
    use super::*;
    use devgate_policy::PolicyFile;
    use std::path::Path;

    #[test]
    fn what_is_pulled_is_pinned_by_its_reference() {
        let inspection = devgate_types::load::Inspection {
            sha256: [7; 32],
            contents: Err(devgate_types::load::Refusal::Kind("is empty")),
        };
        let report = Report::new(Path::new("x"), b"", inspection);
        let text = format!("registry.example.com:5000/vendor/acme-gpu:1.0@sha256:{}", "ab".repeat(32));
        let reference = text.parse::<devgate_types::Reference>().unwrap().pinned().unwrap();
        let policy = of(&Pinned::Oci(&reference), &[], &report);
        let lines = format!("  acme-gpu:\n    component: {{oci: \"{text}\"}}\n    resources: [example.com/acme-gpu]");
        assert!(policy.contains(&lines), "{policy}");
    }

    /// With every key, and whatever the file is called.
    #[test]
    fn every_skeleton_is_a_policy_that_grants_what_is_imported() {
        for file in ["vendor.wasm", "Ünder_score (2).WASM", "-", "a\"b: {c}.wasm", &"x".repeat(200)] {
            let contents = Err(devgate_types::load::Refusal::Kind("is empty"));
            let inspection = devgate_types::load::Inspection { sha256: [7; 32], contents };
            let mut report = Report::new(Path::new(file), b"", inspection);
            let wasi = ["wasi:clocks/wall-clock@0.2.6", "wasi:random/random@0.2.6"].map(|name| Import {
                name: name.to_owned(),
                need: "key",
                key: Some("wasi"),
                reason: None,
            });
            report.imports = LEAST
                .iter()
                .map(|(key, _)| Import {
                    name: format!("devgate:plugin/{key}@0.1.0"),
                    need: "key",
                    key: Some(*key),
                    reason: None,
                })
                .chain(wasi)
                .collect();
            let counts = devgate_types::load::Counts {
                functions: 100_000,
                memory: devgate_types::ByteSize(17 << 20),
                ..Default::default()
            };
            report.counts = super::super::counts::of(50 << 20, &counts);
            let text = of(&Pinned::File { name: file, sha256: [7; 32] }, &[], &report);
            let parsed = devgate_policy::parse(&[PolicyFile { name: "skeleton", text: &text }]);
            let policy = parsed.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
            let plugin = policy.plugins.values().next().unwrap();
            assert_eq!(plugin.limits.functions, 100_000);
            assert_eq!(plugin.limits.component_size, devgate_types::ByteSize::mib(50));
            assert_eq!(plugin.wasi, ["clocks", "random"]);
            for (key, _) in LEAST {
                let grant = plugin.grants(if key == "host-nodes" { "host-paths" } else { key });
                assert!(matches!(grant, devgate_policy::Grant::Granted), "{key}: {grant:?}");
            }
        }
    }
}
