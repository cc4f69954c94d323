//! A recorded node as directories, for the program that nodes run: it reads them as it does a kernel's.

use anyhow::Context;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Buses; all other subsystems are classes.
const BUSES: [&str; 2] = ["pci", "usb"];

/// Makes `sys` and `dev` of a recording in a directory. Of escapes in it only ends of lines are known.
///
/// # Errors
/// When something cannot be made, as where this is not root.
pub(crate) fn make(root: &Path, recording: &str) -> anyhow::Result<()> {
    fs::create_dir_all(root.join("dev"))?;
    for block in recording.split("\n\n") {
        let lines = block.lines().filter_map(|line| line.split_once(": "));
        let of = |mark: &'static str| lines.clone().filter(move |(kind, _)| *kind == mark).map(|(_, text)| text);
        let Some(place) = of("P").next() else { continue };
        let device = root.join("sys").join(place.trim_start_matches('/'));
        fs::create_dir_all(&device)?;
        for (name, value) in of("A").filter_map(|text| text.split_once('=')) {
            fs::write(device.join(name), value.replace("\\n", "\n"))?;
        }
        let said: Vec<_> = of("E").filter_map(|text| text.split_once('=')).collect();
        let value = |key: &str| said.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let told = said.iter().filter(|(name, _)| *name != "SUBSYSTEM");
        let told = told.map(|(name, value)| format!("{name}={}\n", value.trim_start_matches("/dev/")));
        fs::write(device.join("uevent"), told.collect::<String>())?;
        let subsystem = value("SUBSYSTEM").context("a device without a subsystem")?;
        let is_bus = BUSES.contains(&subsystem);
        let (kind, all) = if is_bus { ("bus", "devices") } else { ("class", "") };
        let group = Path::new(kind).join(subsystem);
        let up = "../".repeat(place.matches('/').count());
        symlink(Path::new(&up).join(&group), device.join("subsystem"))?;
        if let Some(driver) = value("DRIVER") {
            fs::create_dir_all(root.join("sys").join(&group).join("drivers").join(driver))?;
            symlink(Path::new(&up).join(&group).join("drivers").join(driver), device.join("driver"))?;
        }
        let list = root.join("sys").join(&group).join(all);
        fs::create_dir_all(&list)?;
        let up = if is_bus { "../../.." } else { "../.." };
        let name = device.file_name().context("a device without a name")?;
        symlink(Path::new(up).join(place.trim_start_matches('/')), list.join(name))?;
        if let (Some(node), Some(major), Some(minor)) = (of("N").next(), value("MAJOR"), value("MINOR")) {
            let number = makedev(major.parse()?, minor.parse()?);
            mknodat(CWD, root.join("dev").join(node), FileType::CharacterDevice, Mode::from_raw_mode(0o600), number)?;
        }
    }
    Ok(())
}
