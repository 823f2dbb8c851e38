"""So many days or hours from here: "the next 3 days", "the past hour", "within two weeks",
"2 weeks starting may 20th"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from fractions import Fraction

from assistant.intent.values.calendar_day import skip
from assistant.intent.values.cardinal import Tokens, match_integer, word_at
from assistant.intent.values.duration import Length, match_length
from assistant.intent.values.moment import instant, move
from assistant.intent.values.period import AHEAD, BEHIND, LASTING, Period, stretch, unit_at
from assistant.intent.values.points import Points
from assistant.intent.values.range_value import Range, moments

Found = tuple[Range, int]

_FEW = {"few": 3, "several": 3, "couple": 2}
_ALIGNED = ("quarter", "decade", "century", "weekend")
"""Counted in whole ones of the calendar."""
_OPENERS = ("within", "in", "over", "for", "during", "throughout")
_STARTS = ("starting", "beginning", "from", "start")


@dataclass(frozen=True, slots=True)
class _Count:
    """count units of the calendar, or a length of mixed units."""

    length: Length
    count: int
    unit: str
    end: int


def _count_at(tokens: Tokens, i: int) -> _Count | None:
    at = skip(tokens, i, "a")
    few = _FEW.get(word_at(tokens, at))
    if few is not None:
        at = skip(tokens, at + 1, "of")
        named = unit_at(tokens, at)
        return named and _Count(Length().plus(Fraction(few), _known(named[0])), few, *named)
    number = match_integer(tokens, i)
    named = unit_at(tokens, number.end) if number else None
    if number and named and named[0] in (*_ALIGNED, "workweek"):
        if number.value.denominator != 1:
            return None
        return _Count(Length(), int(number.value), *named)
    length = match_length(tokens, i)
    if length is None or word_at(tokens, i) in ("the", "all", "full", "whole", "another"):
        return None
    return _Count(length.length, 0, "", length.end)


def _known(unit: str) -> str:
    return unit if unit not in ("quarter", "century", "workweek") else "year"


def match_counted(tokens: Tokens, i: int, points: Points) -> Found | None:
    """Reads "(within) the next 3 days", "5 past minutes", "last hour", "within 2h"."""
    now = points.now
    at = i
    within = False
    while word_at(tokens, at) in _OPENERS:
        within = within or word_at(tokens, at) == "within"
        at += 1
    at = skip(tokens, at, "the")
    word = word_at(tokens, at)
    if word == "last" and word_at(tokens, at - 1) in LASTING:
        return None
    if word in (*AHEAD, *BEHIND):
        sign = 1 if word in AHEAD else -1
        one = unit_at(tokens, at + 1)
        if one is not None and one[0] in ("hour", "minute", "second"):
            counted: _Count | None = _Count(Length().plus(Fraction(1), one[0]), 1, *one)
        elif one is not None and word_at(tokens, one[1] - 1).endswith("s"):
            counted = _Count(Length().plus(Fraction(1), _known(one[0])), 1, *one)
            if one[0] in _ALIGNED or word_at(tokens, at + 1).endswith("'s"):
                return None
        else:
            counted = _count_at(tokens, at + 1)
        if counted is None:
            return None
        return _toward(counted, sign, now, today=within), counted.end
    number = match_integer(tokens, at)
    if number is not None and word_at(tokens, number.end) in (*AHEAD, *BEHIND):
        sign = 1 if word_at(tokens, number.end) in AHEAD else -1
        named = unit_at(tokens, number.end + 1)
        if named is None or number.value.denominator != 1:
            return None
        if number.value != 1 and not word_at(tokens, named[1] - 1).endswith("s"):
            return None  # "we are only three next week"
        count = int(number.value)
        length = Length().plus(number.value, _known(named[0]))
        return _toward(_Count(length, count, *named), sign, now, today=within), named[1]
    if not within:
        return None
    counted = _count_at(tokens, at)
    if counted is None or counted.unit in _ALIGNED:
        return None
    if word_at(tokens, counted.end) in ("from", "of", "after"):
        point = points.point_at(counted.end + 1)
        if point is not None and point.period is not None and point.period.unit == "day":
            return _from_day(point.period, counted.length, now), point.end
        if point is not None and point.when is not None:
            start = point.when.at
            return moments(start, move(start, counted.length, 1).at), point.end
    return _toward(counted, 1, now, today=True), counted.end


def _toward(counted: _Count, sign: int, now: datetime, *, today: bool) -> Range:
    """So much time after now, or before it; whole days leave today out unless ``today``."""
    midnight = instant(now.date(), time(0), now)
    if counted.unit in _ALIGNED and counted.count:
        near = stretch(counted.unit, now.date(), sign)
        far = stretch(counted.unit, now.date(), sign * counted.count)
        if near is None or far is None:
            raise OverflowError("outside the calendar")
        start, stop = (near[0], far[1]) if sign > 0 else (far[0], near[1])
        ends = [instant(day, time(0), now) for day in (start, stop)]
        return Range(ends[0], ends[1], ends[1], True, False)
    if counted.length.seconds:
        other = move(now, counted.length, sign).at
        return moments(now, other) if sign > 0 else moments(other, now)
    start = midnight
    if sign > 0 and not today:
        start = instant(now.date() + timedelta(1), time(0), now)
    other = move(start, counted.length, sign).at
    first, last = (start, other) if sign > 0 else (other, start)
    return Range(first, last, last, True, False)


def _from_day(day: Period, length: Length, now: datetime) -> Range:
    start = instant(day.first, time(0), now)
    stop = move(start, length, 1).at
    return Range(start, stop, stop, True, bool(length.seconds))


def match_lasting(tokens: Tokens, i: int, points: Points) -> Found | None:
    """Reads "2 weeks starting may 20th", "for 3 days from today", "a day starting this friday
    at 5 pm"."""
    lasting = word_at(tokens, i) == "for"
    length = match_length(tokens, i + lasting)
    if length is None:
        return None
    at = skip(tokens, length.end, ",")
    opener = word_at(tokens, at)
    if opener not in _STARTS or (opener == "from" and not lasting):
        return None
    at = skip(tokens, at + 1, "on", "from", "at", "the")
    point = points.point_at(at)
    if point is None:
        return None
    if point.when is not None and point.when.has_date:
        start = point.when.at
        return moments(start, move(start, length.length, 1).at), point.end
    if point.period is None or length.length.seconds:
        return None
    return _from_day(point.period, length.length, points.now), point.end
