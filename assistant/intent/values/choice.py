"""What several mentions beside each other share: "next week on monday or tuesday" names two days
of next week, "tuesday or wednesday morning" two mornings."""

from __future__ import annotations

from dataclasses import replace
from datetime import time, timedelta
from typing import Any

from assistant.intent.values.moment import When, instant
from assistant.intent.values.range_value import Range
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import fold
from assistant.intent.values.weekday import WEEKDAYS

_JOINTS = frozenset(("or", "and", ",", "", ", or", ", and", "or on", "and on", "&", "/"))


def share(text: str, spans: list[Span[Any]]) -> list[Span[Any]]:
    """The spans, from left to right, with the week or the hours of their neighbours."""
    folded = fold(text)
    found = list(spans)
    for i in range(1, len(found)):
        before, after = found[i - 1], found[i]
        if folded[before.end : after.start].strip() not in _JOINTS:
            continue
        words = folded[after.start : after.end].replace(".", " ").split()
        if words[:1] == ["on"]:
            words = words[1:]
        weekday = bool(words) and words[0].strip(",") in WEEKDAYS
        if weekday and _in_named_week(folded, found[:i]):
            found[i] = _same_week(before, after)
        elif len(words) == 1 and words[0].rstrip("stndrh").isdecimal():
            found[i] = _same_month(before, after)
        elif isinstance(before.value, (When, Range)) and before.value.has_time:
            found[i] = _same_day(before, after)
    for i in range(len(found) - 1, 0, -1):
        before, after = found[i - 1], found[i]
        joint = folded[before.end : after.start].strip()
        if joint in _JOINTS and joint and folded[before.start : before.end] in WEEKDAYS:
            found[i - 1] = _same_hours(before, after)
    return found


def _in_named_week(folded: str, spans: list[Span[Any]]) -> bool:
    """Whether the days before are of a week that was named."""
    for i in range(len(spans) - 1, -1, -1):
        if not isinstance(spans[i].value, When):
            return False
        if "week" in folded[spans[i].start : spans[i].end]:
            return True
        if i and folded[spans[i - 1].end : spans[i].start].strip() not in _JOINTS:
            return False
    return False


def _same_week(before: Span[Any], after: Span[Any]) -> Span[Any]:
    value = after.value
    if not isinstance(value, When) or not isinstance(before.value, When):
        return after
    monday = before.value.at.date() - timedelta(before.value.at.weekday())
    on = monday + timedelta(value.at.weekday())
    at = instant(on, value.at.timetz().replace(tzinfo=None), value.at)
    return replace(after, value=replace(value, at=at))


def _same_month(before: Span[Any], after: Span[Any]) -> Span[Any]:
    """The 18th of "july 17th, 18th or 19th"."""
    first, value = before.value, after.value
    if not isinstance(first, When) or not isinstance(value, When) or not first.has_date:
        return after
    days = 1 + value.at.day - first.at.day
    if value.has_time or first.has_time or days < 2:
        return after
    on = first.at.date() + timedelta(days - 1)
    return replace(after, value=replace(value, at=instant(on, time(0), value.at)))


def _same_day(before: Span[Any], after: Span[Any]) -> Span[Any]:
    """The 1 pm of "monday at 9 am or 1 pm", the second hours of "monday 1-3 pm or 5-6 pm"."""
    first, value = before.value, after.value
    if not first.has_date or isinstance(value, int | float) or type(first) is not type(value):
        return after
    if value.has_date or not value.has_time:
        return after
    if isinstance(value, When):
        shift = first.at.date() - value.at.date()
        at = instant(value.at.date() + shift, value.at.timetz().replace(tzinfo=None), value.at)
        return replace(after, value=When(at, True, True))
    if not isinstance(value, Range) or not (first.start and value.start and value.end):
        return after
    shift = first.start.date() - value.start.date()
    start, end, stop = (
        instant(at.date() + shift, at.timetz().replace(tzinfo=None), at)
        for at in (value.start, value.end, value.stop or value.end)
    )
    return replace(after, value=Range(start, end, stop, True, True))


def _same_hours(before: Span[Any], after: Span[Any]) -> Span[Any]:
    """The day before with the part of the day of the one after it."""
    day, hours = before.value, after.value
    timed = isinstance(hours, Range) and hours.has_date and hours.has_time
    if not timed or not isinstance(day, When) or day.has_time or not (hours.start and hours.end):
        return before
    shift = instant(day.at.date(), time(0), day.at).date() - hours.start.date()
    ends = [
        instant(at.date() + shift, at.timetz().replace(tzinfo=None), at)
        for at in (hours.start, hours.end, hours.stop or hours.end)
    ]
    return replace(before, value=Range(ends[0], ends[1], ends[2], True, True))
