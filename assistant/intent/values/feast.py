"""Named days of the year: "christmas eve", "easter monday", "thanksgiving 2027"."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from assistant.intent.values.calendar_day import DayHit, name_at, year_at
from assistant.intent.values.cardinal import Tokens

DayOfYear = Callable[[int], date]


def easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar (the "anonymous" computation of 1876)."""
    century, in_century = divmod(year, 100)
    leap_skipped, moon_shift = divmod(century, 4)
    correction = (century - (century + 8) // 25 + 1) // 3
    golden = year % 19
    moon = (19 * golden + century - leap_skipped - correction + 15) % 30
    quarter, rest = divmod(in_century, 4)
    weekday = (32 + 2 * moon_shift + 2 * quarter - moon - rest) % 7
    late = (golden + 11 * moon + 22 * weekday) // 451
    month, day = divmod(moon + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def _fixed(month: int, day: int) -> DayOfYear:
    return lambda year: date(year, month, day)


def _after_easter(days: int) -> DayOfYear:
    return lambda year: easter(year) + timedelta(days)


def _nth(month: int, weekday: int, place: int, later: int = 0) -> DayOfYear:
    """The place-th weekday (Monday = 0) of a month, and so many days later."""

    def day(year: int) -> date:
        first = date(year, month, 1)
        ahead = (weekday - first.weekday()) % 7 + 7 * (place - 1) + later
        return first + timedelta(ahead)

    return day


_FEASTS: dict[str, DayOfYear] = {
    "christmas": _fixed(12, 25),
    "christmas day": _fixed(12, 25),
    "christmas eve": _fixed(12, 24),
    "boxing day": _fixed(12, 26),
    "new year's": _fixed(1, 1),
    "new year's day": _fixed(1, 1),
    "new years day": _fixed(1, 1),
    "new year's eve": _fixed(12, 31),
    "new years eve": _fixed(12, 31),
    "new year eve": _fixed(12, 31),
    "valentine's day": _fixed(2, 14),
    "valentines day": _fixed(2, 14),
    "saint patrick's day": _fixed(3, 17),
    "independence day": _fixed(7, 4),
    "halloween": _fixed(10, 31),
    "easter": _after_easter(0),
    "easter sunday": _after_easter(0),
    "easter monday": _after_easter(1),
    "good friday": _after_easter(-2),
    "father's day": _nth(6, 6, 3),
    "fathers day": _nth(6, 6, 3),
    "thanksgiving": _nth(11, 3, 4),
    "thanksgiving day": _nth(11, 3, 4),
    "black friday": _nth(11, 3, 4, later=1),
}


def match_feast(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """A named day of a year, of the coming one when no year is said."""
    length = name_at(tokens, i, _FEASTS)
    if not length:
        return None
    day = _FEASTS[" ".join(token.text for token in tokens[i : i + length])]
    year = year_at(tokens, i + length)
    if year is not None:
        return DayHit((day(year[0]),), year[1])
    days = [day(today.year + later) for later in range(3)]
    return DayHit(tuple(on for on in days if on >= today)[:2], i + length)
