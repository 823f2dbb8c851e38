"""The days on which something comes back, and how far they lie apart, without the time."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from assistant.intent.values.calendar_day import match_month_day, month_at, skip
from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.duration import UNITS_BY_WORD, match_length
from assistant.intent.values.number import match_number
from assistant.intent.values.ordinal import match_ordinal
from assistant.intent.values.recurrence_value import Recurrence
from assistant.intent.values.weekday import weekday_at
from assistant.intent.values.weekday_list import (
    THROUGH,
    WEEK,
    WEEKEND,
    WORKDAYS,
    day_list,
    days_at,
    is_plural,
)

Hit = tuple[Recurrence, int]


EVERY = ("every", "each")
PARTS = ("morning", "afternoon", "evening", "night")
_BUT = ("except", "but", "excluding")


_ONCE = {
    "everyday": Recurrence("day"),
    "daily": Recurrence("day"),
    "nightly": Recurrence("day", part="night"),
    "hourly": Recurrence("hour"),
    "weekly": Recurrence("week"),
    "biweekly": Recurrence("week", 2),
    "fortnightly": Recurrence("week", 2),
    "monthly": Recurrence("month"),
    "bimonthly": Recurrence("month", 2),
    "quarterly": Recurrence("month", 3),
    "yearly": Recurrence("year"),
    "annually": Recurrence("year"),
    "annual": Recurrence("year"),
    "semiannually": Recurrence("month", 6),
    "semiannual": Recurrence("month", 6),
    "biannually": Recurrence("month", 6),
    "biannual": Recurrence("month", 6),
    "halfyearly": Recurrence("month", 6),
}


def match_days(tokens: Tokens, i: int, *, whole: bool) -> Hit | None:
    """The days alone, or the distance."""
    i = skip(tokens, i, "on", "the")
    hits = (
        _match_day_of_year(tokens, i),
        _match_once(tokens, i),
        _match_named_days(tokens, i, whole=whole),
        _match_distance(tokens, i),
        _match_of_month(tokens, i),
    )
    hit = max(filter(None, hits), key=lambda hit: hit[1], default=None)
    if hit is None:
        return None
    found, end = hit
    at = skip(tokens, end, ",")
    if word_at(tokens, at) in _BUT:
        at = skip(tokens, skip(tokens, at + 1, "for", "on"), "on")
        left_out = day_list(tokens, at)
        if left_out is not None and (found.days or found.unit == "day"):
            days = tuple(day for day in found.days or WEEK if day not in left_out[0])
            return (replace(found, unit="week", days=days), left_out[1]) if days else None
    return found, end


def _match_once(tokens: Tokens, i: int) -> Hit | None:
    """Reads "daily", "once a week", "weekly on mondays", "monthly on the first"."""
    word = word_at(tokens, i)
    if word_at(tokens, i - 1) in ("twice", "thrice", "times"):
        return None
    found, end = _ONCE.get(word), i + 1
    if word in ("semi", "half", "bi"):
        at = skip(tokens, i + 1, "-")
        found, end = _ONCE.get(word + word_at(tokens, at)), at + 1
    if word == "once" and word_at(tokens, i + 1) in ("a", "an", "every", "per", "each"):
        found, end = _of_unit(UNITS_BY_WORD.get(word_at(tokens, i + 2), ""), 1), i + 3
    if found is None:
        return None
    return _with_day(tokens, found, end)


def _of_unit(unit: str, count: int) -> Recurrence | None:
    if unit == "fortnight":
        return Recurrence("week", 2 * count)
    if unit in ("second", "minute", "hour", "day", "week", "month", "year"):
        return Recurrence(unit, count)  # type: ignore[arg-type]
    return None


def _with_day(tokens: Tokens, found: Recurrence, end: int) -> Hit:
    """Adds the day in which of the weeks, months or years: "every month on the first"."""
    at = end
    while word_at(tokens, at) in ("on", "in", ",", "the"):
        at += 1
    if found.unit == "week":
        named = day_list(tokens, at)
        if named is not None:
            return replace(found, days=named[0]), named[1]
    if found.unit == "month" and at > end:
        place = match_ordinal(tokens, at)
        number = place or match_number(tokens, at, signed=False)
        if number and number.value.denominator == 1 and 1 <= number.value <= 31:
            named_day = weekday_at(tokens, number.end) if place else None
            if named_day is not None:
                nth = replace(found, days=(named_day[0],), place=int(number.value))
                return nth, named_day[1]
            return replace(found, day=int(number.value)), number.end
    if found.unit == "year" and at > end:
        month_day = match_month_day(tokens, at, date(2000, 1, 1))
        if month_day is not None and month_day.options:
            on = month_day.options[0]
            return replace(found, day=on.day, month=on.month), month_day.end
    return found, end


def _match_named_days(tokens: Tokens, i: int, *, whole: bool) -> Hit | None:
    """Reads "every monday and friday", "mondays", "weekdays", "every other friday",
    "every morning", "monday to friday"."""
    at, every = i, 1
    marked = word_at(tokens, at) in EVERY
    if marked:
        at = skip(tokens, at + 1, "single")
        if word_at(tokens, at) in ("other", "second", "alternate"):
            every, at = 2, at + 1
        else:
            place = match_ordinal(tokens, at)
            if place and place.value >= 2:
                every, at = int(place.value), place.end
    part = word_at(tokens, at)
    if (marked and part in PARTS) or (part.endswith("s") and part[:-1] in PARTS):
        return Recurrence("day", every, part=part.removesuffix("s")), at + 1
    plural = is_plural(tokens, at)
    if part.removesuffix("s") == "weeknight" and (marked or part.endswith("s")):
        return Recurrence("week", every, WORKDAYS, part="evening"), at + 1
    named = day_list(tokens, at)
    if named is None:
        return None
    days, end = named
    plural = plural or is_plural(tokens, end - 1)
    through = any(tokens[k].text in THROUGH for k in range(at, end))
    # "tuesday afternoons"
    grouped = len(days) == 1 or days in (WORKDAYS, WEEKEND)
    plural = plural or (grouped and word_at(tokens, end) in [f"{p}s" for p in PARTS])
    first = days_at(tokens, at)
    listed = first is not None and first[1] < end
    if not (marked or plural or (whole and (through or listed))):
        return None
    found = Recurrence("week", every, days)
    part = word_at(tokens, end)
    if part.removesuffix("s") in PARTS:
        return replace(found, part=part.removesuffix("s")), end + 1
    return found, end


def _match_day_of_year(tokens: Tokens, i: int) -> Hit | None:
    """Reads "june fifth every year"."""
    month_day = match_month_day(tokens, i, date(2000, 1, 1))
    if month_day is None or not month_day.options:
        return None
    at, on = month_day.end, month_day.options[0]
    if word_at(tokens, at) in EVERY and word_at(tokens, at + 1) == "year":
        return Recurrence("year", day=on.day, month=on.month), at + 2
    yearly = word_at(tokens, at) in ("yearly", "annually")
    return (Recurrence("year", day=on.day, month=on.month), at + 1) if yearly else None


def _match_distance(tokens: Tokens, i: int) -> Hit | None:
    """Reads "every day", "every two hours", "every other week on friday", "each month"."""
    if word_at(tokens, i) not in EVERY:
        return None
    at, every = skip(tokens, i + 1, "single"), 1
    if word_at(tokens, at) in ("other", "second", "alternate"):
        every, at = 2, at + 1
    else:
        place = match_ordinal(tokens, at)
        if place and place.value >= 2:
            every, at = int(place.value), place.end
    unit = UNITS_BY_WORD.get(word_at(tokens, at), "")
    if word_at(tokens, at - 1) == "second" and word_at(tokens, at) in ("", ".", ",", "!", "?"):
        return Recurrence("second"), at  # "every second."
    found = _of_unit(unit, every)
    if found is not None:
        if word_at(tokens, at + 1) == "from":  # "every day from monday to friday"
            named = day_list(tokens, at + 2)
            if named and found.unit == "day":
                return replace(found, unit="week", days=named[0]), named[1]
        return _with_day(tokens, found, at + 1)
    if word_at(tokens, at) == "quarter" and word_at(tokens, at + 1) not in ("hour", "of", "to"):
        return Recurrence("month", 3 * every), at + 1
    at = at if every == 1 else skip(tokens, i + 1, "single")  # "every 4th of july"
    month_day = match_month_day(tokens, at, date(2000, 1, 1))
    if month_day is not None and month_day.options and month_day.yearless:
        on = month_day.options[0]
        return Recurrence("year", 1, day=on.day, month=on.month), month_day.end
    return None if month_at(tokens, at) else _match_counted(tokens, at, every)


def _match_counted(tokens: Tokens, i: int, every: int) -> Hit | None:
    number = match_number(tokens, i, signed=False)
    if every != 1:
        return None
    if number is not None and number.value.denominator == 1 and number.value >= 1:
        at = number.end + 1 if word_at(tokens, number.end) == "-" else number.end
        found = _of_unit(UNITS_BY_WORD.get(word_at(tokens, at), ""), int(number.value))
        if found is not None:
            return _with_day(tokens, found, at + 1)
    hit = match_length(tokens, i)
    if hit is None or hit.length.total != hit.length.seconds or hit.length.seconds < 1:
        return None
    seconds = int(hit.length.seconds)
    for unit, size in (("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds % size == 0:
            found = _of_unit(unit, seconds // size)
            return (found, hit.end) if found else None
    return None


def _match_of_month(tokens: Tokens, i: int) -> Hit | None:
    """Reads "the first of every month", "the last friday of each month",
    "every second monday of the month"."""
    marked = word_at(tokens, i) in EVERY
    i += marked
    place = match_ordinal(tokens, i)
    number, at = (int(place.value), place.end) if place else (-1, i + 1)
    if place is None and word_at(tokens, i) != "last":
        return None
    named = weekday_at(tokens, at)
    at = named[1] if named else skip(tokens, at, "day")
    marked = marked or word_at(tokens, at + 1) in EVERY
    if word_at(tokens, at) not in ("of", "in") or word_at(tokens, at + 2) != "month" or not marked:
        return None
    if word_at(tokens, at + 1) not in (*EVERY, "the"):
        return None
    if named is not None and (number == -1 or 1 <= number <= 5):
        return Recurrence("month", days=(named[0],), place=number), at + 3
    if named is None and 1 <= number <= 31:
        return Recurrence("month", day=number), at + 3
    return None


def is_mark(tokens: Tokens, i: int) -> bool:
    """Without any of these words nothing in a sentence is sure to come back."""
    word = word_at(tokens, i)
    marked = word in EVERY or word in _ONCE or word == "once" or is_plural(tokens, i)
    return marked or word.removesuffix("s") in (*PARTS, "weeknight")
