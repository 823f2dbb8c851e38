"""What a range may begin or end with: a day, a month, a moment, now, the edge of a period."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache

from assistant.intent.values.calendar_day import add_months, skip
from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.hours import match_hours
from assistant.intent.values.moment import When
from assistant.intent.values.named_period import match_named
from assistant.intent.values.period import Period, match_relative, of_day, stretch, unit_at
from assistant.intent.values.when import Reader

_STARTS = ("beginning", "start", "early", "earlier")
_ENDS = ("end", "late", "later", "close")
_MIDDLES = ("middle", "mid")


@dataclass(frozen=True, slots=True)
class Point:
    """period or when is set; edge: "start" or "end" of a period was named."""

    end: int
    period: Period | None = None
    when: When | None = None
    edge: str = ""


class Points:
    """Reads the days, periods and moments of one text against one ``now``."""

    def __init__(self, tokens: Tokens, now: datetime, day_first: bool) -> None:
        self.reader = Reader(tokens, now, day_first)
        self.tokens = tokens = self.reader.tokens
        self.now = now
        self.today = now.date()
        # the same place is looked at many times
        self.day_at = cache(self._day_at)
        self.hours_at = cache(lambda i: match_hours(tokens, i, now))
        self.period_at = cache(self._period_at)
        self.edged_at = cache(self._edged_at)

    def _day_at(self, i: int) -> Period | None:
        hit = self.reader.day_at(i)
        # what is a whole week or month is no day, even if its first day can stand for it
        wider = match_relative(self.tokens, i, self.today) or match_named(
            self.tokens, i, self.today
        )
        if hit is None or (wider is not None and not wider.loose and wider.end >= hit.end):
            return None
        return of_day(hit)

    def _period_at(self, i: int) -> Period | None:
        """The longest week, month or other stretch of more than a day."""
        hits = (
            match_relative(self.tokens, i, self.today),
            match_named(self.tokens, i, self.today),
        )
        return max(filter(None, hits), key=lambda hit: hit.end, default=None)

    def _edged_at(self, i: int) -> tuple[Period, str] | None:
        """Reads "the end of march", "early next week", "mid-november", "later this year"."""
        tokens = self.tokens
        at = skip(tokens, i, "the")
        word = word_at(tokens, at)
        edge = "start" if word in _STARTS else "end" if word in _ENDS else ""
        edge = "mid" if word in _MIDDLES else edge
        if not edge:
            return self._rest_at(i)
        at += 1
        of = False
        verb = word in ("start", "end", "close") and word_at(tokens, at) == "in"
        while not verb and word_at(tokens, at) in ("of", "in", "-"):
            at, of = at + 1, True
        period = self._whole_at(at)
        if period is None:
            return None
        if word in ("end", "beginning", "start", "close", "middle") and not of:
            bare = word_at(tokens, at) in ("this", "next", "last") or period.unit == "month"
            if not bare:
                return None
        numbered = not word_at(tokens, period.end - 1).startswith("year")
        thirds = numbered and word in ("end", "beginning", "start")
        part = _edge_of(period, edge, thirds=thirds)
        if word == "later" and part.first < self.today < part.stop:
            part = replace(part, first=self.today)
        return part, edge

    def _whole_at(self, i: int) -> Period | None:
        """The period at token i, where "the week" and "year" alone count too."""
        found = self.period_at(i)
        if found is not None:
            return found
        named = unit_at(self.tokens, skip(self.tokens, i, "the", "my"))
        if named is None or named[0] == "day" or word_at(self.tokens, named[1] - 1).endswith("s"):
            return None
        ends = stretch(named[0], self.today, 0)
        return Period(*ends, named[1], named[0]) if ends else None

    def _rest_at(self, i: int) -> tuple[Period, str] | None:
        """Reads "the rest of the week": from today to its last day."""
        at = skip(self.tokens, i, "the")
        if word_at(self.tokens, at) not in ("rest", "remainder", "remaining"):
            return None
        at = skip(self.tokens, at + 1, "of")
        period = self._whole_at(at)
        if period is None or period.stop <= self.today:
            return None
        first = max(period.first, self.today)
        return replace(period, first=first, cycle="", unit="rest", loose=False), "rest"

    def point_at(self, i: int, *, bare: bool = False) -> Point | None:
        """The longest day, period or moment that begins at token i."""
        at = i
        while word_at(self.tokens, at) in ("the", "on", "at", "in") and at < i + 2:
            at += 1
        found: list[Point] = []
        for place in {i, at}:
            edged = self.edged_at(place)
            if edged is not None:
                found.append(Point(edged[0].end, edged[0], edge=edged[1]))
            period = self.period_at(place)
            if period is not None:
                found.append(Point(period.end, period))
            hit = self.reader.longest(place, bare=bare)
            when, end = hit or (None, 0)
            if when is not None:
                if when.has_time:
                    found.append(Point(end, when=when))
                else:
                    day = self.day_at(place)
                    if day is not None and day.end == end:
                        found.append(Point(end, day))
                    elif when.has_date and not (period and period.end >= end):
                        on = when.at.date()
                        found.append(Point(end, Period(on, on + timedelta(1), end, "day")))
        return max(found, key=lambda point: point.end, default=None)


def _edge_of(period: Period, edge: str, *, thirds: bool) -> Period:
    """The first or last half of a period, or its middle; with ``thirds`` a third of a year."""
    first, stop = period.first, period.stop
    if period.unit == "year" and edge == "mid":
        first, stop = add_months(first, 4), add_months(first, 8)
    elif period.unit == "year":
        months = 4 if thirds else 6
        if edge == "start":
            stop = add_months(first, months)
        else:
            first = add_months(stop, -months)
    elif period.unit == "month":
        begins, ends = {"start": (1, 16), "mid": (10, 21), "end": (16, 0)}[edge]
        stop = first.replace(day=ends) if ends else stop
        first = first.replace(day=begins)
    elif period.unit == "week":
        begins, ends = {"start": (0, 3), "mid": (2, 4), "end": (3, 7)}[edge]
        first, stop = first + timedelta(begins), first + timedelta(ends)
    else:
        length = stop - first
        if edge == "mid":
            first, stop = first + length // 3, stop - length // 3
        elif edge == "start":
            stop = first + length // 2
        else:
            first += length // 2
    return replace(period, first=first, stop=stop, loose=False)
