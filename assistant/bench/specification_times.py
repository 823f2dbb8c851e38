"""Compares moments and ranges with the values of a specification of times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from assistant.bench.specification_sets import timex, unhalved
from assistant.intent.values.mention import Mention
from assistant.intent.values.moment import When
from assistant.intent.values.range_value import Range
from assistant.intent.values.recurrence import Recurrence

Values = dict[str, str]

_PATTERNS = {
    "date": "%Y-%m-%d",
    "time": "%H:%M:%S",
    "datetime": "%Y-%m-%d %H:%M:%S",
}
_RANGES = {
    "daterange": ("date", True, False),
    "timerange": ("time", False, True),
    "datetimerange": ("datetime", True, True),
}
_HALF_DAY = timedelta(hours=12)


def agree(mine: Mention, kind: str, readings: Sequence[Values]) -> bool:
    """Whether a mention is of the kind and meets one of the specification's readings of it."""
    if kind == "set":
        return isinstance(mine, Recurrence) and any(
            timex(mine) == unhalved(reading["timex"]) for reading in readings
        )
    if kind == "duration":
        return isinstance(mine, int | float) and any(
            math.isclose(mine, float(reading["value"]), rel_tol=1e-9) for reading in readings
        )
    if kind in _RANGES:
        return isinstance(mine, Range) and any(same_range(mine, kind, r) for r in readings)
    if kind not in _PATTERNS or not isinstance(mine, When):
        return False
    return any(_said(mine.at, kind) == reading.get("value") for reading in readings)


def same_range(mine: Range, kind: str, reading: Values, *, open_hours: bool = False) -> bool:
    """open_hours: without am and pm the specification names the morning, the assistant the
    next such time, so that both ends may be twelve hours apart from it."""
    pattern, has_date, has_time = _RANGES[kind]
    if (mine.has_date, mine.has_time) != (has_date, has_time):
        return False
    if not reading.get("start") and not reading.get("end"):
        return True  # "summer" has no dates there
    shifts = (timedelta(0), _HALF_DAY) if open_hours else (timedelta(0),)
    return any(
        _meets(mine.start, reading.get("start"), pattern, shift)
        and any(_meets(end, reading.get("end"), pattern, shift) for end in (mine.end, mine.stop))
        for shift in shifts
    )


def _meets(mine: datetime | None, theirs: str | None, pattern: str, shift: timedelta) -> bool:
    if mine is None or not theirs:
        return mine is None and not theirs
    return _said(mine + shift, pattern) == theirs


def _said(moment: datetime, kind: str) -> str:
    if kind == "date" or kind == "datetime":
        text = moment.strftime(_PATTERNS[kind])
        return text.rjust(10 if kind == "date" else 19, "0")
    return moment.strftime(_PATTERNS[kind])
