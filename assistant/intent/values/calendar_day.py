"""Days by their number: "the 5th of may", "may 5th 2027", "2026-05-05".

A day without a year is the coming one. "5/6" is the sixth of May unless ``day_first``; a
first number above 12 is the day.
"""

from __future__ import annotations

import calendar
from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from assistant.intent.values.cardinal import (
    Hit,
    Tokens,
    digits_at,
    match_below_hundred,
    match_integer,
    word_at,
)
from assistant.intent.values.ordinal import match_ordinal

_MONTHS = {
    name: month
    for month, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
NEXT = ("next", "following")
LAST = ("last", "previous", "past")


@dataclass(frozen=True, slots=True)
class DayHit:
    """A day as it was said.

    options: the days it may be, the nearest first (a later one counts when the moment on
        the one before is past); none when the words contradict each other.
    loose: an ordinal alone ("the first") or a short name ("sun"), which may mean
        something else.
    skip_today: without a time of day it is not today ("monday" on a Monday).
    """

    options: tuple[date, ...]
    end: int
    loose: bool = False
    skip_today: bool = False


def skip(tokens: Tokens, i: int, *words: str) -> int:
    return i + 1 if word_at(tokens, i) in words else i


def name_at(tokens: Tokens, i: int, names: Container[str]) -> int:
    """How many tokens from i on make one of the names; 0 for none."""
    for length in (3, 2, 1):
        words = tokens[i : i + length]
        if len(words) == length and " ".join(token.text for token in words) in names:
            return length
    return 0


def add_months(day: date, months: int) -> date:
    """The same day so many months on, the last of the month where it has no such day.

    Raises OverflowError past the calendar's end.
    """
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    if not 1 <= year <= 9999:
        raise OverflowError("outside the calendar")
    last = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))


def month_shift(tokens: Tokens, i: int) -> tuple[int, int] | None:
    """Months from this one and the index after it: "this month", "next month"."""
    word = word_at(tokens, i)
    if word_at(tokens, i + 1) != "month" or word not in (*NEXT, *LAST, "this"):
        return None
    return (1 if word in NEXT else -1 if word in LAST else 0), i + 2


def month_at(tokens: Tokens, i: int) -> tuple[int, int] | None:
    """The month (January = 1) and the index after it (and its dot)."""
    word = word_at(tokens, i)
    if word not in _MONTHS:
        return None
    return _MONTHS[word], i + 2 if word_at(tokens, i + 1) == "." else i + 1


def _day_number(tokens: Tokens, i: int) -> tuple[int, int] | None:
    """1 to 31 as an ordinal or number."""
    place = match_ordinal(tokens, skip(tokens, i, "the"))
    if place is not None and 1 <= place.value <= 31:
        return int(place.value), place.end
    digits = digits_at(tokens, i)
    if digits is not None:
        fits = len(tokens[i].text) <= 2 and 1 <= digits <= 31
        return (int(digits), i + 1) if fits and word_at(tokens, i + 1) != ":" else None
    words = match_below_hundred(tokens, i)
    if words is None or words.value > 31 or word_at(tokens, words.end) in ("may", "march"):
        return None  # "one may ask"
    return int(words.value), words.end


