//! `devgatectl upgrade`: another version of a component in an admin's policy, which stays as it is but for the digest.

use super::confirm::{NOT_CONFIRMED, confirm};
use super::policy_text::{Edited, PolicyText};
use super::refused;
use crate::author_policy::AuthorPolicy;
use crate::cli::UpgradeArgs;
use crate::config_schema;
use crate::inspect::{self, Report, not_run};
use crate::plan::{self, Kept, Side};
use devgate::components::Components;
use devgate::{exit, output, policy, transfer};
use devgate_oci::PublicKey;
use devgate_policy::{ComponentSource, PluginPolicy, Policy};
use devgate_runner::Program;
use devgate_types::{Digest, PinnedReference, Reference, escape};
use similar::TextDiff;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// The other component, and how the policy names both.
struct Upgrade {
    /// As the policy's file has them.
    old: String,
    new: String,
    /// What the policy is to mean.
    source: ComponentSource,
    bytes: Vec<u8>,
    /// What the old one was, where that can still be had.
    before: Option<Vec<u8>>,
}

/// Runs the command.
pub(crate) fn upgrade(args: &UpgradeArgs) -> anyhow::Result<u8> {
    let policy = policy::read(std::slice::from_ref(&args.policy))?;
    let plugin = policy.plugins.values().find(|plugin| plugin.name.as_str() == args.plugin);
    let none = || exit::with_code(exit::POLICY, format!("the policy has no plugin {}", escape(&args.plugin, 80)));
    let plugin = plugin.ok_or_else(none)?;
    let upgrade = Upgrade::fetch(args, plugin)?;
    if upgrade.source == plugin.component {
        output::print(&format!("plugin {}: {} is what it names already\n", plugin.name, escape(&upgrade.new, 512)))?;
        return Ok(exit::OK);
    }
    granted(plugin, &upgrade.bytes)?;
    let text = PolicyText::read(&args.policy, plugin)?;
    let edited = text.with_component(&policy, plugin, (&upgrade.old, &upgrade.new), &upgrade.source)?;
    output::print(&upgrade.differences(plugin)?)?;
    output::print(&upgrade.misfits(plugin))?;
    if !args.nodes.is_empty() {
        output::print(&upgrade.planned(args, policy.clone(), &edited)?)?;
    }
    if !confirm(args.yes, &format!("write {}?", text.file().display()))? {
        return Ok(NOT_CONFIRMED);
    }
    text.write(&edited)?;
    output::print(&format!("wrote {}\n", text.file().display()))?;
    Ok(exit::OK)
}

impl Upgrade {
    fn fetch(args: &UpgradeArgs, plugin: &PluginPolicy) -> anyhow::Result<Self> {
        let usage = |why: String| Err(exit::with_code(exit::USAGE, format!("plugin {}: {why}", plugin.name)));
        let components = Components::looking(args.components.as_ref(), &args.registry, true, Program::puller_or_own());
        let keys = components.keys(plugin)?;
        let named = match args.component.as_deref().map(inspect::reference).transpose()? {
            Some(None) => return usage("name the other component as oci:REFERENCE".to_owned()),
            named => named.flatten(),
        };
        match (&plugin.component, named) {
            (ComponentSource::Oci(old), named) => {
                let tagged = || format!("{}:{}", old.repository, old.tag.as_ref()?).parse::<Reference>().ok();
                match named.or_else(tagged) {
                    Some(wanted) => Self::pulled(args, old, &wanted, keys.as_deref()),
                    None => usage("its component has no tag that could name another; say oci:REFERENCE".to_owned()),
                }
            }
            (ComponentSource::File { .. }, Some(_)) => {
                usage("its component is a file: put the other one in its place, and name none here".to_owned())
            }
            (ComponentSource::File { sha256: None, .. }, None) => Err(refused(format!(
                "plugin {}: the policy pins no digest, so that there is nothing to change; add sha256 to its component",
                plugin.name
            ))),
            (ComponentSource::File { sha256: Some(old), path }, None) => {
                // What the policy pins is what is to be changed.
                let bytes = components.read(plugin)?;
                let sha256 = devgate_runner::digest(&bytes);
                let source = ComponentSource::File { path: path.clone(), sha256: Some(sha256) };
                Ok(Self { old: Digest(*old).hex(), new: Digest(sha256).hex(), source, bytes, before: None })
            }
        }
    }

