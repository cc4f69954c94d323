//! What the kernel's log has said of each GPU and is not yet made good: kept across calls and restarts of the host.

use crate::line::{Said, Slot, meaning};
use crate::machine::Machine;
use crate::xid::{self, Action, FALLEN, REMAPPED, Severity};
use devgate_sdk::kernel_log::Event;
use devgate_sdk::{Error, ErrorKind};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Says which boot this is, where the policy lets it be read.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// Events asked for at once, and how often in one call: what is left comes with the next.
const BATCH: u32 = 500;
const BATCHES: usize = 4;
/// GPUs that are remembered. A node has some sixteen; places in a line could be made up.
const MAX_GPUS: usize = 256;
/// Resources that are remembered to know of lost lines: as many as a plugin may offer.
const MAX_RESOURCES: usize = 16;
/// How long after its first line the last of three comes, in microseconds.
const SOON: u64 = 1_000_000;
/// The format's version.
const VERSION: u64 = 1;

/// Something that a GPU has to be made good of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: u32,
    pub(crate) severity: Option<Severity>,
    /// What the driver itself asked for, which comes before the catalogue.
    pub(crate) asked: Option<Action>,
    /// When, in microseconds since boot.
    pub(crate) time: u64,
}

impl Fault {
    /// What it asks for now. The policy may say another thing than when it happened.
    pub(crate) fn action(&self, words: &BTreeMap<u32, Action>) -> Action {
        let asked = self.asked.filter(|_| !words.contains_key(&self.code));
        let action = asked.or_else(|| xid::action(self.code, self.severity, words));
        action.unwrap_or(Action::Ignore)
    }
}

/// The policy does not grant the kernel's log.
struct NotGranted;

/// The memory, and what this call's look at the log added to it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Faults {
    boot: String,
    cursor: String,
    gpus: BTreeMap<Slot, Fault>,
    /// GPUs that have remapped rows of their memory, which takes effect when they are reset.
    remapped: BTreeSet<Slot>,
    /// Whether lines were lost, so that a GPU of this look's resource may have failed unnoticed.
    pub(crate) gap: bool,
    /// The resources that know already of the last lines that were lost; nothing where none were.
    told: Option<BTreeSet<String>>,
    /// What an admin should know about.
    pub(crate) notes: Vec<String>,
    /// The GPU that a line has just begun to tell of, and when.
    named: Option<(Slot, u64)>,
}

impl Faults {
    /// Everything that is known after a look at what is new in the log.
    ///
    /// Each resource is looked at by a call of its own: lines that were lost count once for each, whichever comes first. Where the policy
    /// does not grant the log, nothing is known of any; and where it grants no state, what the host still holds of the log.
    pub(crate) fn look(machine: &impl Machine, words: &BTreeMap<u32, Action>, resource: &str) -> Self {
        let stored = machine.load();
        let mut faults = match &stored {
            Ok(blob) => Self::parse(blob),
            Err(error) if error.is_not_granted() => Self::default(),
            Err(error) => Self { notes: vec![error.message.clone()], ..Self::default() },
        };
        let before = faults.known();
        let boot = faults.boot_now(machine);
        let news = match faults.read(machine, words, matches!(boot, Ok(true))) {
            Ok(news) => news,
            Err(NotGranted) => return Self::default(),
        };
        if let (Err(error), false, true) = (boot, faults.gpus.is_empty(), stored.is_ok()) {
            faults.notes.push(format!(
                "a restart of the node will not be noticed, and makes no GPU good: {} (files: {BOOT_ID})",
                error.message
            ));
        }
        faults.gap = faults.told.as_ref().is_some_and(|told| !told.contains(resource));
        if let Some(told) = faults.told.as_mut().filter(|told| told.len() < MAX_RESOURCES) {
            told.insert(resource.to_owned());
        }
        // The cursor alone moves with every line of the kernel's, and from an older one on there is nothing more to see.
        if stored.is_ok()
            && (news || faults.known() != before)
            && let Err(error) = machine.store(&faults.blob())
        {
            faults.notes.push(error.message);
        }
        faults
    }

