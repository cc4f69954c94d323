"""What a published recording says of a machine's devices, whatever form it has.

Three forms: umockdev's description of devices, what `udevadm info --export-db` prints, and a copy of /sys in an archive. All become
the same list, sorted by path. Nothing is concluded here that the kernel does not conclude; what a form lacks is `lacking.py`'s.
"""

import bz2
import gzip
import io
import lzma
import posixpath
import re
import tarfile

PCI_NAME = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
# Larger files of sysfs are blobs of firmware and tables, which no component reads.
MOST_BYTES = 64 << 10


class Device:
    """One device: where it is, and what stands there."""

    def __init__(self, path):
        self.path = path
        self.properties = {}
        self.attributes = {}
        self.links = {}
        self.node = None

    name = property(lambda self: posixpath.basename(self.path))
    parent = property(lambda self: posixpath.dirname(self.path))
    subsystem = property(lambda self: self.properties.get("SUBSYSTEM", ""))
    driver = property(lambda self: self.properties.get("DRIVER", ""))

    def text(self, attribute):
        """An attribute's text without the line's end, or nothing."""
        return self.attributes.get(attribute, b"").decode(errors="replace").strip()

    def has_node(self):
        return self.node is not None


class Machine:
    """All devices of a recording, and files of /proc and the like that came with them."""

    def __init__(self, devices, files=None):
        self.devices = {device.path: device for device in sorted(devices, key=lambda device: device.path)}
        self.files = files or {}
        # Nodes that belong to no device, such as those of NVIDIA's driver: kind and number by name.
        self.nodes = {}

    def __iter__(self):
        return iter(self.devices.values())

    def of(self, subsystem):
        return [device for device in self if device.subsystem == subsystem]

    def above(self, device, subsystem):
        """The nearest device above it that is of a subsystem."""
        path = device.parent
        while path not in ("/", ""):
            found = self.devices.get(path)
            if found is not None and found.subsystem == subsystem:
                return found
            path = posixpath.dirname(path)
        return None

    def beneath(self, device, subsystem):
        below = device.path + "/"
        return [other for other in self.of(subsystem) if other.path.startswith(below)]


def read(name, content):
    """The machine in a file, by what the file is."""
    for ending, unpack in ((".gz", gzip.decompress), (".bz2", bz2.decompress), (".xz", lzma.decompress)):
        if name.endswith(ending):
            name, content = name.removesuffix(ending), unpack(content)
    if name.endswith(".tar"):
        return of_tree(tar(content))
    text = content.decode(errors="replace")
    if name.endswith(".ttar"):
        return of_tree(ttar(text))
    return of_umockdev(text) if re.search(r"^[AHL]: [^=\n]+=", text, re.M) else of_database(text)


def paragraphs(text):
    """The lines of each device, as letter and value."""
    lines = []
    for line in [*text.splitlines(), ""]:
        letter, separator, value = line.partition(": ")
        if separator and len(letter) == 1:
            lines.append((letter, value))
        elif not line.strip() and lines:
            yield lines
            lines = []


def described(lines):
    """A device of a description's lines: what both texts have in common. Nothing where it is no device of the tree."""
    path = next((value for letter, value in lines if letter == "P"), "")
    if not path.startswith("/devices/"):
        return None
    device = Device(path)
    for letter, value in lines:
        if letter == "N":
            device.node = value.partition("=")[0].removeprefix("/dev/")
        elif letter == "E":
            key, equals, text = value.partition("=")
            if equals and key:
                device.properties.setdefault(key, text)
    return device if device.subsystem else None


def of_umockdev(text):
    devices = []
    for lines in paragraphs(text):
        device = described(lines)
        if device is None:
            continue
        for letter, value in lines:
            key, _, text = value.partition("=")
            if letter == "A":
                device.attributes[key] = unescape(text)
            elif letter == "H":
                device.attributes[key] = bytes.fromhex(text)
            elif letter == "L":
                device.links[key] = text
        devices.append(device)
    return Machine(devices)


def unescape(text):
    """umockdev's values: GLib's g_strescape."""
    plain = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}

    def one(match):
        escape = match.group(1)
        if escape.isdigit():
            return bytes([int(escape, 8) & 0xFF]).decode("latin-1")
        return plain.get(escape, escape)

    return re.sub(r"\\([0-7]{1,3}|.)", one, text).encode("utf-8", errors="replace")


