"""What devices and rooms are called in an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.home.base import Area, Entity
from assistant.skills.spoken import listing

MANY = 4
"""More names than this are counted instead of read out."""

_COVERS = {
    "awning": "awning", "blind": "blind", "curtain": "curtain", "damper": "damper",
    "door": "door", "garage": "garage door", "gate": "gate", "shade": "shade",
    "shutter": "shutter", "window": "window",
}  # fmt: skip
_NOUNS = {
    "light": "light", "switch": "switch", "fan": "fan", "lock": "lock", "valve": "valve",
    "climate": "thermostat", "media_player": "player", "vacuum": "vacuum",
    "lawn_mower": "mower", "scene": "scene", "script": "script", "humidifier": "humidifier",
    "binary_sensor": "sensor", "sensor": "sensor",
}  # fmt: skip
_PROPER = frozenset(["person", "vacuum", "lawn_mower", "scene", "script", "weather"])
_IRREGULAR = {"switch": "switches"}
_OWN = re.compile(r"^(?:the|my|our|your)\s|'s\b|’s\b|\d$", re.IGNORECASE)


def noun(domain: str, device_class: str = "") -> str:
    """ "light", "curtain", "garage door", ...; "device" for what has no common name."""
    if domain == "cover" or (domain == "binary_sensor" and device_class in _COVERS):
        return _COVERS.get(device_class, "blind")
    if device_class in ("garage_door", "opening"):
        return "door"
    if domain == "sensor" and device_class:
        return f"{device_class.replace('_', ' ')} sensor"
    return _NOUNS.get(domain, "device")


def plural(word: str) -> str:
    return _IRREGULAR.get(word, f"{word}s")


def common_noun(entities: Sequence[Entity]) -> str:
    """What all of them are, "device" when they differ."""
    nouns = {noun(e.domain, str(e.attributes.get("device_class", ""))) for e in entities}
    return nouns.pop() if len(nouns) == 1 else "device"


def the(name: str) -> str:
    """ "the Hall lamp", but "Anna's lamp", "my lamp" and "Lamp 1"."""
    return name if _OWN.search(name) else f"the {name}"


def called(entity: Entity) -> str:
    """As ``the``, but people, robots and scenes go by their bare names."""
    return entity.name if entity.domain in _PROPER else the(entity.name)


def names(entities: Sequence[Entity]) -> str:
    """ "the Hall lamp and the Desk lamp", or "5 lights"."""
    said = list(dict.fromkeys(map(called, entities)))
    if len(said) > MANY:
        return f"{len(said)} {plural(common_noun(entities))}"
    return listing(said)


def in_room(area: Area) -> str:
    return f"in {the(area.name)}"


def percent(value: float) -> str:
    return f"{round(value)} percent"


def number(value: float) -> str:
    """ "21" for 21.0, "20.5" otherwise."""
    return str(int(value)) if value == int(value) else str(round(value, 2))