    /// What a GPU has to be made good of, by its full address.
    pub(crate) fn of(&self, address: &str) -> Option<&Fault> {
        self.gpus.get(&Slot::parse(address)?)
    }

    /// What was stored by the last look.
    pub(crate) fn stored(machine: &impl Machine) -> Result<Self, Error> {
        match machine.load() {
            Err(error) if error.is_not_granted() => Ok(Self::default()),
            stored => stored.map(|blob| Self::parse(&blob)),
        }
    }

    /// Whether a GPU has remapped rows and was not reset since, by its full address.
    pub(crate) fn has_remapped(&self, address: &str) -> bool {
        Slot::parse(address).is_some_and(|slot| self.remapped.contains(&slot))
    }

    /// Notes which boot this is; another one than before has made all GPUs good.
    fn boot_now(&mut self, machine: &impl Machine) -> Result<bool, Error> {
        let boot = machine.text(BOOT_ID)?;
        let new = !self.boot.is_empty() && self.boot != boot;
        if new {
            self.gpus.clear();
            self.remapped.clear();
            self.told = None;
        }
        self.boot = boot;
        Ok(new)
    }

    /// Whether there was anything new, but for lines that say nothing of GPUs.
    fn read(
        &mut self,
        machine: &impl Machine,
        words: &BTreeMap<u32, Action>,
        new_boot: bool,
    ) -> Result<bool, NotGranted> {
        let mut news = self.cursor.is_empty();
        for _ in 0..BATCHES {
            let batch = match machine.log_since(&self.cursor, BATCH) {
                Ok(batch) => batch,
                // Of another version of the host, say: from the start, then.
                Err(error) if error.kind == ErrorKind::Invalid && !self.cursor.is_empty() => {
                    self.cursor.clear();
                    self.told = Some(BTreeSet::new());
                    news = true;
                    continue;
                }
                Err(error) if error.is_not_granted() => return Err(NotGranted),
                Err(error) => {
                    self.notes.push(error.message);
                    return Ok(news);
                }
            };
            // The lines of another boot are gone with what they told of.
            if batch.gap && !new_boot {
                self.told = Some(BTreeSet::new());
            }
            news |= batch.gap || !batch.events.is_empty();
            self.cursor = batch.cursor;
            let last = batch.events.len() < usize::try_from(BATCH).unwrap_or(usize::MAX);
            batch.events.iter().for_each(|event| self.take(event, words));
            if last {
                break;
            }
        }
        Ok(news)
    }

    fn take(&mut self, event: &Event, words: &BTreeMap<u32, Action>) {
        match meaning(&event.captures) {
            Some(Said::Xid { slot, code, severity }) => {
                if code == REMAPPED && self.remapped.len() < MAX_GPUS {
                    self.remapped.insert(slot);
                }
                let fault = Fault { code, severity, asked: None, time: event.time };
                self.note(slot, fault, words);
            }
            Some(Said::Recovery { slot, action }) => self.recovery(slot, action, event.time, words),
            Some(Said::Named(slot)) => self.named = Some((slot, event.time)),
            Some(Said::Fallen) => {
                if let Some((slot, at)) = self.named.take()
                    && event.time.saturating_sub(at) <= SOON
                {
                    let fault = Fault { code: FALLEN, severity: None, asked: None, time: event.time };
                    self.note(slot, fault, words);
                }
            }
            // Each GPU is reset when the driver takes it over. One that is off the bus is not there to be taken over.
            Some(Said::Loaded) => {
                self.gpus.retain(|_, fault| fault.action(words) == Action::Restart);
                self.remapped.clear();
            }
            None => {}
        }
    }

    /// What the driver asks for by itself (`NV2080_CTRL_GPU_RECOVERY_ACTION`): 0 nothing any more, 2 a restart of the node, 1, 3
    /// and 4 a reset, before which some want the GPU or its peers drained.
    fn recovery(&mut self, slot: Slot, action: u32, time: u64, words: &BTreeMap<u32, Action>) {
        let asked = match action {
            0 => {
                self.gpus.remove(&slot);
                self.remapped.remove(&slot);
                return;
            }
            1 | 3 | 4 => Action::Reset,
            _ => Action::Restart,
        };
        let fault = Fault { code: xid::RECOVERY, severity: None, asked: Some(asked), time };
        self.note(slot, fault, words);
    }

