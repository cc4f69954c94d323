//! What can be said of a part's health from files: whether its GPU is there and the driver's, what the driver counted of errors,
//! whether its last reset failed, and whether it is still the part that it was. The host watches nodes and presence itself.

use crate::config::Config;
use crate::kfd::{self, Topology};
use crate::mode::Mode;
use crate::ras::{self, BadPages};
use crate::{DRIVER, PCI, survey};
use devgate_drm::Resets;
use devgate_sdk::{Condition, Device, Effect, Error, Presence, Unit, Verdict, hardware};
use std::collections::BTreeMap;

/// How much of the list of bad pages is read: 2,000 lines and more, of which a few would be too many.
const PAGES_BYTES: u64 = 64 << 10;
/// The most that one read gives.
const CHUNK: u32 = 4_096;

/// A verdict that ends the look; what says nothing against the part is `Ok`.
type Answer<T> = Result<T, Verdict>;

/// What one call has seen so far: parts of one GPU share what is read of it.
pub(crate) struct Look<'a> {
    config: &'a Config,
    topology: Result<Topology, Error>,
    resets: Resets,
    /// By PCI address: the mode that it is in.
    gpus: BTreeMap<String, Answer<Option<Mode>>>,
}

impl<'a> Look<'a> {
    /// A look at the machine as it is now.
    pub(crate) fn now(config: &'a Config) -> Self {
        Self { config, topology: kfd::topology(), resets: Resets::now(), gpus: BTreeMap::new() }
    }

    /// How one part is.
    pub(crate) fn at(&mut self, unit: &Unit) -> Verdict {
        match self.part(unit) {
            Ok(()) => Verdict::Healthy,
            Err(verdict) => verdict,
        }
    }

    fn part(&mut self, unit: &Unit) -> Answer<()> {
        let Some(address) = unit.property("pci") else {
            return unknown("nothing is known of its hardware");
        };
        let mode = match self.gpus.get(address) {
            Some(known) => known.clone(),
            None => {
                let seen = gpu(address, self.config, &self.resets);
                self.gpus.insert(address.to_owned(), seen.clone());
                seen
            }
        }?;
        same_mode(unit, mode.as_ref())?;
        self.computes(unit, address)
    }

    /// Whether KFD lists it: without that nothing can be computed on it.
    fn computes(&self, unit: &Unit, address: &str) -> Answer<()> {
        let topology = match &self.topology {
            Ok(topology) => topology,
            Err(error) => return unknown(&error.message),
        };
        let listed = unit.property("render").and_then(|minor| minor.parse().ok());
        match listed {
            // Another GPU may have that node by now.
            Some(minor) if topology.with_render(minor).is_some_and(|gpu| gpu.is_of(address)) => Ok(()),
            // Of one that this process may not see nothing is said.
            _ if topology.is_partial => Ok(()),
            Some(_) => unhealthy("KFD does not list it any more"),
            None if self.config.graphics => Ok(()),
            None => {
                unhealthy("KFD does not list it: nothing can be computed on it (graphics: true offers it all the same)")
            }
        }
    }
}

fn unhealthy<T>(reason: impl Into<String>) -> Answer<T> {
    Err(Verdict::Unhealthy(reason.into()))
}

fn unknown<T>(reason: impl Into<String>) -> Answer<T> {
    Err(Verdict::Unknown(reason.into()))
}

/// How a GPU is, and what mode it is in.
fn gpu(address: &str, config: &Config, resets: &Resets) -> Answer<Option<Mode>> {
    let function = match hardware::device_by_name(PCI, address) {
        Ok(function) => function,
        Err(error) if error.is_absence() => return unhealthy(format!("its GPU {address} is gone")),
        Err(error) => return unknown(error.message),
    };
    match function.driver().as_deref() {
        Some(DRIVER) => {}
        Some(other) => return unhealthy(format!("the driver of its GPU {address} is {other} now")),
        None => return unhealthy(format!("its GPU {address} has no driver now")),
    }
    let wedged = devgate_drm::wedged(&function).or_else(|error| unknown(error.message))?;
    if let Some(problem) = wedged.or_else(|| resets.problem(address)) {
        return unhealthy(format!("GPU {address}: {problem}"));
    }
    errors(&function, address, config)?;
    pages(&function, address, config)?;
    survey::mode(&function).or_else(|error| unknown(error.message))
}

