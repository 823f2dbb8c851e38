"""Puts devices back to the states that they had before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assistant.home.base import Entity
from assistant.skills.home.act import Step
from assistant.skills.home.confirm import is_entrance

_SWITCHED = ("light", "switch", "fan", "input_boolean", "humidifier", "siren", "media_player")


def steps_back(entities: Sequence[Entity], changed: Mapping[str, Any]) -> list[Step] | None:
    """What leads back to the states in ``entities``, as they were before.

    changed: the data of the call, by which it is known what else has changed.
    None when one of them cannot be put back, or not without being asked for.
    """
    steps: list[Step] = []
    for entity in entities:
        back = _step(entity, changed)
        if back is None:
            return None
        steps.append(back)
    return steps


def _step(entity: Entity, changed: Mapping[str, Any]) -> Step | None:
    domain, state = entity.domain, entity.state
    if domain == "climate" and "temperature" in changed:
        before = entity.attributes.get("temperature")
        if not isinstance(before, int | float):
            return None
        return Step(domain, "set_temperature", (entity,), {"temperature": before})
    if domain == "media_player" and "volume_level" in changed:
        level = entity.attributes.get("volume_level")
        if not isinstance(level, int | float):
            return None
        return Step(domain, "volume_set", (entity,), {"volume_level": level})
    if domain == "climate" and not changed:
        return Step(domain, "set_hvac_mode", (entity,), {"hvac_mode": state})
    if domain in _SWITCHED:
        if state == "off":
            return Step(domain, "turn_off", (entity,))
        if state in ("unknown", "unavailable"):
            return None
        if domain == "fan" and "percentage" in changed:
            return _with(entity, "set_percentage", "percentage")
        return Step(domain, "turn_on", (entity,), _look(entity) if domain == "light" else {})
    if domain in ("cover", "valve"):
        if is_entrance(entity):
            return None if state != "closed" else Step(domain, f"close_{domain}", (entity,))
        position = entity.attributes.get("current_position")
        if isinstance(position, int | float) and "position" in changed:
            return Step(domain, f"set_{domain}_position", (entity,), {"position": position})
        if state in ("open", "closed"):
            verb = "open" if state == "open" else "close"
            return Step(domain, f"{verb}_{domain}", (entity,))
    if domain == "lock" and state == "locked":
        return Step(domain, "lock", (entity,))
    return None


def _look(entity: Entity) -> dict[str, Any]:
    """How bright a light was, and of which colour."""
    data: dict[str, Any] = {}
    brightness = entity.attributes.get("brightness")
    if isinstance(brightness, int | float):
        data["brightness_pct"] = round(brightness / 2.55)
    mode = entity.attributes.get("color_mode")
    kelvin, rgb = entity.attributes.get("color_temp_kelvin"), entity.attributes.get("rgb_color")
    if mode == "color_temp" and isinstance(kelvin, int | float):
        data["color_temp_kelvin"] = kelvin
    elif mode in ("hs", "xy", "rgb", "rgbw", "rgbww") and isinstance(rgb, list | tuple):
        data["rgb_color"] = list(rgb)
    return data


def _with(entity: Entity, service: str, key: str) -> Step | None:
    before = entity.attributes.get(key)
    if not isinstance(before, int | float):
        return None
    return Step(entity.domain, service, (entity,), {key: before})
