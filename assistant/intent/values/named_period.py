"""Stretches of the calendar by their names: "june 2027", "2027", "the third quarter",
"summer", "the seventies", "the 15th century", "the first week of october", "week 31".

Weeks begin on Monday and belong to the month and the year in which their Thursday is.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

from assistant.intent.values.calendar_day import (
    MONTHS,
    add_months,
    full_year,
    month_at,
    month_shift,
    skip,
    year_at,
)
from assistant.intent.values.cardinal import (
    FUSED,
    SCALES,
    TEENS,
    TENS,
    UNITS,
    Tokens,
    digits_at,
    match_integer,
    word_at,
)
from assistant.intent.values.date import match_day
from assistant.intent.values.era import (
    BEFORE_YEAR,
    DECADES,
    SEASONS,
    match_century,
    match_decade,
    match_season,
    year_after,
    year_ref,
)
from assistant.intent.values.feast import FEAST_BEGINS
from assistant.intent.values.ordinal import ORDINALS, match_ordinal
from assistant.intent.values.period import AHEAD, BEHIND, HERE, Period, of_day, stretch

_VERBS = ("may", "march", "mar", "dec", "sep")
"""Months that are words or short forms of something else when they stand alone."""
_BEFORE_VERB = frozenset(
    """in of since until till by before after during from between to through mid early late end
    for over throughout around""".split()
)
_COMPARED = ("earlier", "later", "sooner", "older", "newer")
_AFTER_YEAR = frozenset(
    """to through and until till or is was were has had have for in at on by with when that we
    i he she they it there this will please""".split()
)

_WEEK_OF = ("of", "starting", "beginning", "ending", "commencing")
NAMED_BEGIN = frozenset(
    (
        *("the", "w", "month", "year", "cy", "fy", "q", "h", "week", "weekend", "this"),
        *(*AHEAD, *BEHIND, *HERE, *MONTHS, *SEASONS, *DECADES, *FEAST_BEGINS),
        *(*UNITS, *TEENS, *TENS, *FUSED, *ORDINALS, *SCALES),
    )
)
"""Any other word, but for a number in digits, begins no such period."""


def match_named(tokens: Tokens, i: int, today: date) -> Period | None:
    """The longest period that is called by its name at token i."""
    word = word_at(tokens, i)
    if not (word in NAMED_BEGIN or word[:1].isdecimal()):
        return None
    hits = (
        _match_month(tokens, i, today),
        _match_year(tokens, i, today),
        _match_numeric_month(tokens, i),
        _match_part_of_year(tokens, i, today),
        match_season(tokens, i, today),
        match_decade(tokens, i, today),
        match_century(tokens, i),
        _match_week_number(tokens, i, today),
        _match_week_of_day(tokens, i, today),
        _match_nth_week(tokens, i, today),
    )
    return max(filter(None, hits), key=lambda hit: hit.end, default=None)


def _coming_month(month: int, today: date) -> date:
    """The first day of this month or of the next that has this number."""
    return date(today.year + (month < today.month), month, 1)


def _month(first: date, end: int, *, yearless: bool = False, loose: bool = False) -> Period:
    return Period(first, add_months(first, 1), end, "month", "year" if yearless else "", loose)


def _match_month(tokens: Tokens, i: int, today: date) -> Period | None:
    """Reads "june", "this june", "the month of june", "june of 2016", "2015 june"."""
    at = skip(tokens, i, "the")
    called = [token.text for token in tokens[at : at + 2]] == ["month", "of"]
    at += 2 if called else 0
    word = word_at(tokens, at)
    year_first = digits_at(tokens, at)
    if year_first is not None and len(word) == 4 and word.isdecimal() and word[0] in "12":
        follow = skip(tokens, at + 1, "-", "/", ",")
        month = month_at(tokens, follow)
        return _month(date(int(word), month[0], 1), month[1]) if month else None
    relation = word if word in (*AHEAD, *BEHIND, *HERE) else ""
    month = month_at(tokens, at + bool(relation))
    if month is None:
        return None
    name = word_at(tokens, at + bool(relation))
    number, end = month
    year = year_after(tokens, end, today) or _short_year(tokens, end, today)
    if year is not None and not relation:
        return _month(date(year[0], number, 1), year[1])
    if _ends_after_month(tokens, end, number):
        return None  # "february 30"
    this_year = date(today.year, number, 1)
    if relation in HERE:
        verb = name in ("may", "march") and word_at(tokens, end) in ("or", "not", "be")
        return None if verb else _month(this_year, end)
    if relation in AHEAD:
        ahead = this_year > today
        return _month(this_year if ahead else add_months(this_year, 12), end)
    if relation:
        past = this_year < today.replace(day=1)
        return _month(this_year if past else add_months(this_year, -12), end)
    # "one may ask", "march on"
    sure = name not in _VERBS or called or word_at(tokens, i - 1) in _BEFORE_VERB
    sure = sure and word_at(tokens, end) not in ("not", "be", "have", "i")
    return _month(_coming_month(number, today), end, yearless=True, loose=not sure)


def _short_year(tokens: Tokens, i: int, today: date) -> tuple[int, int] | None:
    """The 99 of "august 99", which is no day."""
    word = word_at(tokens, i)
    sign = i + 1 < len(tokens) and tokens[i + 1].glued and tokens[i + 1].text in ":%"
    if len(word) != 2 or not word.isdecimal() or int(word) < 32 or sign:
        return None
    return full_year(int(word), today), i + 1


def _ends_after_month(tokens: Tokens, i: int, month: int) -> bool:
    """Whether token i is a day that the month never has."""
    days = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}.get(month, 31)
    word = word_at(tokens, i)
    ended = not word_at(tokens, i + 1)[:1].isalnum()
    return len(word) == 2 and word.isdecimal() and days < int(word) < 32 and ended


def _match_numeric_month(tokens: Tokens, i: int) -> Period | None:
    """2016/11, 2016-11, 11/2016, 11 - 2016"""
    first, sign, last = (word_at(tokens, at) for at in (i, i + 1, i + 2))
    beyond = word_at(tokens, i + 3)
    if sign not in ("/", "-") or not (first.isdecimal() and last.isdecimal()):
        return None
    if beyond in ("/", "-", ":") or word_at(tokens, i - 1) in ("/", "-"):
        return None
    year, month = (first, last) if len(first) == 4 else (last, first)
    if len(year) != 4 or year[0] not in "12" or len(month) > 2 or not 1 <= int(month) <= 12:
        return None
    return _month(date(int(year), int(month), 1), i + 3)


def _year(number: int, end: int, *, loose: bool = False) -> Period | None:
    if not 0 < number < 9999:
        return None
    return Period(date(number, 1, 1), date(number + 1, 1, 1), end, "year", "", loose)


def _has_four_digits(tokens: Tokens, i: int) -> bool:
    word = word_at(tokens, i)
    return len(word) == 4 and word.isdecimal()


def _match_year(tokens: Tokens, i: int, today: date) -> Period | None:
    """Reads "2027", "year 247", "cy 2008", "nineteen twenty eight", "two thousand and five"."""
    at = skip(tokens, i, "the")
    if word_at(tokens, at) in ("year", "cy", "fy"):
        if word_at(tokens, at + 1) == "of" and _has_four_digits(tokens, at + 2):
            at += 1  # "the year of 2008"
        number = match_integer(tokens, at + 1)
        whole = number is not None and number.value.denominator == 1
        spoken = year_at(tokens, at + 1, today)
        if spoken is not None and word_at(tokens, at + 1) not in ("of", ","):
            return _year(spoken[0], spoken[1])
        if number is None or not whole:
            return None
        short = word_at(tokens, at) == "fy" and number.value < 100
        numbered = full_year(int(number.value), today) if short else int(number.value)
        return _year(numbered, number.end)
    word, before = word_at(tokens, i), word_at(tokens, i - 1)
    if word.isdecimal():
        compared = before == "than" and word_at(tokens, i - 2) in _COMPARED
        compared = compared or (before == "than" and word_at(tokens, i - 3) == "year")
        sure = before in BEFORE_YEAR or before == "" or compared
        follow = word_at(tokens, i + 1)
        ended = not follow or not tokens[i + 1].is_word or follow in _AFTER_YEAR
        glued = i + 1 < len(tokens) and tokens[i + 1].glued and tokens[i + 1].text in "/.:%"
        glued = glued and i + 2 < len(tokens) and tokens[i + 2].glued
        dashed = [token.text for token in tokens[i + 1 : i + 4] if token.glued]
        glued = glued or (len(dashed) == 3 and dashed[0] == "-" == dashed[2])  # "2026-2-30"
        if len(word) != 4 or not 1500 <= int(word) < 2200 or glued or not (sure and ended):
            plain = len(word) == 4 and 1900 <= int(word) < 2100 and ended and not glued
            return _year(int(word), i + 1, loose=True) if plain else None
        return _year(int(word), i + 1)
    if before not in BEFORE_YEAR or not tokens[i].is_word:
        return None
    year = year_at(tokens, i, today) if word not in ("of", "in", "the") else None
    if year is None or year[0] < 1000 or word_at(tokens, year[1] - 1) == "year":
        return None
    unit = word_at(tokens, year[1])
    return _year(*year, loose=bool(unit) and unit not in _AFTER_YEAR and unit.isalpha())


def _match_part_of_year(tokens: Tokens, i: int, today: date) -> Period | None:
    """Reads "q3", "2016 q1", "q1-2019", "the third quarter of 2016", "next year's fourth
    quarter", "2016 h2"."""
    year = None
    at = i
    if word_at(tokens, i).isdecimal() and len(word_at(tokens, i)) == 4:
        year, at = int(word_at(tokens, i)), skip(tokens, i + 1, "-", "/", ",")
    else:
        before = year_ref(tokens, i, today)
        owned = before is not None and word_at(tokens, before[1] - 1) in ("year's", "year")
        if before is not None and owned:
            year, at = before
    part = _part_at(tokens, at)
    if part is None:
        return None
    months, number, end = part
    lone = months == 6
    if year is None:
        after = year_ref(tokens, skip(tokens, end, "-", "/", ","), today)
        if after is not None:
            year, end, lone = after[0], after[1], False
            yearless = word_at(tokens, end - 1) == "year" and word_at(tokens, end - 2) == "the"
            if yearless:
                year = None
    else:
        lone = False
    if lone:
        return None
    first = date(year or today.year, months * (number - 1) + 1, 1)
    stop = add_months(first, months)
    if year is None and stop <= today:
        first, stop = add_months(first, 12), add_months(stop, 12)
    unit = "quarter" if months == 3 else "half"
    return Period(first, stop, end, unit, "" if year else "year")


