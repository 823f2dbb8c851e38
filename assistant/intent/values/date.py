"""Days of the calendar: "tomorrow", "next friday", "the 5th of may", "next week".

See ``weekday`` and ``calendar_day`` for how each kind is read.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

from assistant.intent.values.calendar_day import (
    AFTER_MONTH,
    LAST,
    MONTHS,
    NEXT,
    DayHit,
    add_months,
    match_day_of_month,
    match_month_day,
    month_at,
    name_at,
    skip,
    year_at,
)
from assistant.intent.values.cardinal import (
    FUSED,
    TEENS,
    TENS,
    UNITS,
    Tokens,
    word_at,
)
from assistant.intent.values.feast import FEAST_BEGINS, match_feast
from assistant.intent.values.numeric_date import match_numeric
from assistant.intent.values.ordinal import ORDINALS
from assistant.intent.values.weekday import (
    WEEKDAYS,
    match_bracketed,
    match_counted,
    match_nth_weekday,
    match_weekday,
)

_NEAR = {
    "today": 0,
    "tomorrow": 1,
    "tmrw": 1,
    "tmr": 1,
    "tmw": 1,
    "yesterday": -1,
    "next day": 1,
    "following day": 1,
    "last day": -1,
    "past day": -1,
    "previous day": -1,
    "day after tomorrow": 2,
    "day before yesterday": -2,
}
_PERIODS = ("week", "month", "year", "weekend")


DAY_BEGINS = frozenset(
    (
        *("the", "this", *_PERIODS, "close", "end", "beginning", "start", "first", "coming"),
        *(
            *NEXT,
            *LAST,
            *MONTHS,
            *WEEKDAYS,
            *FEAST_BEGINS,
            *UNITS,
            *TEENS,
            *TENS,
            *FUSED,
            *ORDINALS,
        ),
        *(name.split()[0] for name in _NEAR),
    )
)
"""Any other word begins no day."""


def match_day(tokens: Tokens, i: int, today: date, *, day_first: bool = False) -> DayHit | None:
    """The longest wording of a day that begins at token i."""
    if not (word_at(tokens, i) in DAY_BEGINS or word_at(tokens, i)[:1].isdecimal()):
        return None
    hits = (
        _match_near(tokens, i, today),
        match_weekday(tokens, i, today),
        match_nth_weekday(tokens, i, today),
        match_counted(tokens, i, today),
        _match_edge(tokens, i, today),
        _match_of_this_year(tokens, i, today, day_first),
        _match_period(tokens, i, today),
        _match_month(tokens, i, today),
        match_month_day(tokens, i, today),
        match_day_of_month(tokens, i, today),
        match_numeric(tokens, i, today, day_first=day_first),
        match_feast(tokens, i, today),
    )
    hit = max(filter(None, hits), key=lambda hit: hit.end, default=None)
    return match_bracketed(tokens, _explained(tokens, hit, today), today) if hit else None


def _explained(tokens: Tokens, hit: DayHit, today: date) -> DayHit:
    """The day with its number after it: "tomorrow, the 8th", "next friday (november 18)"."""
    bracket = word_at(tokens, hit.end) == "("
    at = skip(tokens, hit.end, "(", ",")
    number = match_month_day(tokens, at, today) or match_day_of_month(tokens, at, today)
    if number is None or len(hit.options) != 1 or hit.options[0] not in number.options:
        return hit
    if bracket and word_at(tokens, number.end) != ")":
        return hit
    return replace(hit, end=number.end + bracket)


def _match_of_this_year(tokens: Tokens, i: int, today: date, day_first: bool) -> DayHit | None:
    """Reads "this may 5th" and "last 5/12": one of this year, the latest one that is past."""
    word = word_at(tokens, i)
    if word not in (*LAST, "this"):
        return None
    hit = match_month_day(tokens, i + 1, today)
    hit = hit or match_numeric(tokens, i + 1, today, day_first=day_first)
    if hit is None or not hit.yearless:
        return None
    this_year = hit.in_year(today.year)
    if word in LAST and this_year.options and this_year.options[0] >= today:
        return hit.in_year(today.year - 1)
    return this_year


_END_WORDS = ("end", "last day", "close")
_START_WORDS = ("beginning", "start", "first day")


def _match_edge(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """Reads "the end of the month", "the last day of next week", "start of the year"."""
    at = skip(tokens, i, "the")
    length = name_at(tokens, at, (*_END_WORDS, *_START_WORDS))
    if not length or word_at(tokens, at + length) != "of":
        return None
    ends = " ".join(token.text for token in tokens[at : at + length]) in _END_WORDS
    named = word_at(tokens, at + length - 1)
    at = at + length + 1
    while word_at(tokens, at) in ("the", "this"):
        at += 1
    month = month_at(tokens, at)
    year = year_at(tokens, month[1] if month else at, today)
    if year is not None and not month:
        return DayHit((date(year[0], 12, 31) if ends else date(year[0], 1, 1),), year[1])
    if month is not None and named == "day":
        return _edge_of_month(month, year, today, ends)
    later = word_at(tokens, at) in NEXT
    before = word_at(tokens, at) in LAST
    at += later or before
    period, shift = word_at(tokens, at), later - before
    if period == "week":
        first = today - timedelta(today.weekday()) + timedelta(7 * shift)
        last = first + timedelta(6)
    elif period == "month":
        first = add_months(today.replace(day=1), shift)
        last = add_months(first, 1) - timedelta(1)
    elif period == "year":
        first = date(today.year + shift, 1, 1)
        last = date(today.year + shift, 12, 31)
    else:
        return None
    return DayHit((last if ends else first,), at + 1)


def _edge_of_month(
    month: tuple[int, int], year: tuple[int, int] | None, today: date, ends: bool
) -> DayHit:
    """Reads "the last day of february", "the last day of may 2027"."""
    years = [year[0]] if year else [today.year, today.year + 1]
    firsts = [date(of, month[0], 1) for of in years]
    days = [add_months(first, 1) - timedelta(1) if ends else first for first in firsts]
    options = tuple(day for day in days if year or day >= today)
    return DayHit(options, year[1] if year else month[1])


def _match_near(tokens: Tokens, i: int, today: date) -> DayHit | None:
    i = skip(tokens, i, "the")
    length = name_at(tokens, i, _NEAR)
    if not length:
        shift = {"after": 1, "before": -1}.get(word_at(tokens, i + 1), 0)
        alone = word_at(tokens, i + 2) in ("", ".", "?", "!", ",")
        if word_at(tokens, i) == "day" and word_at(tokens, i - 1) == "the" and shift and alone:
            return DayHit((today + timedelta(shift),), i + 2)
        return None
    name = " ".join(token.text for token in tokens[i : i + length])
    if name in ("today", "tomorrow") and word_at(tokens, i + length) == "week":
        return DayHit((today + timedelta(_NEAR[name] + 7),), i + length + 1)
    if name in ("last day", "previous day") and word_at(tokens, i + length) in ("of", "in"):
        return None
    return DayHit((today + timedelta(_NEAR[name]),), i + length)


_BEFORE_MONTH = ("in", "until", "till", "by", "before", "during", "since")


def _match_month(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """The first day of "next december", "(in) march", "(until) may 2027"."""
    word = word_at(tokens, i)
    related = word in (*NEXT, *LAST, "this", "coming")
    month = month_at(tokens, i + related)
    if month is None or not (related or word_at(tokens, i - 1) in _BEFORE_MONTH):
        return None
    number, end = month
    verb = word_at(tokens, i + related) in ("may", "march")
    if word == "this" and verb and word_at(tokens, end) not in AFTER_MONTH:
        return None  # "this may or may not be"
    year = year_at(tokens, end, today)
    if year is not None:
        return DayHit((date(year[0], number, 1),), year[1])
    of_this_year = date(today.year, number, 1)
    later = of_this_year.replace(year=today.year + 1)
    if word in LAST:
        past = of_this_year < today.replace(day=1)
        return DayHit((of_this_year if past else date(today.year - 1, number, 1),), end)
    if word == "this" or (word not in NEXT and today.month == number):
        return DayHit((of_this_year,), end)
    return DayHit((of_this_year if of_this_year > today else later,), end)


def _period_after_next(period: str, today: date, end: int) -> DayHit:
    """Reads "the week after next"."""
    if period in ("week", "weekend"):
        monday = today - timedelta(today.weekday())
        return DayHit((monday + timedelta(14 if period == "week" else 19),), end)
    if period == "month":
        return DayHit((add_months(today.replace(day=1), 2),), end)
    return DayHit((date(today.year + 2, 1, 1),), end)


def _match_period(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """Reads "next week" is its Monday, "next month" and "next year" their first day."""
    i = skip(tokens, i, "the")
    word, period = word_at(tokens, i), word_at(tokens, i + 1)
    if word in _PERIODS and period == "after" and word_at(tokens, i + 2) == "next":
        return _period_after_next(word, today, i + 3)
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
