//! `devgatectl add`: a component into an admin's policy, as a file of its own.

use super::confirm::{NOT_CONFIRMED, confirm};
use super::refused;
use crate::author_policy::Pinned;
use crate::cli::AddArgs;
use crate::custom_section::is_shown;
use crate::inspect::{self, Report, not_run};
use anyhow::Context;
use devgate::transfer::{Key, LARGEST};
use devgate::{exit, output, policy, transfer};
use devgate_oci::{MAX_SIGNATURE, PublicKey};
use devgate_policy::{PluginPolicy, PolicyFile};
use devgate_runner::Program;
use devgate_types::PinnedReference;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A component that was fetched, and by what a policy names it.
struct Fetched {
    bytes: Vec<u8>,
    /// In a registry; `None` for a file.
    reference: Option<PinnedReference>,
}

/// Runs the command.
pub(crate) fn add(args: &AddArgs) -> anyhow::Result<u8> {
    if args.policy.exists() && !args.policy.is_dir() {
        let why = format!(
            "policy {}: is no directory, and a plugin gets a file of its own (--policy DIR)",
            args.policy.display()
        );
        return Err(exit::with_code(exit::USAGE, why));
    }
    let keys: Vec<_> = args.cosign_key.iter().map(|path| Key::read(path)).collect::<anyhow::Result<_>>()?;
    let copies = copies(&args.policy, &keys)?;
    let public: Vec<_> = keys.iter().map(|key| key.key.clone()).collect();
    let fetched = fetch(args, (!public.is_empty()).then_some(&*public))?;
    let shown = fetched.reference.as_ref().map_or_else(|| args.component.clone(), |oci| oci.to_string().into());
    let report = inspect::of(&shown, &fetched.bytes)?;
    if !report.runs() {
        let problems = report.problems().join("\n  ");
        return Err(refused(format!("{}: no host could run it; nothing was written:\n  {problems}", report.file())));
    }
    let text = text(&report, &fetched, &args.component, &keys)?;
    let (file, plugin) = place(&args.policy, &text)?;
    // What is to be put in place of CHANGE-ME is not granted yet.
    if report.author().is_some()
        && let Some(why) = not_run(&fetched.bytes, &plugin)?
    {
        return Err(refused(format!(
            "{}: its author's policy does not grant what it needs; nothing was written:\n  {why}",
            report.file()
        )));
    }
    output::print(&said(&file, &text, &report, !keys.is_empty()))?;
    if !confirm(args.yes, &format!("write {}?", file.display()))? {
        return Ok(NOT_CONFIRMED);
    }
    std::fs::create_dir_all(&args.policy).with_context(|| args.policy.display().to_string())?;
    for (copy, text) in &copies {
        write_new(copy, text)?;
    }
    write_new(&file, &text)?;
    output::print(&next(args, &file, fetched.reference.is_none()))?;
    Ok(exit::OK)
}

fn fetch(args: &AddArgs, keys: Option<&[PublicKey]>) -> anyhow::Result<Fetched> {
    if let Some(reference) = inspect::reference(&args.component)? {
        let (pinned, bytes) = transfer::get(&reference, &args.registry, keys, Program::puller_or_own())?;
        return Ok(Fetched { bytes, reference: Some(pinned) });
    }
    let bytes = inspect::read(&args.component, LARGEST.0)?;
    if let Some(keys) = keys {
        let file = format!("{}.sig", args.component.display());
        let signature = inspect::read(Path::new(&file), MAX_SIGNATURE)?;
        let name = args.component.display().to_string();
        devgate_oci::check_file(&bytes, &String::from_utf8_lossy(&signature), keys, &name).map_err(transfer::coded)?;
    }
    Ok(Fetched { bytes, reference: None })
}

/// The policy's text: the author's, or the least.
fn text(report: &Report, fetched: &Fetched, component: &Path, keys: &[Key]) -> anyhow::Result<String> {
    let name = component.file_name().unwrap_or_default().to_string_lossy();
    let pinned = match &fetched.reference {
        Some(reference) => Pinned::Oci(reference),
        None => Pinned::File { name: &name, sha256: devgate_runner::digest(&fetched.bytes) },
    };
    let keys: Vec<_> = keys.iter().map(|key| key.name.clone()).collect();
    let text = match report.author_policy(&pinned, &keys) {
        Some(text) => text?,
        None => report.skeleton(&pinned, &keys),
    };
    if !text.chars().all(is_shown) {
        return Err(refused(format!("{}: its name could not be shown as it is; give it another one", report.file())));
    }
    Ok(text)
}