/// The uncorrectable errors of all blocks together. GPUs without RAS have no such counters.
fn errors(function: &Device, address: &str, config: &Config) -> Answer<()> {
    let names = function.entries("ras").unwrap_or_default();
    let counters: Vec<String> = names.iter().filter(|name| name.ends_with(ras::COUNTS)).cloned().collect();
    let paths: Vec<String> = counters.iter().map(|name| format!("ras/{name}")).collect();
    let (mut sum, mut worst, mut silent) = (0_u64, Vec::new(), None);
    for (name, text) in counters.iter().zip(function.attributes(&paths)) {
        let block = name.strip_suffix(ras::COUNTS).unwrap_or(name);
        match text.map(|text| ras::uncorrectable(&text)) {
            Ok(Some(0)) => {}
            Ok(Some(count)) => {
                sum = sum.saturating_add(count);
                worst.push(block);
            }
            // Another one may tell of an error all the same.
            Ok(None) => silent = Some("the driver does not tell its errors now, as during a reset".to_owned()),
            Err(error) if error.is_absence() => {}
            Err(error) => silent = Some(error.message),
        }
    }
    if sum > config.uncorrectable_errors {
        let (blocks, limit) = (worst.join(", "), config.uncorrectable_errors);
        return unhealthy(format!(
            "GPU {address} has had {sum} uncorrectable errors ({blocks}), more than {limit} (uncorrectable-errors)"
        ));
    }
    silent.map_or(Ok(()), unknown)
}

/// A list of lines to its end. The driver gives whole lines only (`amdgpu_ras_sysfs_badpages_read`), so that a read that is short does
/// not say that it is over: an empty one does.
fn lines(read: impl Fn(u64) -> Result<Vec<u8>, Error>) -> Result<String, Error> {
    let (mut text, mut offset) = (String::new(), 0);
    while offset < PAGES_BYTES {
        let bytes = read(offset).if_present()?.unwrap_or_default();
        if bytes.is_empty() {
            break;
        }
        text.push_str(&String::from_utf8_lossy(&bytes));
        offset += bytes.len() as u64;
    }
    Ok(text)
}

/// The pages of memory that the GPU has lost, which is a fact of its board: they are bad after a restart as well.
fn pages(function: &Device, address: &str, config: &Config) -> Answer<()> {
    let pages = bad_pages(function).or_else(|error| unknown(error.message))?;
    if pages.in_use > 0 {
        return unhealthy(format!("GPU {address} has {} bad pages of memory that it cannot reserve", pages.in_use));
    }
    match config.bad_pages {
        Some(most) if pages.all > most => {
            unhealthy(format!("GPU {address} has lost {} pages of memory, more than {most} (bad-pages)", pages.all))
        }
        _ => Ok(()),
    }
}

fn bad_pages(function: &Device) -> Result<BadPages, Error> {
    let text = lines(|offset| function.attribute_bytes("ras/gpu_vram_bad_pages", offset, CHUNK))?;
    Ok(BadPages::of(&text))
}

/// What is not as it should be with a GPU that works. What cannot be read its health says.
pub(crate) fn conditions(address: &str) -> Vec<Condition> {
    let pages = hardware::device_by_name(PCI, address).and_then(|function| bad_pages(&function));
    let pages = pages.unwrap_or_default();
    let why = || format!("GPU {address} has lost {} pages of memory", pages.all);
    (pages.all > 0).then(|| Condition::new("bad-pages", Effect::NoNew, why())).into_iter().collect()
}

/// Whether its GPU is still divided as it was when the part was listed. What a pod holds stays what it was for the host, so this
/// is how it is told that it is something else now.
fn same_mode(unit: &Unit, now: Option<&Mode>) -> Answer<()> {
    let then = unit.property("compute-partition").zip(unit.property("memory-partition"));
    if then == now.map(|mode| (mode.compute.as_str(), mode.memory.as_str())) {
        return Ok(());
    }
    let words = now.map_or_else(|| "not divided".to_owned(), Mode::words);
    let then = then.map_or_else(|| "whole".to_owned(), |(compute, memory)| format!("a part of {compute}/{memory}"));
    unhealthy(format!("its GPU is {words} now; it was listed as {then}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the driver reads it out: the lines that are whole between an offset and the end of the reader's buffer.
    fn driver(list: &str, offset: u64, length: u64) -> Vec<u8> {
        let (from, line) = (offset as usize, "0xabcdabcd : 0x12345678 : R\n".len());
        let lines = from.div_ceil(line)..(from + length as usize - 1) / line;
        let lines = lines.filter_map(|n| list.get(n * line..(n + 1) * line));
        lines.collect::<String>().into_bytes()
    }

    #[test]
    fn a_list_that_comes_in_whole_lines_is_read_to_its_end() {
        for count in [0_u64, 1, 146, 147, 292, 1_000] {
            let page = |n| format!("0x{n:08x} : 0x00001000 : R\n");
            let list: String = (0..count).map(page).collect();
            assert!(driver(&list, 0, u64::from(CHUNK)).len() < CHUNK as usize);
            let text = lines(|offset| Ok(driver(&list, offset, u64::from(CHUNK)))).unwrap();
            assert_eq!(BadPages::of(&text).all, count);
            assert_eq!(text, list);
        }
    }

    #[test]
    fn a_list_without_an_end_has_one() {
        let endless = lines(|_| Ok(vec![b'x'; CHUNK as usize])).unwrap();
        assert_eq!(endless.len() as u64, PAGES_BYTES);
        let failed = lines(|_| Err(Error::busy("it is reset")));
        assert_eq!(failed.unwrap_err().message, "it is reset");
        assert_eq!(lines(|_| Err(Error::not_found("no RAS"))).unwrap(), "");
    }
}