def _part_at(tokens: Tokens, i: int) -> tuple[int, int, int] | None:
    """Its months, its number in the year and the index after it."""
    for letter, months in (("q", 3), ("h", 6)):
        if word_at(tokens, i) != letter or not (i + 1 < len(tokens) and tokens[i + 1].glued):
            continue
        digit = word_at(tokens, i + 1)
        if digit.isdecimal() and 1 <= int(digit) <= 12 // months:
            return months, int(digit), i + 2
    at = skip(tokens, i, "the")
    digit = word_at(tokens, at + 1)
    if word_at(tokens, at) == "quarter" and digit in ("1", "2", "3", "4"):
        return 3, int(digit), at + 2
    place = match_ordinal(tokens, at)
    last = word_at(tokens, at) == "last"
    if place is None and not last:
        return None
    named = skip(tokens, place.end if place else at + 1, "-")
    months = {"quarter": 3, "half": 6}.get(word_at(tokens, named), 0)
    if not months or (place is not None and place.value > 12 // months):
        return None
    if place is None and word_at(tokens, named + 1) != "of":
        return None
    return months, int(place.value) if place else 12 // months, named + 1


def _week_of_year(year: int, number: int, end: int) -> Period | None:
    try:
        first = date.fromisocalendar(year, number, 1)
    except ValueError:
        return None
    return Period(first, first + timedelta(7), end, "week")


def _match_week_number(tokens: Tokens, i: int, today: date) -> Period | None:
    """Reads "week 31", "week 3 of 2027", "week 27 of last year"."""
    at = skip(tokens, i, "the")
    if word_at(tokens, at) != "week":
        return None
    number = match_integer(tokens, at + 1)
    if number is None or number.value.denominator != 1 or not 1 <= number.value <= 53:
        return None
    year = year_ref(tokens, number.end, today) or (today.year, number.end)
    return _week_of_year(year[0], int(number.value), year[1])


def _match_week_of_day(tokens: Tokens, i: int, today: date) -> Period | None:
    """Reads "the week of the 18th", "the week starting february 4", "christmas week",
    "labor day weekend"."""
    at = skip(tokens, i, "the")
    unit = word_at(tokens, at)
    opener = word_at(tokens, at + 1)
    if [token.text for token in tokens[at : at + 3]] == ["w", "/", "c"]:
        unit, opener, at = "week", "commencing", at + 1
    if word_at(tokens, i - 1) in ("every", "each"):
        return None
    if unit in ("week", "weekend") and opener in _WEEK_OF:
        hit = match_day(tokens, skip(tokens, at + 2, "on"), today)
        day = of_day(hit) if hit else None
        return day and _around(day, unit, day.end)
    if not any(token.text in ("week", "weekend") for token in tokens[i + 1 : i + 7]):
        return None
    if word_at(tokens, i)[:1].isdecimal() or word_at(tokens, i) in MONTHS:
        return None
    hit = match_day(tokens, i, today)
    unit = word_at(tokens, hit.end) if hit else ""
    day = of_day(hit) if hit and unit in ("week", "weekend") else None
    if day is None or day.cycle != "year":
        return None
    return _around(day, unit, day.end + 1)


def _around(day: Period, unit: str, end: int) -> Period | None:
    """The week, or the weekend, around a day."""
    shift = -1 if unit == "weekend" and day.first.weekday() < 3 else 0
    found = stretch(unit, day.first, shift)
    if found is None:
        return None
    if unit == "weekend" and day.first.weekday() == 0:
        found = found[0], found[1] + timedelta(1)  # a long one
    return replace(day, first=found[0], stop=found[1], end=end, unit=unit, loose=False)


def _match_nth_week(tokens: Tokens, i: int, today: date) -> Period | None:
    """Reads "the first week of october", "the last weekend of may", "third week next year"."""
    at = skip(tokens, i, "the")
    place = match_ordinal(tokens, at)
    number, end = (int(place.value), place.end) if place else (0, at)
    if word_at(tokens, at) == "last":
        number, end = -1, at + 1
    unit = word_at(tokens, end)
    if not number or unit not in ("week", "weekend") or number > 53:
        return None
    at = end + 1
    month_place = skip(tokens, skip(tokens, at, "of", "in"), "the")
    month = month_at(tokens, month_place)
    shift = month_shift(tokens, month_place)
    if month is not None and month_place > at:
        year = year_after(tokens, month[1], today)
        first = date(year[0], month[0], 1) if year else _coming_month(month[0], today)
        found = _week_in(first, number, unit)
        end = year[1] if year else month[1]
        if found is None:
            return None
        return Period(*found, end, unit, "" if year else "year")
    if shift is not None:
        found = _week_in(add_months(today.replace(day=1), shift[0]), number, unit)
        return found and Period(*found, shift[1], unit)
    year = year_ref(tokens, at, today)
    if year is None or unit != "week":
        return None
    last = date(year[0], 12, 28).isocalendar().week
    return _week_of_year(year[0], number if number > 0 else last, year[1])


def _week_in(first: date, number: int, unit: str) -> tuple[date, date] | None:
    """The number-th week (its Thursday counts) or weekend (its Saturday) of a month."""
    counted = 3 if unit == "week" else 5
    day = first + timedelta((counted - first.weekday()) % 7)
    days = [day + timedelta(7 * later) for later in range(5)]
    days = [day for day in days if day.month == first.month]
    if number > len(days):
        return None
    on = days[number - 1] if number > 0 else days[-1]
    return stretch(unit, on, 0)
