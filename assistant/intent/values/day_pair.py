"""From one day to another: "from monday to friday", "may 3 to 7", "between 2015 and 2018"."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

from assistant.intent.values.calendar_day import add_months, month_at, month_shift, skip, year_at
from assistant.intent.values.cardinal import Tokens, digits_at, match_below_hundred, word_at
from assistant.intent.values.ordinal import match_ordinal
from assistant.intent.values.period import Period
from assistant.intent.values.weekday import weekday_at

TO = ("to", "till", "until", "til", "through", "thru", "-", "~")
_DAYS = 100 * 366

Pair = tuple[Period, Period]


def joined(first: Period, last: Period, today: date) -> Pair | None:
    """The two periods so that the last comes after the first; None when it cannot."""
    if first.cycle == "year" and not last.cycle and last.unit != "now":
        first = first.in_year(last.first.year)
        if first.first > last.first:
            first = first.in_year(last.first.year - 1)
    elif first.cycle in ("month", "week") and not last.cycle:
        for _ in range(60):
            if first.first <= last.first:
                break
            first = first.moved(-1)
    if last.cycle and last.cycle != "century":
        for _ in range(60):
            if last.first >= first.first:
                break
            last = last.moved(1)
        if last.cycle == "week" and last.first - first.first > timedelta(7):
            while last.moved(-1).first > first.first:
                last = last.moved(-1)
    if first.cycle == "year" == last.cycle:  # the one that is not over yet
        first, last = first.moved(-1), last.moved(-1)
        while last.stop <= today:
            first, last = first.moved(1), last.moved(1)
    fits = first.first <= last.first and (last.first - first.first).days < _DAYS
    return (first, last) if fits else None


def match_numbers_of_month(tokens: Tokens, i: int, today: date) -> Pair | None:
    """Reads "4 to 23 next month", "between 4-22 january 1995", "november 19-20",
    "november between 19 and 20", "april ninth through seventeenth"."""
    opener = word_at(tokens, i) in ("from", "between", "on")
    at = i + opener
    month = month_at(tokens, at)
    at = skip(tokens, month[1], ",") if month else at
    inner = word_at(tokens, at) in ("from", "between") and month is not None
    both = word_at(tokens, at if inner else i) == "between"
    first = _number(tokens, at + inner)
    if first is None:
        return None
    connector = word_at(tokens, first[1])
    if connector not in TO and not (connector == "and" and both):
        return None
    last = _number(tokens, first[1] + 1)
    if last is None or first[0] >= last[0] or word_at(tokens, last[1]) == ":":
        return None
    end = last[1]
    if month is not None:
        year = year_at(tokens, end, today)
        follow = word_at(tokens, end)
        if follow in ("am", "pm", "/", "-", "o'clock") or (
            follow in ("a", "p") and word_at(tokens, end + 1) == "m"
        ):
            return None
        return _in_month(month[0], first[0], last[0], year, year[1] if year else end, today)
    at = skip(tokens, skip(tokens, end, "of", "in", "-"), "the")
    shift = month_shift(tokens, at)
    if shift is not None:
        base = add_months(today.replace(day=1), shift[0])
        return _days(base, first[0], last[0], shift[1], "")
    month = month_at(tokens, at)
    if month is None:
        return None
    year = year_at(tokens, month[1], today)
    return _in_month(month[0], first[0], last[0], year, year[1] if year else month[1], today)


def _in_month(
    month: int, first: int, last: int, year: tuple[int, int] | None, end: int, today: date
) -> Pair | None:
    base = date(year[0] if year else today.year, month, 1)
    found = _days(base, first, last, end, "" if year else "year")
    if found is not None and year is None and found[1].stop <= today:
        return found[0].moved(1), found[1].moved(1)
    return found


def _days(base: date, first: int, last: int, end: int, cycle: str) -> Pair | None:
    try:
        one, other = base.replace(day=first), base.replace(day=last)
    except ValueError:
        return None
    day = timedelta(1)
    start = Period(one, one + day, end, "day", cycle)  # type: ignore[arg-type]
    return start, replace(start, first=other, stop=other + day)


def _number(tokens: Tokens, i: int) -> tuple[int, int] | None:
    """A day of the month by its number, and the index after it."""
    at = skip(tokens, i, "the")
    place = match_ordinal(tokens, at)
    if place is not None:
        return (int(place.value), place.end) if place.value <= 31 else None
    digits = digits_at(tokens, at)
    if digits is not None:
        fits = tokens[at].text.isdecimal() and 1 <= digits <= 31 and len(tokens[at].text) <= 2
        return (int(digits), at + 1) if fits else None
    words = match_below_hundred(tokens, at)
    return (int(words.value), words.end) if words and words.value <= 31 else None


def match_weekdays_of_week(tokens: Tokens, i: int, week: Period) -> Pair | None:
    """What follows the week of "next week from wednesday to friday"."""
    at = skip(tokens, skip(tokens, i, ",", "on"), "from", "between")
    first = weekday_at(tokens, at)
    if first is None or week.unit != "week" or word_at(tokens, first[1]) not in (*TO, "and"):
        return None
    last = weekday_at(tokens, first[1] + 1)
    if last is None or last[0] <= first[0]:
        return None
    days = [week.first + timedelta(number) for number in (first[0], last[0])]
    one, other = (Period(day, day + timedelta(1), last[1], "day") for day in days)
    return one, other