    fn pulled(
        args: &UpgradeArgs,
        old: &PinnedReference,
        wanted: &Reference,
        keys: Option<&[PublicKey]>,
    ) -> anyhow::Result<Self> {
        let (new, bytes) = transfer::get(wanted, &args.registry, keys, Program::puller_or_own())?;
        let again = Reference { repository: old.repository.clone(), tag: None, digest: Some(old.digest) };
        // A registry that does not have it any more takes nothing but the comparison.
        let before = transfer::get(&again, &args.registry, None, Program::puller_or_own()).ok();
        let (old, shown) = (old.to_string(), new.to_string());
        Ok(Self { old, new: shown, source: ComponentSource::Oci(new), bytes, before: before.map(|(_, bytes)| bytes) })
    }

    /// What the two are, where they differ.
    fn differences(&self, plugin: &PluginPolicy) -> anyhow::Result<String> {
        let shown = |source: &str| escape(source, 512);
        let mut text = format!("plugin {}\n  - {}\n  + {}\n", plugin.name, shown(&self.old), shown(&self.new));
        let facts = |name: &str, bytes: &[u8]| Ok::<_, anyhow::Error>(facts(&inspect::of(Path::new(name), bytes)?));
        let author = |bytes: &[u8]| AuthorPolicy::of(bytes).ok().flatten().map(|author| author.text().to_owned());
        let (is, grants) = (facts(&self.new, &self.bytes)?, author(&self.bytes).unwrap_or_default());
        let Some(before) = &self.before else {
            text += "what it was cannot be had any more; what it is now:\n";
            text.extend(is.lines().chain(grants.lines()).map(|line| format!("  {line}\n")));
            return Ok(text);
        };
        text += &changed(&facts(&self.old, before)?, &is);
        let granted = author(before).unwrap_or_default();
        if granted != grants {
            text += "what its author would grant differs; nothing of it is changed here:\n";
            text += &changed(&granted, &grants);
        }
        Ok(text)
    }

    /// What the other one's schema says of the policy's `config`, which stays as it is.
    fn misfits(&self, plugin: &PluginPolicy) -> String {
        let problems = config_schema::look(&self.bytes, &plugin.config);
        problems.iter().map(|problem| format!("  {problem}\n")).collect()
    }

    /// What `plan` says of it.
    fn planned(&self, args: &UpgradeArgs, policy: Policy, edited: &Edited) -> anyhow::Result<String> {
        if matches!(self.source, ComponentSource::File { .. }) {
            return Ok("what the file was is not there any more, so what changes on nodes cannot be said\n".to_owned());
        }
        let kept = Kept::new()?;
        let side = |policy: Policy| {
            let (components, puller) = (args.components.as_ref(), Program::puller_or_own());
            Side::new(policy, Components::looking(components, &args.registry, true, puller), kept.code()?)
        };
        let (old, new) = (side(policy)?, side(edited.policy().clone())?);
        plan::shown((&args.policy, &old), ("the same with the other component", &new), &args.nodes)
    }
}

/// What of a component concerns who grants something to it, a line each.
fn facts(report: &Report) -> String {
    let words = report.words();
    let mut lines = BTreeSet::from([format!("size {} bytes", report.size())]);
    lines.extend(words.imports.iter().map(|name| format!("imports {name}")));
    lines.extend(report.optional().into_iter().map(|(_, key)| format!("can do without {key}: in the policy")));
    lines.extend(words.exports.iter().map(|name| format!("exports {name}")));
    let said = words.annotations.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", value?)));
    lines.extend(said);
    lines.into_iter().map(|line| line + "\n").collect()
}

fn changed(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let text = diff.unified_diff().context_radius(1).to_string();
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Fails where a host would not load it with what the policy grants.
fn granted(plugin: &PluginPolicy, component: &[u8]) -> anyhow::Result<()> {
    let Some(why) = not_run(component, plugin)? else { return Ok(()) };
    let author = AuthorPolicy::of(component).ok().flatten();
    let author = author.map(|author| author.text().lines().map(|line| format!("\n  {line}")).collect::<String>());
    let author = author.map(|text| format!("\nits author would grant:{text}")).unwrap_or_default();
    let mut text = format!(
        "plugin {}: with what {} grants no host would load it; nothing was written:",
        plugin.name, plugin.origin
    );
    let _ = write!(text, "\n  {}{author}", why.replace('\n', "\n  "));
    Err(refused(text))
}
