//! `devgatectl upgrade`: another version of a component in an admin's policy, which stays as it is but for the digest.

use super::add::{reference, refused, with};
use super::confirm::{NOT_CONFIRMED, confirm};
use crate::author_policy::AuthorPolicy;
use crate::cli::UpgradeArgs;
use crate::inspect::{self, Report};
use crate::plan;
use anyhow::Context;
use devgate::components::Components;
use devgate::{exit, output, policy, transfer};
use devgate_oci::PublicKey;
use devgate_policy::{ComponentSource, PluginPolicy};
use devgate_runner::{Program, Programs, Runners};
use devgate_types::load::Need;
use devgate_types::{Digest, PinnedReference, Reference, escape};
use similar::TextDiff;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The other component, and how the policy names both.
struct Upgrade {
    /// As the policy's file has them.
    old: String,
    new: String,
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
    let file = PathBuf::from(&*plugin.origin.file);
    let upgrade = Upgrade::fetch(args, plugin)?;
    if upgrade.old == upgrade.new {
        output::print(&format!("plugin {}: {} is what it names already\n", plugin.name, shown(&upgrade.new)))?;
        return Ok(exit::OK);
    }
    granted(plugin, &upgrade.bytes)?;
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    if !text.contains(&upgrade.old) {
        let why = format!("{}: does not have {} as it stands; nothing was written", file.display(), upgrade.old);
        return Err(refused(why));
    }
    let text = text.replace(&upgrade.old, &upgrade.new);
    let dir = if args.policy.is_dir() { &args.policy } else { file.parent().unwrap_or(Path::new("")) };
    with(dir, &file, &text)?;
    output::print(&upgrade.differences(plugin)?)?;
    if !args.nodes.is_empty() {
        output::print(&planned(args, &file, &text)?)?;
    }
    if !confirm(args.yes, &format!("write {}?", file.display()))? {
        return Ok(NOT_CONFIRMED);
    }
    output::write_file(&file, text.as_bytes())?;
    output::print(&format!("wrote {}\n", file.display()))?;
    Ok(exit::OK)
}

impl Upgrade {
    fn fetch(args: &UpgradeArgs, plugin: &PluginPolicy) -> anyhow::Result<Self> {
        let components = Components::looking(args.components.as_ref(), &args.registry, true, Program::puller_or_own());
        let keys = components.keys(plugin)?;
        let named = args.component.as_deref().map(reference).transpose()?;
        match (&plugin.component, named) {
            (ComponentSource::Oci(old), named) => Self::pulled(args, plugin, old, named.flatten(), keys.as_deref()),
            (ComponentSource::File { .. }, Some(_)) => Err(exit::with_code(
                exit::USAGE,
                format!(
                    "plugin {}: its component is a file: put the other one in its place, and name none here",
                    plugin.name
                ),
            )),
            (ComponentSource::File { sha256: None, .. }, None) => Err(refused(format!(
                "plugin {}: the policy pins no digest, so that there is nothing to change; add sha256 to its component",
                plugin.name
            ))),
            (ComponentSource::File { sha256: Some(old), .. }, None) => {
                // The digest in the policy is what is to be changed.
                let bytes = components.read(plugin)?;
                let new = Digest(devgate_runner::digest(&bytes)).hex();
                Ok(Self { old: Digest(*old).hex(), new, bytes, before: None })
            }
        }
    }

    fn pulled(
        args: &UpgradeArgs,
        plugin: &PluginPolicy,
        old: &PinnedReference,
        named: Option<Reference>,
        keys: Option<&[PublicKey]>,
    ) -> anyhow::Result<Self> {
        let tagged = || {
            let tag = old.tag.clone()?;
            format!("{}:{tag}", old.repository).parse::<Reference>().ok()
        };
        let none = || {
            let why =
                format!("plugin {}: its component has no tag that could name another; say oci:REFERENCE", plugin.name);
            exit::with_code(exit::USAGE, why)
        };
        let wanted = named.or_else(tagged).ok_or_else(none)?;
        let (new, bytes) = transfer::get(&wanted, &args.registry, keys, Program::puller_or_own())?;
        let again = Reference { repository: old.repository.clone(), tag: None, digest: Some(old.digest) };
        // A registry that does not have it any more takes nothing but the comparison.
        let before = transfer::get(&again, &args.registry, None, Program::puller_or_own()).ok();
        Ok(Self { old: old.to_string(), new: new.to_string(), bytes, before: before.map(|(_, bytes)| bytes) })
    }