def match_month_day(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """Reads "may 5th", "may the fifth", "5 may", "the fifth of may 2027"."""
    month = month_at(tokens, i)
    if month is not None:
        at = skip(tokens, month[1], ",", "-", "/")
        number = _day_number(tokens, at)
    else:
        number = _day_number(tokens, i)
        if number is None:
            return None
        at = skip(tokens, number[1], "of", "-", "/")
        at = skip(tokens, at, "day") if word_at(tokens, at + 1) == "of" else at
        month = month_at(tokens, at)
        if month is not None:
            number = number[0], month[1]
    if month is None or number is None:
        return None
    day, end = number
    year = year_at(tokens, end)
    if year is not None:
        return _exact(year[0], month[0], day, year[1])
    return _coming(month[0], day, today, end)


def year_at(tokens: Tokens, i: int) -> tuple[int, int] | None:
    """Reads "2027", ", 2027", "of 2027", "twenty twenty-seven", "nineteen hundred and five"."""
    i = skip(tokens, i, ",", "of", "in", "/", "-")
    text = word_at(tokens, i)
    if text.isdecimal() and len(text) == 4 and text[0] in "12":
        return int(text), i + 1
    whole = match_integer(tokens, i)
    if whole is None or not tokens[i].is_word or word_at(tokens, i) == "a":
        return None
    if 1000 <= whole.value < 3000:
        return int(whole.value), whole.end
    rest = match_below_hundred(tokens, whole.end)
    if 11 <= whole.value <= 20 and rest is not None and rest.value >= 10:
        return int(whole.value * 100 + rest.value), rest.end
    return None


def _exact(year: int, month: int, day: int, end: int) -> DayHit | None:
    try:
        return DayHit((date(year, month, day),), end)
    except ValueError:
        return None


def _coming(month: int, day: int, today: date, end: int) -> DayHit | None:
    """This month and day from today on: the first two of them."""
    found: list[date] = []
    for year in range(today.year, min(today.year + 17, 9999)):
        hit = _exact(year, month, day, end)
        if hit is not None and hit.options[0] >= today:
            found.append(hit.options[0])
        if len(found) == 2:
            break
    return DayHit(tuple(found), end) if found else None


def match_day_of_month(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """Reads "the 5th", "the twenty-first of next month", "the 21st this month"."""
    place = match_ordinal(tokens, skip(tokens, i, "the"))
    if place is None and word_at(tokens, i) == "the" and word_at(tokens, i - 1) in ("on", "for"):
        named = _day_number(tokens, i + 1)  # "on the fifteen", but not "for the two and a half"
        counts = named is None or word_at(tokens, named[1]) == "and"
        place = None if counts or named is None else Hit(Fraction(named[0]), named[1])
    if place is None or not 1 <= place.value <= 31:
        return None
    number, end = int(place.value), place.end
    at = skip(tokens, skip(tokens, skip(tokens, end, "day"), "of", "in"), "the")
    shift = month_shift(tokens, at)
    if shift is not None:
        first = add_months(today.replace(day=1), shift[0])
        return _exact(first.year, first.month, number, shift[1])
    days = days_of_month(number, today)
    options = next(days), next(days)
    if word_at(tokens, at) == "month":
        return DayHit(options, at + 1)
    return DayHit(options, end, loose=True)


def days_of_month(number: int, today: date) -> Iterator[date]:
    """All days with this number from today on, where the month has one."""
    first = today.replace(day=1)
    while True:
        if number <= calendar.monthrange(first.year, first.month)[1]:
            day = first.replace(day=number)
            if day >= today:
                yield day
        first = add_months(first, 1)


def match_numeric(
    tokens: Tokens, i: int, today: date, *, day_first: bool = False, sure: bool = False
) -> DayHit | None:
    """2026-05-05, 5/5, 5/5/2026, 5.5.2026, and 5-5 where it is ``sure`` to be a date."""
    if len(word_at(tokens, i)) == 4 and word_at(tokens, i + 1) in ("/", "-"):
        named = match_month_day(tokens, i + 2, today)
        if named is not None and word_at(tokens, i).isdecimal():
            on = named.options[0]
            return _exact(int(word_at(tokens, i)), on.month, on.day, named.end)
    sure = sure or word_at(tokens, i - 1) == "on"
    parts, end = _numeric_parts(tokens, i, sure=sure)
    if len(parts) == 3 and len(parts[0]) == 4:
        return _exact(int(parts[0]), int(parts[1]), int(parts[2]), end)
    if len(parts) not in (2, 3) or any(len(part) > 2 for part in parts[:2]):
        return None
    month, day = int(parts[0]), int(parts[1])
    if month > 12 or (day_first and day <= 12):
        month, day = day, month
    if len(parts) == 2:
        return _coming(month, day, today, end)
    year = int(parts[2])
    if len(parts[2]) == 2:
        year += 2000
    return _exact(year, month, day, end)


def _numeric_parts(tokens: Tokens, i: int, *, sure: bool) -> tuple[list[str], int]:
    """The numbers of a numeric date and the index after it; no numbers when it is none."""
    parts: list[str] = []
    sign, at = "", i
    while at < len(tokens) and tokens[at].is_number and len(parts) < 3:
        text = tokens[at].text
        pieces = text.split(".") if "." in text else [text]
        if not all(piece.isdecimal() for piece in pieces):
            return [], i
        parts += pieces
        at += 1
        if "." in text and sign not in ("", "."):
            return [], i
        sign = sign or ("." if "." in text else "")
        follow = word_at(tokens, at)
        if len(parts) >= 3 or follow not in ("/", "-", ".") or (sign and follow != sign):
            break
        if not (tokens[at].glued and at + 1 < len(tokens) and tokens[at + 1].glued):
            break
        sign, at = follow, at + 1
    if len(parts) == 2 and sign != "/" and not sure:
        return [], i
    return (parts, at) if 2 <= len(parts) <= 3 else ([], i)
