"""Ranges with one end: what comes before, after, until or since a point."""

from __future__ import annotations

from datetime import datetime, time

from assistant.intent.values.bound import Side, after_point, before_point
from assistant.intent.values.calendar_day import skip
from assistant.intent.values.cardinal import word_at
from assistant.intent.values.hours import match_part
from assistant.intent.values.moment import instant
from assistant.intent.values.period import Period
from assistant.intent.values.points import Point, Points
from assistant.intent.values.range_value import Range

Found = tuple[Range, int]
"""A range and the index after its words."""


def open_at(side: Side, point: Point, now: datetime, *, past: bool = False) -> Range:
    """The range on one side of a point; past: "since may" is since the last one, "from may on"
    is not."""
    if point.when is not None:
        at, when = point.when.at, point.when
        return open_range(side, at, at, when.has_date, True)
    period = point.period
    assert period is not None
    if past and period.cycle and period.first > now.date():
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


def match_bounded(points: Points, i: int, *, followed: bool) -> Found | None:
    """Reads "since may", "before 5 pm tomorrow", "3 pm or later on monday", "feb 1st no
    later than 6"."""
    tokens = points.tokens
    if word_at(tokens, i) == "more":
        return _match_farther(points, i)
    before = before_point(tokens, i)
    if before is not None:
        side, at = before
        return _side(points, side, at, i)
    if not followed:
        return None
    start = skip(tokens, i, "from")
    point = points.point_at(start)
    if point and start > i and word_at(tokens, point.end) == "on":
        return open_at("since", point, points.now), point.end + 1  # "from monday on"
    if point is None or (point.period is not None and _is_loose(point.period)):
        return None
    day = point.period
    inner = before_point(tokens, skip(tokens, point.end, ","))
    if day is not None and day.unit == "day" and inner is not None and inner[0] != "since":
        timed = points.reader.longest(inner[1], bare=True)
        if timed and timed[0] and timed[0].has_time and not timed[0].has_date:
            wall = timed[0].at.timetz().replace(tzinfo=None)
            clock = points.reader.clock_at(inner[1])
            if clock is not None and not clock.clock.exact:
                wall = wall.replace(hour=clock.clock.readings()[0].hour)
            moment = instant(day.first, wall, points.now)
            return open_range(inner[0], moment, moment, True, True), timed[1]
    after = after_point(tokens, point.end)
    if after is None:
        return None
    side, end = after
    if point.when is not None and not point.when.has_date:
        on = skip(tokens, end, "on")
        named = points.day_at(on)
        if named is not None and not named.loose:
            wall = point.when.at.timetz().replace(tzinfo=None)
            moment = instant(named.first, wall, points.now)
            return open_range(side, moment, moment, True, True), named.end
    return open_at(side, point, points.now), end


def _side(points: Points, side: Side, at: int, i: int) -> Found | None:
    tokens = points.tokens
    at = skip(tokens, at, "around", "about", "approximately")
    year = word_at(tokens, i) in ("than", "<", ">")
    point = points.point_at(at, bare=side != "since" and not year)
    hours = match_part(tokens, at)
    if hours is not None and (point is None or hours.end >= point.end) and hours.sure:
        start, stop = hours.coming(points.now)
        found = Range(start, stop, stop, False, True)
        return open_range(side, found.start, found.end, False, True), hours.end
    if point is None or (point.period is not None and point.period.loose):
        return None
    word = word_at(tokens, i)
    if word == "from" and point.when is not None and not point.when.has_date:
        return None
    past = any(word_at(tokens, place) == "since" for place in range(i, at))
    return open_at(side, point, points.now, past=past), point.end


def _match_farther(points: Points, i: int) -> Found | None:
    """Reads "more than two weeks ago", "more than 3 days after christmas"."""
    if word_at(points.tokens, i + 1) != "than":
        return None
    hit = points.reader.relative(i + 2)
    length = points.reader.length_at(i + 2)
    if hit is None or hit[0] is None or length is None:
        return None
    when = hit[0]
    back = word_at(points.tokens, length.end) in ("ago", "earlier", "before")
    side: Side = "before" if back else "after"
    return open_range(side, when.at, when.at, when.has_date, when.has_time), hit[1]


def _is_loose(period: Period) -> bool:
    """A year is sure before "or later"."""
    return period.loose and period.unit != "year"
