"""Lengths, times and dates as a person says them; the voice reads the digits."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

_UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))
_DAY_NAMES = {-1: "yesterday", 0: "today", 1: "tomorrow"}


def length(seconds: float) -> str:
    """ "1 hour 30 minutes"; nothing is left out, and fractions are kept in tenths."""
    rest = round(max(0.0, seconds), 1)
    parts = []
    for unit, size in _UNITS[:-1]:
        count, rest = divmod(rest, size)
        if count:
            parts.append(_count(int(count), unit))
    rest = round(rest, 1)
    if rest or not parts:
        parts.append(_count(int(rest) if rest == int(rest) else rest, "second"))
    return " ".join(parts)


def about(seconds: float) -> str:
    """A remaining time: to the hour from two days on, to the minute from ten minutes on, and
    to the second below."""
    if seconds >= 2 * 86_400:
        return length(round(seconds / 3600) * 3600)
    if seconds >= 600:
        return length(round(seconds / 60) * 60)
    return length(max(1, round(seconds)))


def away(moment: datetime, now: datetime) -> str:
    """How far off a moment is whose day is told with it: "9 hours", from two days on "3 days"."""
    days = (moment.date() - now.date()).days
    seconds = (moment.astimezone(UTC) - now.astimezone(UTC)).total_seconds()
    return _count(days, "day") if seconds >= 2 * 86_400 else about(seconds)


def time_of_day(moment: datetime, twenty_four_hour: bool = False) -> str:
    """ "7:05 PM", or "19:05"; the full hour is "7 PM", twelve "noon" or "midnight"."""
    if twenty_four_hour:
        return f"{moment.hour}:{moment.minute:02d}"
    if moment.minute == 0 and moment.hour % 12 == 0:
        return "noon" if moment.hour else "midnight"
    half = "AM" if moment.hour < 12 else "PM"
    hour = moment.hour % 12 or 12
    return f"{hour}:{moment.minute:02d} {half}" if moment.minute else f"{hour} {half}"


def date(moment: datetime, *, year: bool = False) -> str:
    """ "Monday, November 30th", with the year where it is another or asked for."""
    text = f"{moment:%A}, {moment:%B} {ordinal(moment.day)}"
    return f"{text}, {moment.year}" if year else text


def day(moment: datetime, now: datetime) -> str:
    """ "today", "tomorrow", "on Friday" or "on Friday, January 8th"."""
    days = (moment.date() - now.date()).days
    if days in _DAY_NAMES:
        return _DAY_NAMES[days]
    if 0 < days < 7:
        return f"on {moment:%A}"
    return f"on {date(moment, year=moment.year != now.year)}"


def ordinal(number: int) -> str:
    """ "1st", "22nd", "13th"."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"


def listing(items: Iterable[str], word: str = "and") -> str:
    """ "a", "a and b", "a, b and c"."""
    *front, last = list(items)
    return f"{', '.join(front)} {word} {last}" if front else last


def _count(number: float, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
