"""Moments from their parts: a time of day, a day, a part of the day, a distance."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from assistant.intent.values.calendar_day import DayHit, add_months
from assistant.intent.values.clock import Clock
from assistant.intent.values.day_part import USUAL_HOUR, settle
from assistant.intent.values.duration import Length


@dataclass(frozen=True, slots=True)
class When:
    """at: the moment, with the time zone of ``now``.

    has_date: a day was named ("tomorrow", "in a week", "tonight").
    has_time: a time of day or an exact distance was named; without it ``at`` is the
        beginning of the day, or a usual hour of the part of the day that was named.
    """

    at: datetime
    has_date: bool
    has_time: bool


def move(start: datetime, length: Length, sign: int) -> When:
    """So long after (sign 1) or before (-1): days and longer keep the wall time.

    Raises OverflowError past the calendar's end.
    """
    days, part_of_day = divmod(length.days, 1)
    months, part_of_month = divmod(length.months, 1)
    seconds = length.seconds + part_of_day * 86_400 + part_of_month * 30 * 86_400
    moved = start
    if days or months:
        day = add_months(start.date(), sign * int(months)) + timedelta(sign * int(days))
        moved = instant(day, start.timetz().replace(tzinfo=None), start)
    if seconds:
        elapsed = timedelta(seconds=float(seconds * sign))
        moved = (moved.astimezone(UTC) + elapsed).astimezone(start.tzinfo)
    return When(moved, bool(days or months), True)


def resolve(now: datetime, clock: Clock | None, day: DayHit | None, part: str) -> When | None:
    """The next such moment; None when the parts contradict each other."""
    if clock is None:
        return _whole_day(now, day, part)
    settled = settle(clock, part) if part else clock
    if settled is None or (day is not None and not day.options):
        return None
    choices = settled.readings()
    here, zone = now.astimezone(UTC), now.tzinfo
    if day is None:
        near = (now.date() + timedelta(shift) for shift in (-1, 0, 1))
        moments = [moment for on in near for moment in _moments(now, choices, on)]
        soonest = min(moment for moment in moments if moment > here)
        return When(soonest.astimezone(zone), False, True)
    if len(choices) > 1 and clock.hour == 12:
        choices = choices[-1:]  # "tomorrow at 12" is noon
    for option in day.options:
        moments = _moments(now, choices, option)
        if len(day.options) == 1 and option != now.date():
            return When(moments[0].astimezone(zone), True, True)
        ahead = [moment for moment in moments if moment > here]
        if ahead:
            return When(ahead[0].astimezone(zone), True, True)
    return When(moments[-1].astimezone(zone), True, True)


def _moments(now: datetime, choices: tuple[Clock, ...], day: date) -> list[datetime]:
    """In UTC, in order; a time that comes twice gives both."""
    moments: set[datetime] = set()
    for clock in choices:
        wall = time(clock.hour % 24, clock.minute, clock.second)
        first = instant(day + timedelta(clock.hour // 24), wall, now)
        moments.add(first.astimezone(UTC))
        second = first.replace(fold=1)
        if second.utcoffset() != first.utcoffset():
            moments.add(second.astimezone(UTC))
    return sorted(moments)


def _whole_day(now: datetime, day: DayHit | None, part: str) -> When | None:
    hour = USUAL_HOUR[part] if part else 0
    if day is None:
        clock = Clock(hour)
        resolved = resolve(now, clock, None, "")
        return resolved and When(resolved.at, False, False)
    options = day.options
    if not options:
        return None
    if day.skip_today and options[0] == now.date() and not part:
        options = options[1:]
    at = instant(options[0], time(hour), now)
    if part and len(options) > 1 and at <= now:
        at = instant(options[1], time(hour), now)
    return When(at, True, False)


def instant(day: date, wall: time, now: datetime) -> datetime:
    """Local wall time on a day in now's zone; a skipped time moves forward by the gap."""
    local = datetime.combine(day, wall, tzinfo=now.tzinfo)
    return local.astimezone(UTC).astimezone(now.tzinfo)