    /// What the two are, where they differ.
    fn differences(&self, plugin: &PluginPolicy) -> anyhow::Result<String> {
        let mut text = format!("plugin {}\n  - {}\n  + {}\n", plugin.name, shown(&self.old), shown(&self.new));
        let new = inspect::of(Path::new(&self.new), &self.bytes)?;
        let Some(before) = &self.before else {
            let _ = writeln!(text, "  what it was cannot be had any more, so it is not compared");
            return Ok(text + &facts(&new));
        };
        let old = inspect::of(Path::new(&self.old), before)?;
        if facts(&old) != facts(&new) {
            text += &changed(&facts(&old), &facts(&new));
        }
        let authors = |bytes| AuthorPolicy::of(bytes).ok().flatten().map(|author| author.text().to_owned());
        let (was, is) = (authors(before).unwrap_or_default(), authors(&self.bytes).unwrap_or_default());
        if was != is {
            text += "what its author would grant differs; nothing of it is changed here:\n";
            text += &changed(&was, &is);
        }
        Ok(text)
    }
}

/// What of a component concerns who grants something to it.
fn facts(report: &Report) -> String {
    let words = report.words();
    let mut lines = BTreeSet::new();
    lines.extend(words.imports.iter().map(|name| format!("imports {name}")));
    lines.extend(words.exports.iter().map(|name| format!("exports {name}")));
    let said = words.annotations.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", value?)));
    lines.extend(said);
    lines.insert(format!("size {} bytes", report.size()));
    lines.into_iter().map(|line| line + "\n").collect()
}

fn changed(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut unified = diff.unified_diff();
    let text = unified.context_radius(1).to_string();
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Fails where a host would not load it with what the policy grants.
fn granted(plugin: &PluginPolicy, component: &[u8]) -> anyhow::Result<()> {
    let grants = |interface: &str| plugin.grants(interface);
    let inspection = Runners::new(Programs::beside_or_own()?, None)?.inspect(component, &plugin.limits, &grants);
    let problem = match inspection.contents {
        Err(why) => Some(why.to_string()),
        Ok(contents) => {
            let missing = contents.imports.iter().filter_map(|import| match &import.need {
                Need::Key(key) => Some(format!("it imports {}, which needs \"{key}:\"", import.name)),
                Need::Never(why) => Some(format!("it imports {}: {why}", import.name)),
                Need::Nothing | Need::Granted => None,
            });
            let missing: Vec<_> = missing.collect();
            if missing.is_empty() {
                contents.profile.err().map(|why| why.to_string())
            } else {
                Some(missing.join("\n"))
            }
        }
    };
    let Some(problem) = problem else { return Ok(()) };
    let author = AuthorPolicy::of(component).ok().flatten();
    let author = author.map(|author| format!("\nits author would grant:\n{}", author.text())).unwrap_or_default();
    Err(refused(format!(
        "plugin {}: {problem}\nnothing was written; {} has to grant it first{author}",
        plugin.name, plugin.origin
    )))
}

/// What `plan` says of the policy with this text in place of one of its files.
fn planned(args: &UpgradeArgs, file: &Path, text: &str) -> anyhow::Result<String> {
    let dir = tempfile::tempdir()?;
    for other in policy::files(&args.policy)? {
        let copy = dir.path().join(other.file_name().unwrap_or_default());
        match other == *file {
            true => std::fs::write(&copy, text)?,
            false => std::fs::copy(&other, &copy).map(drop)?,
        }
    }
    let beside = args.policy.is_dir().then(|| args.policy.clone());
    let beside = beside.or_else(|| Some(args.policy.parent()?.to_owned()));
    let components = args.components.clone().or(beside);
    let paths = plan::Paths {
        old: &args.policy,
        new: dir.path(),
        nodes: &args.nodes,
        components: components.as_ref(),
        old_components: None,
    };
    Ok(plan::shown(&paths, &args.registry)?)
}

fn shown(source: &str) -> String {
    escape(source, 512)
}
