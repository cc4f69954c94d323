//! Which piece of hardware a device's node reaches, besides the device's own place in the tree: `card0` and `renderD128` are two
//! ways to one GPU, and neither lies beneath the other.
//!
//! A piece is a place in the tree. A unit that has a node has the node's pieces as well: no other unit has the same, what is above,
//! or what is beneath. That `sg0` is as good as the SCSI device it belongs to keeps `sda` *and* `sda1` from others, while
//! `sda1` and `sda2`, which are no more than they are, may go to two.
//!
//! What the table does not name is no more than its own place: the ports of an adapter (`ttyUSB0`, `ttyUSB1`), partitions,
//! NVMe's namespaces, interfaces of a USB device, and all that is virtual.

use crate::error::found;
use crate::node::Node;
use crate::path::above;
use crate::{DevicePath, ReadError};

/// How a device's piece is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The nearest device above that is of another subsystem; for what is virtual, the topmost of the same.
    Above,
    /// The topmost device above that is of the same subsystem.
    Topmost,
    /// The device directly above, where it is of this subsystem.
    On(&'static str),
    /// The InfiniBand device that the attribute `ibdev` names, and of it the port that `port` does.
    Infiniband,
    /// The disks of the namespaces that it takes commands for.
    Nvme,
    /// What is beside it and has its name without this end.
    Without(&'static str),
    /// What is beside it and has its name up to the first dot, whether or not the kernel has a device of that name.
    UpToDot,
}

/// Subsystems whose nodes reach more than their own place, and why.
const TABLE: &[(&str, Rule)] = &[
    // Documentation/gpu/drm-uapi.rst: primary and render nodes are minors of one device. accel/introduction.rst: an
    // accelerator is a DRM device, of a driver that may be connected to a GPU's.
    // fbdev's node shows what the primary node does (drivers/gpu/drm/drm_fb_helper.c).
    ("drm", Rule::Above),
    ("accel", Rule::Above),
    ("graphics", Rule::Above),
    // Documentation/sound/designs/procfile.rst and sound/core/init.c: control, PCM, MIDI and hwdep nodes belong to a card; the
    // cards of one function are apart.
    ("sound", Rule::Topmost),
    // Documentation/hid/hidraw.rst and hiddev.rst: the same reports as the input devices made of them; those have an event, a
    // mouse and a joystick node (Documentation/input/input.rst). hiddev is on the interface above the HID device.
    ("hidraw", Rule::Above),
    ("input", Rule::Above),
    ("usbmisc", Rule::Above),
    // Documentation/userspace-api/media/v4l/open.rst and mediactl/media-controller-intro.rst: one device has several nodes, and a
    // media node that sets up all of them. A remote control is one too, whose keys are input as well (rc-core).
    ("video4linux", Rule::Above),
    ("media", Rule::Above),
    ("lirc", Rule::Above),
    // Documentation/userspace-api/media/dvb/intro.rst: frontend, demux and the like of one adapter, `dvb0.frontend0`.
    ("dvb", Rule::UpToDot),
    // Documentation/scsi/scsi-generic.rst: a driver beside those of disks and tapes, and lower, of the same SCSI device;
    // block/bsg.c: also of a host or a transport's end. Other disks, and partitions, are no more than they are.
    ("block", Rule::On("scsi")),
    ("scsi_generic", Rule::Above),
    ("scsi_tape", Rule::Above),
    ("scsi_changer", Rule::Above),
    ("bsg", Rule::Above),
    // drivers/nvme/host/ioctl.c: a controller's node takes commands for each of its namespaces, a generic one for its own.
    ("nvme", Rule::Nvme),
    ("nvme-generic", Rule::Nvme),
    // Documentation/ABI/testing/sysfs-class-mtd: two nodes for each partition of a flash chip, `mtd0` and `mtd0ro`.
    ("mtd", Rule::Without("ro")),
    // Documentation/ABI/stable/sysfs-class-infiniband: `ibdev` of verbs and management nodes, `port` of the latter.
    ("infiniband_verbs", Rule::Infiniband),
    ("infiniband_mad", Rule::Infiniband),
    // drivers/char/tpm/tpm-chip.c: a TPM 2 has two nodes, with and without a resource manager, for one chip.
    ("tpm", Rule::Above),
    ("tpmrm", Rule::Above),
    // drivers/net/wwan/wwan_core.c: the control ports of one modem, `wwan0at0` and `wwan0qmi0`.
    ("wwan", Rule::Topmost),
    // drivers/comedi/comedi_fops.c: a board's node, and one for each of its subdevices, `comedi0_subd0`.
    ("comedi", Rule::Above),
    // drivers/tee/tee_core.c: `tee0` for clients and `teepriv0` for the supplicant, of one trusted environment.
    ("tee", Rule::Above),
    // Documentation/driver-api/vfio.rst: the device itself, whichever of its nodes.
    ("vfio-dev", Rule::Above),
];

impl Node {
    /// The places that a container with the device's node reaches besides its own, sorted; some may be of no device of the kernel's. Fails
    /// with [`ReadError::Gone`] where the device went; others where the tree cannot be read.
    pub fn pieces(&self, device: &DevicePath) -> Result<Vec<DevicePath>, ReadError> {
        match self.subsystem(device)? {
            Some(subsystem) => self.pieces_of(device, &subsystem.name),
            None => Ok(Vec::new()),
        }
    }

    /// The same for who knows the device's subsystem.
    pub fn pieces_of(&self, device: &DevicePath, class: &str) -> Result<Vec<DevicePath>, ReadError> {
        let rules = TABLE.iter().filter(|(name, _)| *name == class);
        let mut pieces = Vec::new();
        for (_, rule) in rules {
            pieces.extend(self.by(*rule, device, class)?);
        }
        pieces.sort_unstable();
        pieces.dedup();
        Ok(pieces)
    }

    fn by(&self, rule: Rule, device: &DevicePath, class: &str) -> Result<Vec<DevicePath>, ReadError> {
        let one = match rule {
            Rule::Above => {
                let (topmost, other) = self.out_of(device, class)?;
                other.or(topmost)
            }
            Rule::Topmost => self.out_of(device, class)?.0,
            Rule::On(bus) => match self.parent(device) {
                Some(parent) if self.is_of(&parent, bus)? => Some(parent),
                _ => None,
            },
            Rule::Infiniband => self.infiniband(device, class)?,
            Rule::Nvme => return self.nvme_disks(device),
            Rule::Without(end) => device.name().strip_suffix(end).and_then(|name| beside(device, name)),
            Rule::UpToDot => device.name().split_once('.').and_then(|(name, _)| beside(device, name)),
        };
        Ok(one.into_iter().collect())
    }

    /// The topmost device above that is of the same subsystem without a gap, and the one above that, if it is of any.
    fn out_of(&self, device: &DevicePath, class: &str) -> Result<(Option<DevicePath>, Option<DevicePath>), ReadError> {
        let (mut topmost, mut at) = (None, device.clone());
        while let Some(parent) = self.parent(&at) {
            match self.subsystem(&parent)? {
                Some(subsystem) if subsystem.name == class => topmost = Some(parent.clone()),
                Some(_) => return Ok((topmost, Some(parent))),
                // A bus's own root, such as `/sys/devices/platform`.
                None => break,
            }
            at = parent;
        }
        Ok((topmost, None))
    }

    fn infiniband(&self, device: &DevicePath, class: &str) -> Result<Option<DevicePath>, ReadError> {
        let (_, parent) = self.out_of(device, class)?;
        let Some(parent) = parent else { return Ok(None) };
        let Some(name) = self.word(device, "ibdev")? else {
            return Ok(Some(parent));
        };
        let port = self.word(device, "port")?;
        let port = port.map_or_else(String::new, |port| format!("/ports/{port}"));
        let place = format!("{}/infiniband/{name}{port}", parent.directory());
        Ok(DevicePath::at(&place).or(Some(parent)))
    }

    /// An attribute's text, if there is such an attribute.
    fn word(&self, device: &DevicePath, attribute: &str) -> Result<Option<String>, ReadError> {
        let bytes = found(self.attribute(device, attribute, 256))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()))
    }
}

/// The place of this name beside a device.
fn beside(device: &DevicePath, name: &str) -> Option<DevicePath> {
    let directory = above(device.directory())?;
    DevicePath::at(&format!("{directory}/{name}")).filter(|_| !name.is_empty())
}
