#!/usr/bin/env python3
"""Says which devices a user would expect of a machine, from its recording alone: count.py RECORDING.

What is a device of a class is said by the kernel's uevent (SUBSYSTEM, DRIVER, PCI_ID, PCI_CLASS, DEVTYPE, DEVNAME), by where a device is
in the tree and by the links of a virtual function; where a recording has plain files instead (vendor, device, class), by these.
"""

import re
import sys

import recording

NVIDIA, AMD, INTEL, SOLARFLARE = "10DE", "1002", "8086", "1924"
DISPLAY, ACCELERATOR = "03", "1200"


def main():
    path = sys.argv[1]
    with open(path, "rb") as file:
        machine = recording.read(path, file.read())
    for what, names in expected(machine).items():
        if names:
            print(f"{what}: {len(names)} ({', '.join(names)})")


def expected(machine):
    """By class, the kernel's names of the devices to expect."""
    return {what: sorted(getattr(device, "name", device) for device in devices(machine)) for what, devices in CLASSES.items()}


def vendor(device):
    said = device.properties.get("PCI_ID", "").partition(":")[0]
    return said or device.text("vendor").removeprefix("0x").upper()


def pci_class(device):
    """Four digits, upper case: class and subclass."""
    said = device.properties.get("PCI_CLASS", "") or device.text("class").removeprefix("0x")
    return f"{said.upper():0>6}"[:4]


def gpus(maker, drivers):
    """Display controllers and accelerators of a maker that one of the drivers has. A driver of the kernel's DRM counts once it has made a card."""

    def of(machine):
        for device in machine.of("pci"):
            is_gpu = pci_class(device).startswith(DISPLAY) or pci_class(device) == ACCELERATOR
            if vendor(device) == maker and is_gpu and device.driver in drivers:
                if device.driver == "nvidia" or cards(machine, device):
                    yield device

    return of


def amd(machine):
    """Where KFD tells: each of its nodes with units that compute, which is a GPU or a part of one, by its render node. Else functions."""
    nodes = list(kfd_nodes(machine))
    if nodes:
        return [f"renderD{node['drm_render_minor']}" for node in nodes]
    return gpus(AMD, ("amdgpu",))(machine)


def kfd_nodes(machine):
    """The numbers that KFD has for each GPU or part of one; processors have no units."""
    for device in machine.of("kfd"):
        for name in sorted(device.attributes):
            if re.fullmatch(r"topology/nodes/\d+/properties", name):
                words = device.text(name).split()
                numbers = dict(zip(words[::2], map(int, words[1::2])))
                if numbers.get("simd_count"):
                    yield numbers


def cards(machine, device):
    below = machine.beneath(device, "drm")
    return [card for card in below if card.parent == f"{device.path}/drm" and re.fullmatch(r"(card|renderD)\d+", card.name)]


def nvme_disks(machine):
    """Namespaces with a node that nothing is made on: no partitions, and nothing that udev saw on the disk."""
    for disk in machine.of("block"):
        if re.fullmatch(r"nvme\d+n\d+", disk.name) and is_block_node(disk) and not machine.beneath(disk, "block"):
            yield disk


def is_block_node(device):
    return bool(device.node or device.text("dev") or device.properties.get("DEVNAME"))


def rdma(machine):
    """RDMA devices that programs reach: those of a function with verbs."""
    for device in machine.of("infiniband"):
        function = machine.above(device, "pci")
        if function is None or machine.beneath(function, "infiniband_verbs"):
            yield device


def virtual_functions(machine):
    return [device for device in machine.of("pci") if "physfn" in device.links and pci_class(device).startswith("02")]


def accelerators(machine):
    """Hardware with a device of the class; what controls it is not one more."""
    for device in machine.of("accel"):
        if re.fullmatch(r"accel\d+", device.name) and device.node:
            yield device


def fpgas(machine):
    named = {"xocl", "dfl-pci"}
    return [device for device in machine.of("pci") if device.driver in named]


def onload(machine):
    drivers = ("sfc", "sfc_ef100")
    return [device for device in machine.of("pci") if vendor(device) == SOLARFLARE and device.driver in drivers]


def nodes(subsystem, pattern=".*"):
    """Devices of a class or bus with a node, by their names."""

    def of(machine):
        return [device for device in machine.of(subsystem) if device.node and re.fullmatch(pattern, device.name)]

    return of


def usb(machine):
    """What is plugged in: no hubs, which are of device class 9."""
    for device in machine.of("usb"):
        if device.properties.get("DEVTYPE") == "usb_device" and device.node:
            if not device.properties.get("TYPE", "").startswith("9/"):
                yield device


def functions(maker, *classes):
    """Functions of a maker, whatever their driver."""
    return lambda machine: [one for one in machine.of("pci") if vendor(one) == maker and pci_class(one).startswith(classes)]


def of(*subsystems):
    return lambda machine: [device for subsystem in subsystems for device in machine.of(subsystem)]


# By class, the devices without which there is surely none: where a recording has none of these, nothing needs to be asked.
AROUND = {
    "nvidia-gpu": functions(NVIDIA, DISPLAY),
    "amd-gpu": lambda machine: functions(AMD, DISPLAY, ACCELERATOR)(machine) + machine.of("kfd"),
    "intel-gpu": functions(INTEL, DISPLAY),
    "nvme": lambda machine: [disk for disk in machine.of("block") if disk.name.startswith("nvme")],
    "rdma": of("infiniband", "infiniband_verbs"),
    "sriov-nic": lambda machine: [device for device in machine.of("pci") if "physfn" in device.links],
    "accel": of("accel"),
    "fpga": of("fpga_region", "fpga_manager", "xrt_user"),
    "onload": functions(SOLARFLARE, ""),
    "serial": nodes("tty", r"tty(USB|ACM).*"),
    "video": of("video4linux"),
    "sound": of("sound"),
    "hidraw": of("hidraw"),
    "usb": of("usb"),
    "spi": of("spidev", "spi"),
    "gpio": of("gpio"),
    "fuse": of("misc"),
    "ve": of("ve"),
}

CLASSES = {
    "nvidia-gpu": gpus(NVIDIA, ("nvidia",)),
    "amd-gpu": amd,
    "intel-gpu": gpus(INTEL, ("i915", "xe")),
    "nvme": nvme_disks,
    "rdma": rdma,
    "sriov-nic": virtual_functions,
    "accel": accelerators,
    "fpga": fpgas,
    "onload": onload,
    "serial": nodes("tty", r"tty(USB|ACM)\d+"),
    "video": nodes("video4linux"),
    "sound": nodes("sound", r"pcmC\d+D\d+[pc]"),
    "hidraw": nodes("hidraw"),
    "usb": usb,
    "spi": nodes("spidev"),
    "gpio": nodes("gpio", r"gpiochip\d+"),
    "fuse": nodes("misc", "fuse"),
    "ve": nodes("ve"),
}

if __name__ == "__main__":
    main()