/// The file that the text is to be written to and what its plugin is, once it is known that the policy would be right with it.
fn place(dir: &Path, text: &str) -> anyhow::Result<(PathBuf, PluginPolicy)> {
    let parse = |files: &[PolicyFile<'_>]| {
        let wrong = |errors| format!("the policy would be wrong; nothing was written:\n{errors}");
        devgate_policy::parse(files).map_err(|errors| exit::with_code(exit::POLICY, wrong(errors)))
    };
    let alone = parse(&[PolicyFile { name: "policy", text }])?;
    let plugin = alone.plugins.into_values().next().context("a policy without a plugin")?;
    let (name, file) = (plugin.name.as_str(), dir.join(format!("{}.yaml", plugin.name)));
    let mut texts = vec![(file.display().to_string(), text.to_owned())];
    let there = if dir.exists() { policy::files(dir).unwrap_or_default() } else { Vec::new() };
    if !there.is_empty() {
        let policy = policy::read(&[dir.to_owned()])?;
        if let Some(known) = policy.plugins.values().find(|known| known.name == plugin.name) {
            let next = format!("{} upgrade {name} --policy {}", output::program(), output::quoted(dir));
            let why = format!("plugin {name}: is there already, {}; nothing was written\nnext: {next}", known.origin);
            return Err(refused(why));
        }
    }
    if file.symlink_metadata().is_ok() {
        return Err(refused(format!("{}: is there already, with something else; nothing was written", file.display())));
    }
    for other in there {
        let text = std::fs::read_to_string(&other).with_context(|| other.display().to_string())?;
        texts.push((other.display().to_string(), text));
    }
    let files: Vec<_> = texts.iter().map(|(name, text)| PolicyFile { name, text }).collect();
    parse(&files)?;
    Ok((file, plugin))
}

/// The keys that are to be copied beside the policy, by the file of each. What is there under its name must be the same key.
fn copies(dir: &Path, keys: &[Key]) -> anyhow::Result<BTreeMap<PathBuf, String>> {
    let mut copies = BTreeMap::new();
    for key in keys {
        let file = dir.join(&key.name);
        let another = || {
            let why = "another key has that name; give one of them another name; nothing was written";
            refused(format!("{}: {why}", file.display()))
        };
        match std::fs::read(&file) {
            Ok(there) if there == key.text.as_bytes() => continue,
            Ok(_) => return Err(another()),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| file.display().to_string()),
        }
        if copies.insert(file.clone(), key.text.clone()).is_some_and(|before| before != key.text) {
            return Err(another());
        }
    }
    Ok(copies)
}

/// Writes all of a file that is not there yet, or nothing.
fn write_new(file: &Path, text: &str) -> anyhow::Result<()> {
    let named = || file.display().to_string();
    let dir = file.parent().unwrap_or(Path::new("."));
    let mode = PermissionsExt::from_mode(0o644);
    let mut new = tempfile::Builder::new().permissions(mode).tempfile_in(dir).with_context(named)?;
    new.write_all(text.as_bytes()).with_context(named)?;
    new.persist_noclobber(file).map_err(|error| error.error).with_context(named)?;
    Ok(())
}

fn said(file: &Path, text: &str, report: &Report, is_signed: bool) -> String {
    let whose = match (report.author(), report.policy_problem()) {
        (Some(_), _) => "as its author has it".to_owned(),
        (None, None) => "which grants nothing yet: put what it needs in place of CHANGE-ME".to_owned(),
        (None, Some(why)) => {
            format!(
                "which grants nothing yet, as the policy that it carries cannot be used ({why}): put what it needs in place of CHANGE-ME"
            )
        }
    };
    let signed = if is_signed { "; it is signed" } else { "" };
    let mut said = format!("{}, {whose}{signed}:\n", file.display());
    said.extend(text.lines().map(|line| format!("  {line}\n")));
    said
}

fn next(args: &AddArgs, file: &Path, is_file: bool) -> String {
    let beside = format!("put {} beside it, or into --components DIR\n", args.component.display());
    let beside = if is_file { &beside } else { "" };
    let policy = output::quoted(&args.policy);
    format!("wrote {}\n{beside}next: {} check --run --policy {policy}\n", file.display(), output::program())
}
