//! NVMe has character nodes that reach disks: the controller's takes any command for any of its namespaces, a namespace's
//! generic one reads and writes it (`drivers/nvme/host/ioctl.c`).

use crate::node::Node;
use crate::{DevicePath, ReadError};

impl Node {
    /// Why the character node of an NVMe controller (`nvme0`) or namespace (`ng0n1`) must not be given away, if so: a disk
    /// behind it is in use, as [`Self::block_in_use`] says. Nothing for any other device.
    pub fn nvme_in_use(&self, device: &DevicePath) -> Result<Option<String>, ReadError> {
        for disk in self.nvme_disks(device)? {
            let Some(number) = self.number_of(&disk)? else { continue };
            if let Some(reason) = self.block_in_use(number)? {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    /// The disks that the character node of an NVMe device reaches; none for any other device. Fails with [`ReadError::Gone`] where the
    /// device went; others where the tree cannot be read.
    pub fn nvme_disks(&self, device: &DevicePath) -> Result<Vec<DevicePath>, ReadError> {
        // Names first: this is asked for every node that is handed out.
        if !device.name().starts_with("nvme") && !device.name().starts_with("ng") {
            return Ok(Vec::new());
        }
        let class = self.subsystem(device)?.map(|subsystem| subsystem.name);
        match class.as_deref() {
            Some("nvme") => self.disks_of_controller(device),
            Some("nvme-generic") => self.disk_of_namespace(device),
            _ => Ok(Vec::new()),
        }
    }

    /// Beneath the controller, or where several controllers share namespaces beneath its subsystem, which has a link to it.
    fn disks_of_controller(&self, controller: &DevicePath) -> Result<Vec<DevicePath>, ReadError> {
        let mut above = vec![controller.clone()];
        for subsystem in self.devices("nvme-subsystem")? {
            if self.link(&subsystem, controller.name()).is_ok() {
                above.push(subsystem);
            }
        }
        let mut disks = self.devices("block")?;
        disks.retain(|disk| above.iter().any(|above| disk.is_beneath(above)));
        Ok(disks)
    }

    /// The block device of the same namespace: `nvme0n1` for `ng0n1`, beside it.
    fn disk_of_namespace(&self, generic: &DevicePath) -> Result<Vec<DevicePath>, ReadError> {
        let rest = generic.name().trim_start_matches("ng");
        match self.device("block", &format!("nvme{rest}")) {
            Ok(disk) => Ok(vec![disk]),
            // A namespace with a command set that the block layer does not know has no disk.
            Err(ReadError::NotFound | ReadError::NotADevice) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}
