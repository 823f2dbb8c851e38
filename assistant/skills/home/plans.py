"""Which service calls an intent means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assistant.errors import SkillError
from assistant.home.base import Entity
from assistant.skills.home.act import GONE, Plan, Step, grouped
from assistant.skills.home.resolve import Found, Resolver
from assistant.skills.home.words import number, percent, the

SWITCHED = (
    "light switch fan input_boolean media_player climate humidifier siren remote water_heater "
    "automation group cover valve lock scene script button input_button vacuum lawn_mower"
).split()
EVERYTHING = ("light", "switch", "fan", "media_player", "input_boolean")
"""What "turn off everything" means: neither doors nor the heating."""

_ON = {
    "cover": ("open_cover", "opened", "Opening"),
    "valve": ("open_valve", "opened", "Opening"),
    "lock": ("lock", "locked", ""),
    "scene": ("turn_on", "started", ""),
    "script": ("turn_on", "started", ""),
    "button": ("press", "pressed", ""),
    "input_button": ("press", "pressed", ""),
    "vacuum": ("start", "started", ""),
    "lawn_mower": ("start_mowing", "started", ""),
}
_OFF = {
    "cover": ("close_cover", "closed", "Closing"),
    "valve": ("close_valve", "closed", "Closing"),
    "lock": ("unlock", "unlocked", ""),
    "vacuum": ("return_to_base", "sent back", ""),
    "lawn_mower": ("dock", "sent back", ""),
}
_COLOURS = frozenset(["hs", "xy", "rgb", "rgbw", "rgbww"])
_ON_STATES = ("on", "open", "unlocked", "opening")

Slots = Mapping[str, Any]


def turn(slots: Slots, resolver: Resolver, *, on: bool) -> Plan:
    """HassTurnOn and HassTurnOff."""
    bare = not any(slots.get(key) for key in ("name", "domain", "device_class"))
    found = resolver.find(slots, EVERYTHING if bare else SWITCHED)
    return _switch(found, on)


def toggle(slots: Slots, resolver: Resolver) -> Plan:
    """Each to what it is not now; said outright, so that it can be taken back."""
    found = resolver.find(slots, SWITCHED)
    on = not any(entity.state in _ON_STATES for entity in found.entities)
    if found.entities[0].domain == "lock":
        on = not on  # "on" is locked
    return _switch(found, on)


def _switch(found: Found, on: bool) -> Plan:
    table = _ON if on else _OFF
    usual = ("turn_on", "turned on", "") if on else ("turn_off", "turned off", "")

    def call(entity: Entity) -> tuple[str, str, Mapping[str, Any]]:
        service = table.get(entity.domain, usual)[0]
        domain = "homeassistant" if entity.domain == "group" else entity.domain
        return domain, service, {}

    words = {table.get(entity.domain, usual)[1:] for entity in found.entities}
    did, now = words.pop() if len(words) == 1 else usual[1:]
    return Plan(grouped(found.entities, call), did, found.what, now=now)


def light(slots: Slots, resolver: Resolver) -> Plan:
    """HassLightSet: brightness, a step of it, colour or colour temperature."""
    found = resolver.find(slots, ("light",))
    if "brightness_step" in slots:
        return _dim(found, float(slots["brightness_step"]))
    data: dict[str, Any] = {}
    did, tail, note, needs = "set", "", "", ""
    if "brightness" in slots:
        level, note = _clamp(float(slots["brightness"]), 0, 100, "brightness")
        data["brightness_pct"] = level
        did, tail = "set the brightness of", f" to {percent(level)}"
        needs = "" if level in (0, 100) else "brightness"
    if "temperature" in slots:
        kelvin = round(float(slots["temperature"]))
        data["color_temp_kelvin"] = kelvin
        did, tail, needs = "set", f" to {kelvin} kelvin", "temperature"
    if "color" in slots:
        data["color_name"] = str(slots["color"])
        did, tail, needs = "set", f" to {slots['color']}", "colour"
    if not data:
        raise SkillError("home.nothing", "I don't know what to set the light to.")
    able = [entity for entity in found.entities if _can_show(entity, needs)]
    left_out = tuple((e, f"has no {needs}") for e in found.entities if e not in able)
    steps = (Step("light", "turn_on", tuple(able), data),) if able else ()
    return Plan(steps, did, found.what, tail, note=note, left_out=left_out)


def _dim(found: Found, step: float) -> Plan:
    """A part brighter or darker; what is off is not made darker."""
    lit = [e for e in found.entities if e.state == "on"]
    if not lit and step < 0:
        verb = "is" if len(found.entities) == 1 else "are"
        unreachable = all(e.state in GONE for e in found.entities)
        told = "can't be reached" if unreachable else f"{verb} off"
        raise SkillError("home.off", f"{_capital(found.what)} {told}.")
    levels: dict[str, float] = {}

    def call(entity: Entity) -> tuple[str, str, Mapping[str, Any]]:
        now = 0.0
        if entity.state == "on":
            raw = entity.attributes.get("brightness")
            now = float(raw) / 2.55 if isinstance(raw, int | float) else 100.0
        levels[entity.id] = min(max(round(now + step), 1), 100)
        return "light", "turn_on", {"brightness_pct": levels[entity.id]}

    steps = grouped(lit or found.entities, call)
    same = set(levels.values())
    tail = f" to {percent(same.pop())}" if len(same) == 1 else ""
    did = "set the brightness of" if tail else ("brightened" if step > 0 else "dimmed")
    return Plan(steps, did, found.what, tail)


def position(slots: Slots, resolver: Resolver) -> Plan:
    """HassSetPosition."""
    found = resolver.find(slots, ("cover", "valve"))
    level, note = _clamp(float(slots["position"]), 0, 100, "position")

    def call(entity: Entity) -> tuple[str, str, Mapping[str, Any]]:
        kind = entity.domain
        return kind, f"set_{kind}_position", {"position": round(level)}

    steps = grouped(found.entities, call)
    return Plan(steps, "set", found.what, f" to {percent(level)}", note=note)


def stop(slots: Slots, resolver: Resolver) -> Plan:
    """HassStopMoving."""
    found = resolver.find(slots, ("cover", "valve"))
    steps = grouped(found.entities, lambda e: (e.domain, f"stop_{e.domain}", {}))
    return Plan(steps, "stopped", found.what, undo=False)


def fan_speed(slots: Slots, resolver: Resolver) -> Plan:
    """HassFanSetSpeed, also by a step."""
    found = resolver.find(slots, ("fan",))
    note = ""

    def call(entity: Entity) -> tuple[str, str, Mapping[str, Any]]:
        return "fan", "set_percentage", {"percentage": speeds[entity.id]}

    if "percentage_step" in slots:
        step = float(slots["percentage_step"])
        speeds = {
            e.id: round(min(max(_number(e, "percentage", 0.0) + step, 0), 100))
            for e in found.entities
        }
    else:
        level, note = _clamp(float(slots["percentage"]), 0, 100, "speed")
        speeds = {e.id: round(level) for e in found.entities}
    same = set(speeds.values())
    tail = f" to {percent(same.pop())}" if len(same) == 1 else ""
    return Plan(grouped(found.entities, call), "set", found.what, tail, note=note)


def climate(slots: Slots, resolver: Resolver) -> Plan:
    """HassClimateSetTemperature, also by a step.

    A step ends where the range does. A temperature beyond the range is not set at all: it may
    be one of another scale.
    """
    found = _thermostats(slots, resolver)
    notes: list[str] = []
    wanted: dict[str, float] = {}
    left_out: list[tuple[Entity, str]] = []
    for entity in found.entities:
        if "temperature_step" in slots:
            now = entity.attributes.get("temperature")
            if not isinstance(now, int | float):
                left_out.append((entity, "has no temperature that could be changed"))
                continue
            value = float(now) + float(slots["temperature_step"])
        else:
            value = float(slots["temperature"])
        low, high = _number(entity, "min_temp", value), _number(entity, "max_temp", value)
        clamped = min(max(value, low), high)
        if clamped != value:
            span = f"goes from {number(low)} to {number(high)} degrees"
            if "temperature_step" not in slots:
                left_out.append((entity, span))
                continue
            notes.append(f"{_capital(the(entity.name))} {span}.")
        wanted[entity.id] = clamped

    def call(entity: Entity) -> tuple[str, str, Mapping[str, Any]]:
        value = wanted[entity.id]
        plain = int(value) if value == int(value) else value
        return entity.domain, "set_temperature", {"temperature": plain}

    steps = grouped([e for e in found.entities if e.id in wanted], call)
    same = set(wanted.values())
    tail = f" to {number(same.pop())} degrees" if len(same) == 1 else ""
    note = " ".join(dict.fromkeys(notes))
    return Plan(steps, "set", found.what, tail, note=note, left_out=tuple(left_out))


def fan_mode(slots: Slots, resolver: Resolver) -> Plan:
    """HassClimateSetFanMode."""
    found = _thermostats(slots, resolver)
    mode = str(slots.get("fan_mode", ""))
    step = Step("climate", "set_fan_mode", found.entities, {"fan_mode": mode})
    return Plan((step,), "set the fan of", found.what, f" to {mode}", undo=False)


def _thermostats(slots: Slots, resolver: Resolver) -> Found:
    """Those in the room, or the only one of the home."""
    return resolver.find(slots, ("climate", "water_heater") if slots.get("name") else ("climate",))


def vacuum(slots: Slots, resolver: Resolver, *, start: bool) -> Plan:
    """HassVacuumStart and HassVacuumReturnToBase."""
    return _robot(slots, resolver, "vacuum", "start" if start else "return_to_base", start)


def mower(slots: Slots, resolver: Resolver, *, start: bool) -> Plan:
    """HassLawnMowerStartMowing and HassLawnMowerDock."""
    return _robot(slots, resolver, "lawn_mower", "start_mowing" if start else "dock", start)


def _robot(slots: Slots, resolver: Resolver, domain: str, service: str, start: bool) -> Plan:
    found = resolver.find({"everywhere": True, **slots}, (domain,), many=bool(slots.get("name")))
    did = "started" if start else "sent"
    return Plan((Step(domain, service, found.entities),), did, found.what, "" if start else " back")


def clean(slots: Slots, resolver: Resolver) -> Plan:
    """HassVacuumCleanArea: the room that is named, or this one."""
    place = resolver.place({k: v for k, v in slots.items() if k != "name"} | {"here": True})
    if place.areas is None:
        raise SkillError("home.no_room", "I don't know which room to clean.")
    robot: dict[str, Any] = {"everywhere": True}
    if slots.get("name"):
        robot = {"name": slots["name"]}
    found = resolver.find(robot, ("vacuum",), many=False)
    data = {"cleaning_area_id": sorted(place.areas)}
    step = Step("vacuum", "clean_area", found.entities, data)
    return Plan((step,), "sent", found.what, f" to clean {place.said}", undo=False)


def broadcast(slots: Slots, resolver: Resolver) -> Plan:
    """HassBroadcast: on the speakers of all rooms but this one."""
    here = resolver.here
    speakers = tuple(
        e
        for e in resolver.snapshot.entities
        if e.domain == "assist_satellite" and (here is None or e.area != here.id)
    )
    if not speakers:
        raise SkillError("home.no_speaker", "There is no other speaker to announce it on.")
    step = Step("assist_satellite", "announce", speakers, {"message": str(slots["message"])})
    return Plan((step,), "announced it on", "the other speakers", undo=False)


def to_do(slots: Slots, resolver: Resolver, service: str, did: str) -> Plan:
    """HassListAddItem and its like, for the lists of Home Assistant."""
    item = str(slots["item"])
    name = slots.get("name") or "shopping list"
    found = resolver.find({"name": name}, ("todo",), many=False)
    data: dict[str, Any] = {"item": [item]} if service == "remove_item" else {"item": item}
    if service == "update_item":
        data["status"] = "completed"
    step = Step("todo", service, found.entities, data)
    preposition = {"add_item": "to", "remove_item": "from"}.get(service, "on")
    return Plan((step,), did, item, f" {preposition} {found.what}", undo=False)


def _can_show(entity: Entity, needs: str) -> bool:
    """Whether a light has what is asked of it; one that does not tell may have it."""
    modes = entity.attributes.get("supported_color_modes")
    if not isinstance(modes, list | tuple) or not needs:
        return True
    known = set(map(str, modes))
    if needs == "colour":
        return bool(known & _COLOURS)
    if needs == "temperature":
        return bool(known & (_COLOURS | {"color_temp"}))
    return known != {"onoff"}


def _clamp(value: float, low: float, high: float, what: str) -> tuple[float, str]:
    """The value on its scale, and a sentence about it when it was off the scale."""
    inside = min(max(value, low), high)
    plain = int(inside) if inside == int(inside) else inside
    if inside == value:
        return plain, ""
    return plain, f"The {what} goes from {number(low)} to {number(high)}."


def _number(entity: Entity, key: str, default: float) -> float:
    value = entity.attributes.get(key)
    return float(value) if isinstance(value, int | float) else default


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


Planner = Callable[[Slots, Resolver], Plan]

PLANNERS: dict[str, Planner] = {
    "HassTurnOn": lambda s, r: turn(s, r, on=True),
    "HassTurnOff": lambda s, r: turn(s, r, on=False),
    "HassToggle": toggle,
    "HassLightSet": light,
    "HassSetPosition": position,
    "HassStopMoving": stop,
    "HassFanSetSpeed": fan_speed,
    "HassClimateSetTemperature": climate,
    "HassClimateSetFanMode": fan_mode,
    "HassVacuumStart": lambda s, r: vacuum(s, r, start=True),
    "HassVacuumReturnToBase": lambda s, r: vacuum(s, r, start=False),
    "HassVacuumCleanArea": clean,
    "HassLawnMowerStartMowing": lambda s, r: mower(s, r, start=True),
    "HassLawnMowerDock": lambda s, r: mower(s, r, start=False),
    "HassBroadcast": broadcast,
    "HassListAddItem": lambda s, r: to_do(s, r, "add_item", "added"),
    "HassListCompleteItem": lambda s, r: to_do(s, r, "update_item", "ticked off"),
    "HassListRemoveItem": lambda s, r: to_do(s, r, "remove_item", "removed"),
    "HassShoppingListAddItem": lambda s, r: to_do(s, r, "add_item", "added"),
    "HassShoppingListCompleteItem": lambda s, r: to_do(s, r, "update_item", "ticked off"),
}

NEEDS_ROOM = {
    "HassTurnOn": SWITCHED,
    "HassTurnOff": SWITCHED,
    "HassToggle": SWITCHED,
    "HassLightSet": ("light",),
    "HassSetPosition": ("cover", "valve"),
    "HassStopMoving": ("cover", "valve"),
    "HassFanSetSpeed": ("fan",),
    "HassClimateSetTemperature": ("climate",),
}
"""Intents that mean the room of this device, and the domains that they look for there."""
