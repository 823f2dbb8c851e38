"""What a sentence makes of the one before: "and in the bedroom?", "make it twenty", "warmer"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from assistant.home.colours import RGB
from assistant.intent.base import Intent
from assistant.intent.followup import followup, points_back
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.sound_alike import similarity
from assistant.intent.values.duration import parse_duration
from assistant.intent.values.number import parse_number
from assistant.skills.home.resolve import Resolver
from assistant.skills.home.states import is_in
from assistant.skills.home.words import the

_TARGET = ("name", "area", "floor", "here", "everywhere", "domain", "device_class")
_PLACES = ("area", "floor", "here", "everywhere")
_IT = (
    r"(?:it|that|this|them all|them both|them|those|these|all of (?:it|them|those|these)"
    r"|both of them|both)"
)
_SWITCH = re.compile(
    rf"^(?:turn|switch|put) (?:{_IT} (?:all )?(?:back )?(on|off)|(on|off) {_IT})(?: again)?$"
)
_VERBS = {
    "open": "HassTurnOn",
    "close": "HassTurnOff",
    "shut": "HassTurnOff",
    "lock": "HassTurnOn",
    "unlock": "HassTurnOff",
}
_VERB = re.compile(rf"^(open|close|shut|lock|unlock) {_IT}(?: again)?$")
_STEP = re.compile(
    rf"^(?:(?P<less>dim|lower|turn down)|brighten|raise|turn up) {_IT}(?: (?:down|up))?"
    r"(?: (?:a (?:little|bit|little bit|touch|tad)|slightly|more|again))*$"
    rf"|^turn {_IT} (?:(?P<down>down)|up)(?: (?:a (?:little|bit|little bit)|slightly|more))*$"
)
_HOW = re.compile(
    r"^(?:is|are) (?:it|they|that|those|these|them) (?:(?:all|both|still|now|already|really) )*"
    r"(?P<state>on|off|open|closed|shut|locked|unlocked)(?: (?:now|yet|again|already|right))*$"
)
_WHEN = re.compile(r"^(?P<what>.+?) (?:in|after) (?P<length>.+)$")
_BARE_SWITCH = re.compile(r"^(?:(?:and|then|back) )*(?P<way>on|off)(?: again)?$")
_FOR_IT = re.compile(r"\b(?:it|that|them|those)\b")
_SET = re.compile(
    r"^(?:set|turn|make|dim|put|change) (?:it|that|this|them) (?:up |down )?to (.+)$"
    r"|^(?:open|close|shut) (?:it|that|this|them) (?:up )?(?:to )?(.+)$"
)
_MAKE = re.compile(r"^(?:make|turn) (?:it|that|this|them) (.+)$")
_RESUME = re.compile(
    r"^(?:resume|continue|unpause|carry on|go on|keep going|play|(?:start|play) again)"
    r"(?: (?:it|playing|now|again|then))*$"
)
_LEAD = re.compile(r"^(?:in|at|on|for|to|of|from|with)\s+|^(?:the|a|an|my|our)\s+")
_ONE = re.compile(r"\s+(?:one|ones|light|lights|lamp|lamps)$")
_UNIT = re.compile(r"\s*(?:percent|per cent|%|degrees?|°|celsius|fahrenheit|kelvin)(?:\s.*)?$")
_AMOUNT = re.compile(
    r"^(?:(?:make|turn) (?:it|that|this|them) )?(?:(?:just |even |still )?"
    r"(?:a (?:little |tiny )?(?:bit|little|touch|tad)|a lot|slightly|much|even|still) )?"
)
_BRIGHTER = {"brighter": 20, "lighter": 20, "darker": -20, "dimmer": -20, "less bright": -20}
_WARMER = {
    "warmer": 1, "hotter": 1, "higher": 1, "up": 1, "cooler": -1, "colder": -1, "lower": -1,
    "down": -1, "less warm": -1,
}  # fmt: skip
_FASTER = {"faster": 20, "higher": 20, "up": 20, "slower": -20, "lower": -20, "down": -20}

_VALUES = {
    "HassLightSet": "brightness",
    "HassSetPosition": "position",
    "HassFanSetSpeed": "percentage",
    "HassClimateSetTemperature": "temperature",
    "HassSetVolume": "volume_level",
}
_OF_DOMAIN = {
    "fan": ("HassFanSetSpeed", "percentage"),
    "cover": ("HassSetPosition", "position"),
    "climate": ("HassClimateSetTemperature", "temperature"),
    "media_player": ("HassSetVolume", "volume_level"),
}
"""What "set it to fifty" means for a device that was only switched."""

_STEPS = ("brightness_step", "percentage_step", "temperature_step", "volume_step")
_LIGHT = ("HassTurnOn", "HassTurnOff", "HassToggle", "HassLightSet")
_REPEATABLE = ("HassMediaNext", "HassMediaPrevious", "HassToggle", "HassBroadcast")


def revise(last: Intent, text: str, resolver: Resolver) -> Intent | None:
    """The new intent; None for what is not surely about the last one."""
    name = last.name.removeprefix("home.")
    words = strip_courtesy(normalize(text))
    if name == "several":
        return _of_several(last, text, resolver)
    if name not in _KNOWN:
        return None
    if later := _WHEN.match(words):
        what = _BARE_SWITCH.sub(r"turn it \g<way>", later["what"])
        kept = _later(last, what, parse_duration(later["length"]), resolver)
        if kept is not None:
            return kept
    slots = {key: value for key, value in last.slots.items() if key != "confirmed"}
    read = followup(text)
    if read.kind in ("again", "more", "less"):
        return _again(name, slots, less=read.kind == "less")
    if name == "HassMediaPause" and _RESUME.match(words):
        return Intent("home.HassMediaUnpause", slots)
    if name == "HassGetState" and (found := _found(slots, resolver)):
        return _of_several(Intent("home.several", {"commands": found}), text, resolver)
    pronoun = _by_pronoun(name, slots, words)
    if pronoun is not None:
        return pronoun
    stepped = _by_step(name, slots, _AMOUNT.sub("", words))
    if stepped is not None:
        return stepped
    value = _by_value(name, slots, read.rest, resolver, bare=read.kind == "bare")
    if value is not None and read.kind != "also":
        return value
    return _by_target(name, slots, read.rest, resolver, bare=read.kind == "bare")


def overrides(last: Intent, new: Intent) -> bool:
    """A value for the same devices takes the place of the one before."""
    name = new.name.removeprefix("home.")
    if name not in _VALUES or last.name != new.name:
        return False
    return _targets(last.slots) == _targets(new.slots) and not any(s in new.slots for s in _STEPS)


def _of_several(last: Intent, text: str, resolver: Resolver) -> Intent | None:
    """What is said of all that was just switched: "turn them off again", "make them blue"."""
    if not points_back(text):
        return None
    commands: list[dict[str, Any]] = []
    for one in last.slots["commands"]:
        new = revise(Intent(one["intent"], one["slots"]), text, resolver)
        if new is None or new.name in ("home.HassGetState", "home.HassStartTimer"):
            return None
        commands.append({"intent": new.name, "slots": dict(new.slots)})
    if len({command["intent"] for command in commands}) != 1:
        return None
    return Intent("home.several", {"commands": commands})


def _found(slots: Mapping[str, Any], resolver: Resolver) -> list[dict[str, Any]]:
    """What a question about the whole home was answered with, as if each had been switched."""
    if _targets(slots).keys() & {"name", *_PLACES} or not slots.get("state"):
        return []
    rooms = {area.id: area.name for area in resolver.snapshot.areas}
    return [
        {
            "intent": "home.HassTurnOn",
            "slots": {"name": e.name, **({"area": rooms[e.area]} if e.area in rooms else {})},
        }
        for e in resolver.snapshot.entities
        if e.domain == slots.get("domain") and is_in(e, str(slots["state"]))
    ]


def _later(last: Intent, what: str, delay: float | None, resolver: Resolver) -> Intent | None:
    """ "turn it off in ten minutes", of what was just switched."""
    now = revise(last, what, resolver) if delay and points_back(what) else None
    if now is None or now.name not in ("home.HassTurnOn", "home.HassTurnOff", "home.HassLightSet"):
        return None
    said = _FOR_IT.sub(_called(now.slots), what, count=1)
    commands = [{"intent": now.name, "slots": dict(now.slots)}]
    slots = {"conversation_command": said, "delay": delay, "commands": commands}
    return Intent("home.HassStartTimer", slots)


def _called(slots: Mapping[str, Any]) -> str:
    """ "the Hall lamp", "the lights in the Kitchen", "it"."""
    if isinstance(name := slots.get("name"), str):
        return the(name)
    if slots.get("domain") == "light":
        return f"the lights in {the(slots['area'])}" if "area" in slots else "the lights"
    return "it"


def _again(name: str, slots: Mapping[str, Any], *, less: bool) -> Intent | None:
    for key in _STEPS:
        if key in slots:
            step = slots[key]
            if less:
                step = {"up": "down", "down": "up"}.get(step) or -float(step)
            return Intent(f"home.{name}", {**slots, key: step})
    return Intent(f"home.{name}", dict(slots)) if name in _REPEATABLE and not less else None


def _by_pronoun(name: str, slots: Mapping[str, Any], words: str) -> Intent | None:
    """ "turn it off", "close it again"."""
    target = _targets(slots)
    if not target:
        return None
    if match := _SWITCH.match(words):
        on = "on" in match.groups()
        return Intent("home.HassTurnOn" if on else "home.HassTurnOff", target)
    if match := _VERB.match(words):
        return Intent(f"home.{_VERBS[match[1]]}", target)
    if match := _HOW.match(words):
        state = {"shut": "closed"}.get(match["state"], match["state"])
        response = "one_yesno" if "name" in target else "all"
        return Intent("home.HassGetState", {**target, "state": state, "response": response})
    return None


def _by_step(name: str, slots: Mapping[str, Any], words: str) -> Intent | None:
    """ "brighter", "a bit warmer": of what was set or asked for."""
    target = _targets(slots)
    if name in _LIGHT and (match := _STEP.match(words)):
        step = -20 if match["less"] or match["down"] else 20
        return Intent("home.HassLightSet", {**target, "brightness_step": step})
    if name in _LIGHT and words in _BRIGHTER and slots.get("domain") in (None, "light"):
        return Intent("home.HassLightSet", {**target, "brightness_step": _BRIGHTER[words]})
    if name in ("HassClimateSetTemperature", "HassClimateGetTemperature") and words in _WARMER:
        slot = {"temperature_step": _WARMER[words]}
        return Intent("home.HassClimateSetTemperature", {**target, **slot})
    if name == "HassFanSetSpeed" and words in _FASTER:
        return Intent("home.HassFanSetSpeed", {**target, "percentage_step": _FASTER[words]})
    return None


def _by_value(
    name: str, slots: Mapping[str, Any], rest: str, resolver: Resolver, *, bare: bool
) -> Intent | None:
    """ "make it twenty", "no, blue", "set it to half"."""
    for pattern in (_SET, _MAKE):
        if match := pattern.match(rest):
            rest, bare = match[match.lastindex or 1], False
    rest = re.sub(r"^to ", "", rest)
    target = _targets(slots)
    lights = name in _LIGHT and _is_light(slots, resolver)
    if rest in RGB and lights and (not bare or "color" in slots):
        return Intent("home.HassLightSet", {**target, "color": rest})
    if rest in ("on", "off") and name in ("HassTurnOn", "HassTurnOff") and not bare:
        return Intent("home.HassTurnOn" if rest == "on" else "home.HassTurnOff", target)
    number = parse_number(_UNIT.sub("", rest))
    if rest in ("half", "halfway", "half way"):
        number = 50
    if number is None:
        return None
    unit = rest != _UNIT.sub("", rest)
    slot = _VALUES.get(name)
    if name == "HassClimateGetTemperature" and not bare:
        name, slot = "HassClimateSetTemperature", "temperature"
    if slot is None and lights and (unit or not bare):
        name, slot = "HassLightSet", "brightness"
    if slot is None and not bare and (found := _OF_DOMAIN.get(_domain(slots, resolver))):
        name, slot = found
    if slot is None:
        return None
    if name == "HassLightSet" and "temperature" in slots and number > 100:
        slot = "temperature"
    return Intent(f"home.{name}", {**target, slot: number})


def _is_light(slots: Mapping[str, Any], resolver: Resolver) -> bool:
    said = slots.get("name")
    if not said:
        return slots.get("domain") == "light" or any(s in slots for s in ("brightness", "color"))
    return any(e.name == said and e.domain == "light" for e in resolver.snapshot.entities)


def _domain(slots: Mapping[str, Any], resolver: Resolver) -> str:
    """The kind of device that is meant; "" when it is not one kind."""
    said = slots.get("name")
    if not said:
        return str(slots.get("domain", ""))
    domains = {entity.domain for entity in resolver.snapshot.entities if entity.name == said}
    return domains.pop() if len(domains) == 1 else ""


def _by_target(
    name: str, slots: Mapping[str, Any], rest: str, resolver: Resolver, *, bare: bool
) -> Intent | None:
    """ "and in the bedroom?", "the hall one", "and the desk lamp"."""
    if name == "several":
        return None
    while (shorter := _LEAD.sub("", rest)) != rest:
        rest = shorter
    one = _ONE.search(rest) is not None
    stripped = _ONE.sub("", rest)
    kept = {k: v for k, v in slots.items() if k not in _PLACES and k != "name"}
    for said in (rest, stripped):
        entity = _entity(said, resolver)
        if entity is not None and (not bare or one or said == rest):
            return Intent(f"home.{name}", {**_without_domain(kept), "name": entity})
    for said in (rest, stripped):
        place = _place(said, resolver)
        if place is not None and (not bare or one):
            old = slots.get("name")
            if old and _stands_in(old, place, resolver):
                return Intent(f"home.{name}", {**kept, "name": old, **place})
            if old and "domain" not in kept:
                domains = {e.domain for e in resolver.snapshot.entities if e.name == old}
                if len(domains) == 1:
                    kept["domain"] = domains.pop()
            return Intent(f"home.{name}", {**kept, **place})
    if not bare and stripped in ("here", "this room"):
        return Intent(f"home.{name}", {**kept, "here": True})
    if not bare and stripped in ("everywhere", "whole house", "all", "everything"):
        return Intent(f"home.{name}", {**kept, "everywhere": True})
    return None


def _entity(said: str, resolver: Resolver) -> str | None:
    """A name of a device that was said exactly."""
    for entity in resolver.snapshot.entities:
        if any(similarity(said, name) == 1.0 for name in (entity.name, *entity.aliases)):
            return entity.name
    return None


def _place(said: str, resolver: Resolver) -> dict[str, str] | None:
    for area in resolver.snapshot.areas:
        if any(similarity(said, name) == 1.0 for name in (area.name, *area.aliases)):
            return {"area": area.name}
    for floor in resolver.snapshot.floors:
        if any(similarity(said, name) == 1.0 for name in (floor.name, *floor.aliases)):
            return {"floor": floor.name}
    return None


def _stands_in(name: str, place: Mapping[str, str], resolver: Resolver) -> bool:
    """Whether a device of this name is in that room: another one of the same name."""
    home = resolver.snapshot
    rooms = {area.id for area in home.areas if area.name == place.get("area")}
    return any(entity.name == name and entity.area in rooms for entity in home.entities)


def _without_domain(slots: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in slots.items() if k not in ("domain", "device_class")}


def _targets(slots: Mapping[str, Any]) -> dict[str, Any]:
    return {key: slots[key] for key in _TARGET if key in slots}


_KNOWN = frozenset(
    """HassTurnOn HassTurnOff HassToggle HassLightSet HassSetPosition HassFanSetSpeed
    HassClimateSetTemperature HassClimateGetTemperature HassGetState HassGetWeather HassMediaPause
    HassMediaUnpause HassMediaNext HassMediaPrevious HassSetVolume HassSetVolumeRelative
    HassMediaPlayerMute HassMediaPlayerUnmute HassVacuumStart HassVacuumReturnToBase
    HassVacuumCleanArea HassBroadcast""".split()
)
