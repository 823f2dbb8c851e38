"""Days by their number: "the 5th of may", "may 5th 2027", "the 21st".

A day without a year is the coming one.
"""

from __future__ import annotations

import calendar
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
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

MONTHS = {
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
_NOT_LONG = 60
"""Days."""
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
    yearless: no year was said.
    """

    options: tuple[date, ...]
    end: int
    loose: bool = False
    skip_today: bool = False
    yearless: bool = False

    def in_year(self, year: int) -> DayHit:
        """The same day of another year; no options where that year has none."""
        return replace(self, options=tuple(_days((self.options[0], year))), yearless=False)

    def on_weekday(self, weekday: int, today: date) -> DayHit:
        """The days that fall on that weekday. When none of those to come does, it is one that
        did not long ago, and when not even that, the day of the month counts."""
        fits = [day for day in self.options if day.weekday() == weekday]
        if not fits and self.yearless and self.options:
            past = _days(*((self.options[0], today.year - back) for back in (0, 1)))
            recent = [day for day in past if 0 < (today - day).days <= _NOT_LONG]
            fits = [day for day in recent if day.weekday() == weekday]
        return replace(self, options=tuple(fits) or self.options)


def _days(*days: tuple[date, int]) -> list[date]:
    """The days, each in its other year, where it has such a day."""
    found = []
    for day, year in days:
        try:
            found.append(day.replace(year=year))
        except ValueError:
            continue
    return found


def skip(tokens: Tokens, i: int, *words: str) -> int:
    return i + 1 if word_at(tokens, i) in words else i


def name_at(tokens: Tokens, i: int, names: Container[str]) -> int:
    """How many tokens from i on make one of the names; 0 for none."""
    for length in (4, 3, 2, 1):
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
    if word_at(tokens, i + 1) != "month" or word not in (*NEXT, *LAST, "this", "current"):
        return None
    return (1 if word in NEXT else -1 if word in LAST else 0), i + 2


def month_at(tokens: Tokens, i: int) -> tuple[int, int] | None:
    """The month (January = 1) and the index after it (and its dot)."""
    word = word_at(tokens, i)
    if word not in MONTHS:
        return None
    return MONTHS[word], i + 2 if word_at(tokens, i + 1) == "." else i + 1


_ENDS = ("", ".", "!", "?", ",", ")")
AFTER_MONTH = ("", ".", ",", "?", "!", "at", "for", "from", "to", "and", "in", "until")


def _day_number(tokens: Tokens, i: int) -> tuple[int, int] | None:
    """1 to 31 as an ordinal or number."""
    place = match_ordinal(tokens, skip(tokens, i, "the"))
    if place is not None and 1 <= place.value <= 31:
        return int(place.value), place.end
    digits = digits_at(tokens, i)
    if word_at(tokens, i - 1) in ("$", "€", "£"):
        return None
    if digits is not None:
        fits = len(tokens[i].text) <= 2 and 1 <= digits <= 31
        return (int(digits), i + 1) if fits and word_at(tokens, i + 1) != ":" else None
    words = match_below_hundred(tokens, i)
    if words is None or words.value > 31:
        return None
    verb = word_at(tokens, words.end) in ("may", "march") and words.value < 13
    if verb and word_at(tokens, words.end + 1) not in AFTER_MONTH:
        return None  # "one may ask"
    return int(words.value), words.end


def match_month_day(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """Reads "may 5th", "may the fifth", "5 may", "the fifth of may 2027"."""
    month = month_at(tokens, i)
    if month is not None:
        dotted = _dotted_day_and_year(tokens, month[1], month[0])
        if dotted is not None:
            return dotted
        at = skip(tokens, month[1], ",", "-", "/")
        middle = _year_between(tokens, at)
        if middle is not None:
            return exact_day(middle[0], month[0], middle[1], middle[2])
        number = _day_number(tokens, at)
    else:
        number = _day_number(tokens, i)
        if number is None:
            return None
        at = number[1] + 2 if _is_day_of(tokens, number[1]) else number[1]
        dot = word_at(tokens, at) == "." and tokens[at].glued and _glued(tokens, at + 1)
        at = at + 1 if dot else skip(tokens, at, "of", "-", "/")
        month = month_at(tokens, at)
        if month is not None:
            number = number[0], month[1]
    if month is None or number is None:
        return None
    day, end = number
    year = year_at(tokens, end, today) or _short_year(tokens, end, today)
    if year is not None:
        return exact_day(year[0], month[0], day, year[1])
    return coming_day(month[0], day, today, end)


def _is_day_of(tokens: Tokens, i: int) -> bool:
    """True at the "day of" in "the 25th day of july"."""
    return word_at(tokens, i) == "day" and word_at(tokens, i + 1) == "of"


def _glued(tokens: Tokens, i: int) -> bool:
    return i < len(tokens) and tokens[i].glued


def _dotted_day_and_year(tokens: Tokens, i: int, month: int) -> DayHit | None:
    """The 13.2004 of "jul.13.2004", which looks like a number with decimals."""
    day, dot, year = word_at(tokens, i).partition(".")
    if not dot or len(day) > 2 or len(year) != 4 or not tokens[i].glued:
        return None
    return exact_day(int(year), month, int(day), i + 1) if day.isdecimal() else None


def _short_year(tokens: Tokens, i: int, today: date) -> tuple[int, int] | None:
    """The year of "1-aug-16", "1 aug, 98" and "jun 8, '16"; not the hour of "1 aug, 8 pm"."""
    sign = word_at(tokens, i)
    at = skip(tokens, i + 1, "'") if sign == "," else i + 1
    text = word_at(tokens, at)
    if sign not in ("-", "/", ",") or len(text) != 2 or not text.isdecimal():
        return None
    after = word_at(tokens, at + 1)
    # of "march 16-21" the 21 is no year
    joined = sign != "," and _glued(tokens, i) and _glued(tokens, at)
    joined = joined and word_at(tokens, i - 2) == sign
    if joined:
        sure = after not in (":", "am", "pm", "h")
    else:  # '16, or a number that is no hour
        sure = sign == "," and (at > i + 1 or (int(text) > 24 and after in _ENDS))
    return (full_year(int(text), today), at + 1) if sure else None


def _year_between(tokens: Tokens, i: int) -> tuple[int, int, int] | None:
    """Year, day and the index after them in "september-2020-23"."""
    if len(word_at(tokens, i)) != 4 or not tokens[i].glued or word_at(tokens, i + 1) != "-":
        return None
    day = digits_at(tokens, i + 2)
    if day is None or not 1 <= day <= 31 or not tokens[i].text.isdecimal():
        return None
    return int(tokens[i].text), int(day), i + 3


def year_at(tokens: Tokens, i: int, today: date) -> tuple[int, int] | None:
    """Reads "2027", ", 2027", "of 2027", "of 87", "twenty twenty-seven", "next year",
    "nineteen hundred and five"."""
    if word_at(tokens, i) in ("of", "'") and len(word_at(tokens, i + 1)) == 2:
        short = digits_at(tokens, i + 1)
        if short is not None:
            return full_year(int(short), today), i + 2
    if word_at(tokens, i) == "." and word_at(tokens, i + 1).isdecimal() and _glued(tokens, i + 1):
        i += 1  # 13.jul.2004
    i = skip(tokens, i, ",", "of", "in", "/", "-")
    i = skip(tokens, i, "the") if word_at(tokens, i + 1) in ("year", *NEXT) else i
    if word_at(tokens, i) == "year" and len(word_at(tokens, i + 1)) == 4:
        i += 1  # "in the year 1999"
    if word_at(tokens, i + 1) == "year" and word_at(tokens, i) in (*NEXT, *LAST, "this"):
        word = word_at(tokens, i)
        return today.year + (word in NEXT) - (word in LAST), i + 2
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


def full_year(short: int, today: date) -> int:
    """Of two digits: 87 is 1987, 27 is 2027."""
    return short + (2000 if short <= today.year % 100 + 20 else 1900)


def exact_day(year: int, month: int, day: int, end: int) -> DayHit | None:
    try:
        return DayHit((date(year, month, day),), end)
    except ValueError:
        return None


def coming_day(month: int, day: int, today: date, end: int) -> DayHit | None:
    """This month and day from today on: the first two of them."""
    found: list[date] = []
    for year in range(today.year, min(today.year + 17, 9999)):
        hit = exact_day(year, month, day, end)
        if hit is not None and hit.options[0] >= today:
            found.append(hit.options[0])
        if len(found) == 2:
            break
    return DayHit(tuple(found), end, yearless=True) if found else None


def match_day_of_month(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """Reads "the 5th", "the twenty-first of next month", "the 21st this month"."""
    place = match_ordinal(tokens, skip(tokens, i, "the"))
    if place is None and word_at(tokens, i - 1) == "on":
        place = _match_bare_day(tokens, i)
    if place is None and word_at(tokens, i) == "the" and word_at(tokens, i - 1) in ("on", "for"):
        named = _day_number(tokens, i + 1)  # "on the fifteen", but not "for the two and a half"
        counts = named is None or word_at(tokens, named[1]) == "and"
        place = None if counts or named is None else Hit(Fraction(named[0]), named[1])
    if place is None or not 1 <= place.value <= 31:
        return None
    verb = place.end == i + 1 and word_at(tokens, i) == "second"
    if verb and word_at(tokens, i - 1) in ("i", "we", "one", "a", "every", "each"):
        return None  # "I second that"
    number, end = int(place.value), place.end
    at = skip(tokens, skip(tokens, skip(tokens, end, "day"), "of", "in"), "the")
    shift = month_shift(tokens, at)
    if shift is not None:
        first = add_months(today.replace(day=1), shift[0])
        return exact_day(first.year, first.month, number, shift[1])
    days = days_of_month(number, today)
    options = next(days), next(days)
    if word_at(tokens, at) == "month" and at > end:
        return DayHit(options, at + 1)
    return DayHit(options, end, loose=True)


def _match_bare_day(tokens: Tokens, i: int) -> Hit | None:
    """Reads the 15 of "on 15 at 8:00", "on 15, 8 pm" and "8 pm on 15"."""
    number = _day_number(tokens, i)
    if number is None or not tokens[i].is_number:
        return None
    day, end = number
    after, next_is_number = word_at(tokens, end), word_at(tokens, end + 1)[:1].isdecimal()
    before = word_at(tokens, i - 2)
    timed = before in ("am", "pm", "o'clock") or match_below_hundred(tokens, i - 2)
    if after == "at" or (after == "," and next_is_number) or (timed and after in ("", ".", "!")):
        return Hit(Fraction(day), end)
    return None


def days_of_month(number: int, today: date) -> Iterator[date]:
    """All days with this number from today on, where the month has one."""
    first = today.replace(day=1)
    while True:
        if number <= calendar.monthrange(first.year, first.month)[1]:
            day = first.replace(day=number)
            if day >= today:
                yield day
        first = add_months(first, 1)
