//! What a path under `/dev` is to the kernel.

use super::super::yaml::Line;
use devgate_types::{NodeKind, NodeNumber};
use std::fmt;

/// How a path begins after `/dev/`, and the subsystem of the devices whose nodes are called so. The first that fits counts; the
/// device's name is the last part of the path.
const BEGINNINGS: &str = "\
snd/ sound
dri/ drm
input/ input
accel/ accel
i2c- i2c-dev
spidev spidev
gpiochip gpio
hidraw hidraw
usb/hiddev usbmisc
usb/lp usbmisc
cdc-wdm usbmisc
video video4linux
vbi video4linux
v4l-subdev video4linux
media media
cec cec
lirc lirc
rfcomm tty
loop-control misc
loop block
nvme-fabrics nvme-fabrics
sd block
sr block
mmcblk block
nbd block
sg scsi_generic
tpmrm tpmrm
tpm tpm
rtc rtc
watchdog watchdog
mei mei
ipmi ipmi
ptp ptp
pps pps
iio:device iio
uio uio
dma_heap/ dma_heap
apex_ apex
hailo hailo_chardev
infiniband/rdma_cm misc
infiniband/uverbs infiniband_verbs
infiniband/umad infiniband_mad
infiniband/issm infiniband_mad
vfio/vfio misc
vfio/devices/ vfio-dev
vfio/ vfio
net/tun misc
kfd kfd
mali misc
kmsg mem
mem mem
port mem
console tty
";
/// Nodes that are called as their devices are, of the subsystem `misc`.
const MISC: &str = "fuse kvm vhost-net vhost-vsock vsock uinput uhid hpet rfkill userfaultfd cuse btrfs-control autofs \
    snapshot vga_arbiter udmabuf sgx_enclave sgx_provision sgx_vepc sev sev-guest tdx_guest iommu zfs ntsync cpu_dma_latency \
    nvram mcelog watchdog";

/// Devices of the kernel.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in super::super) struct Kernel {
    pub(in super::super) subsystem: String,
    pub(in super::super) name: Option<String>,
    pub(in super::super) driver: Option<String>,
    /// Of USB, as is the serial number.
    pub(in super::super) vendor: Option<String>,
    pub(in super::super) product: Option<String>,
    pub(in super::super) serial: Option<String>,
    /// With a pattern for the value of each.
    pub(in super::super) attributes: Vec<(String, String)>,
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().or(self.serial.as_deref()).unwrap_or("device");
        write!(f, "{} {name}", self.subsystem)
    }
}

impl Kernel {
    fn named(subsystem: &str, name: &str) -> Self {
        Self { subsystem: subsystem.to_owned(), name: Some(name.replace("[^", "[!")), ..Self::default() }
    }

    /// A USB device, by vendor and product and its serial number.
    pub(super) fn usb(ids: Option<(String, String)>, serial: Option<String>) -> Self {
        let (vendor, product) = ids.unzip();
        Self { subsystem: "usb".to_owned(), vendor, product, serial, ..Self::default() }
    }

    /// Whether both may mean one device, as far as their names tell.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (&self.name, &other.name) else { return self == other };
        let begins = |name: &str| name.find(['*', '?', '[']).map(|at| name.split_at(at).0.to_owned());
        let may_be = match (begins(one), begins(two)) {
            (None, None) => one == two,
            (Some(begin), None) => two.starts_with(&begin),
            (None, Some(begin)) => one.starts_with(&begin),
            (Some(one), Some(two)) => one.starts_with(&two) || two.starts_with(&one),
        };
        self.subsystem == other.subsystem && may_be
    }

    /// The selector of the policy.
    pub(super) fn hardware(&self) -> Line {
        self.ids(Line::default().text("subsystem", &self.subsystem)).optional("name", self.name.as_ref()).with_all(self)
    }

    /// The selector of the component's configuration.
    pub(super) fn config(&self, line: Line) -> Line {
        let is_usb = [&self.vendor, &self.product, &self.serial].into_iter().any(Option::is_some);
        let line = match is_usb {
            true => line.with("usb", self.ids(Line::default()).done()),
            false => line.text("subsystem", &self.subsystem),
        };
        line.optional("name", self.name.as_ref()).with_all(self)
    }

    /// What USB knows it by.
    fn ids(&self, line: Line) -> Line {
        let hex = |digits: &String| format!("0x{digits}");
        let line = line.optional("vendor", self.vendor.as_ref().map(hex).as_ref());
        line.optional("product", self.product.as_ref().map(hex).as_ref()).optional("serial", self.serial.as_ref())
    }

    /// The word of `dangerous` that its node needs.
    pub(super) fn danger(&self) -> Option<&'static str> {
        let unknown = NodeNumber { kind: NodeKind::Character, major: 0, minor: 0 };
        devgate_policy::dangerous_node(Some(&self.subsystem), self.name.as_deref(), unknown).map(|danger| danger.key)
    }
}

