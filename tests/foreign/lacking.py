"""What a recording lacks that the kernel or a driver has on every such machine.

`derived` says again what the uevent says, as the attributes that the kernel makes of the same fields: nothing is made up. `stand_ins`
are made up, for what a driver always has and no such recording keeps; a recording that has it keeps its own.
"""

import re

import count
from recording import Device

GPU_CLASSES = ("300", "302")


def complete(machine):
    """Puts in what is lacking; says in a word each what had to be made up."""
    for device in machine:
        derived(machine, device)
    made_up = set()
    for device in machine:
        made_up |= stand_ins(machine, device)
    if nvidia(machine):
        made_up.add("NVIDIA's driver")
    if amd(machine):
        made_up.add("AMD's functions")
    return sorted(made_up)


def put(device, name, value):
    device.attributes.setdefault(name, f"{value}\n".encode())


def derived(machine, device):
    of, uevent = device.subsystem, device.properties
    if of == "pci":
        pci(device, uevent)
    elif of == "usb":
        usb(device, uevent)
    elif of == "block" and uevent.get("DEVTYPE") == "partition":
        number = re.search(r"\d+$", device.name)
        put(device, "partition", uevent.get("PARTN", number.group() if number else "1"))
    elif of == "nvme" and "NVME_TRTYPE" in uevent:
        put(device, "transport", uevent["NVME_TRTYPE"])
    elif of in ("infiniband_verbs", "infiniband_mad"):
        above = machine.above(device, "pci")
        owners = [] if above is None else machine.beneath(above, "infiniband")
        # One function has one RDMA device but for a few of the oldest drivers.
        if len(owners) == 1:
            put(device, "ibdev", owners[0].name)
    elif of == "video4linux" and "ID_V4L_PRODUCT" in uevent:
        put(device, "name", uevent["ID_V4L_PRODUCT"])
    if "MAJOR" in uevent and "MINOR" in uevent:
        put(device, "dev", f"{uevent['MAJOR']}:{uevent['MINOR']}")


def pci(device, uevent):
    """Both ways: a database has the uevent and no files, a copy of /sys may have files and no uevent."""
    if "PCI_ID" not in uevent and device.text("vendor"):
        uevent["PCI_ID"] = f"{device.text('vendor')[2:]}:{device.text('device')[2:]}".upper()
        uevent["PCI_CLASS"] = device.text("class")[2:].lstrip("0").upper() or "0"
        uevent["PCI_SLOT_NAME"] = device.name
    for key, first, second in (("PCI_ID", "vendor", "device"), ("PCI_SUBSYS_ID", "subsystem_vendor", "subsystem_device")):
        left, colon, right = uevent.get(key, "").partition(":")
        if colon:
            put(device, first, f"0x{left.lower():0>4}")
            put(device, second, f"0x{right.lower():0>4}")
    if "PCI_CLASS" in uevent:
        put(device, "class", f"0x{uevent['PCI_CLASS'].lower():0>6}")
    if "MODALIAS" in uevent:
        put(device, "modalias", uevent["MODALIAS"])


def usb(device, uevent):
    ids = uevent.get("PRODUCT", "").split("/")
    if uevent.get("DEVTYPE") == "usb_device" and len(ids) == 3:
        for name, value in zip(("idVendor", "idProduct", "bcdDevice"), ids):
            put(device, name, f"{value:0>4}")
        for key, name in (("BUSNUM", "busnum"), ("DEVNUM", "devnum")):
            if key in uevent:
                put(device, name, int(uevent[key]))
        if "TYPE" in uevent:
            put(device, "bDeviceClass", f"{int(uevent['TYPE'].partition('/')[0]):02x}")


def stand_ins(machine, device):
    """Of one device. What is said here decides about health and about ids, never about which devices there are."""
    of, before = device.subsystem, len(device.attributes)
    if of == "nvme":
        put(device, "state", "live")
        put(device, "model", "recorded")
    elif of == "block" and re.fullmatch(r"nvme\d+(c\d+)?n\d+", device.name):
        put(device, "nsid", device.name.rsplit("n", 1)[1])
        put(device, "size", 2 << 30)
        put(device, "wwid", f"recorded.{device.name}")
    elif of == "infiniband" and not any(name.startswith("ports/") for name in device.attributes):
        for name, value in (("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("link_layer", "Ethernet")):
            put(device, f"ports/1/{name}", value)
    return {of} if len(device.attributes) > before else set()


def nvidia(machine):
    """What NVIDIA's driver says of the GPUs that it is bound to, in the order of their addresses."""
    bound = [device for device in machine.of("pci") if device.driver == "nvidia"]
    bound = [device for device in bound if device.properties.get("PCI_ID", "").startswith("10DE:")]
    bound = [device for device in bound if device.properties.get("PCI_CLASS", "").removesuffix("00") in GPU_CLASSES]
    for minor, device in enumerate(sorted(bound, key=lambda device: device.name)):
        of_driver = f"proc/driver/nvidia/gpus/{device.name}/information"
        number = f"{minor:012x}"
        lines = ["Model: \t\t recorded", f"GPU UUID: \t GPU-00000000-0000-0000-0000-{number}"]
        lines += ["Video BIOS: \t 0.0", f"Bus Location: \t {device.name}", f"Device Minor: \t {minor}"]
        machine.files.setdefault(of_driver, ("\n".join(lines) + "\n").encode())
        machine.nodes[f"nvidia{minor}"] = f"c 195:{minor}"
    if bound:
        machine.nodes |= {"nvidiactl": "c 195:255", "nvidia-uvm": "c 511:0"}
        machine.files["proc/driver/nvidia/version"] = b"NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15\n"
    return bool(bound)


def amd(machine):
    """The functions and DRM devices of GPUs of which there is only what KFD says: where they are, it says too."""
    if machine.of("pci"):
        return False
    found = list(count.kfd_nodes(machine))
    parts = {}
    for node in found:
        slot = (node.get("domain", 0), node["location_id"] >> 3)
        parts.setdefault(slot, []).append(node)
    made = 0
    for (domain, slot), nodes in sorted(parts.items()):
        address = f"{domain:04x}:{slot >> 5:02x}:{slot & 31:02x}.0"
        function = Device(f"/devices/pci{address[:7]}/{address}")
        ids = f"{node_id(nodes[0], 'vendor_id')}:{node_id(nodes[0], 'device_id')}"
        function.properties |= {"SUBSYSTEM": "pci", "DRIVER": "amdgpu", "PCI_CLASS": "120000", "PCI_ID": ids}
        pci(function, function.properties)
        if len(nodes) > 1:
            put(function, "current_compute_partition", "CPX")
            put(function, "current_memory_partition", "NPS1")
        for at, node in enumerate(nodes):
            above = function
            if at:
                made += 1
                above = Device(f"/devices/platform/amdgpu_xcp_{made}")
                above.properties["SUBSYSTEM"] = "platform"
            render = Device(f"{above.path}/drm/renderD{node['drm_render_minor']}")
            render.properties |= {"SUBSYSTEM": "drm", "MAJOR": "226", "MINOR": str(node["drm_render_minor"])}
            render.node = f"dri/{render.name}"
            derived(machine, render)
            machine.devices |= {device.path: device for device in (function, above, render)}
    return bool(found)


def node_id(node, name):
    return f"{node[name]:04X}"