    fn note(&mut self, slot: Slot, fault: Fault, words: &BTreeMap<u32, Action>) {
        let (code, what) = (fault.code, xid::words(fault.code));
        match fault.action(words) {
            Action::Ignore | Action::RestartApp => {
                self.notes.push(format!("GPU {slot}: Xid {code}: {what}"));
            }
            action => {
                // A restart of the node makes everything good: what needs that is kept before what a reset would do for.
                let known = self.gpus.get(&slot).map(|fault| fault.action(words));
                let room = known.is_some() || self.gpus.len() < MAX_GPUS;
                if room && (known != Some(Action::Restart) || action == Action::Restart) {
                    self.gpus.insert(slot, fault);
                }
            }
        }
    }

    /// All that is kept, but for where in the log it comes from.
    fn known(&self) -> impl PartialEq + use<> {
        (self.boot.clone(), self.gpus.clone(), self.remapped.clone(), self.named, self.told.clone())
    }

    fn blob(&self) -> Vec<u8> {
        let gpu = |(slot, fault): (&Slot, &Fault)| {
            let severity = fault.severity.map(|severity| match severity {
                Severity::Fatal => "fatal",
                Severity::Nonfatal => "nonfatal",
            });
            let asked = fault.asked.map(|asked| match asked {
                Action::Restart => "restart",
                _ => "reset",
            });
            let fault = json!({"xid": fault.code, "severity": severity, "asked": asked, "time": fault.time});
            (slot.to_string(), fault)
        };
        let gpus: serde_json::Map<_, _> = self.gpus.iter().map(gpu).collect();
        let named = self.named.map(|(slot, time)| json!([slot.to_string(), time]));
        let all = json!({
            "version": VERSION, "boot": self.boot, "cursor": self.cursor, "gpus": gpus, "named": named,
            "gap-told": self.told, "remapped": self.remapped.iter().map(Slot::to_string).collect::<Vec<_>>(),
        });
        all.to_string().into_bytes()
    }

    /// What was stored; nothing where that is of another version or no such thing.
    fn parse(blob: &[u8]) -> Self {
        // As text and not as bytes, for which there would be a second parser in the component.
        let value: Option<Value> = str::from_utf8(blob).ok().and_then(|text| text.parse().ok());
        let Some(value) = value else {
            return Self::default();
        };
        if at(&value, "version").as_u64() != Some(VERSION) {
            return Self::default();
        }
        let text = |key: &str| at(&value, key).as_str().unwrap_or_default().to_owned();
        let gpu = |(slot, fault): (&String, &Value)| {
            let fault = Fault {
                code: u32::try_from(at(fault, "xid").as_u64()?).ok()?,
                severity: match at(fault, "severity").as_str() {
                    Some("fatal") => Some(Severity::Fatal),
                    Some("nonfatal") => Some(Severity::Nonfatal),
                    _ => None,
                },
                asked: at(fault, "asked").as_str().and_then(Action::from_word),
                time: at(fault, "time").as_u64()?,
            };
            Some((Slot::parse(slot)?, fault))
        };
        let named = at(&value, "named");
        let gpus = at(&value, "gpus").as_object();
        let told = at(&value, "gap-told").as_array();
        let remapped = at(&value, "remapped").as_array().into_iter().flatten();
        let text_of = |name: &Value| name.as_str().map(str::to_owned);
        Self {
            told: told.map(|told| told.iter().filter_map(text_of).collect()),
            boot: text("boot"),
            cursor: text("cursor"),
            remapped: remapped.filter_map(|slot| Slot::parse(slot.as_str()?)).collect(),
            gpus: gpus.map(|gpus| gpus.iter().filter_map(gpu).collect()).unwrap_or_default(),
            named: at(named, 0).as_str().and_then(Slot::parse).zip(at(named, 1).as_u64()),
            ..Self::default()
        }
    }
}

/// What is there, or nothing.
fn at(value: &Value, index: impl serde_json::value::Index) -> &Value {
    value.get(index).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests;
