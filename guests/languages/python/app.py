"""Offers widgets: PCI functions of the vendor's, each with one device of the class `widget` beneath it."""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import config, hardware, log
from wit_world.imports.types import (
    Device,
    Edits,
    Error,
    ErrorKind,
    Pool,
    Property,
    Unit,
    Verdict_Healthy,
    Verdict_Unhealthy,
    Verdict_Unknown,
)

RESOURCE = "example.com/widget"


def failed(kind: ErrorKind, message: str) -> Err:
    """The contract's error as an exception."""
    return Err(Error(kind, "", message))


def reported(call):
    """Makes a mistake of this program the contract's error, with its text. Any other exception than `Err` would end the
    call as a crash, without a word of why."""

    def called(*arguments):
        try:
            return call(*arguments)
        except Err:
            raise
        except Exception as mistake:
            raise failed(ErrorKind.OTHER, f"{type(mistake).__name__}: {mistake}") from mistake

    return called


def mode() -> str:
    """The mode that containers are told, from the policy's `config`."""
    given = json.loads(config.json())
    if not isinstance(given, dict | None):
        raise failed(ErrorKind.INVALID, "config: is not a mapping")
    given = (given or {}).get("mode", "fast")
    if given not in ("fast", "safe"):
        raise failed(ErrorKind.INVALID, "config: mode is neither fast nor safe")
    return given


def described(card: Device) -> Unit:
    """A card whose driver has registered it; fails with `not-found` where it has not."""
    widgets = card.children("widget")
    if not widgets:
        raise failed(ErrorKind.NOT_FOUND, "its driver has not registered it")
    widget = widgets[0]
    serial = widget.attribute("serial")
    properties = [
        Property("serial", serial),
        Property("firmware", widget.attribute("firmware")),
        Property("pci", card.name()),
    ]
    return Unit(serial, [card], widget.nodes(), properties)


def unreadable(names: list[str]) -> list[Property]:
    """The property that names devices which are there and cannot be described now: as many as it holds, 4,096 bytes."""
    value = ""
    for name in names:
        # A kernel's names are ASCII: as many bytes as characters.
        if len(value) + 1 + len(name) > 4096:
            break
        value += f" {name}" if value else name
    return [Property("devgate.unread", value)] if value else []


def verdict(unit: Unit):
    """What the driver says of one widget."""
    try:
        widgets = unit.backing[0].children("widget")
        if not widgets:
            return Verdict_Unhealthy("its driver does not know it any more")
        status = widgets[0].attribute("status")
    except Err as error:
        return Verdict_Unknown(error.value.message)
    return Verdict_Healthy() if status == "ok" else Verdict_Unhealthy(f"status reads {status}")


class Plugin(exports.Plugin):
    """The exports. Each call runs in a fresh instance: nothing that is kept here lasts."""

    @reported
    def enumerate(self):
        mode()
        units, unread = [], []
        for card in hardware.devices("pci"):
            name = card.name()
            try:
                units.append(described(card))
            except Err as error:
                log.write(log.Level.WARN, f"{name} is not offered: {error.value.message}")
                unread.append(name)
        return [Pool(RESOURCE, units, [], unreadable(unread))]

    @reported
    def health(self, resource, units):
        return [verdict(unit) for unit in units]

    @reported
    def allocate(self, resource, units):
        return Edits([Property("WIDGET_MODE", mode())], [], [], [], [])
