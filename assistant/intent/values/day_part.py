"""Parts of the day: "in the morning", "this evening", "tonight", "at night"."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from assistant.intent.values.calendar_day import DayHit
from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.clock import Clock

_WORDS = {
    "morning": "morning",
    "afternoon": "afternoon",
    "evening": "evening",
    "night": "night",
    "lunchtime": "noon",
    "tonight": "night",
    "tonite": "night",
}
_AFTER_O_CLOCK = {"midnight": "night", "noon": "noon", "midday": "noon"}
USUAL_HOUR = {"morning": 9, "afternoon": 15, "evening": 19, "night": 21, "noon": 12}
NIGHT_ENDS = 5
"""Before this hour "tonight" is the night that has already begun."""

_HOURS = {
    "morning": range(12),
    "noon": range(10, 16),
    "afternoon": range(12, 22),
    "evening": range(16, 25),
    "night": range(17, 24 + NIGHT_ENDS),
}
"""The hours of each part of the day, counted on past midnight."""


class PartHit(NamedTuple):
    """part: a key of USUAL_HOUR; day: the day it names, None when it names none.

    alone: no preposition or "this" before it, so that it may be an ordinary word.
    """

    part: str
    day: DayHit | None
    end: int
    alone: bool


def match_day_part(tokens: Tokens, i: int, now: datetime) -> PartHit | None:
    """A part of the day that begins at token i."""
    today, word = now.date(), word_at(tokens, i)
    if word in ("tonight", "tonite"):
        options = (today - timedelta(1), today) if now.hour < NIGHT_ENDS else (today,)
        return PartHit("night", DayHit(options, i + 1), i + 1, alone=False)
    if word == "last" and word_at(tokens, i + 1) == "night":
        # before dawn the night that goes on is not the last one
        return PartHit("night", DayHit((today - timedelta(1),), i + 2), i + 2, alone=False)
    if word in ("next", "following") and word_at(tokens, i + 1) in ("morning", "evening"):
        part = word_at(tokens, i + 1)
        return PartHit(part, DayHit((today + timedelta(1),), i + 2), i + 2, alone=False)
    at = i
    if word in ("early", "late") and word_at(tokens, i + 1) in ("in", "at"):
        at, word = i + 1, word_at(tokens, i + 1)  # "early in the morning"
    start = at
    if word == "this":
        at += 1
    elif word in ("in", "at", "during"):
        at += 2 if word_at(tokens, at + 1) == "the" else 1
    prefixed = at > start
    if word_at(tokens, at) in ("early", "late"):
        at += 1
    part = _WORDS.get(word_at(tokens, at), "")
    if word_at(tokens, i - 1) in ("o'clock", "oclock"):
        part = part or _AFTER_O_CLOCK.get(word, "")  # "2 o'clock midnight"
        prefixed = prefixed or word in _AFTER_O_CLOCK
    if not part:
        return None
    day = DayHit((today,), at + 1) if word == "this" else None
    if part == "noon" and word_at(tokens, at + 1) in ("", ".", "!", "?"):
        prefixed = True  # "I'll be back lunchtime"
    return PartHit(part, day, at + 1, alone=not prefixed)


def settle(clock: Clock, part: str) -> Clock | None:
    """The exact time in that part of the day; its hour is 24 or more after midnight.

    None when they contradict each other ("7 am in the evening").
    """
    hours = [clock.hour, clock.hour + 24] if clock.exact else []
    if not clock.exact:
        hours = [clock.hour % 12 + half for half in (0, 12, 24)]
    for hour in hours:
        if hour in _HOURS[part]:
            return replace(clock, hour=hour, exact=True)
    return None
