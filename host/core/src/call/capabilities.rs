//! Each function of the contract, as one call of a component is served it.

use super::{ATTRIBUTE_BYTES, CallHost, check_holder, failure, forged};
use crate::grants::Grants;
use devgate_node::ReadError;
use devgate_policy::attribute_rule;
use devgate_types::component::{Answered, CallKind, Capabilities, Denied, LogBatch, LogLevel, NodeInfo, Uevent};
use devgate_types::{Again, DeviceHandle, Failure, FailureKind, Limits, MountHandle, NodeHandle, escape};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a line need not be logged again.
const LATELY: Again = Again::After(Duration::from_secs(3_600));

/// The largest text file, and the most bytes that one read of a file gives, as the contract says.
const TEXT_BYTES: usize = 64 << 10;
const READ_BYTES: usize = 1 << 20;
/// The most events of one batch, as the contract says of any list.
const MAX_EVENTS: u32 = 4_096;

impl Capabilities for CallHost {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn devices(&mut self, subsystem: &str) -> Answered<Vec<DeviceHandle>> {
        let found = self.grants.devices(subsystem);
        let found = found.map_err(|e| failure(&format!("subsystem \"{}\"", escape(subsystem, 80)), &e))?;
        Ok(found.into_iter().map(|(device, of)| self.hold_known(device, of)).collect())
    }

    fn device_by_name(&mut self, subsystem: &str, name: &str) -> Answered<DeviceHandle> {
        // What is not granted looks like what is not there: a component cannot feel its way around the node.
        let granted = |device| self.grants.usage(&device).map(|_| device).ok_or(ReadError::NotFound);
        let found = self.grants.node.device(subsystem, name).and_then(granted);
        let what = format!("device {} of {}", escape(name, 80), escape(subsystem, 80));
        let device = found.map_err(|e| failure(&what, &e))?;
        Ok(self.hold_device(device))
    }

    fn device_name(&mut self, device: DeviceHandle) -> Answered<String> {
        Ok(self.device(device)?.name().to_owned())
    }

    fn device_subsystem(&mut self, device: DeviceHandle) -> Answered<String> {
        let found = self.ask_device(device, "subsystem", |grants, device| grants.node.subsystem(device));
        match found {
            Ok(subsystem) => Ok(subsystem.map(|s| s.name).unwrap_or_default()),
            Err(Denied::Failure(_)) => Ok(String::new()),
            Err(end) => Err(end),
        }
    }

    fn device_driver(&mut self, device: DeviceHandle) -> Answered<Option<String>> {
        self.ask_device(device, "driver", |grants, device| Ok(grants.node.driver(device)))
    }

    fn device_location(&mut self, device: DeviceHandle) -> Answered<String> {
        Ok(self.device(device)?.location().to_owned())
    }

    fn device_numa_node(&mut self, device: DeviceHandle) -> Answered<Option<u32>> {
        self.ask_device(device, "numa_node", |grants, device| Ok(grants.node.numa_node(device)))
    }

    fn attribute(&mut self, device: DeviceHandle, path: &str) -> Answered<String> {
        let bytes = self.read_bytes(device, path, None)?;
        text(&format!("attribute \"{}\"", escape(path, 80)), bytes)
    }

    fn attribute_bytes(&mut self, device: DeviceHandle, path: &str, offset: u64, length: u32) -> Answered<Vec<u8>> {
        let what = || format!("attribute \"{}\"", escape(path, 80));
        let length = at_once(what, length, ATTRIBUTE_BYTES)?;
        self.read_bytes(device, path, Some((offset, length)))
    }

    fn entries(&mut self, device: DeviceHandle, path: &str) -> Answered<Vec<String>> {
        let names = self.ask_device(device, &format!("directory \"{path}\""), |grants, device| {
            if !path.is_empty() {
                // The directory itself may be another device; what lies in it is that one's.
                check_holder(grants, device, &format!("{path}/uevent"))?;
                attribute_rule(path).map_err(ReadError::Denied)?;
            }
            grants.node.entries(device, path)
        })?;
        self.count(names.iter().map(String::len).sum())?;
        Ok(names)
    }

