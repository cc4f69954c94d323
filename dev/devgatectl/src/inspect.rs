//! `devgatectl inspect`: what a component is and needs, from its file alone.

mod about;
mod author;
mod counts;
mod said;
mod skeleton;
mod text;

use crate::author_policy::{AuthorPolicy, Pinned};
use crate::cli::{InspectArgs, InspectOutput};
use crate::config_schema::ConfigSchema;
pub(crate) use author::not_run;

use about::{Described, Role, about};
use anyhow::Context;
use devgate::{exit, output, transfer};
use devgate_policy::{PluginPolicy, PolicyFile};
use devgate_runner::{Program, Programs, Runners};
use devgate_types::load::{Contents, Inspection, Need};
use devgate_types::{ByteSize, Digest, Reference, escape};
use serde::Serialize;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Grants nothing, and sets every limit on what a component may be as high as a policy can.
const WIDEST: &str = "\
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  any:
    component: {file: any.wasm}
    resources: [example.com/any]
    limits: {component-size: 64MiB, memory: 1GiB, functions: 1000000, function-size: 16MiB, instances: 1000, memories: 64, \
tables: 1000, table-elements: 10000000}
";

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    file: String,
    size: usize,
    sha256: String,
    /// Whether this host can run it, once the policy grants what it imports.
    runs: bool,
    /// Why not.
    problems: Vec<String>,
    contract: Option<String>,
    /// What it says of itself.
    metadata: Metadata,
    languages: Vec<Producer>,
    tools: Vec<Producer>,
    sdks: Vec<Producer>,
    imports: Vec<Import>,
    exports: Vec<String>,
    counts: Vec<counts::Count>,
    /// A policy to start from; nothing for what is no component.
    policy: Option<String>,
    /// Whose it is: `author`, where the component carries one, or `devgate`.
    policy_by: &'static str,
    /// Why that which the component carries cannot be used, if so.
    policy_problem: Option<String>,
    /// The JSON Schema of `config` that the component carries.
    config_schema: Option<serde_json::Value>,
    /// Why that cannot be used, if so.
    config_schema_problem: Option<String>,
    /// The schema, as its author wrote it.
    #[serde(skip)]
    schema: Option<ConfigSchema>,
    /// What the component carries.
    #[serde(skip)]
    author: Option<AuthorPolicy>,
}

#[derive(Debug, Default, Serialize)]
struct Metadata {
    name: Option<String>,
    version: Option<String>,
    licences: Option<String>,
    source: Option<String>,
    revision: Option<String>,
    homepage: Option<String>,
    description: Option<String>,
    authors: Option<String>,
}

#[derive(Debug, Serialize)]
struct Producer {
    name: String,
    version: String,
}

#[derive(Debug, Serialize)]
struct Import {
    name: String,
    /// `nothing`, `key`, `optional` or `never`.
    need: &'static str,
    /// The policy's key that grants it.
    key: Option<&'static str>,
    /// Why nothing does.
    reason: Option<String>,
}

/// Runs the command.
pub(crate) fn inspect(args: &InspectArgs) -> anyhow::Result<u8> {
    let report = report(args)?;
    let none = |why: String| Err(exit::with_code(exit::FOUND, format!("{}: {why}", report.file)));
    match args.output {
        InspectOutput::Text => output::print(&text::of(&report))?,
        InspectOutput::Json => output::print_json(&report)?,
        InspectOutput::Policy => match &report.policy {
            Some(policy) => output::print(policy)?,
            None => return none(report.problems.join("; ")),
        },
        InspectOutput::ConfigSchema => match (&report.schema, &report.config_schema_problem) {
            (Some(schema), _) => output::print(schema.text())?,
            (None, Some(why)) => return none(format!("the schema of config that it carries {why}")),
            (None, None) => {
                return none("carries no schema of its config (devgatectl pack --config-schema)".to_owned());
            }
        },
    }
    Ok(if report.runs { exit::OK } else { exit::FOUND })
}

fn report(args: &InspectArgs) -> anyhow::Result<Report> {
    let path = &args.component;
    let Some(parsed) = reference(path)? else {
        return of(path, &read(path, transfer::LARGEST.0)?);
    };
    let (pinned, bytes) = transfer::get(&parsed, &args.registry, None, Program::puller_or_own())?;
    let mut report = of(Path::new(&pinned.to_string()), &bytes)?;
    if report.policy.is_some() {
        let component = Pinned::Oci(&pinned);
        report.policy = Some(match report.author_policy(&component, &[]) {
            Some(policy) => policy?,
            None => report.skeleton(&component, &[]),
        });
    }
    Ok(report)
}

/// What `oci:` stands before in the place of a component's file; `None` for a file.
pub(crate) fn reference(component: &Path) -> anyhow::Result<Option<Reference>> {
    let Some(text) = component.to_str().and_then(|text| text.strip_prefix("oci:")) else {
        return Ok(None);
    };
    let parsed = text.parse::<Reference>();
    parsed.map(Some).map_err(|why| exit::with_code(exit::USAGE, format!("{}: {why}", escape(text, 120))))
}

