"""Ranges of time in a sentence: "from 3 to 5 pm", "this weekend", "the next 3 days",
"tomorrow morning", "since may", "until friday".

A range without a day is the next one that is not over; a range of the calendar without a
year is the coming one or the one that is going on.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, time, timedelta

from assistant.intent.values.bound import BOUND_BEGINS, before_point
from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.clock import Clock
from assistant.intent.values.counted_period import match_counted, match_lasting
from assistant.intent.values.date import DAY_BEGINS
from assistant.intent.values.day_pair import (
    TO,
    joined,
    match_numbers_of_month,
    match_weekdays_of_week,
)
from assistant.intent.values.day_part import match_day_part
from assistant.intent.values.from_now import rest_of_day, to_date
from assistant.intent.values.hours import HOURS_BEGIN, Hours, half_day, match_part
from assistant.intent.values.moment import instant
from assistant.intent.values.named_period import NAMED_BEGIN
from assistant.intent.values.open_range import match_bounded
from assistant.intent.values.period import AHEAD, BEHIND, HERE, Period
from assistant.intent.values.points import Point, Points
from assistant.intent.values.range_value import Range, days, moments
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import tokenize
from assistant.intent.values.weekday import in_week_after

Found = tuple[Range, int]
"""A range and the index after its words."""

_DAY_LINKS = (",", "on", "at", "in", "for", "-", "of", "from", "@")
_OPENERS = frozenset(
    """within over during throughout for a an the few several couple rest remainder remaining end
    middle mid close beginning start early late earlier later tonight tonite now today tomorrow to
    ytd mtd year month""".split()
)
_PREPOSITIONS = ("in", "at", "on", "during", "over", "throughout")
_PART_DAYS = {"this": 0, "last": -1, "past": -1, "next": 1, "following": 1, "previous": -1}

_BEGINS = (
    BOUND_BEGINS
    | HOURS_BEGIN
    | NAMED_BEGIN
    | DAY_BEGINS
    | frozenset((*AHEAD, *BEHIND, *HERE, *_OPENERS))
) - {"at", "around", "about"}
"""Any other word, but for a number in digits, begins no range."""


def find_ranges(text: str, now: datetime, *, day_first: bool = False) -> list[Span[Range]]:
    """All ranges named in a sentence, from left to right.

    Raises ValueError when ``now`` has no time zone.
    """
    reader = _RangeReader(tokenize(text), now, day_first)
    tokens, spans, i = reader.tokens, [], 0
    while i < len(tokens):
        hit = reader.longest(i)
        if hit is None:
            i += 1
            continue
        first = i
        if first and tokens[first - 1].text == "the":
            first -= 1
        if first and tokens[first - 1].text in _PREPOSITIONS and hit[0].start and hit[0].end:
            first -= 1
        spans.append(Span(tokens[first].start, tokens[hit[1] - 1].end, hit[0]))
        i = hit[1]
    return spans


def parse_range(text: str, now: datetime, *, day_first: bool = False) -> Range | None:
    """The range that the whole text is, but for a preposition before it; else None."""
    tokens = tokenize(text)
    while tokens and tokens[-1].text in (".", "!", "?", ","):
        tokens.pop()
    reader = _RangeReader(tokens, now, day_first)
    start = 0
    while True:
        hit = reader.longest(start)
        if hit is not None and hit[1] == len(tokens):
            return hit[0]
        if word_at(tokens, start) not in ("on", "in", "for", "at", "during", "over", "the"):
            return None
        start += 1


def _may_begin(word: str) -> bool:
    return word in _BEGINS or word[:1].isdecimal()


class _RangeReader:
    """Reads one text against one ``now``."""

    def __init__(self, tokens: Tokens, now: datetime, day_first: bool) -> None:
        self._points = Points(tokens, now, day_first)
        self.tokens = self._points.tokens
        self._now = now
        self._today = now.date()
        words = [token.text for token in self.tokens]
        self._joints = [at for at, word in enumerate(words) if word in TO or word == "and"]
        self._bounds = [at for at, word in enumerate(words) if word in BOUND_BEGINS]

    def _follows(self, i: int, places: list[int]) -> bool:
        """Whether one of the places comes soon after token i."""
        return any(i < at < i + 12 for at in places)

    def longest(self, i: int) -> Found | None:
        """The longest range that begins at token i."""
        word = word_at(self.tokens, i)
        if not _may_begin(word):
            bound = word in ("at", "on", "in", "<", ">") and before_point(self.tokens, i)
            if not bound or (word == ">" and word_at(self.tokens, i - 1) == "<"):
                return None
        if word == "the" and not _may_begin(word_at(self.tokens, i + 1)):
            return None
        try:
            found = [
                match_bounded(self._points, i, followed=self._follows(i, self._bounds)),
                self._pair(i) if self._follows(i, self._joints) else None,
                self._day_and_hours(i),
                self._period(i),
                match_counted(self.tokens, i, self._points),
                match_lasting(self.tokens, i, self._points),
                rest_of_day(self._points, i),
                to_date(self._points, i),
            ]
        except (OverflowError, ValueError):  # past the calendar's end: no range
            return None
        return max(filter(None, found), key=lambda hit: hit[1], default=None)

    def _period(self, i: int) -> Found | None:
        edged = self._points.edged_at(i)
        period = self._points.period_at(i)
        if edged is not None and (period is None or edged[0].end >= period.end):
            last = edged[0]
            if edged[1] != "rest":
                return days(last, None, self._now), last.end
            final = last.stop - timedelta(1)
            end = instant(final, time(0), self._now)
            return replace(days(last, None, self._now), end=end), last.end
        if period is None:
            return None
        pair = match_weekdays_of_week(self.tokens, period.end, period)
        if pair is not None:
            return days(*pair, self._now), pair[1].end
        # "the week" is this one; other loose words may be no period
        named = period.unit in ("week", "fortnight", "month", "year")
        if period.loose and not (named and word_at(self.tokens, i) == "the"):
            return None
        return days(period, None, self._now), period.end

    # hours of a day

    def _day_and_hours(self, i: int) -> Found | None:
        """Hours and the day they are of, in any order: "tomorrow from 3 to 5", "in the
        morning on friday", "tonight", "next evening from 7 to 9"."""
        day: Period | None = None
        hours: Hours | None = None
        part: Hours | None = None
        at = end = i
        edge = word_at(self.tokens, i)
        relative = word_at(self.tokens, i + 1) in ("this", "next", "last")
        if edge in ("early", "late") and (relative or self._points.day_at(i + 1)):
            at = end = i + 1  # "early tomorrow morning"
        else:
            edge = ""
        while at < len(self.tokens):
            if day is not None and day.cycle == "week" and (hours or part):
                moved = in_week_after(self.tokens, at, day.first, self._today)
                if moved is not None:  # "wednesday evening next week"
                    day = Period(moved[0], moved[0] + timedelta(1), moved[1], "day")
                    at = end = moved[1]
                    continue
            if day is None and (dated := self._part_of_named_day(at)):
                day, part, at = dated[0], part or dated[1], dated[2]
                end = at
                continue
            named = self._points.day_at(at) if day is None else None
            span = self._points.hours_at(at)
            if part is not None and span and span.part:
                span = None
            if span and span.part and hours is not None and span.part == "am":
                span = None
            half = half_day(self.tokens, at) if day and not hours and not part else None
            span = span or half
            if span and (named is None or span.end >= named.end):
                if span.part:
                    part = span
                elif hours is None:
                    hours = span
                else:
                    break
                at = end = span.end
            elif named is not None and (not named.loose or hours or part or self._timed(named)):
                day, at, end = named, named.end, named.end
            elif end > i and word_at(self.tokens, at) in _DAY_LINKS and at < end + 2:
                at += 1
            else:
                break
        if edge and part is not None:
            part = part.at_edge(edge)
        return self._resolve(day, hours, part, end, i) if part or not edge else None

    def _timed(self, day: Period) -> bool:
        """Whether hours follow the day."""
        at = day.end
        while word_at(self.tokens, at) in _DAY_LINKS[:-2] and at < day.end + 2:
            at += 1
        hours = self._points.hours_at(at)
        return hours is not None and hours.sure and not hours.part

    def _resolve(
        self, day: Period | None, hours: Hours | None, part: Hours | None, end: int, i: int
    ) -> Found | None:
        if hours is not None and part is not None and part.part not in ("am", "lunchtime"):
            hours = hours.in_part(part.part)
        chosen = hours or part
        if chosen is None:
            return None
        if day is None:
            if not chosen.sure:
                return None
            start, stop = chosen.coming(self._now)
            return moments(start, stop, has_date=False), end
        if hours is None and part is not None and self._names_time(i, end):
            return None
        midnight = instant(day.first, time(0), self._now)
        if day.cycle == "week" and day.first == self._today and chosen.on(midnight)[1] <= self._now:
            midnight = instant(day.first + timedelta(7), time(0), self._now)
        start, stop = chosen.on(midnight)
        return moments(start, stop), end

    def _names_time(self, i: int, end: int) -> bool:
        """True where the same words are a time: "tomorrow evening at 7" goes on."""
        hit = self._points.reader.longest(i, bare=False)
        return hit is not None and hit[0] is not None and hit[1] > end and hit[0].has_time

    def _part_of_named_day(self, i: int) -> tuple[Period, Hours, int] | None:
        """Reads "tonight", "this afternoon", "last night", "next morning"."""
        word = word_at(self.tokens, i)
        if word in ("tonight", "tonite"):
            hit = match_day_part(self.tokens, i, self._now)
            day = hit.day.options[-1] if hit and hit.day else self._today
            night = Hours(Clock(20), Clock(24), i + 1, part="night")
            return Period(day, day + timedelta(1), i + 1, "day"), night, i + 1
        shift = _PART_DAYS.get(word)
        if shift is None:
            return None
        part = match_part(self.tokens, i + 1)
        direct = word_at(self.tokens, i + 1) not in ("in", "the", "at", "during", "over")
        if part is None or not direct or word_at(self.tokens, part.end - 1).endswith("s"):
            return None
        on = self._today + timedelta(shift)
        return Period(on, on + timedelta(1), part.end, "day"), replace(part, sure=True), part.end

    # from one point to another

    def _pair(self, i: int) -> Found | None:
        numbers = match_numbers_of_month(self.tokens, i, self._today)
        if numbers is not None:
            return days(*numbers, self._now), numbers[1].end
        opener = word_at(self.tokens, i)
        opener = opener if opener in ("from", "between") else ""
        at = i + bool(opener)
        first = self._end_point(at, opener)
        if first is None:
            return None
        connector = word_at(self.tokens, first.end)
        if connector not in TO and not (connector == "and" and opener == "between"):
            return None
        last = self._points.point_at(first.end + 1, bare=bool(opener))
        if last is None or not (opener or self._is_sure_pair(first, last)):
            return None
        return self._between(first, last)

    def _end_point(self, i: int, opener: str) -> Point | None:
        """The first point, which ends right before the connector."""
        point = self._points.point_at(i, bare=bool(opener))
        connectors = (*TO, "and") if opener == "between" else TO
        if point is not None and word_at(self.tokens, point.end) in connectors:
            return point
        if point is not None and point.period is not None:
            return point
        for at in range(i + 1, min(i + 10, len(self.tokens))):
            if self.tokens[at].text in connectors:
                shorter = Points(self.tokens[:at], self._now, False).point_at(i, bare=True)
                if shorter is not None and shorter.end == at:
                    return shorter
        return point

    def _is_sure_pair(self, first: Point, last: Point) -> bool:
        """Without "from": both are days or longer, or moments of named days."""
        one, other = first.period, last.period
        if one and other and one.unit == "week" and other.unit == "day":
            return False  # "last week - monday"
        if one and other and one.unit == "year" == other.unit:
            signed = word_at(self.tokens, last.end) == "-"
            return not signed and word_at(self.tokens, first.end - 2) not in ("-", "+")
        for point in (first, last):
            if point.period is not None and point.period.loose:
                return False
            if point.when is not None and not point.when.has_date:
                return False
        return True

    def _between(self, first: Point, last: Point) -> Found | None:
        end = last.end
        if first.period is not None and last.period is not None:
            one, other = (
                replace(point.period, first=point.period.stop)
                if point.edge == "end"
                else point.period
                for point in (first, last)
                if point.period
            )
            pair = joined(one, other, self._today)
            return (days(*pair, self._now), end) if pair else None
        if not any(point.when is None or point.when.has_date for point in (first, last)):
            return None  # these are hours
        if first.period is not None and last.when is not None and last.when.at == self._now:
            return self._until_now(first.period, end)
        start_at, end_at = self._moment(first), self._moment(last)
        if start_at is None or end_at is None:
            return None
        if first.when and first.when.has_date and last.when and not last.when.has_date:
            end_at = self._next_like(end_at, start_at)
        if first.when and not first.when.has_date and last.when and last.when.has_date:
            day = self._now.date() if self._points.day_at(first.end + 1) else end_at.date()
            start_at = instant(day, start_at.timetz().replace(tzinfo=None), self._now)
        if end_at <= start_at:
            return None
        now_to_day = first.when is not None and first.when.at == self._now and last.period
        if now_to_day:
            midnight = instant(self._today, time(0), self._now)
            stop = instant(last.period.stop, time(0), self._now) if last.period else end_at
            return Range(midnight, end_at, stop, True, False), end
        return moments(start_at, end_at), end

    def _until_now(self, first: Period, end: int) -> Found | None:
        """Reads "between january 22 and now": the last such day."""
        if first.cycle and first.first > self._today:
            first = first.moved(-1)
        if first.first > self._today:
            return None
        start, today = (instant(day, time(0), self._now) for day in (first.first, self._today))
        return Range(start, today, self._now, True, False), end

    def _moment(self, point: Point) -> datetime | None:
        if point.when is not None:
            return point.when.at
        return instant(point.period.first, time(0), self._now) if point.period else None

    def _next_like(self, moment: datetime, start: datetime) -> datetime:
        """The first moment after start with this time of day."""
        wall = moment.timetz().replace(tzinfo=None)
        on = instant(start.date(), wall, self._now)
        return on if on > start else instant(start.date() + timedelta(1), wall, self._now)
