"""What comes back: "every weekday at seven", "mondays and fridays", "every two hours".

A bare hour of something that comes back is one of the day: five to eleven are in the
morning, twelve is noon, one to four in the afternoon, unless a part of the day is named.
How often alone ("twice a week") names no days and is None.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

from assistant.intent.values.calendar_day import match_month_day, month_at, skip
from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.clock import Clock, match_clock
from assistant.intent.values.day_part import match_day_part, settle
from assistant.intent.values.duration import UNITS_BY_WORD, match_length
from assistant.intent.values.number import match_number
from assistant.intent.values.ordinal import match_ordinal
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import tokenize
from assistant.intent.values.weekday import nth_in_month, weekday_at

Unit = Literal["second", "minute", "hour", "day", "week", "month", "year"]

WEEK = tuple(range(7))
_WORKDAYS, _WEEKEND = WEEK[:5], WEEK[5:]


@dataclass(frozen=True, slots=True)
class Recurrence:
    """every: how many units lie between two; days: of the week (Monday = 0, unit week).

    day: of the month (1 to 31, units month and year); month: of the year (1 to 12, unit
    year); place: with days, which one of the month (1 to 5, -1 the last; unit month);
    clock: the time of day, exact; part: of the day, "" for none; open: True when neither
    am, pm nor a part of the day was said.
    """

    unit: Unit
    every: int = 1
    days: tuple[int, ...] = ()
    day: int | None = None
    month: int | None = None
    place: int | None = None
    clock: Clock | None = None
    part: str = ""
    open: bool = False

    def first(self, now: datetime) -> datetime | None:
        """The first moment after now, in its zone; None without a time of day."""
        if self.unit in ("second", "minute", "hour"):
            step = timedelta(**{f"{self.unit}s": self.every})
            return (now.astimezone(UTC) + step).astimezone(now.tzinfo)
        if self.clock is None:
            return None
        wall = time(self.clock.hour % 24, self.clock.minute, self.clock.second)
        on = now.date() - timedelta(1)
        for _ in range(366 * 9):
            shift = self.clock.hour // 24  # "every night at one" is of the day before
            local = datetime.combine(on + timedelta(shift), wall, tzinfo=now.tzinfo)
            at = local.astimezone(UTC)
            if at > now.astimezone(UTC) and self.falls_on(on, now.date()):
                return at.astimezone(now.tzinfo)
            on += timedelta(1)
        return None

    def falls_on(self, on: date, today: date) -> bool:
        """Whether it may come on that day, were it the first time; ``today`` stands for
        the days that were left open ("every month")."""
        if self.place is not None:
            return nth_in_month(on.replace(day=1), self.days[0], self.place) == on
        if self.days:
            return on.weekday() in self.days
        if self.day is not None:
            return on.day == self.day and self.month in (None, on.month)
        return True

    def as_json(self, now: datetime) -> dict[str, Any]:
        first = self.first(now)
        return {
            "unit": self.unit,
            "every": self.every,
            "days": list(self.days),
            "day": self.day,
            "month": self.month,
            "place": self.place,
            "at": f"{self.clock.hour % 24:02d}:{self.clock.minute:02d}" if self.clock else None,
            "open": self.open,
            "first": first.isoformat(timespec="seconds") if first else None,
        }


def parse_recurrence(text: str, now: datetime) -> dict[str, Any] | None:
    """What the whole text says to come back, JSON-ready (see Recurrence), or None.

    "at" is "HH:MM" or None, "first" the first moment as ISO 8601 or None without a time.
    """
    tokens = tokenize(text)
    while tokens and tokens[-1].text in (".", "!", "?", ","):
        tokens.pop()
    start = 0
    while word_at(tokens, start) in ("at", "on", "for"):
        start += 1
    hit = match_recurrence(tokens, start, now, whole=True)
    return hit[0].as_json(now) if hit and hit[1] == len(tokens) else None


def find_recurrences(text: str, now: datetime) -> list[Span[Recurrence]]:
    """All in a sentence, from left to right; "monday to friday" alone is not sure."""
    tokens = tokenize(text)
    spans: list[Span[Recurrence]] = []
    if not any(_is_mark(tokens, i) for i in range(len(tokens))):
        return spans
    i = 0
    while i < len(tokens):
        hit = match_recurrence(tokens, i, now)
        if hit is None:
            i += 1
            continue
        spans.append(Span(tokens[i].start, tokens[hit[1] - 1].end, hit[0]))
        i = hit[1]
    return spans


def _is_mark(tokens: Tokens, i: int) -> bool:
    """Without any of these words nothing in a sentence is sure to come back."""
    word = word_at(tokens, i)
    marked = word in _EVERY or word in _ONCE or word == "once" or _is_plural(tokens, i)
    return marked or word.removesuffix("s") in (*_PARTS, "weeknight")


Hit = tuple[Recurrence, int]

_EVERY = ("every", "each")
_LINKS = ("at", "on", "in", "for", "from", "@", ",", "the", "around", "about", "starting")
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
    "halfyearly": Recurrence("month", 6),
}
_PARTS = ("morning", "afternoon", "evening", "night")
_GROUPS = {
    "weekday": _WORKDAYS,
    "workday": _WORKDAYS,
    "workweek": _WORKDAYS,
    "week day": _WORKDAYS,
    "work day": _WORKDAYS,
    "working day": _WORKDAYS,
    "business day": _WORKDAYS,
    "school day": _WORKDAYS,
    "weekend": _WEEKEND,
    "week end": _WEEKEND,
    "weekend day": _WEEKEND,
}
_THROUGH = ("to", "till", "until", "through", "thru", "-")
_BUT = ("except", "but", "excluding")


def match_recurrence(tokens: Tokens, i: int, now: datetime, *, whole: bool = False) -> Hit | None:
    """The longest wording that begins at token i, with a time of day before or after.

    whole: the text is nothing else, so that "monday to friday" and a bare hour count.
    """
    before = _match_time(tokens, i, now, bare=whole or word_at(tokens, i - 1) == "at")
    start = _after_links(tokens, before[2]) if before else i
    hit = _match_days(tokens, start, now, whole=whole)
    if hit is None:
        return None
    found, end = hit
    clock, part = (before[0], before[1]) if before else (None, "")
    # "in the morning": these words belong to the part of the day
    at = end if match_day_part(tokens, end, now) else _after_links(tokens, end)
    after = _match_time(
        tokens, at, now, bare=whole or word_at(tokens, at - 1) in ("at", "@", "around", "about")
    )
    if after is not None and (after[0] is None or clock is None):
        clock, part, end = after[0] or clock, after[1] or part, after[2]
        more = _match_days(tokens, _after_links(tokens, end), now, whole=whole)
        if more and found.unit in ("day", "week", "month") and not (found.days or found.day):
            # "every week at nine on mondays"
            joined = _joined(found, more[0])
            found, end = (joined, more[1]) if joined else (found, end)
    return _timed(found, clock, part, end)


def _timed(found: Recurrence, clock: Clock | None, part: str, end: int) -> Hit | None:
    part = part or found.part
    if clock is None:
        clock = None if not part else found.clock
        return replace(found, part=part, clock=clock), end
    if found.unit in ("second", "minute", "hour"):
        return None
    if part:
        settled = settle(clock, part)
        return (replace(found, clock=settled, part=part), end) if settled else None
    return replace(found, clock=_of_the_day(clock), open=not clock.exact), end


def _of_the_day(clock: Clock) -> Clock:
    if clock.exact:
        return clock
    return replace(clock, hour=clock.hour if clock.hour >= 5 else clock.hour + 12, exact=True)


def _after_links(tokens: Tokens, i: int) -> int:
    while word_at(tokens, i) in _LINKS:
        i += 1
    return i


Timed = tuple[Clock | None, str, int]
"""A time of day, a part of the day, and the index after them."""


def _match_time(tokens: Tokens, i: int, now: datetime, *, bare: bool) -> Timed | None:
    clock, part, end = None, "", i
    for _ in range(2):
        at = end if end == i else _after_links(tokens, end)
        # "in the morning": the article belongs to the part
        at = end if match_day_part(tokens, end, now) else at
        named = match_day_part(tokens, at, now)
        hit = match_clock(tokens, at)
        if named and not part and not (named.alone and end == i) and not named.day:
            part, end = named.part, named.end
        elif hit and clock is None and (not hit.bare or bare or hit.clock.exact):
            clock, end = hit.clock, hit.end
        else:
            break
    return (clock, part, end) if end > i else None


def _match_days(tokens: Tokens, i: int, now: datetime, *, whole: bool) -> Hit | None:
    """The days alone, or the distance."""
    i = skip(tokens, i, "on", "the")
    hits = (
        _match_day_of_year(tokens, i),
        _match_once(tokens, i, now),
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
        left_out = _day_list(tokens, at)
        if left_out is not None and (found.days or found.unit == "day"):
            days = tuple(day for day in found.days or WEEK if day not in left_out[0])
            return (replace(found, unit="week", days=days), left_out[1]) if days else None
    return found, end


def _match_once(tokens: Tokens, i: int, now: datetime) -> Hit | None:
    """Reads "daily", "once a week", "weekly on mondays", "monthly on the first"."""
    word = word_at(tokens, i)
    found, end = _ONCE.get(word), i + 1
    if word in ("semi", "half", "bi") and word_at(tokens, i + 1) == "-":
        found, end = _ONCE.get(word + word_at(tokens, i + 2)), i + 3
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
        named = _day_list(tokens, at)
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


def _joined(found: Recurrence, days: Recurrence) -> Recurrence | None:
    if days.every != 1 or found.unit != "week" or not days.days:
        return None
    return replace(found, days=days.days)


def _match_named_days(tokens: Tokens, i: int, *, whole: bool) -> Hit | None:
    """Reads "every monday and friday", "mondays", "weekdays", "every other friday",
    "every morning", "monday to friday"."""
    at, every = i, 1
    marked = word_at(tokens, at) in _EVERY
    if marked:
        at = skip(tokens, at + 1, "single")
        if word_at(tokens, at) in ("other", "second", "alternate"):
            every, at = 2, at + 1
        else:
            place = match_ordinal(tokens, at)
            if place and place.value >= 2:
                every, at = int(place.value), place.end
    part = word_at(tokens, at)
    counted = not marked and i > 0 and match_number(tokens, i - 1) is not None
    if counted:
        return None  # "two nights", "three weekends"
    if (marked and part in _PARTS) or (part.endswith("s") and part[:-1] in _PARTS):
        return Recurrence("day", every, part=part.removesuffix("s")), at + 1
    plural = _is_plural(tokens, at)
    if part.removesuffix("s") == "weeknight" and (marked or part.endswith("s")):
        return Recurrence("week", every, _WORKDAYS, part="evening"), at + 1
    named = _day_list(tokens, at)
    if named is None:
        return None
    days, end = named
    plural = plural or _is_plural(tokens, end - 1)
    through = any(tokens[k].text in _THROUGH for k in range(at, end))
    # "tuesday afternoons"
    plural = plural or (len(days) == 1 and word_at(tokens, end) in [f"{p}s" for p in _PARTS])
    first = _days_at(tokens, at)
    listed = first is not None and first[1] < end
    if not (marked or plural or (whole and (through or listed))):
        return None
    found = Recurrence("week", every, days)
    part = word_at(tokens, end)
    if part.removesuffix("s") in _PARTS:
        return replace(found, part=part.removesuffix("s")), end + 1
    return found, end


def _is_plural(tokens: Tokens, i: int) -> bool:
    word = word_at(tokens, i)
    if word.endswith("days") and weekday_at(tokens, i, plural=True):
        return True
    return word.endswith("s") and word[:-1] in ("day", *_GROUPS)


def _day_list(tokens: Tokens, i: int) -> tuple[tuple[int, ...], int] | None:
    """Days of the week in a list, each a day, a range or a group."""
    days: set[int] = set()
    at, end = i, i
    while True:
        hit = _days_at(tokens, skip(tokens, at, "on", "every", "each"))
        if hit is None:
            break
        days.update(hit[0])
        at = end = hit[1]
        while word_at(tokens, at) in (",", "and", "&", "or"):
            at += 1
    return (tuple(sorted(days)), end) if days else None


def _days_at(tokens: Tokens, i: int) -> tuple[tuple[int, ...], int] | None:
    for length in (2, 1):
        words = " ".join(token.text for token in tokens[i : i + length])
        for name in (words, words.removesuffix("s")):
            if name in _GROUPS and len(tokens) >= i + length:
                return _GROUPS[name], i + length
    named = weekday_at(tokens, i, plural=True)
    if named is None:
        return None
    if word_at(tokens, named[1]) in _THROUGH:
        last = weekday_at(tokens, named[1] + 1, plural=True)
        if last is not None:
            span = (last[0] - named[0]) % 7
            return tuple((named[0] + step) % 7 for step in range(span + 1)), last[1]
    return (named[0],), named[1]


def _match_day_of_year(tokens: Tokens, i: int) -> Hit | None:
    """Reads "june fifth every year"."""
    month_day = match_month_day(tokens, i, date(2000, 1, 1))
    if month_day is None or not month_day.options:
        return None
    at, on = month_day.end, month_day.options[0]
    if word_at(tokens, at) in _EVERY and word_at(tokens, at + 1) == "year":
        return Recurrence("year", day=on.day, month=on.month), at + 2
    yearly = word_at(tokens, at) in ("yearly", "annually")
    return (Recurrence("year", day=on.day, month=on.month), at + 1) if yearly else None


def _match_distance(tokens: Tokens, i: int) -> Hit | None:
    """Reads "every day", "every two hours", "every other week on friday", "each month"."""
    if word_at(tokens, i) not in _EVERY:
        return None
    at, every = skip(tokens, i + 1, "single"), 1
    if word_at(tokens, at) in ("other", "second", "alternate"):
        every, at = 2, at + 1
    else:
        place = match_ordinal(tokens, at)
        if place and place.value >= 2:
            every, at = int(place.value), place.end
    unit = UNITS_BY_WORD.get(word_at(tokens, at), "")
    found = _of_unit(unit, every)
    if found is not None:
        if word_at(tokens, at + 1) == "from":  # "every day from monday to friday"
            named = _day_list(tokens, at + 2)
            if named and found.unit == "day":
                return replace(found, unit="week", days=named[0]), named[1]
        return _with_day(tokens, found, at + 1)
    if word_at(tokens, at) == "quarter" and word_at(tokens, at + 1) not in ("hour", "of", "to"):
        return Recurrence("month", 3 * every), at + 1
    month = month_at(tokens, at)
    if month is not None:
        month_day = match_month_day(tokens, at, date(2000, 1, 1))
        if month_day is not None and month_day.options:
            on = month_day.options[0]
            return Recurrence("year", 1, day=on.day, month=on.month), month_day.end
        return None
    return _match_counted(tokens, at, every)


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
    marked = word_at(tokens, i) in _EVERY
    i += marked
    place = match_ordinal(tokens, i)
    number, at = (int(place.value), place.end) if place else (-1, i + 1)
    if place is None and word_at(tokens, i) != "last":
        return None
    named = weekday_at(tokens, at)
    at = named[1] if named else skip(tokens, at, "day")
    marked = marked or word_at(tokens, at + 1) in _EVERY
    if word_at(tokens, at) not in ("of", "in") or word_at(tokens, at + 2) != "month" or not marked:
        return None
    if word_at(tokens, at + 1) not in (*_EVERY, "the"):
        return None
    if named is not None and (number == -1 or 1 <= number <= 5):
        return Recurrence("month", days=(named[0],), place=number), at + 3
    if named is None and 1 <= number <= 31:
        return Recurrence("month", day=number), at + 3
    return None
