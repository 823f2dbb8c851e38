"""Days of the calendar: "tomorrow", "next friday", "the 5th of may", "next week".

See ``weekday`` and ``calendar_day`` for how each kind is read.
"""

from __future__ import annotations

from datetime import date, timedelta

from assistant.intent.values.calendar_day import (
    NEXT,
    DayHit,
    add_months,
    match_day_of_month,
    match_month_day,
    match_numeric,
    name_at,
    skip,
)
from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.feast import match_feast
from assistant.intent.values.weekday import match_nth_weekday, match_weekday

_NEAR = {
    "today": 0,
    "tomorrow": 1,
    "tmrw": 1,
    "yesterday": -1,
    "next day": 1,
    "following day": 1,
    "day after tomorrow": 2,
    "day before yesterday": -2,
}
_PERIODS = ("week", "month", "year", "weekend")


def match_day(tokens: Tokens, i: int, today: date, *, day_first: bool = False) -> DayHit | None:
    """The longest wording of a day that begins at token i."""
    hits = (
        _match_near(tokens, i, today),
        match_weekday(tokens, i, today),
        match_nth_weekday(tokens, i, today),
        _match_period(tokens, i, today),
        match_month_day(tokens, i, today),
        match_day_of_month(tokens, i, today),
        match_numeric(tokens, i, today, day_first=day_first),
        match_feast(tokens, i, today),
    )
    return max(filter(None, hits), key=lambda hit: hit.end, default=None)


def _match_near(tokens: Tokens, i: int, today: date) -> DayHit | None:
    i = skip(tokens, i, "the")
    length = name_at(tokens, i, _NEAR)
    if not length:
        return None
    name = " ".join(token.text for token in tokens[i : i + length])
    return DayHit((today + timedelta(_NEAR[name]),), i + length)


def _match_period(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """Reads "next week" is its Monday, "next month" and "next year" their first day."""
    i = skip(tokens, i, "the")
    word, period = word_at(tokens, i), word_at(tokens, i + 1)
    if word == "weekend":
        ahead = (5 - today.weekday()) % 7
        return DayHit((today + timedelta(ahead), today + timedelta(ahead + 7)), i + 1)
    if period not in _PERIODS:
        return None
    monday = today - timedelta(today.weekday())
    if word == "this" and period == "weekend":
        return DayHit((monday + timedelta(5),), i + 2)
    if word not in NEXT:
        return None
    if period == "week":
        first = monday + timedelta(7)
    elif period == "weekend":
        first = monday + timedelta(12)
    elif period == "month":
        first = add_months(today.replace(day=1), 1)
    else:
        first = date(today.year + 1, 1, 1)
    return DayHit((first,), i + 2)
