//! What the component asks of the machine, as traits: the host's answers in a component, made-up ones in tests.

use devgate_sdk::kernel_log::{self, Batch};
use devgate_sdk::{Device, Error, Node, files, hardware, host_paths, state};

/// Where functions, files and nodes come from.
pub(crate) trait Machine {
    /// One PCI function.
    type Function: Function;
    /// One node under `/dev`.
    type Node;

    /// All granted PCI functions.
    fn functions(&self) -> Result<Vec<Self::Function>, Error>;
    /// A whole text file.
    fn text(&self, path: &str) -> Result<String, Error>;
    /// The names in a directory.
    fn entries(&self, path: &str) -> Result<Vec<String>, Error>;
    /// The node at a path.
    fn node_at(&self, path: &str) -> Result<Self::Node, Error>;
    /// What the granted patterns captured from the kernel's log after a cursor.
    fn log_since(&self, cursor: &str, most: u32) -> Result<Batch, Error>;
    /// What was stored last.
    fn load(&self) -> Result<Vec<u8>, Error>;
    /// Stores what the next call needs.
    fn store(&self, blob: &[u8]) -> Result<(), Error>;
}

/// What is looked at of a PCI function; the methods mean what those of the contract's `device` mean.
pub(crate) trait Function {
    /// Its full address, such as `0000:1b:00.0`.
    fn name(&self) -> String;
    fn driver(&self) -> Option<String>;
    fn numa_node(&self) -> Option<u32>;
    fn attribute(&self, path: &str) -> Result<String, Error>;
}

/// The machine that the component runs on, as far as the policy grants it.
pub(crate) struct Host;

impl Machine for Host {
    type Function = Device;
    type Node = Node;

    fn functions(&self) -> Result<Vec<Device>, Error> {
        hardware::devices("pci")
    }

    fn text(&self, path: &str) -> Result<String, Error> {
        files::text(path)
    }

    fn entries(&self, path: &str) -> Result<Vec<String>, Error> {
        files::entries(path)
    }

    fn node_at(&self, path: &str) -> Result<Node, Error> {
        host_paths::node_at(path)
    }

    fn log_since(&self, cursor: &str, most: u32) -> Result<Batch, Error> {
        kernel_log::since(cursor, most)
    }

    fn load(&self) -> Result<Vec<u8>, Error> {
        state::load()
    }

    fn store(&self, blob: &[u8]) -> Result<(), Error> {
        state::store(blob)
    }
}

impl Function for Device {
    fn name(&self) -> String {
        Device::name(self)
    }

    fn driver(&self) -> Option<String> {
        Device::driver(self)
    }

    fn numa_node(&self) -> Option<u32> {
        Device::numa_node(self)
    }

    fn attribute(&self, path: &str) -> Result<String, Error> {
        Device::attribute(self, path)
    }
}

/// A machine made up for tests, which remembers what of it was read.
#[cfg(test)]
pub(crate) mod fake {
    use super::*;
    use devgate_sdk::ErrorKind;
    use devgate_sdk::kernel_log::Event;
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;

    pub(crate) const UUID: &str = "GPU-5e0a7f2c-1b3d-4c58-9a6e-0d2f4b6c8e10";
    pub(crate) const GPU: &str = "0000:1b:00.0";

    #[derive(Debug, Default)]
    pub(crate) struct Fake {
        pub(crate) functions: Vec<FakeFunction>,
        pub(crate) files: BTreeMap<String, Result<String, ErrorKind>>,
        pub(crate) nodes: Vec<String>,
        /// What was captured, in order. A cursor is the number of those that are before it.
        pub(crate) log: RefCell<Vec<Event>>,
        /// How many of them are lost.
        pub(crate) lost: usize,
        /// Whether the log cannot be read.
        pub(crate) no_log: bool,
        /// Interfaces that the policy does not grant.
        pub(crate) not_granted: Vec<&'static str>,
        pub(crate) blob: RefCell<Vec<u8>>,
        /// How often it was stored.
        pub(crate) stored: Cell<usize>,
        /// Lines that no pattern captures anything of.
        pub(crate) passes: Cell<usize>,
        /// The paths of `files` that were asked for.
        pub(crate) read: RefCell<Vec<String>>,
    }

    #[derive(Debug, Clone, Default)]
    pub(crate) struct FakeFunction {
        pub(crate) name: &'static str,
        pub(crate) driver: Option<&'static str>,
        pub(crate) attributes: BTreeMap<&'static str, Result<String, ErrorKind>>,
    }

    impl FakeFunction {
        /// An H100 in good health.
        pub(crate) fn gpu(name: &'static str) -> Self {
            let function = Self { name, driver: Some("nvidia"), attributes: BTreeMap::new() };
            function
                .with("vendor", "0x10de")
                .with("device", "0x2330")
                .with("class", "0x030200")
                .with("power/runtime_status", "active")
                .with("power/control", "on")
                .with("current_link_width", "16")
                .with("aer_dev_fatal", "Undefined 0\nDLP 0\nTOTAL_ERR_FATAL 0")
        }

        pub(crate) fn with(mut self, attribute: &'static str, value: &str) -> Self {
            self.attributes.insert(attribute, Ok(value.to_owned()));
            self
        }

        pub(crate) fn failing(mut self, attribute: &'static str, kind: ErrorKind) -> Self {
            self.attributes.insert(attribute, Err(kind));
            self
        }

        pub(crate) fn driven_by(mut self, driver: Option<&'static str>) -> Self {
            self.driver = driver;
            self
        }
    }

