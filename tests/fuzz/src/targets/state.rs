//! The other records of a state directory.

use super::dir;
use crate::hold;
use devgate_core::cleanup::Cleaner;
use devgate_core::{Allocations, Recorded, fuzz};
use devgate_types::PluginName;
use std::fs;

/// Measured: each record is read as a tree of JSON.
const COST: hold::Cost = hold::Cost { per_byte: 1 << 11, besides: 8 << 20 };
const NAMES: [&str; 5] = ["handed-out.json", "unhealthy.json", "device-info.json", "cdi.json", "blobs/acme"];

/// A record that cannot be understood is put aside, and the host starts. What was handed out is known as before, or not at all.
pub fn state(input: &[u8]) {
    for name in NAMES {
        let dir = dir();
        let file = dir.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, input).unwrap();
        COST.holds(input.len(), || {
            match devgate_cdi::left_behind(&dir.path().join("cdi"), dir.path()) {
                Ok(files) => assert!(files.iter().all(|file| file.path.parent() == Some(&dir.path().join("cdi")))),
                Err(why) => hold::message(&why.to_string()),
            }
            let mut cleaner = Cleaner::new(true);
            cleaner.device_info(&dir.path().join("info"), dir.path());
            for left in cleaner.found() {
                hold::message(&left.why.unwrap_or_default());
            }
            let before = Recorded::read(dir.path()).unwrap();
            hold::message(before.incomplete.as_deref().unwrap_or_default());
            let plugin = PluginName::try_new("acme").unwrap();
            let kept = fuzz::records(dir.path(), &plugin).unwrap();
            assert!(kept.is_empty() || kept == input, "a plugin is given what it did not store");
            drop(Allocations::open(dir.path()).unwrap());
            let after = Recorded::read(dir.path()).unwrap();
            assert!(after.allocations().map(|one| one.units).eq(before.allocations().map(|one| one.units)));
        });
    }
}
