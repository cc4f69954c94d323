//! `devgatectl add`: a component into an admin's policy, as a file of its own.

use super::confirm::{NOT_CONFIRMED, confirm};
use crate::author_policy::Pinned;
use crate::cli::AddArgs;
use crate::inspect::{self, Report};
use anyhow::{Context, bail};
use devgate::transfer::LARGEST;
use devgate::{exit, output, policy, transfer};
use devgate_oci::{MAX_SIGNATURE, PublicKey};
use devgate_policy::{Policy, PolicyFile};
use devgate_runner::Program;
use devgate_types::{PinnedReference, Reference, escape};
use std::path::{Path, PathBuf};

/// The most bytes of a key.
const MAX_KEY: u64 = 16 << 10;

/// A component that was fetched, and by what a policy names it.
pub(super) struct Fetched {
    pub(super) bytes: Vec<u8>,
    /// In a registry; `None` for a file.
    pub(super) reference: Option<PinnedReference>,
}

/// A public key: its file's name, and the key.
struct Key {
    path: PathBuf,
    name: String,
    text: String,
    key: PublicKey,
}

/// Runs the command.
pub(crate) fn add(args: &AddArgs) -> anyhow::Result<u8> {
    let keys: Vec<_> = args.cosign_key.iter().map(|path| Key::read(path)).collect::<anyhow::Result<_>>()?;
    let public: Vec<_> = keys.iter().map(|key| key.key.clone()).collect();
    let fetched = fetch(args, (!public.is_empty()).then_some(&*public))?;
    let shown = fetched.reference.as_ref().map_or_else(|| args.component.clone(), |oci| oci.to_string().into());
    let report = inspect::of(&shown, &fetched.bytes)?;
    if !report.runs() {
        let problems = report.problems().join("\n  ");
        return Err(refused(format!("{}: no host could run it; nothing was written:\n  {problems}", report.file())));
    }
    let names: Vec<_> = keys.iter().map(|key| key.name.clone()).collect();
    let text = text(&report, &fetched, &args.component, &names)?;
    let file = place(&args.policy, &text)?;
    output::print(&said(&file, &text, &report, !keys.is_empty()))?;
    if !confirm(args.yes, &format!("write {}?", file.display()))? {
        return Ok(NOT_CONFIRMED);
    }
    std::fs::create_dir_all(&args.policy).with_context(|| args.policy.display().to_string())?;
    for key in &keys {
        key.put(&args.policy)?;
    }
    output::write_file(&file, text.as_bytes())?;
    output::print(&next(args, &file, fetched.reference.is_none()))?;
    Ok(exit::OK)
}

fn fetch(args: &AddArgs, keys: Option<&[PublicKey]>) -> anyhow::Result<Fetched> {
    if let Some(reference) = reference(&args.component)? {
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

/// What `oci:` stands before; `None` for a file.
pub(super) fn reference(component: &Path) -> anyhow::Result<Option<Reference>> {
    let Some(text) = component.to_str().and_then(|text| text.strip_prefix("oci:")) else {
        return Ok(None);
    };
    let parsed = text.parse::<Reference>();
    parsed.map(Some).map_err(|why| exit::with_code(exit::USAGE, format!("{}: {why}", escape(text, 120))))
}

/// The policy's text: the author's, or the least.
fn text(report: &Report, fetched: &Fetched, component: &Path, keys: &[String]) -> anyhow::Result<String> {
    let name = component.file_name().unwrap_or_default().to_string_lossy();
    let pinned = match &fetched.reference {
        Some(reference) => Pinned::Oci(reference),
        None => Pinned::File { name: &name, sha256: devgate_runner::digest(&fetched.bytes) },
    };
    match report.author_policy(&pinned, keys) {
        Some(text) => text,
        None => Ok(report.skeleton(&pinned, keys)),
    }
}

/// The file that the text is to be written to, once it is known that the policy would be right with it.
fn place(dir: &Path, text: &str) -> anyhow::Result<PathBuf> {
    let alone = devgate_policy::parse(&[PolicyFile { name: "policy", text }]);
    let alone = alone.map_err(|errors| exit::with_code(exit::POLICY, errors.to_string()))?;
    let plugin = alone.plugins.values().next().context("a policy without a plugin")?.name.to_string();
    let file = dir.join(format!("{plugin}.yaml"));
    let there = has_files(dir).then(|| policy::read(&[dir.to_owned()])).transpose()?;
    let known = there.as_ref().and_then(|policy| policy.plugins.values().find(|known| known.name.as_str() == plugin));
    if let Some(known) = known {
        let why = format!("plugin {plugin}: is there already, {}; nothing was written", known.origin);
        return Err(refused(format!(
            "{why}\nnext: {} upgrade {plugin} --policy {}",
            output::program(),
            output::quoted(dir)
        )));
    }
    if file.exists() {
        return Err(refused(format!("{}: is there already, with something else; nothing was written", file.display())));
    }
    with(dir, &file, text).map(|_| file)
}

/// The policy of a directory with this text in place of a file, or besides.
pub(super) fn with(dir: &Path, file: &Path, text: &str) -> anyhow::Result<Policy> {
    let mut texts = vec![(file.display().to_string(), text.to_owned())];
    for other in if has_files(dir) { policy::files(dir)? } else { Vec::new() } {
        if other != *file {
            let text = std::fs::read_to_string(&other).with_context(|| other.display().to_string())?;
            texts.push((other.display().to_string(), text));
        }
    }
    texts.sort();
    let files: Vec<_> = texts.iter().map(|(name, text)| PolicyFile { name, text }).collect();
    devgate_policy::parse(&files).map_err(|errors| {
        exit::with_code(exit::POLICY, format!("the policy would be wrong; nothing was written:\n{errors}"))
    })
}

fn has_files(dir: &Path) -> bool {
    policy::files(dir).is_ok_and(|files| !files.is_empty())
}

fn said(file: &Path, text: &str, report: &Report, is_signed: bool) -> String {
    let whose = match report.author().is_some() {
        true => "as its author has it",
        false => "which grants nothing yet: put what it needs in place of CHANGE-ME",
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

impl Key {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = || path.display().to_string();
        let text = String::from_utf8(inspect::read(path, MAX_KEY)?).ok().context("is not text").with_context(shown)?;
        let key = PublicKey::from_pem(&text).map_err(|why| anyhow::anyhow!("{}: {why} (--cosign-key)", shown()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { path: path.to_owned(), name, text, key })
    }

    /// Copies it beside the policy; what is there under its name must be the same.
    fn put(&self, dir: &Path) -> anyhow::Result<()> {
        let file = dir.join(&self.name);
        match std::fs::read(&file) {
            Ok(there) if there == self.text.as_bytes() => Ok(()),
            Ok(_) => bail!(refused(format!(
                "{}: is another key than {}; give that another name; nothing was written",
                file.display(),
                self.path.display()
            ))),
            Err(_) => output::write_file(&file, self.text.as_bytes()),
        }
    }
}

pub(super) fn refused(why: String) -> anyhow::Error {
    exit::with_code(exit::FOUND, why)
}
