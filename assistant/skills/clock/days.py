"""Distances in the calendar: days until, weeks since, the days between."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from assistant.skills import spoken

_SECONDS = {"hour": 3600, "minute": 60, "second": 1}


def distance(first: date, second: date, unit: str = "") -> str:
    """From one day to a later one: "25 days", "3 weeks and 4 days"; in one unit when asked for."""
    days = (second - first).days
    if unit == "week":
        weeks, rest = divmod(days, 7)
        return _joined((weeks, "week"), (rest, "day"))
    if unit in ("month", "year"):
        months, rest = _months(first, second)
        years, months = divmod(months, 12) if unit == "year" else (0, months)
        return _joined((years, "year"), (months, "month"), (rest, "day"))
    if unit == "weekend":
        return _count(_weekends(first, second), "weekend")
    if unit in _SECONDS:
        return _count(days * 86_400 // _SECONDS[unit], unit)
    return _count(days, "day")


def remaining(now: datetime, moment: datetime, unit: str = "") -> str:
    """From now to a moment: "2 hours 15 minutes", or whole hours, minutes or seconds."""
    seconds = (moment.astimezone(UTC) - now.astimezone(UTC)).total_seconds()
    if unit in ("minute", "second"):
        return _count(round(seconds / _SECONDS[unit]), unit)
    return spoken.about(seconds)


def past(day: date, today: date) -> date:
    """The last time that day was: "since the first of march" is not a march to come."""
    if day <= today:
        return day
    try:
        return day.replace(year=today.year if _in(day, today) <= today else today.year - 1)
    except ValueError:  # the 29th of February
        return day.replace(year=today.year - 1, day=28)


def _in(day: date, today: date) -> date:
    try:
        return day.replace(year=today.year)
    except ValueError:
        return day.replace(year=today.year, day=28)


def _months(first: date, second: date) -> tuple[int, int]:
    """Whole months and the days that are left over."""
    months = (second.year - first.year) * 12 + second.month - first.month
    if second.day >= first.day:
        return months, second.day - first.day
    start = (second.replace(day=1) - timedelta(1)).replace(day=1)
    length = (second.replace(day=1) - start).days
    return months - 1, length - min(first.day, length) + second.day


def _weekends(first: date, second: date) -> int:
    """Saturdays from the first day on and before the second."""
    days = (first + timedelta(n) for n in range((second - first).days))
    return sum(day.weekday() == 5 for day in days)


def _joined(*parts: tuple[int, str]) -> str:
    said = [_count(number, unit) for number, unit in parts if number]
    return spoken.listing(said) if said else _count(0, parts[-1][1])


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"
