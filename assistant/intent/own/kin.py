"""Intents that may be taken for each other without harm: the answer is nearly the same."""

from __future__ import annotations

from collections.abc import Sequence

KIN = (
    ("weather.now", "weather.forecast", "weather.rain", "weather.umbrella", "weather.temperature"),
    ("lists.read", "lists.all", "lists.count", "lists.check"),
    ("timer.list", "timer.left"),
    ("clock.time", "clock.zone", "clock.convert", "clock.difference"),
    ("clock.date", "clock.weekday", "clock.year", "clock.week"),
    ("clock.until", "clock.since", "clock.between"),
    ("system.identity", "system.user", "system.help", "system.hello", "system.thanks"),
    ("system.repeat", "system.heard"),
    ("home.HassVacuumStart", "home.HassVacuumCleanArea"),
    ("home.ListRooms", "home.ListDevices", "home.HassGetState", "home.HassClimateGetTemperature"),
    ("home.HassTurnOn", "home.HassLightSet"),
)
"""All but the last two change nothing, and those are asked back when they are not quite sure."""


def groups(labels: Sequence[str]) -> list[int]:
    """For each label the number of its group; those alone have one of their own."""
    known = {intent: number for number, kin in enumerate(KIN) for intent in kin}
    return [known.get(label, len(KIN) + place) for place, label in enumerate(labels)]
