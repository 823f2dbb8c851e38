"""A stretch of time with a beginning and an end, either of which may be open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta

from assistant.intent.values.moment import instant
from assistant.intent.values.period import Period


@dataclass(frozen=True, slots=True)
class Range:
    """start: its first moment; None when it is open there ("until friday").

    end: as it was said, the beginning of the day, month or year that was named last ("from
        monday to friday" ends with friday); of one period ("next week") the moment after it;
        None when it is open ("since friday").
    stop: the moment after all of it: the day, month or year named last belongs to it.
    has_date: a day was named; without it, it is the next such time of day.
    has_time: a time of day was named; without it, it is made of whole days.
    """

    start: datetime | None
    end: datetime | None
    stop: datetime | None
    has_date: bool
    has_time: bool


def days(first: Period, last: Period | None, now: datetime) -> Range:
    """From the first day of one period to another one, or one period alone."""
    start = instant(first.first, time(0), now)
    if last is None:
        stop = instant(first.stop, time(0), now)
        return Range(start, stop, stop, True, False)
    end, stop = (instant(day, time(0), now) for day in (last.first, last.stop))
    return Range(start, end, stop, True, False)


def moments(start: datetime, end: datetime, *, has_date: bool = True) -> Range:
    """From one moment to another; an end one second before midnight is midnight."""
    last_second = (end.hour, end.minute, end.second) == (23, 59, 59)
    stop = end + timedelta(seconds=1) if last_second else end
    return Range(start, end, stop, has_date, True)
