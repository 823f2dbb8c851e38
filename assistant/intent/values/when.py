"""Moments: "ten to seven tomorrow morning", "next friday at noon", "in half an hour".

The next occurrence of what was said: "at 7" is seven in the morning or in the evening,
whichever comes first; on another day than today the first of the two (but "12" is noon).
Local wall time is kept across a change of the clocks: a time that is skipped moves
forward by the gap, a time that comes twice is its first occurrence still ahead. Hours,
minutes and seconds ("in 3 hours") are elapsed time; days and longer keep the wall time.
"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from functools import cache
from itertools import pairwise
from typing import TypeVar

from assistant.intent.values.calendar_day import DayHit, skip, year_at
from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.clock import ClockHit, match_clock
from assistant.intent.values.date import match_day
from assistant.intent.values.day_part import match_day_part
from assistant.intent.values.doubt import CUES, LINKS, Doubts, is_cue, is_labelled
from assistant.intent.values.duration import Length, match_length
from assistant.intent.values.moment import When, instant, move, resolve
from assistant.intent.values.number import match_number
from assistant.intent.values.owner import unowned
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import fold, tokenize
from assistant.intent.values.weekday import in_week_after, weekday_at

_NOW = [
    phrase.split()
    for phrase in (
        "now|right now|just now|at the moment|at this moment|at the minute|at this minute"
        "|right this minute|at present|at the present time|at this time|as soon as possible|asap"
    ).split("|")
]
_NOW_BEGINS = frozenset(words[0] for words in _NOW)
_WHOLES = ("week", "month", "year", "weekend")
"""Days that stand for these: "3 next week" is no hour."""
_DAYS_THAT_END = ("today", "tomorrow", "yesterday")
_HEDGES = ("about", "around", "roughly", "approximately", "exactly", "just", "under", "over")
_AFTER_BARE = {
    *("", ".", ",", "!", "?", ";", "and", "to", "on", "in", "at", "for", "every", "please"),
    *("called", "named", "labelled", "labeled", "with", "when", "so", "then", "because", "or"),
    *("i", "we", "he", "she", "they", "it", "my", "that", "the", "thanks", "thank", "today"),
    *(
        "together",
        "again",
        "tomorrow",
        "tonight",
        "this",
        "next",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
    ),
    *("friday", "saturday", "sunday", "instead", "not", "if", "alarm", "reminder"),
}
"""Words that may follow a bare hour ("at 7") without making it a count."""


def parse_time(text: str, now: datetime, *, day_first: bool = False) -> When | None:
    """The moment that the whole text names, seen from ``now``, or None.

    A bare hour counts ("seven"). It may lie in the past when the words say so
    ("an hour ago", "today at 6 am" at noon). Raises ValueError when ``now`` has no time zone.
    """
    tokens = tokenize(text)
    while tokens and tokens[-1].text in (".", "!", "?", ","):
        tokens.pop()
    reader = Reader(tokens, now, day_first)
    start = 0
    while True:
        hit = reader.longest(start, bare=True)
        if hit is not None and hit[1] == len(tokens):
            return hit[0]
        if word_at(tokens, start) not in (*LINKS, *CUES):
            return None
        start += 1


def find_time(text: str, now: datetime, *, day_first: bool = False) -> Span[When] | None:
    """The longest moment named in a sentence, or None when there is none that is sure.

    A choice ("at 7 or 8") is not sure, and "now" alone says nothing.
    """
    spans = [s for s in find_times(text, now, day_first=day_first) if s.value.at != now]
    folded = fold(text)
    for one, other in pairwise(spans):
        if folded[one.end : other.start].split()[:1] == ["or"]:
            return None
    return max(spans, key=lambda span: span.end - span.start, default=None)


def find_times(text: str, now: datetime, *, day_first: bool = False) -> list[Span[When]]:
    """All moments named in a sentence, from left to right; the ends of ranges are left out."""
    tokens = tokenize(text)
    reader = Reader(tokens, now, day_first)
    doubts = Doubts(tokens, reader.clock_at, reader.day_at, reader.length_at)
    spans: list[Span[When]] = []
    i, chosen = 0, -1
    while i < len(tokens):
        cued = is_cue(tokens, i - 1) or (chosen == i - 1 and word_at(tokens, chosen) == "or")
        hit = reader.longest(i, bare=cued)
        if hit is None:
            i += 1
            continue
        when, end = hit
        if when is not None and not doubts.about(i, end):
            spans.append(Span(tokens[i].start, tokens[end - 1].end, when))
        i = chosen = end
    return spans


Mark = TypeVar("Mark", ClockHit, DayHit)

Hit = tuple[When | None, int]
"""A moment and the index after its words; None for words that contradict each other."""


class Reader:
    """Reads one text against one ``now``."""

    def __init__(self, tokens: Tokens, now: datetime, day_first: bool) -> None:
        if now.utcoffset() is None:
            raise ValueError("now must have a time zone")
        self.tokens = tokens = [unowned(tokens, i) for i in range(len(tokens))]
        self.now = now
        # the same place is looked at many times
        self.length_at = cache(lambda i: match_length(tokens, i))
        self.clock_at = cache(self._clock_at)
        self.bare_day_at = cache(lambda i: match_day(tokens, i, now.date(), day_first=day_first))

    def _clock_at(self, i: int) -> ClockHit | None:
        hit = match_clock(self.tokens, i)
        return None if hit and hit.bare and is_labelled(self.tokens, i) else hit

    def longest(self, i: int, *, bare: bool) -> Hit | None:
        """The longest moment that begins at token i; a bare hour only when ``bare``."""
        try:
            distance, pieces = self.relative(i), self.pieces(i, bare=bare)
        except OverflowError:  # past the calendar's end: no moment
            return None
        if distance is None or pieces is None:
            return distance or pieces
        # "ten minutes before seven" is a time of day, "in a week" is more than a day
        timed = pieces[0] is not None and pieces[0].has_time
        return (
            pieces if pieces[1] > distance[1] or (pieces[1] == distance[1] and timed) else distance
        )

    def relative(self, i: int) -> Hit | None:
        """Reads "in half an hour", "3 hours from now", "two days ago", "an hour before noon"."""
        word = word_at(self.tokens, i)
        for phrase in _NOW if word in _NOW_BEGINS else ():
            words = [token.text for token in self.tokens[i : i + len(phrase)]]
            if words == phrase:
                return When(self.now, True, True), i + len(phrase)
        ending = self._end_of(i)
        if ending is not None:
            return ending
        forward = word in ("in", "within", "after")
        start = self._after_hedges(i + 1) if forward else i
        working = self._working_days(start, forward)
        if working is not None:
            return working
        hit = self.length_at(start)
        if hit is None:
            return None
        length, end = hit.length, hit.end
        if forward:
            if word_at(self.tokens, end) == "'":
                end += 1
            if word_at(self.tokens, end) == "time":
                end += 1
            elif word_at(self.tokens, end) == "from" and word_at(self.tokens, end + 1) == "now":
                end += 2
            return move(self.now, length, 1), end
        word, follow = word_at(self.tokens, end), word_at(self.tokens, end + 1)
        if word == "from" and follow in ("now", "right"):
            return move(self.now, length, 1), end + (2 if follow == "now" else 3)
        if word in ("later", "hence"):
            return move(self.now, length, 1), end + 1
        if word in ("ago", "earlier"):
            return move(self.now, length, -1), end + 1
        if word in ("before", "after", "from", "on"):
            return self._around(length, word, end)
        return None

    def _beside(self, i: int) -> DayHit | None:
        """Reads "the day before christmas", "the week after easter"."""
        at = skip(self.tokens, i, "the")
        unit, sign = word_at(self.tokens, at), word_at(self.tokens, at + 1)
        if at == i or unit not in ("day", "week") or sign not in ("before", "after"):
            return None
        anchor = self.day_at(at + 2)
        if anchor is None or not anchor.options:
            return None
        shift = timedelta((1 if unit == "day" else 7) * (1 if sign == "after" else -1))
        days = tuple(day + shift for day in anchor.options)
        return DayHit(tuple(day for day in days if day >= self.now.date()) or days, anchor.end)

    def _weekday_beside(self, weekday: int, i: int) -> DayHit | None:
        """Reads what follows the weekday of "the friday after thanksgiving"."""
        relation = word_at(self.tokens, i)
        anchor = self.bare_day_at(i + 1) if relation in ("before", "after") else None
        if anchor is None or anchor.loose or not anchor.options:
            return None
        on = anchor.options[0]
        if relation == "after":
            ahead = (weekday - on.weekday()) % 7 or 7
            return DayHit((on + timedelta(ahead),), anchor.end)
        return DayHit((on - timedelta((on.weekday() - weekday) % 7 or 7),), anchor.end)

    def _after_hedges(self, i: int) -> int:
        """Steps over "about" and "less than"."""
        if word_at(self.tokens, i) in ("less", "more") and word_at(self.tokens, i + 1) == "than":
            return i + 2
        return i + 1 if word_at(self.tokens, i) in _HEDGES else i

    def _end_of(self, i: int) -> Hit | None:
        """Reads "end of tomorrow" as the last second of that day."""
        at = skip(self.tokens, i, "the")
        if word_at(self.tokens, at) != "end" or word_at(self.tokens, at + 1) != "of":
            return None
        day = self.bare_day_at(at + 2)
        weekday = weekday_at(self.tokens, skip(self.tokens, at + 2, "this", "next", "on"))
        named = word_at(self.tokens, at + 2) in _DAYS_THAT_END or weekday is not None
        if day is None or not day.options or not named:
            return None
        return When(instant(day.options[0], time(23, 59, 59), self.now), True, True), day.end

    def _working_days(self, i: int, forward: bool) -> Hit | None:
        """Reads "in four business days", "3 working days from now"."""
        count = match_number(self.tokens, i, signed=False)
        if count is None or count.value.denominator != 1 or not 0 < count.value < 1000:
            return None
        word, end = word_at(self.tokens, count.end), count.end + 2
        if word not in ("business", "working", "work"):
            return None
        if word_at(self.tokens, end - 1) not in ("day", "days"):
            return None
        if not forward:
            follow = [token.text for token in self.tokens[end : end + 2]]
            if follow[:1] not in (["later"], ["hence"], ["ago"]) and follow != ["from", "now"]:
                return None
            end += 2 if follow == ["from", "now"] else 1
        day, left = self.now.date(), int(count.value)
        step = timedelta(-1 if not forward and word_at(self.tokens, end - 1) == "ago" else 1)
        while left:
            day += step
            left -= day.weekday() < 5
        wall = self.now.timetz().replace(tzinfo=None)
        return When(instant(day, wall, self.now), True, True), end

    def _around(self, length: Length, word: str, at: int) -> Hit | None:
        """A length before or after another moment, or, at the end, before or after now."""
        if word in ("before", "after") and word_at(self.tokens, at + 1) in ("", ".", ",", "!"):
            return move(self.now, length, -1 if word == "before" else 1), at + 1
        if word == "on" and (length.seconds or length.months):
            return None
        anchor = self._anchor_day(at + 1) if not length.seconds else None
        anchor = anchor or self.pieces(at + 1, bare=True)
        if anchor is None:
            return None
        when, end = anchor
        if when is None:
            return None, end
        if word == "from" and length.seconds and not when.has_time:
            return None  # "3 minutes from today"
        moved = move(when.at, length, -1 if word == "before" else 1)
        return When(moved.at, True, when.has_time or bool(length.seconds)), end

    def _anchor_day(self, i: int) -> Hit | None:
        """A day alone: in "a week from today at nine" the hour is of the day a week from it."""
        day = self.day_at(i)
        clock = self.clock_at(self._after_links(day.end)) if day and day.options else None
        if day is None or clock is None:
            return None
        return resolve(self.now, None, day, ""), day.end

    def _distant_day(self, i: int) -> DayHit | None:
        """Reads "in two days", "a week from tomorrow": a distance in days as a day."""
        hit = self.relative(i)
        length = self.length_at(i) or self.length_at(i + 1)
        if hit is None or hit[0] is None or length is None or length.length.seconds:
            return None
        return DayHit((hit[0].at.date(),), hit[1])

    def pieces(self, i: int, *, bare: bool) -> Hit | None:
        """A time of day, a day and a part of the day, each at most once, in any order."""
        clock: ClockHit | None = None
        day: DayHit | None = None
        part, named_day, whole, end, at = "", False, False, i, i
        while at < len(self.tokens):
            clock_hit = None if clock else self._surely(self.clock_at(at))
            if clock_hit and clock_hit.bare and word_at(self.tokens, clock_hit.end) == "second":
                clock_hit = clock_hit if word_at(self.tokens, clock_hit.end + 1) == "of" else None
            day_hit = None if named_day else self._surely(self.day_at(at))
            part_hit = None if part else match_day_part(self.tokens, at, self.now)
            if part_hit and part_hit.alone and not (clock or day):
                follow = self._after_links(part_hit.end)
                part_hit = part_hit if self.clock_at(follow) else None
            ends = [hit.end if hit else 0 for hit in (clock_hit, day_hit, part_hit)]
            best = max(ends)
            if not best:
                word = word_at(self.tokens, at)
                iso = day and word == "t" and at == end and self.tokens[at].glued
                if end == i or not (word in LINKS or iso):  # 2027-05-05T07:30
                    break
                if word == "-" and self.tokens[at].glued and self.tokens[at - 1].is_number:
                    range_end = self.clock_at(at + 1)
                    if range_end is None or range_end.bare:  # "march 16-21"
                        break
                at += 1
                continue
            if part_hit and ends[2] == best:
                part, day = part_hit.part, day or part_hit.day
            elif day_hit and ends[1] == best:
                day, named_day = day_hit, True
                whole = word_at(self.tokens, best - 1) in _WHOLES and not weekday_at(
                    self.tokens, at
                )
            elif clock_hit:
                clock, bare = clock_hit, bare or is_cue(self.tokens, at - 1)
            at = end = best
            if day and len(day.options) == 2 and named_day and (clock or part) and best != ends[1]:
                week = in_week_after(self.tokens, end, day.options[0], self.now.date())
                weekly = (day.options[1] - day.options[0]).days == 7
                if week is not None and weekly:  # "monday at 5 next week"
                    day, at = DayHit((week[0],), week[1]), week[1]
                    end = at
            if clock and day and day.yearless and day.options and best == ends[0]:
                year = year_at(self.tokens, end, self.now.date())
                if year is not None and word_at(self.tokens, end).isdecimal():
                    day, at = day.in_year(year[0]), year[1]  # "oct 26 15:50:06 2016"
                    end = at
        if clock and clock.bare and not (bare or (named_day and not whole) or part):
            return None
        if end == i:
            return None
        return resolve(self.now, clock.clock if clock else None, day, part), end

    def _surely(self, hit: Mark | None) -> Mark | None:
        """None for "7 percent" and "the first floor", which are no times."""
        if hit is None or not (hit.loose or (isinstance(hit, ClockHit) and hit.bare)):
            return hit
        counts = isinstance(hit, DayHit)
        if counts and word_at(self.tokens, hit.end) in ("alarm", "reminder"):
            return None  # "the first alarm"
        if word_at(self.tokens, hit.end) in _AFTER_BARE or (not counts and self.day_at(hit.end)):
            return hit if not (counts and weekday_at(self.tokens, hit.end)) else None
        timed = self.clock_at(hit.end) if counts else None
        if timed is not None and not timed.bare and weekday_at(self.tokens, hit.end - 1):
            return hit  # "tue 8:30 am"
        return hit if match_day_part(self.tokens, hit.end, self.now) else None

    def day_at(self, i: int) -> DayHit | None:
        hit = self.bare_day_at(i)
        weekday = weekday_at(self.tokens, i)
        if weekday is not None and hit is not None and hit.end == weekday[1]:
            # "friday in two weeks": the Friday of that week
            distant = self._distant_day(skip(self.tokens, weekday[1], ","))
            if distant is not None:
                return _in_week_of(distant, weekday[0], distant.end)
            hit = self._weekday_beside(weekday[0], weekday[1]) or hit
        if hit is None:
            hit = self._beside(i)
        if hit is not None:
            return hit
        distant = self._distant_day(i)
        if distant is not None and word_at(self.tokens, distant.end) == "on":
            named = weekday_at(self.tokens, distant.end + 1)
            if named is not None:  # "in two weeks on friday"
                return _in_week_of(distant, *named)
        return distant

    def _after_links(self, i: int) -> int:
        while word_at(self.tokens, i) in LINKS:
            i += 1
        return i


def _in_week_of(day: DayHit, weekday: int, end: int) -> DayHit:
    on = day.options[0]
    return DayHit((on + timedelta(weekday - on.weekday()),), end)
