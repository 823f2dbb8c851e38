"""Sentences of the home that are commands to the assistant's own skills.

Home Assistant has timers, a clock, a shopping list and a volume too; here they are the
skills', which have their own sentences and are asked first. What only Home Assistant's
sentences say is given to the same skills.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assistant.intent.base import Intent

Slots = Mapping[str, Any]

_SECONDS = {"hours": 3600, "minutes": 60, "seconds": 1}


def seconds(slots: Slots, prefix: str = "") -> int | None:
    """Hours, minutes and seconds in one; None when there are none of them."""
    found = [
        int(slots[prefix + unit]) * size
        for unit, size in _SECONDS.items()
        if prefix + unit in slots
    ]
    return sum(found) if found else None


def translate(name: str, slots: Slots) -> Intent | None:
    """The skill's intent for the intent ``name`` of the home; None when it is the home's.

    name: without "home." before it.
    """
    rule = _RULES.get(name)
    return rule(slots) if rule is not None else None


def _timer(action: str, **fixed: str) -> Callable[[Slots], Intent]:
    """A timer has no room here: one "in the kitchen" is one called kitchen."""

    def rule(slots: Slots) -> Intent:
        named = slots.get("name") or str(slots.get("area", "")).lower()
        values = {
            **fixed,
            "name": named or None,
            "duration": seconds(slots, "start_"),
            "amount": seconds(slots),
        }
        return Intent(f"timer.{action}", {k: v for k, v in values.items() if v is not None})

    return rule


def _timer_set(slots: Slots) -> Intent:
    named = {"name": slots["name"]} if "name" in slots else {}
    return Intent("timer.set", {"duration": seconds(slots), **named})


def _list(action: str) -> Callable[[Slots], Intent]:
    def rule(slots: Slots) -> Intent:
        return Intent(f"lists.{action}", {"items": [slots["item"]], "list": "shopping"})

    return rule


def _respond(slots: Slots) -> Intent | None:
    name = _ANSWERS.get(slots.get("response", ""))
    return Intent(name) if name else None


def _volume_set(slots: Slots) -> Intent | None:
    if any(slot in slots for slot in _PLACES):
        return None
    return Intent("volume.set", {"level": slots["volume_level"]})


def _volume_step(slots: Slots) -> Intent | None:
    if any(slot in slots for slot in _PLACES):
        return None
    step = slots["volume_step"]
    if isinstance(step, str):
        return Intent(f"volume.{step}")
    return Intent("volume.up" if step > 0 else "volume.down", {"step": abs(step)})


_ANSWERS = {
    "hello": "system.hello",
    "commands": "system.help",
    "creator": "system.identity",
}
_PLACES = ("name", "area", "floor")

_RULES: dict[str, Callable[[Slots], Intent | None]] = {
    "HassStartTimer": _timer_set,
    "HassCancelTimer": _timer("cancel"),
    "HassCancelAllTimers": _timer("cancel", which="all"),
    "HassIncreaseTimer": _timer("add"),
    "HassDecreaseTimer": _timer("reduce"),
    "HassPauseTimer": _timer("pause"),
    "HassUnpauseTimer": _timer("resume"),
    "HassTimerStatus": _timer("left"),
    "HassGetCurrentTime": lambda slots: Intent("clock.time"),
    "HassGetCurrentDate": lambda slots: Intent("clock.date", {"day": "today"}),
    "HassShoppingListAddItem": _list("add"),
    "HassShoppingListCompleteItem": _list("tick"),
    "HassNevermind": lambda slots: Intent("system.stop"),
    "HassSetVolume": _volume_set,
    "HassSetVolumeRelative": _volume_step,
    "HassRespond": _respond,
}