impl Line {
    /// With driver and attributes of a device, where it is selected by them.
    fn with_all(self, of: &Kernel) -> Self {
        let line = self.optional("driver", of.driver.as_ref());
        let texts = of.attributes.iter().fold(Self::default(), |line, (name, value)| line.key(name, value));
        if of.attributes.is_empty() { line } else { line.with("attributes", texts.done()) }
    }
}

/// Paths of nodes under `/dev` that are no pattern's.
pub(in super::super) fn single_nodes() -> impl Iterator<Item = &'static str> {
    let of_misc = BEGINNINGS.lines().filter_map(|line| line.strip_suffix(" misc"));
    MISC.split_ascii_whitespace().chain(of_misc)
}

/// What a node by its path, or a pattern of such, belongs to; `None` where that is not known.
pub(in super::super) fn of(path: &str) -> Option<Kernel> {
    let rest = path.strip_prefix("/dev/")?;
    let name = rest.rsplit('/').next().filter(|name| !name.is_empty())?;
    if rest.strip_prefix("tty").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric())) {
        return Some(Kernel::named("tty", name));
    }
    if rest == "hwrng" {
        return Some(Kernel::named("misc", "hw_random"));
    }
    if MISC.split_ascii_whitespace().any(|one| one == rest) {
        return Some(Kernel::named("misc", name));
    }
    // `/dev/nvme0` is a controller, `/dev/nvme0n1` a disk.
    if let Some(number) = rest.strip_prefix("nvme").filter(|number| number.starts_with(|c: char| c.is_ascii_digit())) {
        return Some(Kernel::named(if number.contains('n') { "block" } else { "nvme" }, name));
    }
    let depth = |text: &str| text.matches('/').count();
    let fits = |beginning: &str| rest.starts_with(beginning) && depth(rest) == depth(beginning);
    let (_, subsystem) =
        BEGINNINGS.lines().filter_map(|line| line.split_once(' ')).find(|(beginning, _)| fits(beginning))?;
    Some(Kernel::named(subsystem, name))
}

/// What a whole folder of nodes is.
pub(super) fn directory(path: &str) -> Option<Vec<Kernel>> {
    match path.trim_end_matches('/') {
        "/dev/snd" => {
            Some(["control*", "pcm*", "timer", "seq", "midi*", "hw*"].map(|name| Kernel::named("sound", name)).into())
        }
        "/dev/dri" => Some(["card[0-9]", "renderD*"].map(|name| Kernel::named("drm", name)).into()),
        "/dev/input" => Some(["event*", "mouse*", "mice", "js*"].map(|name| Kernel::named("input", name)).into()),
        _ => None,
    }
}

/// Whether a node may be given by its path alone: one path, that is no link of udev's and has no number that changes.
pub(super) fn is_by_path(path: &str) -> bool {
    let Some(rest) = path.strip_prefix("/dev/") else { return false };
    let is_plain = !rest.is_empty() && !rest.contains(['*', '?', '[', '{', '\\']) && !rest.ends_with('/');
    // Links that udev makes, and numbers that change.
    let moves = ["serial/", "disk/", "bus/usb", "v4l/", "input/by-", "snd/by-", "dri/by-", "char/", "block/"];
    is_plain && !moves.iter().any(|begin| rest.starts_with(begin))
}

/// Why it is not known what a path is, and what to do.
pub(super) fn why_unknown(path: &str) -> &'static str {
    if path.contains("/by-") || path.starts_with("/dev/disk/") {
        return "is a link of udev's; name the device by vendor, product and serial (`usb`) instead";
    }
    if path.starts_with("/dev/bus") {
        return "changes with each plug; name the device by vendor and product (`usb`) instead";
    }
    if !path.starts_with("/dev/") {
        return "is no node under /dev";
    }
    "`udevadm info` says which subsystem it is of, for a selector of `hardware`"
}
