"""Recurrences in the specification's way to write them."""

from __future__ import annotations

from assistant.intent.values.recurrence import Recurrence

_HALF_YEAR = {"P0.5Y": "P6M"}


def unhalved(text: str) -> str:
    """The wording with whole months for "P0.5Y"."""
    return _HALF_YEAR.get(text, text)


def timex(found: Recurrence) -> str:
    """The specification's way to write what comes back: "P3W", "XXXX-WXX-1T16", "T09"."""
    clock = found.clock
    time = ""
    if clock is not None:
        time = f"T{clock.hour % 24:02d}" + (f":{clock.minute:02d}" if clock.minute else "")
    part = {"morning": "MO", "afternoon": "AF", "evening": "EV", "night": "NI"}.get(found.part, "")
    if part and not time:
        time = f"T{part}"
    if len(found.days) == 1 and found.place is None:
        return f"XXXX-WXX-{found.days[0] + 1}{time}"
    if found.day is not None and found.unit in ("month", "year"):
        month = f"{found.month:02d}" if found.month else "XX"
        return f"XXXX-{month}-{found.day:02d}{time}"
    if found.unit == "day" and found.every == 1 and time:
        return time
    if found.days == (0, 1, 2, 3, 4) and found.every == 1:
        return f"P1WD{time}"
    if found.days == (5, 6) and found.every == 1:
        return f"P1WE{time}"
    letters = {"second": "S", "minute": "M", "hour": "H", "month": "M"}
    letter = letters.get(found.unit, found.unit[0].upper())
    return (
        f"P{'T' if found.unit in ('second', 'minute', 'hour') else ''}{found.every}{letter}{time}"
    )
