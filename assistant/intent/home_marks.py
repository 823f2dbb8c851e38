"""Free phrasing about the home: words that a tagger marked become Home Assistant's values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from assistant.home.base import Snapshot
from assistant.intent.base import Intent
from assistant.intent.home_names import Names, Value, plain
from assistant.intent.sound_alike import best_match
from assistant.intent.values.number import parse_number
from assistant.intent.values.percent import parse_percent

STEP = 20
"""How much brighter "brighter" is, in per cent."""

_PERCENTS = ("brightness", "position", "percentage", "volume_level")
_NEEDS = {
    "home.HassSetPosition": "position",
    "home.HassFanSetSpeed": "percentage",
    "home.HassClimateSetTemperature": "temperature",
    "home.HassSetVolume": "volume_level",
    "home.HassMediaSearchAndPlay": "search_query",
    "home.HassBroadcast": "message",
    "home.HassVacuumCleanArea": "area",
}
"""Without this value there is nothing to be done."""

_LIGHT_VALUES = frozenset(("brightness", "color", "temperature"))
_OF_LIGHTS = ("home.HassLightSet", "home.HassTurnOn", "home.HassTurnOff")
"""Without a device they are about the lights."""

_LISTS = ("home.ListRooms", "home.ListDevices")
"""Questions about the whole home, or the room that they name."""

_KINDS = {
    **dict.fromkeys(("lights", "lamps"), "light"),
    **dict.fromkeys(("switches", "plugs", "sockets", "outlets"), "switch"),
    **dict.fromkeys(("blinds", "curtains", "shutters", "covers"), "cover"),
    **dict.fromkeys(("speakers", "players"), "media_player"),
    "locks": "lock",
    "fans": "fan",
    "thermostats": "climate",
}
"""Words for kinds of devices, where they are asked for."""

_TARGETS = ("name", "area", "floor", "device_class")
_LIGHTS = frozenset(("light", "lights", "lamp", "lamps", "lighting", "bright", "dark", "dim"))
_UP = frozenset(
    "brighter brighten lighter more raise increase up louder dark gloomy weak quiet hear".split()
)
_DOWN = frozenset(
    "dimmer darker darken less lower reduce decrease down softer quieter dim hurt hurts hurting "
    "glaring loud shouting blaring".split()
)
_TOO = {"too bright": -STEP, "too dim": STEP}
"""What is wrong, where the word alone would say what is wanted."""

_STATES = {"shut": "closed", "out": "off", "not locked": "unlocked"}
_SENSOR_STATES = {"open": "on", "closed": "off"}


def read_marks(intent: Intent, text: str, snapshot: Snapshot) -> Intent | None:
    """The intent with values in place of words; None when what it needs is not in them.

    intent: "home.Hass..." whose slots are pieces of ``text``. One of the grammar is
    returned as it is. A name that the home does not have stays as it was said.
    """
    if intent.source == "grammar":
        return intent
    names = Names(snapshot)
    domain = ""
    slots: dict[str, Any] = {}
    for slot, words in intent.slots.items():
        if slot in ("name", "area", "floor"):
            found = _named(str(words), names.values[slot])
            slots[slot] = found.name if found else words
            domain = found.domain if found and slot == "name" else domain
            continue
        value = _READERS.get(slot, str)(words)
        if value is None:
            return None
        slots[slot] = value
    if domain == "binary_sensor" and "state" in slots:
        slots["state"] = _SENSOR_STATES.get(slots["state"], slots["state"])
    if not _complete(intent.name, slots, plain(text)):
        return None
    return replace(intent, slots=slots)


def _complete(name: str, slots: dict[str, Any], text: str) -> bool:
    """Fills in what goes without saying; False when something is missing."""
    said = set(text.split())
    if name in _LISTS:
        kinds = {_KINDS[word] for word in said & _KINDS.keys()}
        slots |= {"domain": kinds.pop()} if len(kinds) == 1 else {}
        return True
    needed = _NEEDS.get(name)
    if needed is not None and needed not in slots:
        return False
    step = _step(said, text)
    if name == "home.HassLightSet" and not _LIGHT_VALUES & slots.keys():
        if step == 0:
            return False
        slots["brightness_step"] = step
    if name == "home.HassSetVolumeRelative":
        if step == 0:
            return False
        slots["volume_step"] = "up" if step > 0 else "down"
    if name == "home.HassGetState":
        slots.setdefault("response", "one_yesno" if "state" in slots and "name" in slots else "one")
        if "name" not in slots:
            slots["response"] = "any"
    if "device_class" in slots:
        slots["domain"] = "cover"
    elif "name" not in slots and name in _OF_LIGHTS:
        if name != "home.HassLightSet" and not said & _LIGHTS:
            # "everything in the kitchen" needs no domain, anything else is not sure enough
            return bool({"area", "floor"} & slots.keys()) and "everything" in said
        slots["domain"] = "light"
    if not any(target in slots for target in _TARGETS):
        slots["here"] = True
    return True


def _step(said: set[str], text: str) -> int:
    """Up or down by the words; 0 when they do not tell."""
    wrong = next((step for words, step in _TOO.items() if words in text), 0)
    if wrong:
        return wrong
    up, down = bool(said & _UP), bool(said & _DOWN)
    return 0 if up == down else STEP if up else -STEP


def _named(words: str, values: list[Value]) -> Value | None:
    said = plain(words)
    for value in values:
        if value.said == said:
            return value
    alike = best_match(said, [value.said for value in values if value.exact])
    return next((value for value in values if value.said == alike), None)


def _percent(words: str) -> int | float | None:
    found = parse_percent(plain(words))
    return found.value if found is not None else None


def _temperature(words: str) -> int | float | None:
    said = plain(words)
    for unit in (" degrees", " degree", "°", " celsius", " fahrenheit"):
        said = said.removesuffix(unit)
    return parse_number(said)


def _state(words: str) -> str:
    return _STATES.get(plain(words), plain(words))


def _device_class(words: str) -> str:
    said = plain(words).removeprefix("the ")
    return "garage" if "garage" in said else said.removesuffix("s")


_READERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(_PERCENTS, _percent),
    "temperature": _temperature,
    "color": lambda words: plain(words).removeprefix("to "),
    "state": _state,
    "device_class": _device_class,
}
