"""Stretches of the calendar: "next week", "this weekend", "june 2027", "the last 3 days".

A stretch without a year is the coming one, or the one that is going on. "The next 3 days"
begin tomorrow, "the last 3 days" end with the beginning of today.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from assistant.intent.values.calendar_day import DayHit, add_months, skip
from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.duration import UNITS_BY_WORD

Cycle = Literal["", "week", "month", "year", "century"]
Stretch = tuple[date, date]
"""The first day, and the day after the last."""

AHEAD = ("next", "following", "upcoming", "coming")
BEHIND = ("last", "previous", "past", "prior", "preceding")
LASTING = frozenset(
    "will would can could should may might must to not it won't shouldn't doesn't didn't".split()
)
"""Before these words "last" is a verb."""
HERE = ("this", "current", "same", "present")


@dataclass(frozen=True, slots=True)
class Period:
    """Days that were named, up to (not including) token ``end``.

    first: the first day; stop: the day after the last one.
    cycle: how often such a period comes back, so that a neighbour may choose which one is
        meant ("from monday to friday"); "" when the words leave no choice.
    unit: what it is: "day", "week", "weekend", "month", "year" ...
    loose: the words may well mean something else.
    """

    first: date
    stop: date
    end: int
    unit: str
    cycle: Cycle = ""
    loose: bool = False

    def moved(self, times: int) -> Period:
        """The same period so many cycles later."""
        if self.cycle == "week":
            shift = timedelta(7 * times)
            return replace(self, first=self.first + shift, stop=self.stop + shift)
        months = times * {"month": 1, "year": 12, "century": 1200}.get(self.cycle, 0)
        return replace(
            self, first=add_months(self.first, months), stop=add_months(self.stop, months)
        )

    def in_year(self, year: int) -> Period:
        """The same period of another year, without a choice left."""
        moved = replace(self, cycle="year").moved(year - self.first.year)
        return replace(moved, cycle="")


def of_day(hit: DayHit) -> Period | None:
    """The day as a period; None for words that contradict each other."""
    if not hit.options:
        return None
    first = hit.options[0]
    cycle: Cycle = "year" if hit.yearless else ""
    if len(hit.options) > 1 and not cycle:
        days = (hit.options[1] - first).days
        cycle = "week" if days == 7 else "month" if days < 63 else "year"
    return Period(first, first + timedelta(1), hit.end, "day", cycle, hit.loose)


def stretch(unit: str, today: date, shift: int) -> Stretch | None:
    """The unit of the calendar that today is in, or so many of them later."""
    monday = today - timedelta(today.weekday())
    if unit in ("week", "fortnight"):
        days = 7 if unit == "week" else 14
        first = monday + timedelta(days * shift)
        return first, first + timedelta(days)
    if unit in ("weekend", "workweek"):
        first = monday + timedelta(7 * shift + (5 if unit == "weekend" else 0))
        return first, first + timedelta(2 if unit == "weekend" else 5)
    if unit == "day":
        return today + timedelta(shift), today + timedelta(shift + 1)
    if unit == "month":
        first = add_months(today.replace(day=1), shift)
        return first, add_months(first, 1)
    if unit == "quarter":
        first = add_months(date(today.year, (today.month - 1) // 3 * 3 + 1, 1), 3 * shift)
        return first, add_months(first, 3)
    years = {"year": 1, "decade": 10, "century": 100}.get(unit)
    if years is None:
        return None
    year = today.year // years * years + years * shift
    return (date(year, 1, 1), date(year + years, 1, 1)) if 0 < year < 9900 else None


def unit_at(tokens: Tokens, i: int) -> tuple[str, int] | None:
    """The unit of the calendar named at token i, and the index after it."""
    word, follow = word_at(tokens, i), word_at(tokens, i + 1)
    if word in ("fiscal", "calendar", "school") and follow == "year":
        return "year", i + 2
    if word in ("work", "working", "business") and follow in ("week", "weeks"):
        return "workweek", i + 2
    word = word.removesuffix("'s")
    if word in ("workweek", "quarter", "quarters", "century", "centuries"):
        return {"quarters": "quarter", "centuries": "century"}.get(word, word), i + 1
    unit = UNITS_BY_WORD.get(word, "")
    return (unit, i + 1) if unit else None


def match_relative(tokens: Tokens, i: int, today: date) -> Period | None:
    """Reads "next week", "the past month", "this coming weekend", "the year after next"."""
    at = skip(tokens, i, "the")
    the = at > i
    if word_at(tokens, at) in ("this", "the", "my") and word_at(tokens, at + 1) in (
        *AHEAD,
        *BEHIND,
        "current",
    ):
        at += 1
    word = word_at(tokens, at)
    if word in (*AHEAD, *BEHIND, *HERE):
        named = unit_at(tokens, at + 1)
        shift = 1 if word in AHEAD else -1 if word in BEHIND else 0
        if named is None or named[0] == "day" or word_at(tokens, named[1] - 1).endswith("s"):
            return None
        found = stretch(named[0], today, shift)
        this = stretch(named[0], today, 0)
        if word in ("coming", "upcoming") and named[0] == "weekend" and this and this[0] > today:
            found = this
        return found and Period(*found, named[1], named[0])
    named = unit_at(tokens, at)
    if named is None or word_at(tokens, named[1] - 1).endswith("s"):
        return None
    unit, end = named
    beyond = [token.text for token in tokens[end : end + 2]]
    if beyond in (["after", "next"], ["before", "last"]):
        found = stretch(unit, today, 2 if beyond[0] == "after" else -2)
        return found and Period(*found, end + 2, unit)
    alone = unit == "weekend" or (the and unit in ("week", "month", "year", "fortnight"))
    if not alone or unit == "day" or word_at(tokens, i - 1) in ("a", "per", "every", "each"):
        return None
    found = stretch(unit, today, 0)
    if found and unit == "weekend" and found[1] <= today:
        found = stretch(unit, today, 1)
    cycle: Cycle = "week" if unit == "weekend" else ""
    return found and Period(*found, end, unit, cycle, loose=unit != "weekend")
