//! `devgatectl migrate`: another device plugin's configuration becomes a policy.
//!
//! ```text
//!   FILE ─► find ─► Found (whose, where, the configuration) ─► sriov, nvidia, akri, … ─► Draft ─┬─ the policy
//!                                                                                                  └─ what is not in it
//! ```

mod akri;
mod draft;
mod find;
mod generic;
mod nvidia;
mod pattern;
mod rdma_shared;
mod smarter;
mod sriov;
mod yaml;

use crate::cli::{MigrateArgs, Peer};
use crate::custom_section::is_shown;
use anyhow::Context;
use devgate::{exit, output};
use devgate_policy::PolicyFile;
use devgate_types::escape;
use draft::Draft;
use find::{Found, What};
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;

/// How much of a foreign text is shown.
const SHOWN: usize = 300;
/// The largest file that is read.
const MAX_BYTES: u64 = 4 << 20;

/// Runs the command.
pub(crate) fn migrate(args: &MigrateArgs) -> anyhow::Result<u8> {
    let mut draft = Draft::default();
    let mut found = Vec::new();
    for path in &args.files {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let name = escape(&name.to_string_lossy(), 256);
        let all = find::in_file(&name, &read(path)?, &mut draft);
        found.extend(all.map_err(|why| exit::with_code(exit::FOUND, format!("{name}: {}", escape(&why, SHOWN))))?);
    }
    found.retain(|one| args.from.is_none_or(|from| one.what.is_of(from)));
    take_over(&chosen(found, args.key.as_deref())?, &mut draft);
    draft.say_lost();
    if draft.is_empty() {
        let why = "no configuration that could become a policy is in the files";
        let help = "sriov, nvidia, generic, rdma-shared, smarter and akri are known, by what is in them";
        return Err(exit::with_code(exit::FOUND, format!("{why}\n{help}")));
    }
    let text = draft.policy();
    devgate_policy::parse(&[PolicyFile { name: "policy", text: &text }]).map_err(|errors| {
        exit::with_code(exit::FOUND, format!("the policy would be wrong; nothing was written:\n{errors}"))
    })?;
    anyhow::ensure!(text.chars().all(is_shown), "the policy would have characters that could not be seen");
    match &args.output {
        Some(path) => output::write_file(path, text.as_bytes())?,
        None => output::print(&text)?,
    }
    Ok(if draft.is_whole() { exit::OK } else { exit::FOUND })
}

fn read(path: &Path) -> anyhow::Result<String> {
    let named = || escape(&path.to_string_lossy(), 256);
    let mut text = String::new();
    let mut file: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(std::fs::File::open(path).with_context(named)?),
    };
    file.by_ref().take(MAX_BYTES + 1).read_to_string(&mut text).with_context(named)?;
    anyhow::ensure!(text.len() as u64 <= MAX_BYTES, "{}: is larger than {MAX_BYTES} bytes", named());
    Ok(text)
}

/// The configurations without those that are for other nodes: of one plugin there is one, or `key` names it.
fn chosen(found: Vec<Found>, key: Option<&str>) -> anyhow::Result<Vec<Found>> {
    let is_kept = |one: &Found| key.is_none_or(|key| one.key.as_deref().is_none_or(|named| named == key));
    let kept: Vec<_> = found.into_iter().filter(is_kept).collect();
    for peer in [Peer::Sriov, Peer::Nvidia] {
        let same: Vec<_> = kept.iter().filter(|one| one.what == What::Config(peer)).collect();
        if let [_, _, ..] = same.as_slice() {
            let places: Vec<_> = same.iter().map(|one| escape(&one.at, SHOWN)).collect();
            let why = "several configurations, of which a node has one; choose it by --key, or by its file";
            return Err(exit::with_code(exit::USAGE, format!("{why}:\n  {}", places.join("\n  "))));
        }
    }
    Ok(kept)
}

fn take_over(found: &[Found], draft: &mut Draft) {
    let of = |peer: Peer| found.iter().filter(move |one| one.what == What::Config(peer));
    let settings: Vec<_> = found.iter().filter(|one| one.what == What::SriovFlags).collect();
    of(Peer::Sriov).for_each(|one| sriov::take_over(one, &settings, draft));
    nvidias(found).for_each(|(one, given)| nvidia::take_over(&one, &given, draft));
    of(Peer::Generic).for_each(|one| generic::take_over(one, draft));
    of(Peer::RdmaShared).for_each(|one| rdma_shared::take_over(one, draft));
    of(Peer::Smarter).for_each(|one| smarter::take_over(one, draft));
    akri::take_over(of(Peer::Akri), draft);
}

/// NVIDIA's configuration with what its plugin is told besides, or that alone.
fn nvidias(found: &[Found]) -> impl Iterator<Item = (Found, Vec<Value>)> {
    let given: Vec<_> = found.iter().filter(|one| one.what == What::NvidiaFlags).collect();
    let mut configs: Vec<_> = found.iter().filter(|one| one.what == What::Config(Peer::Nvidia)).cloned().collect();
    if let (true, Some(first)) = (configs.is_empty(), given.first()) {
        configs.push(Found { value: json!({"version": "v1"}), what: What::Config(Peer::Nvidia), ..(*first).clone() });
    }
    let given: Vec<_> = given.into_iter().map(|one| one.value.clone()).collect();
    configs.into_iter().map(move |config| (config, given.clone()))
}
