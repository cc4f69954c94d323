//! Devices for tests of the program that nodes run: disks in memory (zram) of this machine, which come and go as hardware does; recorded
//! ones, which only `devgatectl` plays, where its kernel makes none.

use crate::machine::{Alone, alone};
use crate::{Kind, Setup, generic_policy, recording};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

const CONTROL: &str = "/sys/class/zram-control";

/// A disk in memory, for as long as this lives. It has no size, and costs nothing.
pub struct Disk(String);

impl Disk {
    /// Makes one; `None` where the kernel makes none.
    ///
    /// # Errors
    /// When the kernel refuses to.
    pub fn new() -> io::Result<Option<Self>> {
        let control = Path::new(CONTROL).join("hot_add");
        if !control.exists() {
            return Ok(None);
        }
        Ok(Some(Self(fs::read_to_string(control)?.trim().to_owned())))
    }

    /// The kernel's name of it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("zram{}", self.0)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = fs::write(Path::new(CONTROL).join("hot_remove"), &self.0);
    }
}

/// Devices of some kinds, real ones where that can be.
pub struct Devices {
    kinds: Vec<Kind>,
    /// Those of each kind; none where they are recorded.
    disks: Vec<Vec<Disk>>,
    _alone: Alone,
}

impl Devices {
    /// Makes them.
    ///
    /// # Errors
    /// When the kernel makes disks, and not these.
    pub fn new(kinds: &[Kind]) -> io::Result<Self> {
        let mut devices = Self { kinds: kinds.to_vec(), disks: Vec::new(), _alone: alone()? };
        for kind in kinds {
            let disks = (0..kind.count).map(|_| Disk::new()).collect::<io::Result<Option<Vec<_>>>>()?;
            let Some(disks) = disks else { break };
            devices.disks.push(disks);
        }
        Ok(devices)
    }

    /// A policy with one plugin of the component `generic` for each kind, named as in [`generic_policy`].
    #[must_use]
    pub fn policy(&self) -> String {
        self.policy_of(self.kinds.len())
    }

    /// The same with so many of them only.
    #[must_use]
    pub fn policy_of(&self, most: usize) -> String {
        if self.disks.is_empty() {
            return generic_policy(self.kinds.get(..most).unwrap_or_default());
        }
        let mut text = String::from("apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n");
        for (kind, disks) in self.kinds.iter().zip(&self.disks).take(most) {
            let (class, resource) = (kind.class, kind.resource());
            let names: Vec<_> = disks.iter().map(Disk::name).collect();
            let _ = write!(
                text,
                "  bench{class}:\n    component: {{file: generic.wasm}}\n    resources: [{resource}]\n    hardware:\n      \
                 - {{subsystem: block, name: \"{{{}}}\", use: offer, nodes: [{{access: rw}}]}}\n    config:\n      devices:\n        \
                 - {{resource: {resource}, subsystem: block}}\n",
                names.join(",")
            );
        }
        text
    }

    /// A host with them: the program that nodes run, where they are real.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let setup = Setup::new(&self.policy());
        if self.disks.is_empty() { setup.on(&recording(&self.kinds)) } else { setup }
    }
}