    impl Fake {
        /// One GPU with everything that belongs to it.
        pub(crate) fn with_gpu() -> Self {
            let mut fake = Self {
                functions: vec![FakeFunction::gpu(GPU)],
                nodes: ["nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"].map(|n| format!("/dev/{n}")).to_vec(),
                ..Self::default()
            };
            let version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024";
            fake.files.insert("/proc/driver/nvidia/version".to_owned(), Ok(version.to_owned()));
            fake.inform(GPU, UUID, 0);
            fake
        }

        /// Sets what the driver says of a GPU.
        pub(crate) fn inform(&mut self, name: &str, uuid: &str, minor: u32) {
            let text = format!(
                "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t {uuid}\nVideo BIOS: \t 96.00.74.00.01\n\
                 Bus Location: \t {name}\nDevice Minor: \t {minor}\nGPU Excluded:\t No"
            );
            self.information(name, Ok(text));
        }

        pub(crate) fn information(&mut self, name: &str, text: Result<String, ErrorKind>) {
            self.files.insert(format!("/proc/driver/nvidia/gpus/{name}/information"), text);
        }

        /// Replaces a part of what the driver says of [`GPU`].
        pub(crate) fn edit(&mut self, from: &str, to: &str) {
            let text = self.files.get_mut(&format!("/proc/driver/nvidia/gpus/{GPU}/information")).unwrap();
            let edited = text.as_ref().unwrap().replace(from, to);
            *text = Ok(edited);
        }

        fn granted(&self, interface: &str) -> Result<(), Error> {
            if self.not_granted.contains(&interface) {
                return Err(Error::not_granted(interface));
            }
            Ok(())
        }

        pub(crate) fn has_read_information(&self) -> bool {
            self.read.borrow().iter().any(|path| path.ends_with("/information"))
        }
    }

    impl Machine for Fake {
        type Function = FakeFunction;
        type Node = String;

        fn functions(&self) -> Result<Vec<FakeFunction>, Error> {
            Ok(self.functions.clone())
        }

        fn text(&self, path: &str) -> Result<String, Error> {
            self.granted("files")?;
            self.read.borrow_mut().push(path.to_owned());
            match self.files.get(path) {
                Some(Ok(text)) => Ok(text.clone()),
                Some(Err(kind)) => Err(Error::new(*kind, format!("file {path}: cannot be read"))),
                None => Err(Error::not_found(format!("file {path}: nothing is there"))),
            }
        }

        fn entries(&self, path: &str) -> Result<Vec<String>, Error> {
            self.granted("files")?;
            let inside =
                |file: &String| Some(file.strip_prefix(path)?.strip_prefix('/')?.split('/').next()?.to_owned());
            Ok(self.files.keys().filter_map(inside).collect())
        }

        fn node_at(&self, path: &str) -> Result<String, Error> {
            self.granted("host-paths")?;
            let node = self.nodes.iter().find(|node| *node == path);
            node.cloned().ok_or_else(|| Error::not_found(format!("node {path}: nothing is there")))
        }

        fn log_since(&self, cursor: &str, most: u32) -> Result<Batch, Error> {
            self.granted("kernel-log")?;
            if self.no_log {
                return Err(Error::new(ErrorKind::Unsupported, "the kernel's log: nobody reads it"));
            }
            let from = match cursor {
                "" => self.lost,
                cursor => {
                    let number = cursor.split('+').next().unwrap_or_default();
                    number.parse().map_err(|_| Error::invalid("no cursor"))?
                }
            };
            let log = self.log.borrow();
            let most = usize::try_from(most).unwrap();
            let events: Vec<_> = log.iter().skip(from.max(self.lost)).take(most).cloned().collect();
            Ok(Batch {
                cursor: format!("{}+{}", from.max(self.lost) + events.len(), self.passes.get()),
                gap: from < self.lost,
                events,
            })
        }

        fn load(&self) -> Result<Vec<u8>, Error> {
            self.granted("state")?;
            Ok(self.blob.borrow().clone())
        }

        fn store(&self, blob: &[u8]) -> Result<(), Error> {
            self.granted("state")?;
            self.stored.set(self.stored.get() + 1);
            *self.blob.borrow_mut() = blob.to_vec();
            Ok(())
        }
    }

    impl Fake {
        /// One more event in the log, a millisecond after the one before.
        pub(crate) fn says(&self, captures: &[&str]) {
            let mut log = self.log.borrow_mut();
            let time = 1_000 * (log.len() as u64 + 1);
            let captures = captures.iter().map(|text| (*text).to_owned()).collect();
            log.push(Event { pattern: 0, captures, time });
        }

        /// Another boot: the driver, the log and what was read of it begin anew.
        pub(crate) fn boots(&mut self, id: &str) {
            self.files.insert("/proc/sys/kernel/random/boot_id".to_owned(), Ok(id.to_owned()));
            self.log.borrow_mut().clear();
        }
    }

    impl Function for FakeFunction {
        fn name(&self) -> String {
            self.name.to_owned()
        }

        fn driver(&self) -> Option<String> {
            self.driver.map(str::to_owned)
        }

        fn numa_node(&self) -> Option<u32> {
            Some(1)
        }

        fn attribute(&self, path: &str) -> Result<String, Error> {
            match self.attributes.get(path) {
                Some(Ok(value)) => Ok(value.clone()),
                Some(Err(kind)) => Err(Error::new(*kind, format!("attribute {path}: cannot be read"))),
                None => Err(Error::not_found(format!("attribute {path}: no such attribute"))),
            }
        }
    }
}
