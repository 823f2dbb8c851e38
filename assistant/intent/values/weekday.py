"""Weekdays: "friday", "next friday", "friday week", "tuesday of next week", "friday the 13th".

A weekday is the coming one. "next friday" is the Friday of the next week, "last friday"
that of the last week (weeks begin on Monday), "this friday" the coming one, today included.
"""

from __future__ import annotations

from datetime import date, timedelta

from assistant.intent.values.calendar_day import (
    LAST,
    NEXT,
    DayHit,
    days_of_month,
    match_month_day,
    match_numeric,
    skip,
)
from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.ordinal import match_ordinal

_WEEKDAYS = {
    name: day
    for day, names in enumerate(
        (
            "monday mon",
            "tuesday tue tues",
            "wednesday wed weds",
            "thursday thu thur thurs",
            "friday fri",
            "saturday sat",
            "sunday sun",
        )
    )
    for name in names.split()
}


def weekday_at(tokens: Tokens, i: int) -> tuple[int, int] | None:
    """Monday = 0 ... and the index after it (and its dot)."""
    word = word_at(tokens, i)
    if word not in _WEEKDAYS:
        return None
    end = i + 1
    if not word.endswith("day") and word_at(tokens, end) == ".":
        end += 1
    return _WEEKDAYS[word], end


def match_weekday(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """ "friday", "next friday", "friday next week", "friday week", "next week on friday"."""
    word = word_at(tokens, i)
    week = _week_shift(tokens, i)
    if week is not None:
        shift, at = week
        at = skip(tokens, at, "-", ",")
        named = weekday_at(tokens, skip(tokens, at, "on"))
        return named and _in_week(today, shift, *named)
    at = i
    if word in ("this", "the") and word_at(tokens, i + 1) in (*NEXT, *LAST, "coming"):
        at, word = i + 1, word_at(tokens, i + 1)
    relation = word if word in (*NEXT, *LAST, "this", "coming") else ""
    named = weekday_at(tokens, at + 1 if relation else at)
    if named is None:
        return None
    day, end = named
    ahead = (day - today.weekday()) % 7
    if relation in NEXT:
        return _in_week(today, 1, day, end)
    if relation in ("last", "previous"):
        return _in_week(today, -1, day, end)
    if relation == "past":
        return DayHit((today - timedelta((today.weekday() - day) % 7 or 7),), end)
    if relation == "this":
        return DayHit((today + timedelta(ahead),), end)
    if word_at(tokens, end) == "week":
        return DayHit((today + timedelta((ahead or 7) + 7),), end + 1)
    week = _week_shift(tokens, skip(tokens, end, "of"))
    if week is not None:
        return _in_week(today, week[0], day, week[1])
    dated = _match_dated_weekday(tokens, end, day, today)
    if dated is not None:
        return dated
    # "sun", "sat" and "wed" are words too
    short = not tokens[end - 1].text.endswith("day")
    options = (today + timedelta(ahead), today + timedelta(ahead + 7))
    return DayHit(options, end, loose=short, skip_today=True)


def _week_shift(tokens: Tokens, i: int) -> tuple[int, int] | None:
    i = skip(tokens, i, "the")
    word = word_at(tokens, i)
    if word_at(tokens, i + 1) != "week":
        return None
    shift = 1 if word in NEXT else -1 if word in LAST else 0 if word == "this" else None
    return None if shift is None else (shift, i + 2)


def _in_week(today: date, shift: int, weekday: int, end: int) -> DayHit:
    monday = today - timedelta(today.weekday())
    return DayHit((monday + timedelta(7 * shift + weekday),), end)


def _match_dated_weekday(tokens: Tokens, i: int, weekday: int, today: date) -> DayHit | None:
    """What may follow a weekday: "friday the 13th", "friday, march 13th".

    Only days that fall on that weekday are options.
    """
    i = skip(tokens, i, ",", "-")
    month_day = match_month_day(tokens, i, today) or match_numeric(tokens, i, today, sure=True)
    if month_day is not None:
        fits = tuple(day for day in month_day.options if day.weekday() == weekday)
        return DayHit(fits, month_day.end)
    ordinal = match_ordinal(tokens, skip(tokens, i, "the"))
    if ordinal is not None and 1 <= ordinal.value <= 31:
        number, end = int(ordinal.value), ordinal.end
    else:
        return None
    days = (day for day in days_of_month(number, today) if day.weekday() == weekday)
    return DayHit((next(days),), end)