    fn link(&mut self, device: DeviceHandle, path: &str) -> Answered<String> {
        self.ask_within(device, "link", path, |grants, device, path| grants.node.link(device, path))
    }

    fn related(&mut self, device: DeviceHandle, link: &str) -> Answered<DeviceHandle> {
        let found = self.ask_within(device, "link", link, |grants, device, link| {
            let related = grants.node.related(device, link)?;
            grants.usage(&related).map(|_| related).ok_or(ReadError::Denied("the policy does not grant that device"))
        })?;
        Ok(self.hold_device(found))
    }

    fn parent(&mut self, device: DeviceHandle) -> Answered<Option<DeviceHandle>> {
        let found = self.ask_device(device, "parent", |grants, device| {
            Ok(grants.node.parent(device).filter(|parent| grants.usage(parent).is_some()))
        })?;
        Ok(found.map(|parent| self.hold_device(parent)))
    }

    fn children(&mut self, device: DeviceHandle, subsystem: &str) -> Answered<Vec<DeviceHandle>> {
        let found = self.ask_device(device, "children", |grants, device| {
            let mut beneath = grants.beneath(device)?;
            beneath.retain(|d| matches!(grants.node.subsystem(d), Ok(Some(s)) if s.name == subsystem));
            Ok(beneath)
        })?;
        Ok(found.into_iter().map(|device| self.hold_device(device)).collect())
    }

    fn nodes(&mut self, device: DeviceHandle) -> Answered<Vec<NodeHandle>> {
        let (granted, _) = self.ask_device(device, "nodes", |grants, device| {
            grants.nodes(device, self.devices.get(device).and_then(Option::as_ref))
        })?;
        Ok(granted.into_iter().map(|node| self.hold_node(node)).collect())
    }

    fn node_at(&mut self, path: &str) -> Answered<NodeHandle> {
        let what = format!("node \"{}\"", escape(path, 80));
        let node = self.grants.node_at(path).map_err(|why| self.not_given(&what, why))?;
        Ok(self.hold_node(node))
    }

    fn mount(&mut self, name: &str) -> Answered<MountHandle> {
        let what = format!("mount \"{}\"", escape(name, 80));
        let mount = self.grants.mount(name).map_err(|why| self.not_given(&what, why))?;
        Ok(self.hold_mount(mount))
    }

    fn node(&mut self, node: NodeHandle) -> Answered<NodeInfo> {
        let held = self.held_node(node).cloned().ok_or_else(|| forged("node", node.0))?;
        let owner = match held.owner {
            None => None,
            Some(owner) => {
                let name = owner.name().to_owned();
                let subsystem = self.grants.node.subsystem(&owner).ok().flatten();
                Some((name, subsystem.map(|s| s.name).unwrap_or_default()))
            }
        };
        Ok(NodeInfo { path: held.node.path, number: held.node.number, owner })
    }

    fn mount_source(&mut self, mount: MountHandle) -> Answered<(String, bool)> {
        let held = self.held_mount(mount).ok_or_else(|| forged("mount", mount.0))?;
        Ok((held.source.clone(), held.writable))
    }

    fn file_text(&mut self, path: &str) -> Answered<String> {
        let bytes = self.ask_file(path, "file", |grants, path| grants.file(path, TEXT_BYTES))?;
        self.count(bytes.len())?;
        text(&format!("file \"{}\"", escape(path, 160)), bytes)
    }

    fn file_read(&mut self, path: &str, offset: u64, length: u32) -> Answered<Vec<u8>> {
        let what = || format!("file \"{}\"", escape(path, 160));
        let length = at_once(what, length, READ_BYTES)?;
        // Never more into memory than the call may still read, and one byte to see that it is too much.
        let left = usize::try_from(self.limits.read.0.saturating_sub(self.bytes_read)).unwrap_or(usize::MAX);
        let length = length.min(left.saturating_add(1));
        let bytes = self.ask_file(path, "file", |grants, path| grants.file_at(path, offset, length))?;
        self.count(bytes.len())?;
        Ok(bytes)
    }

