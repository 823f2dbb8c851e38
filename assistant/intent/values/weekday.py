"""Weekdays: "friday", "next friday", "friday week", "tuesday of next week", "friday the 13th".

A weekday is the coming one. "next friday" is the Friday of the next week, "last friday"
that of the last week (weeks begin on Monday), "this friday" the coming one, today included.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction

from assistant.intent.values.calendar_day import (
    LAST,
    NEXT,
    DayHit,
    add_months,
    days_of_month,
    match_month_day,
    month_at,
    month_shift,
    skip,
    year_at,
)
from assistant.intent.values.cardinal import Hit, Tokens, digits_at, match_below_hundred, word_at
from assistant.intent.values.numeric_date import match_numeric
from assistant.intent.values.ordinal import match_ordinal

WEEKDAYS = {
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

_SURELY_A_DATE = 100
"""Days from here; "monday 11-4" that is so far off are hours."""


def weekday_at(tokens: Tokens, i: int, *, plural: bool = False) -> tuple[int, int] | None:
    """Monday = 0 ... and the index after it (and its dot); with ``plural`` also "mondays"."""
    word = word_at(tokens, i)
    if plural and word.endswith("days"):
        word = word[:-1]
    if word not in WEEKDAYS:
        return None
    end = i + 1
    if not word.endswith("day") and word_at(tokens, end) == ".":
        end += 1
    return WEEKDAYS[word], end


def match_weekday(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """Reads "friday", "next friday", "friday next week", "friday week", "next week on friday"."""
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
        dated = _match_dated_weekday(tokens, end, day, today)
        if dated is not None and dated.yearless and dated.options:
            fits = any(on.weekday() == day for on in dated.options)
            return dated if fits else dated.in_year(today.year)
        return dated or DayHit((today + timedelta(ahead),), end)
    if word_at(tokens, end) == "after" and word_at(tokens, end + 1) == "next":
        return DayHit((today + timedelta((ahead or 7) + 7),), end + 2)
    if word_at(tokens, end) == "week":
        return DayHit((today + timedelta((ahead or 7) + 7),), end + 1)
    week = _week_shift(tokens, skip(tokens, end, "of", ",", "-"))
    if week is not None:
        return _in_week(today, week[0], day, week[1])
    dated = _match_dated_weekday(tokens, end, day, today)
    if dated is not None:
        return dated
    # "sun", "sat" and "wed" are words too, and "mon" is one in French
    short = word_at(tokens, at + bool(relation)) in ("sun", "sat", "wed", "mon")
    options = (today + timedelta(ahead), today + timedelta(ahead + 7))
    return DayHit(options, end, loose=short, skip_today=True)


def _week_shift(tokens: Tokens, i: int) -> tuple[int, int] | None:
    i = skip(tokens, i, "the")
    word = word_at(tokens, i)
    if [token.text for token in tokens[i : i + 3]] == ["week", "after", "next"]:
        return 2, i + 3
    if word_at(tokens, i + 1) != "week":
        return None
    shift = 1 if word in NEXT else -1 if word in LAST else None
    if word in ("this", "current"):
        shift = 0
    return None if shift is None else (shift, i + 2)


def _in_week(today: date, shift: int, weekday: int, end: int) -> DayHit:
    monday = today - timedelta(today.weekday())
    return DayHit((monday + timedelta(7 * shift + weekday),), end)


def in_week_after(tokens: Tokens, i: int, on: date, today: date) -> tuple[date, int] | None:
    """What follows the weekday and hour of "monday at 5 next week": the day in that week."""
    week = _week_shift(tokens, skip(tokens, i, "of", ","))
    return (_in_week(today, week[0], on.weekday(), 0).options[0], week[1]) if week else None


def _match_dated_weekday(tokens: Tokens, i: int, weekday: int, today: date) -> DayHit | None:
    """What may follow a weekday: "friday the 13th", "friday, march 13th".

    Only days that fall on that weekday are options.
    """
    i = skip(tokens, i, ",", "-", "(")
    month_day = match_month_day(tokens, i, today) or match_numeric(tokens, i, today, sure=True)
    if month_day is not None:
        fit = month_day.on_weekday(weekday, today)
        hours = word_at(tokens, i + 1) == "-" and tokens[i].is_number
        near = (day for day in fit.options if day.weekday() == weekday)
        if hours and not any(abs((day - today).days) < _SURELY_A_DATE for day in near):
            return None  # "monday 3-8"
        closed = word_at(tokens, i - 1) == "(" and word_at(tokens, fit.end) == ")"
        return replace(fit, end=fit.end + closed)
    the = word_at(tokens, i) == "the"
    place = match_ordinal(tokens, i + the) or (match_below_hundred(tokens, i + 1) if the else None)
    alone = digits_at(tokens, i)
    if place is None and alone is not None and 24 < alone <= 31 and len(tokens[i].text) == 2:
        place = Hit(alone, i + 1)  # "friday 31", which is no hour
    if place is None or not 1 <= place.value <= 31:
        return None
    # the one of this month even when it is past: the next may be a year away
    from_here = days_of_month(int(place.value), today.replace(day=1))
    days = (day for day in from_here if day.weekday() == weekday)
    return DayHit((next(days),), place.end)


def match_bracketed(tokens: Tokens, hit: DayHit, today: date) -> DayHit:
    """The day with its weekday after it: "may 22 (tue)", "the 22nd of may, a tuesday"."""
    i = hit.end
    bracket = word_at(tokens, i) == "("
    at = skip(tokens, i, "(", ",")
    named = weekday_at(tokens, skip(tokens, at, "a"))
    if at == i or named is None or (bracket and word_at(tokens, named[1]) != ")"):
        return hit
    fit = hit.on_weekday(named[0], today)
    if not bracket and any(day.weekday() != named[0] for day in fit.options):
        return hit  # a list of days
    return replace(fit, end=named[1] + bracket)


def match_counted(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """Reads "two fridays from now", "three mondays later", "two sundays ago"."""
    count = match_below_hundred(tokens, i) or (
        Hit(digits, i + 1) if (digits := digits_at(tokens, i)) else None
    )
    named = weekday_at(tokens, count.end, plural=True) if count else None
    if count is None or named is None or not 0 < count.value < 100:
        return None
    weekday, at = named
    word, after = word_at(tokens, at), word_at(tokens, at + 1)
    weeks = timedelta(7 * (int(count.value) - 1))
    if word in ("later", "hence") or (word == "from" and after == "now"):
        first = today + timedelta((weekday - today.weekday()) % 7 or 7)
        return DayHit((first + weeks,), at + (2 if word == "from" else 1))
    if word == "ago":
        last = today - timedelta((today.weekday() - weekday) % 7 or 7)
        return DayHit((last - weeks,), at + 1)
    return None


def match_nth_weekday(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """Reads "the first friday of july", "the last monday in this month"."""
    i = skip(tokens, i, "the")
    place = match_ordinal(tokens, i)
    if word_at(tokens, i) == "last":
        place = Hit(Fraction(-1), i + 1)
    named = weekday_at(tokens, place.end) if place and place.value <= 5 else None
    if place is None or named is None or word_at(tokens, named[1]) not in ("of", "in"):
        return None
    weekday, at = named[0], skip(tokens, named[1] + 1, "the")
    month = month_at(tokens, at)
    year = year_at(tokens, month[1], today) if month else None
    if month is not None and year is not None:
        firsts, end = [date(year[0], month[0], 1)], year[1]
    elif month is not None:
        years = (today.year, today.year + 1)
        firsts, end = [date(year, month[0], 1) for year in years], month[1]
    elif shift := month_shift(tokens, at):
        firsts, end = [add_months(today.replace(day=1), shift[0])], shift[1]
    elif word_at(tokens, at) == "month" and word_at(tokens, at - 1) == "the":
        firsts, end = [add_months(today.replace(day=1), later) for later in (0, 1)], at + 1
    else:
        return None
    days = [nth_in_month(first, weekday, int(place.value)) for first in firsts]
    options = tuple(day for day in days if day and (len(days) == 1 or day >= today))
    return DayHit(options, end)


def nth_in_month(first: date, weekday: int, place: int) -> date | None:
    """The place-th such weekday of a month (-1: the last); None where there is none."""
    if place < 0:
        last = add_months(first, 1) - timedelta(1)
        return last - timedelta((last.weekday() - weekday) % 7)
    day = first + timedelta((weekday - first.weekday()) % 7 + 7 * (place - 1))
    return day if day.month == first.month else None
