"""Seasons, decades and centuries: "the summer of 2016", "the seventies", "the 15th century"."""

from __future__ import annotations

from datetime import date

from assistant.intent.values.calendar_day import LAST, add_months, full_year, skip, year_at
from assistant.intent.values.cardinal import Tokens, digits_at, match_integer, word_at
from assistant.intent.values.ordinal import match_ordinal
from assistant.intent.values.period import AHEAD, BEHIND, HERE, Period

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_ONLY_SEASONS = ("summer", "winter", "autumn")
DECADES = {
    "twenties": 20,
    "thirties": 30,
    "forties": 40,
    "fifties": 50,
    "sixties": 60,
    "seventies": 70,
    "eighties": 80,
    "nineties": 90,
    "noughties": 0,
    "tens": 10,
    "hundreds": 0,
    "thousands": 0,
}
BEFORE_YEAR = frozenset(
    """in of since until till by before after during from between and to through year years for
    thru or on within throughout end beginning start late early mid the = > <""".split()
)


def year_after(tokens: Tokens, i: int, today: date) -> tuple[int, int] | None:
    year = year_at(tokens, i, today)
    if year is not None:
        return year
    if word_at(tokens, i) == "'" and len(word_at(tokens, i + 1)) == 2:
        short = digits_at(tokens, i + 1)
        return (full_year(int(short), today), i + 2) if short is not None else None
    return None


def year_ref(tokens: Tokens, i: int, today: date) -> tuple[int, int] | None:
    """The year that a part of it belongs to: "of 2016", "next year", "of the year"."""
    year = year_after(tokens, i, today)
    if year is not None:
        return year
    at = skip(tokens, skip(tokens, i, "of", "in"), "the", "this")
    word = word_at(tokens, at).removesuffix("'s")
    if word == "year" and at > i:
        return today.year, at + 1
    if word in (*AHEAD, *BEHIND, *LAST) and word_at(tokens, at + 1).startswith("year"):
        return today.year + (1 if word in AHEAD else -1), at + 2
    return None


def match_season(tokens: Tokens, i: int, today: date) -> Period | None:
    """Reads "summer", "this spring", "the summer of 2016"; "fall" alone is a verb."""
    at = skip(tokens, i, "the")
    relation = word_at(tokens, at)
    related = relation in (*AHEAD, *BEHIND, *HERE)
    word = word_at(tokens, at + related)
    month = SEASONS.get(word)
    if month is None:
        return None
    end = at + related + 1
    year = year_ref(tokens, end, today)
    this_year = date(today.year, month, 1)
    if year is not None:
        first, end = date(year[0], month, 1), year[1]
        return Period(first, add_months(first, 3), end, "season")
    if relation in AHEAD:
        first = this_year if this_year > today else add_months(this_year, 12)
    elif relation in BEHIND:
        first = this_year if add_months(this_year, 3) <= today else add_months(this_year, -12)
    else:
        ended = add_months(this_year, 3) <= today
        first = add_months(this_year, 12) if ended and not related else this_year
    sure = related or at > i or word in _ONLY_SEASONS or word_at(tokens, i - 1) == "in"
    cycle = "" if related else "year"
    return Period(first, add_months(first, 3), end, "season", cycle, loose=not sure)  # type: ignore[arg-type]


def match_decade(tokens: Tokens, i: int, today: date) -> Period | None:
    """Reads "the 2000s", "the 70's", "the nineteen seventies", "the twenty-tens"."""
    at = skip(tokens, i, "the")
    text = word_at(tokens, at)
    years: int | None = None
    if text.isdecimal() and len(text) in (2, 4) and text.endswith("0"):
        end = skip(tokens, at + 1, "'")
        parted = end < len(tokens) and not tokens[end].glued and not 1500 <= int(text) < 2100
        if word_at(tokens, end) != "s" or parted:
            return None  # "90 s" are seconds
        years, end = int(text), end + 1
        if len(text) == 2 and not (at > i or word_at(tokens, i - 1) in BEFORE_YEAR):
            return None
    else:
        head = match_integer(tokens, at)
        century = int(head.value) * 100 if head and 10 <= head.value < 30 else 0
        if (head is not None and head.value == 2000) or (
            head is not None and head.value == 2 and word_at(tokens, head.end) == "thousands"
        ):
            century = 2000
        named = skip(tokens, head.end, "-", "and") if head and century else at
        tens = DECADES.get(word_at(tokens, named))
        if text == "noughties":
            return Period(date(2000, 1, 1), date(2010, 1, 1), at + 1, "decade")
        since = word_at(tokens, i - 1) in ("in", "since", "from", "during")
        if tens is None or (named == at and (tens < 20 or (at == i and not since))):
            return None
        years, end = century + tens, named + 1
    if years >= 1000:
        return Period(date(years, 1, 1), date(years + 10, 1, 1), end, "decade")
    return Period(date(1900 + years, 1, 1), date(1910 + years, 1, 1), end, "decade", "century")


def match_century(tokens: Tokens, i: int) -> Period | None:
    """Reads "the 15th century"."""
    place = match_ordinal(tokens, skip(tokens, i, "the"))
    if place is None or not 2 <= place.value <= 30 or word_at(tokens, place.end) != "century":
        return None
    first = 100 * (int(place.value) - 1)
    return Period(date(first, 1, 1), date(first + 100, 1, 1), place.end + 1, "century")