    fn file_entries(&mut self, path: &str) -> Answered<Vec<String>> {
        let names = self.ask_file(path, "directory", Grants::file_entries)?;
        self.count(names.iter().map(String::len).sum())?;
        Ok(names)
    }

    fn kernel_log_since(&mut self, cursor: &str, most: u32) -> Answered<LogBatch> {
        let batch = self.services.matched_lines.since(cursor, most.min(MAX_EVENTS))?;
        let captures = batch.events.iter().flat_map(|event| &event.captures);
        self.count(captures.map(String::len).sum())?;
        Ok(batch)
    }

    fn control_write(&mut self, device: DeviceHandle, path: &str, value: &str) -> Answered<()> {
        self.write_attribute(device, path, value)
    }

    fn clock_now(&mut self) -> Answered<u64> {
        Ok(self.grants.node.now())
    }

    fn uevents_recent(&mut self, device: DeviceHandle) -> Answered<Vec<Uevent>> {
        let place = self.device(device)?;
        self.ask_device(device, "uevents", |grants, device| match grants.node.exists(device) {
            true => Ok(()),
            false => Err(ReadError::Gone),
        })?;
        let events = self.services.uevents.of(&place)?;
        let words = events.iter().flat_map(|event| &event.words);
        self.count(words.map(|word| word.name.len() + word.value.len()).sum())?;
        Ok(events)
    }

    fn state_load(&mut self) -> Answered<Vec<u8>> {
        let loaded = self.services.component_state.load();
        let state = loaded.map_err(|error| self.disk_failed("loaded", &error))?;
        self.count(state.len())?;
        Ok(state.to_vec())
    }

    fn state_store(&mut self, state: &[u8]) -> Answered<()> {
        self.store_state(state)
    }

    fn config(&mut self) -> Arc<str> {
        Arc::clone(&self.grants.config)
    }

    fn log(&mut self, level: LogLevel, message: &str) {
        let plugin = self.grants.policy.name.as_str();
        let line = escape(message, 1024);
        self.grants.hear(level, false, &line);
        // In a look a component says the same in each call; in an allocation each line is news.
        let is_look =
            matches!(self.kind, CallKind::Enumerate | CallKind::Health | CallKind::Examine | CallKind::Choose);
        let is_repeated = || {
            let mut lines = self.grants.lines.lock();
            lines.line(&line, LATELY, Instant::now()).is_none()
        };
        match level {
            LogLevel::Info | LogLevel::Warn | LogLevel::Error if is_look && is_repeated() => {
                tracing::debug!(target: "component", plugin, "again: {line}");
            }
            LogLevel::Debug => tracing::debug!(target: "component", plugin, "{line}"),
            LogLevel::Info => tracing::info!(target: "component", plugin, "{line}"),
            LogLevel::Warn => tracing::warn!(target: "component", plugin, "{line}"),
            LogLevel::Error => tracing::error!(target: "component", plugin, "{line}"),
        }
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }
}

/// What was read as text, without the white space at its end.
fn text(what: &str, bytes: Vec<u8>) -> Answered<String> {
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let Some(mut text) = text else {
        let message = format!("{what} is not text");
        return Err(Failure::new(FailureKind::Other, message).with_code("not-text").into());
    };
    text.truncate(text.trim_end().len());
    Ok(text)
}

/// How many bytes one read asks for, if it may.
fn at_once(what: impl FnOnce() -> String, length: u32, most: usize) -> Result<usize, Failure> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > most {
        let message = format!("{}: at most {most} bytes at once", what());
        return Err(Failure::new(FailureKind::Limit, message));
    }
    Ok(length)
}
