"""States of devices in the words that people use for them."""

from __future__ import annotations

import contextlib

from assistant.home.base import Entity
from assistant.skills.home.words import number

_OFF_LIKE = frozenset(["off", "unavailable", "unknown", "standby", "idle", "docked"])
_DETECTED = ("detected", "clear")
_BINARY = {
    "battery": ("low", "normal"),
    "battery_charging": ("charging", "not charging"),
    "cold": ("cold", "normal"),
    "connectivity": ("connected", "disconnected"),
    "door": ("open", "closed"),
    "garage_door": ("open", "closed"),
    "heat": ("hot", "normal"),
    "light": ("light", "dark"),
    "lock": ("unlocked", "locked"),
    "moisture": ("wet", "dry"),
    "moving": ("moving", "still"),
    "occupancy": ("occupied", "empty"),
    "opening": ("open", "closed"),
    "plug": ("plugged in", "unplugged"),
    "power": ("powered", "without power"),
    "presence": ("home", "away"),
    "problem": ("not ok", "ok"),
    "running": ("running", "not running"),
    "safety": ("unsafe", "safe"),
    "tamper": ("tampered with", "clear"),
    "update": ("due for an update", "up to date"),
    "vibration": ("vibrating", "still"),
    "window": ("open", "closed"),
}
_ON_WORDS = frozenset(
    """on open opened low charging cold connected hot light unlocked wet moving detected occupied
    plugged powered home problem running unsafe tampered vibrating motion active""".split()
)
_SAID = {
    "not_home": "away",
    "home": "at home",
    "heat_cool": "heating or cooling",
    "heat": "heating",
    "cool": "cooling",
    "partlycloudy": "partly cloudy",
    "clear-night": "clear",
    "armed_away": "armed",
}
_UNITS = {
    "°C": "degrees",
    "°F": "degrees",
    "%": "percent",
    "W": "watts",
    "kWh": "kilowatt hours",
    "lx": "lux",
    "hPa": "hectopascals",
    "ppm": "parts per million",
}


def spoken_state(entity: Entity) -> str:
    """ "on", "open", "21.5 degrees", "at home", ..."""
    state = entity.state
    if entity.domain == "binary_sensor":
        device_class = str(entity.attributes.get("device_class", ""))
        on, off = _BINARY.get(device_class, _DETECTED if device_class else ("on", "off"))
        return {"on": on, "off": off}.get(state, state)
    unit = str(entity.attributes.get("unit_of_measurement", ""))
    with contextlib.suppress(ValueError):
        return f"{number(float(state))} {_UNITS.get(unit, unit)}".strip()
    if entity.domain == "light" and state == "on":
        level = entity.attributes.get("brightness")
        if isinstance(level, int | float) and level < 252:
            return f"on at {round(level / 2.55)} percent"
    return _SAID.get(state, state.replace("_", " "))


def is_in(entity: Entity, wanted: str) -> bool:
    """Whether the device is in that state, in Home Assistant's words or in people's."""
    state, said = entity.state.casefold(), wanted.casefold()
    if said in (state, spoken_state(entity).casefold()):
        return True
    if entity.domain == "binary_sensor":
        if said in ("on", "off"):
            return state == said
        on, off = _BINARY.get(str(entity.attributes.get("device_class", "")), _DETECTED)
        if said in (on, off):
            return said == (on if state == "on" else off)
        return said in _ON_WORDS and state == "on"
    if said == "on":
        return state not in _OFF_LIKE and state not in ("closed", "locked", "paused")
    if said == "off":
        return state in ("off", "standby")
    if said == "playing":
        return state == "playing"
    if said in ("open", "opened"):
        return state in ("open", "opening")
    if said in ("closed", "shut"):
        return state in ("closed", "closing")
    return False
