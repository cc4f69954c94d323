//! What puts back a device that is removed.

use super::change::{self, Change, device};
use super::world::{Entry, World};
use super::{description, write};
use crate::RecordingError;

/// The changes that make up for the removal of a device: its description with those beneath it, and what the removal takes from
/// elsewhere, such as links to it.
pub(super) fn removal(world: &World, location: &str) -> Result<Vec<Change>, RecordingError> {
    let path =
        device(world, location).map_err(|problem| RecordingError::Change { what: location.to_owned(), problem })?;
    let mut text = write::devices(world, &path);
    let mut without = world.clone();
    change::apply(&mut without, Change::RemoveDevice(location.to_owned()))?;
    let mut again = without.clone();
    description::add(&mut again, "of a device that is removed", &text)?;
    let mut links = Vec::new();
    for (directory, entries) in world.all() {
        match directory.strip_prefix("sys/devices/") {
            None => {
                for (name, entry) in entries {
                    let path = write::join(directory, name);
                    if *entry != Entry::Directory
                        && again.get(&path).is_err()
                        && without.get(&path).is_err()
                        && let Ok(Some(line)) = write::line(world, &path, entry)
                    {
                        text.push_str(&format!("{line}\n"));
                    }
                }
            }
            Some(inside) => {
                let gone = |(name, entry): (&String, &Entry)| match entry {
                    Entry::Link(target) if again.get(&format!("{directory}/{name}")).is_err() => {
                        Some(Change::SetLink {
                            location: inside.to_owned(),
                            path: name.clone(),
                            target: target.clone(),
                        })
                    }
                    _ => None,
                };
                links.extend(entries.iter().filter_map(gone));
            }
        }
    }
    for (_, line) in write::rights(world, &path) {
        text.push_str(&format!("{line}\n"));
    }
    let mut changes = vec![Change::AddDevices(text)];
    changes.extend(links.into_iter().map(|link| of_device(&again, link)));
    Ok(changes)
}

/// The same link, told of the device in whose directory it is.
fn of_device(world: &World, link: Change) -> Change {
    let Change::SetLink { mut location, mut path, target } = link else {
        return link;
    };
    while device(world, &location).is_err() {
        let Some((above, name)) = location.rsplit_once('/') else {
            break;
        };
        path = format!("{name}/{path}");
        location = above.to_owned();
    }
    Change::SetLink { location, path, target }
}