def of_database(text):
    return Machine([device for lines in paragraphs(text) if (device := described(lines)) is not None])


def tar(content):
    """Entries of a tree by their path from `sys` or `proc` on: bytes are a file, text is a link's target."""
    entries = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            path = inside(member.name)
            if path is None:
                continue
            if member.isfile() and member.size <= MOST_BYTES:
                # As long as the kernel said that it is: a page, most of which is not there.
                entries[path] = archive.extractfile(member).read().rstrip(b"\0")
            elif member.issym():
                entries[path] = member.linkname
    return entries


def ttar(text):
    """The same of Prometheus's text archives."""
    entries, lines, at = {}, text.split("\n"), 0
    while at < len(lines):
        kind, separator, value = lines[at].partition(": ")
        at += 1
        if not separator or kind not in ("Path", "Lines"):
            continue
        if kind == "Path":
            path = inside(value)
            link, _, target = lines[at].partition(": ")
            if link == "SymlinkTo" and path:
                entries[path] = target
        elif path:
            body = lines[at : at + int(value)]
            at += int(value)
            joined = "\n".join(body) + "\n"
            entries[path] = joined.replace("EOF\n", "").replace("NULLBYTE", "\0").encode()
    return entries


def inside(name):
    """A path from its first component `sys` or `proc` on."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    for at, part in enumerate(parts[:3]):
        if part in ("sys", "proc"):
            return "/".join(parts[at:])
    return None


def of_tree(entries):
    places = {}
    for path, entry in entries.items():
        listed = re.fullmatch(r"sys/(?:bus/([^/]+)/devices|class/([^/]+))/[^/]+", path)
        if listed and isinstance(entry, str):
            places[follow(path, entry)] = listed.group(1) or listed.group(2)
        # A copy may have the devices themselves where the kernel has links to them.
        flat = re.match(r"(sys/bus/pci/devices/[^/]+|sys/class/([^/]+)/[^/]+)/", path)
        if flat:
            places[flat.group(1)] = flat.group(2) or "pci"
        if path.startswith("sys/devices/") and path.endswith("/subsystem") and isinstance(entry, str):
            places[posixpath.dirname(path)] = posixpath.basename(entry)
        real = re.fullmatch(r"(sys/devices/.*/([^/]+))/vendor", path)
        if real and PCI_NAME.fullmatch(real.group(2)):
            places[real.group(1)] = "pci"
    devices = {}
    for place, subsystem in places.items():
        if place.startswith(("sys/devices/", "sys/bus/pci/devices/", "sys/class/")):
            devices[place] = Device(location(place))
            devices[place].properties["SUBSYSTEM"] = subsystem
    for path, entry in entries.items():
        owner = posixpath.dirname(path)
        while owner and owner not in devices:
            owner = posixpath.dirname(owner)
        if owner:
            take(devices[owner], path[len(owner) + 1 :], entry)
    files = {path: entry for path, entry in entries.items() if path.startswith("proc/driver/") and isinstance(entry, bytes)}
    return Machine(devices.values(), files)


def take(device, name, entry):
    """An entry of a device's directory."""
    if name == "uevent" and isinstance(entry, bytes):
        for line in entry.decode(errors="replace").splitlines():
            key, equals, value = line.partition("=")
            if equals:
                device.properties.setdefault(key, value)
        device.node = device.properties.get("DEVNAME", device.node)
    elif name == "driver" and isinstance(entry, str):
        device.properties["DRIVER"] = posixpath.basename(entry)
    elif isinstance(entry, str):
        device.links[name] = entry
    elif name != "subsystem":
        device.attributes[name] = entry


def location(place):
    """Where the kernel has a device; of a copy that has it in its bus's list, a plausible place."""
    name = posixpath.basename(place)
    if place.startswith("sys/bus/pci/devices/"):
        return f"/devices/pci{name.rsplit(':', 1)[0]}/{name}"
    if place.startswith("sys/class/"):
        return f"/devices/virtual/{place.removeprefix('sys/class/')}"
    return place.removeprefix("sys")


def follow(path, target):
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target)).lstrip("/")
