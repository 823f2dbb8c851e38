"""The same commands in the words of two: of our skills and of Home Assistant.

Our skills understand some of Home Assistant's commands by intents of their own; this table
says which is which, so that values can be compared one by one. Both sides are brought to
one form: name of the intent, and slots in which

- hours, minutes and seconds are one number of seconds, ``length`` (how long, or by how
  much) or ``start`` (how long the timer was set for);
- text is compared without regard to case;
- a timer "in the kitchen" is one called kitchen: our timers have names and no rooms;
- a list has the name that our lists have for it: chores and tasks are the to-do list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from assistant.intent.base import Intent
from assistant.intent.home_translate import seconds
from assistant.intent.list_slots import list_name

Slots = dict[str, Any]
Meaning = tuple[str, Slots]

ADDED = ("here", "everywhere", "response", "question", "delay", "commands")
"""Slots of our home intents beside Home Assistant's."""


def expected(name: str, slots: Mapping[str, Any]) -> Meaning:
    """What a case of Home Assistant expects, in the common form."""
    result = dict(slots)
    if "Timer" in name:
        for key, prefix in (("length", ""), ("start", "start_")):
            length = seconds(slots, prefix)
            if length is not None:
                result[key] = length
            for unit in ("hours", "minutes", "seconds"):
                result.pop(prefix + unit, None)
        if "area" in result:
            result["name"] = result.pop("area")
    elif name.startswith("HassList") and "name" in result:
        result["name"] = list_name(result["name"], datetime.now(UTC)) or result["name"]
    return name, _folded(result)


def understood(intent: Intent) -> list[Meaning]:
    """What we understood, in the common form; several where Home Assistant has no
    difference that we make."""
    skill, _, action = intent.name.partition(".")
    if skill == "home":
        slots = {name: value for name, value in intent.slots.items() if name not in ADDED}
        return [expected(action, slots)]
    rule = _RULES.get(intent.name)
    if rule is None:
        return [(intent.name, _folded(intent.slots))]
    return [(name, _folded(slots)) for name, slots in rule(intent.slots)]


def agree(wanted: Meaning, got: Meaning) -> tuple[bool, bool]:
    """Whether intent, and intent with all slots, are the same.

    A domain that Home Assistant leaves to the sentence is no mistake where the case does
    not name one.
    """
    (name, slots), (own_name, own_slots) = wanted, got
    if name != own_name:
        return False, False
    if "domain" not in slots:
        own_slots = {key: value for key, value in own_slots.items() if key != "domain"}
    return True, slots == own_slots


def _folded(slots: Mapping[str, Any]) -> Slots:
    return {k: v.casefold() if isinstance(v, str) else v for k, v in slots.items()}


def _renamed(name: str, **new: str) -> Callable[[Slots], list[Meaning]]:
    """The same values under Home Assistant's names; what has none stays and differs."""
    return lambda slots: [(name, {new.get(key, key): value for key, value in slots.items()})]


def _bare(*names: str) -> Callable[[Slots], list[Meaning]]:
    return lambda slots: [(name, {}) for name in names]


def _timer_cancel(slots: Slots) -> list[Meaning]:
    if slots.get("which") == "all":
        return [("HassCancelAllTimers", {k: v for k, v in slots.items() if k != "which"})]
    return _renamed("HassCancelTimer", duration="start")(slots)


def _date(slots: Slots) -> list[Meaning]:
    today = ("today", datetime.now().astimezone().date().isoformat())
    return [("HassGetCurrentDate", {k: v for k, v in slots.items() if v not in today})]


def _volume_step(sign: int) -> Callable[[Slots], list[Meaning]]:
    def rule(slots: Slots) -> list[Meaning]:
        step = slots.get("step")
        value = ("up" if sign > 0 else "down") if step is None else sign * step
        others = {key: value for key, value in slots.items() if key != "step"}
        return [("HassSetVolumeRelative", {**others, "volume_step": value})]

    return rule


def _list(shopping: str, other: str) -> Callable[[Slots], list[Meaning]]:
    """One item; the shopping list and one without a name have an intent of their own."""

    def rule(slots: Slots) -> list[Meaning]:
        items, name = slots.get("items", []), slots.get("list")
        item = items[0] if len(items) == 1 else items
        named = [(other, {"item": item, "name": name})] if name else []
        return [*named, (shopping, {"item": item})] if name in (None, "shopping") else named

    return rule


_RULES: dict[str, Callable[[Slots], list[Meaning]]] = {
    "timer.set": _renamed("HassStartTimer", duration="length"),
    "timer.cancel": _timer_cancel,
    "timer.add": _renamed("HassIncreaseTimer", amount="length", duration="start"),
    "timer.reduce": _renamed("HassDecreaseTimer", amount="length", duration="start"),
    "timer.pause": _renamed("HassPauseTimer", duration="start"),
    "timer.resume": _renamed("HassUnpauseTimer", duration="start"),
    "timer.left": _renamed("HassTimerStatus", duration="start"),
    "timer.list": _renamed("HassTimerStatus"),
    "clock.time": _renamed("HassGetCurrentTime"),
    "clock.date": _date,
    "lists.add": _list("HassShoppingListAddItem", "HassListAddItem"),
    "lists.tick": _list("HassShoppingListCompleteItem", "HassListCompleteItem"),
    # what is taken off the shopping list is done with in Home Assistant
    "lists.remove": _list("HassShoppingListCompleteItem", "HassListRemoveItem"),
    "volume.set": _renamed("HassSetVolume", level="volume_level"),
    "volume.up": _volume_step(1),
    "volume.down": _volume_step(-1),
    "volume.mute": _renamed("HassMediaPlayerMute"),
    "volume.unmute": _renamed("HassMediaPlayerUnmute"),
    "system.stop": _bare("HassNevermind"),
    "system.hello": _bare("HassRespond"),
    "system.help": _bare("HassRespond"),
    "system.identity": _bare("HassRespond"),
    "weather.now": _renamed("HassGetWeather"),
    "media.next": _renamed("HassMediaNext"),
    "media.previous": _renamed("HassMediaPrevious"),
    "media.pause": _renamed("HassMediaPause"),
    "media.resume": _renamed("HassMediaUnpause"),
}
