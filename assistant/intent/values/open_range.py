"""Ranges with one end: what comes before, after, until or since a point."""

from __future__ import annotations

from datetime import datetime, time

from assistant.intent.values.bound import Side
from assistant.intent.values.moment import instant
from assistant.intent.values.points import Point
from assistant.intent.values.range_value import Range


def open_at(side: Side, point: Point, now: datetime) -> Range:
    """The range on one side of a point; "since may" is since the last one."""
    if point.when is not None:
        at, when = point.when.at, point.when
        return open_range(side, at, at, when.has_date, True)
    period = point.period
    assert period is not None
    if side == "since" and period.cycle and period.first > now.date():
        period = period.moved(-1)
    start = instant(period.first, time(0), now)
    stop = instant(period.stop, time(0), now)
    last = start if period.unit == "day" else stop
    if point.edge == "start":
        last = start
    if point.edge == "end" and side in ("before", "until"):
        return Range(None, stop, stop, True, False)
    if side == "before":
        return Range(None, start, start, True, False)
    if side == "until":
        return Range(None, last, stop, True, False)
    return Range(start if side == "since" else last, None, None, True, False)


def open_range(
    side: Side, start: datetime | None, end: datetime | None, has_date: bool, has_time: bool
) -> Range:
    """The open range before the start or after the end of something."""
    if side == "before":
        return Range(None, start, start, has_date, has_time)
    if side == "until":
        return Range(None, end, end, has_date, has_time)
    return Range(end if side == "after" else start, None, None, has_date, has_time)