/// What a component's bytes are, that are in a file of this name or will be.
pub(crate) fn of(path: &Path, bytes: &[u8]) -> anyhow::Result<Report> {
    let widest = widest()?;
    let grants = |interface: &str| widest.grants(interface);
    let inspection = Runners::new(Programs::beside_or_own()?, None)?.inspect(bytes, &widest.limits, &grants);
    Ok(Report::new(path, bytes, inspection))
}

/// What it is, and what it needs: the part of it that is not about limits.
pub(crate) fn facts(report: &Report) -> String {
    text::facts(report)
}

fn widest() -> anyhow::Result<PluginPolicy> {
    let file = PolicyFile { name: "built in", text: WIDEST };
    let policy = devgate_policy::parse(&[file]).map_err(|errors| anyhow::anyhow!("{errors}"))?;
    policy.plugins.into_values().next().context("a policy without a plugin")
}

/// A regular file's bytes, if they are no more than this.
pub(crate) fn read(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    // Looked at before it is opened: opening a pipe would wait for its other end.
    let named = || path.display().to_string();
    let metadata = std::fs::metadata(path).with_context(named)?;
    anyhow::ensure!(metadata.is_file(), "{}: is not a regular file", named());
    let mut bytes = Vec::new();
    let opened = File::open(path).with_context(named)?;
    opened.take(most.saturating_add(1)).read_to_end(&mut bytes).with_context(named)?;
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if size > most {
        let message = format!("{}: is larger than {}, the most that is read of it", path.display(), ByteSize(most));
        return Err(exit::with_code(exit::FOUND, message));
    }
    Ok(bytes)
}

impl Metadata {
    fn of(said: Described) -> Self {
        let text = |text: Option<devgate_types::GuestText>| text.map(|text| text.to_string());
        Self {
            name: text(said.name),
            version: text(said.version),
            licences: text(said.licences),
            source: text(said.source),
            revision: text(said.revision),
            homepage: text(said.homepage),
            description: text(said.description),
            authors: text(said.authors),
        }
    }
}

impl Report {
    fn new(path: &Path, bytes: &[u8], inspection: Inspection) -> Self {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let mut report = Self {
            file: escape(&path.to_string_lossy(), 1024),
            size: bytes.len(),
            sha256: Digest(inspection.sha256).hex(),
            runs: false,
            problems: Vec::new(),
            contract: None,
            metadata: Metadata::default(),
            languages: Vec::new(),
            tools: Vec::new(),
            sdks: Vec::new(),
            imports: Vec::new(),
            exports: Vec::new(),
            counts: Vec::new(),
            policy: None,
            policy_by: "devgate",
            policy_problem: None,
            config_schema: None,
            config_schema_problem: None,
            schema: None,
            author: None,
        };
        match inspection.contents {
            Ok(contents) => {
                report.fill(bytes, contents);
                report.set_policy(&name, bytes, inspection.sha256);
                report.set_schema(bytes);
            }
            Err(refusal) => report.problems.push(refusal.to_string()),
        }
        report.runs = report.problems.is_empty();
        report
    }

    fn fill(&mut self, bytes: &[u8], contents: Contents) {
        let imports = contents.imports.iter().map(|import| {
            let (need, key, reason) = match &import.need {
                Need::Nothing | Need::Granted => ("nothing", None, None),
                Need::Key(key) => ("key", Some(*key), None),
                Need::Optional(key) => ("optional", Some(*key), None),
                Need::Never(reason) => ("never", None, Some(reason.clone())),
            };
            Import { name: import.name.to_string(), need, key, reason }
        });
        self.imports = imports.collect();
        let never = |import: &Import| Some(format!("import {} {}", import.name, import.reason.as_deref()?));
        self.problems = self.imports.iter().filter_map(never).collect();
        if let Err(refusal) = contents.profile {
            self.problems.push(refusal.to_string());
        }
        let (producers, described) = about(bytes);
        for producer in producers {
            let list = match producer.role {
                Role::Language => &mut self.languages,
                Role::Tool => &mut self.tools,
                Role::Sdk => &mut self.sdks,
            };
            list.push(Producer { name: producer.name, version: producer.version });
        }
        self.metadata = Metadata::of(described);
        self.contract = contents.contract.map(|version| version.to_string());
        self.exports = contents.exports.iter().map(ToString::to_string).collect();
        // Tools write them in an order that differs from build to build.
        self.exports.sort();
        self.counts = counts::of(self.size, &contents.counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As high as a policy can: one more of anything is refused.
    #[test]
    fn the_widest_limits_are_the_widest() {
        let widest = widest().unwrap();
        assert!(widest.hardware.is_empty() && widest.host_nodes.is_empty());
        for (most, more) in [
            ("64MiB", "65MiB"),
            ("1GiB", "2GiB"),
            ("1000000,", "1000001,"),
            ("16MiB", "17MiB"),
            ("instances: 1000", "instances: 1001"),
            ("memories: 64", "memories: 65"),
            ("tables: 1000", "tables: 1001"),
            ("10000000", "10000001"),
        ] {
            let text = WIDEST.replacen(most, more, 1);
            assert_ne!(text, WIDEST, "{most}");
            let file = PolicyFile { name: "x", text: &text };
            assert!(devgate_policy::parse(&[file]).is_err(), "{more}");
        }
    }
}
