#!/usr/bin/env python3
"""Writes a published recording as the text that devgate plays: convert.py RECORDING > NODE.umockdev.

Says on standard error what was left out and what had to be made up.
"""

import collections
import re
import sys

import lacking
import recording


def main():
    path = sys.argv[1]
    with open(path, "rb") as file:
        machine = recording.read(path, file.read())
    text, notes = converted(machine)
    sys.stdout.write(text)
    for note in notes:
        print(note, file=sys.stderr)


def converted(machine):
    """The text, and what people should know of it."""
    made_up = lacking.complete(machine)
    left_out = collections.Counter()
    lines, listed, numbers, nodes = [], set(), set(), set()
    for device in machine:
        # A bus and a class may have one name: what is of the class stands in a directory of it.
        place = (device.subsystem, device.name, device.parent.endswith(f"/{device.subsystem}"))
        if place in listed or "/" in device.subsystem or device.subsystem in (".", ".."):
            left_out["another device of the same subsystem and name"] += 1
            continue
        listed.add(place)
        number = device.text("dev")
        if not re.fullmatch(r"\d+:\d+", number):
            device.attributes.pop("dev", None)
            number = ""
        kind = "b" if device.subsystem == "block" else "c"
        if number and (kind, number) in numbers:
            left_out["another device of the same number"] += 1
            device.attributes.pop("dev")
            for key in ("MAJOR", "MINOR"):
                device.properties.pop(key, None)
            number = ""
        numbers.add((kind, number))
        if device.node in nodes or not number:
            device.node = None
        nodes.add(device.node)
        lines += paragraph(device)
    for name, number in machine.nodes.items():
        if name not in nodes:
            lines.append(f"D: /dev/{name}={number}")
    lines += [f"F: /{path}={escaped(content)}" for path, content in sorted(machine.files.items())]
    notes = [f"left out: {count} × {why}" for why, count in left_out.items()]
    notes += [f"made up: {', '.join(made_up)}"] * bool(made_up)
    return "\n".join(lines) + "\n", notes


def paragraph(device):
    yield f"P: {device.path}"
    if device.node:
        yield f"N: {device.node}"
    for key, value in device.properties.items():
        yield f"E: {key}={value}"
    for name, value in sorted(device.attributes.items()):
        if name != "uevent":
            yield f"A: {name}={escaped(value)}"
    for name, target in sorted(device.links.items()):
        if name not in ("subsystem", "uevent"):
            yield f"L: {name}={target}"
    yield ""


def escaped(value):
    """umockdev's values; bytes that are no printable ASCII are octal."""
    plain = {0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}
    return "".join(plain.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}") for byte in value)


if __name__ == "__main__":
    main()
