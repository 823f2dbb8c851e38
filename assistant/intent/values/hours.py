"""Stretches of a day: "from 5 to 6 pm", "between nine and noon", "early in the morning".

Parts of the day have fixed hours: the morning is 8 to 12, the afternoon 12 to 16, the
evening 16 to 20, the night 20 to midnight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta

from assistant.intent.values.calendar_day import skip
from assistant.intent.values.cardinal import FUSED, TEENS, TENS, UNITS, Tokens, word_at
from assistant.intent.values.clock import Clock, ClockHit, match_clock
from assistant.intent.values.day_part import match_day_part, settle
from assistant.intent.values.duration import match_length
from assistant.intent.values.moment import instant

TO = ("to", "till", "until", "til", "through", "thru", "-", "~")
_PARTS = {
    "morning": (8, 12),
    "afternoon": (12, 16),
    "evening": (16, 20),
    "night": (20, 24),
    "daytime": (8, 18),
    "lunchtime": (11, 13),
    "dinnertime": (16, 20),
    "breakfasttime": (8, 12),
}
_MEALS = {"breakfast": (8, 12), "brunch": (8, 12), "lunch": (11, 13), "dinner": (16, 20)} | {
    "supper": (16, 20),
}
_BEFORE_MEAL = ("after", "before", "during", "since", "until", "till", "by", "at", "over")
_EDGES = {"early": "early", "earlier": "early", "late": "late", "later": "late", "mid": "mid"}
_PART_LINKS = ("in", "at", "during", "over", "by", "before", "after", "until", "since", "from")
_HALF_DAYS = {"am": (8, 12), "pm": (12, 16)}
_BEFORE_CLOCK = ("at", "around", "about", "approximately", "circa", "roughly")

HOURS_BEGIN = frozenset(
    (
        *("from", "between", "the", "for", "starting", "beginning", "half", "quarter", "a", "noon"),
        *("midnight", "midday", "mid", "business", "office", "working", "at", "around", "about"),
        *(*_EDGES, *UNITS, *TEENS, *TENS, *FUSED, *_MEALS, *_PARTS),
        *(f"{part}s" for part in _PARTS),
    )
)
"""Any other word, but for a number in digits, begins no hours."""


@dataclass(frozen=True, slots=True)
class Hours:
    """From one time of day to another; with an end before the start it is of the next day.

    sure: False for a bare "5 to 6", which is one only beside a day.
    part: the part of the day that it is, "" for times.
    """

    start: Clock
    stop: Clock
    end: int
    sure: bool = True
    part: str = ""

    def in_part(self, part: str) -> Hours:
        """The same with am or pm taken from a part of the day."""
        start = settle(self.start, part) or self.start
        stop = settle(self.stop, part) or self.stop
        return replace(self, start=start, stop=stop, sure=True)

    def at_edge(self, edge: str) -> Hours:
        """The first two hours of a part of the day ("early"), or the last ("late")."""
        if edge == "early":
            return replace(self, stop=replace(self.start, hour=self.start.hour + 2))
        return replace(self, start=replace(self.stop, hour=self.stop.hour - 2))

    def on(self, day: datetime) -> tuple[datetime, datetime]:
        """The first reading whose end comes after its start, on the day of this midnight."""
        start, stop = _order(self.start, self.stop)[0]
        return _at(day, start), _at(day, stop)

    def coming(self, now: datetime) -> tuple[datetime, datetime]:
        """The next such stretch that is not over."""
        midnight = instant(now.date(), time(0), now)
        for shift in (0, 1):
            day = instant(midnight.date() + timedelta(shift), time(0), now)
            for start, stop in _order(self.start, self.stop):
                if _at(day, stop) > now:
                    return _at(day, start), _at(day, stop)
        return self.on(instant(midnight.date() + timedelta(1), time(0), now))


def _order(start: Clock, stop: Clock) -> list[tuple[Clock, Clock]]:
    """The shortest of the exact readings, the earliest first; hours from 24 on are of the next
    day: "11 to 3 am" begins at 23."""
    pairs: list[tuple[Clock, Clock]] = []
    for one in start.readings():
        for other in stop.readings():
            later = other
            if _minutes(other) <= _minutes(one):
                later = replace(other, hour=other.hour + 24)
            pairs.append((one, later))
    pairs.sort(key=lambda pair: (_minutes(pair[1]) - _minutes(pair[0]), _minutes(pair[0])))
    shortest = _minutes(pairs[0][1]) - _minutes(pairs[0][0])
    return [pair for pair in pairs if _minutes(pair[1]) - _minutes(pair[0]) == shortest]


def _minutes(clock: Clock) -> float:
    return clock.hour * 60 + clock.minute + clock.second / 60


def _at(day: datetime, clock: Clock) -> datetime:
    wall = time(clock.hour % 24, clock.minute, clock.second)
    if (clock.hour, clock.minute, clock.second) == (24, 0, 0):
        return instant(day.date(), time(23, 59, 59), day)  # the end of the day that was named
    return instant(day.date() + timedelta(clock.hour // 24), wall, day)


def match_hours(tokens: Tokens, i: int, now: datetime) -> Hours | None:
    """The longest stretch of a day that begins at token i."""
    word = word_at(tokens, i)
    if not (word in HOURS_BEGIN or word[:1].isdecimal()):
        return None
    hits = (
        _match_pair(tokens, i, now),
        match_part(tokens, i),
        _match_lasting(tokens, i, now),
    )
    return max(filter(None, hits), key=lambda hit: hit.end, default=None)


def _clock_and_part(tokens: Tokens, i: int, now: datetime) -> tuple[ClockHit, str] | None:
    """A time of day with the part of the day after it: "3 in the morning"."""
    at = i
    while word_at(tokens, at) in _BEFORE_CLOCK:
        at += 1
    hit = match_clock(tokens, at)
    if hit is None:
        return None
    part = match_day_part(tokens, hit.end, now)
    if part is not None and not part.day and (not part.alone or hit.bare):
        settled = settle(hit.clock, part.part)
        if settled is not None:
            return ClockHit(replace(settled, hour=settled.hour % 24), part.end), part.part
    return hit, ""


def _match_pair(tokens: Tokens, i: int, now: datetime) -> Hours | None:
    """Reads "from 5 to 6 pm", "between 10 and noon", "3-8pm", "4:00 till 5"."""
    opener = word_at(tokens, i) if word_at(tokens, i) in ("from", "between") else ""
    at = i + bool(opener)
    if not any(token.text in TO or token.text == "and" for token in tokens[at + 1 : at + 8]):
        return None
    first = _clock_and_part(tokens, at, now)
    if opener and word_at(tokens, at).isdecimal() and word_at(tokens, at + 1) in (*TO, "and"):
        hour = match_clock(tokens[: at + 1], at)
        first = (hour, "") if hour else first
    shorter = _before_connector(tokens, at, opener)
    if shorter is not None:
        first = shorter, ""
    if first is None:
        return None
    start = first[0]
    connector = word_at(tokens, start.end)
    if connector not in TO and not (connector == "and" and opener == "between"):
        return None
    last = _clock_and_part(tokens, start.end + 1, now)
    if last is None or _is_no_time(tokens, at, start.end, last[0].end):
        return None
    stop, part = last
    clock = start.clock
    if part and not clock.exact:
        clock = settle(clock, part) or clock
    bare = start.bare and stop.bare and start.clock.exact == stop.clock.exact
    ended = stop.end >= len(tokens) or not tokens[stop.end].is_word or _is_link(tokens, stop.end)
    sure = not bare or (bool(opener) and ended)
    sure = sure and not (start.clock.hour == 24 and start.bare)
    return Hours(clock, stop.clock, stop.end, sure=sure)


_COUNTED = frozenset("% degrees percent / minutes days people - level points".split())
_MEASURED = frozenset("volume brightness level speed thermostat temperature oven chapters".split())


def _is_no_time(tokens: Tokens, start: int, joint: int, end: int) -> bool:
    """True for "138-2010", "from 180 to 200 degrees" and "the volume from 3 to 5"."""
    if word_at(tokens, end) in _COUNTED or word_at(tokens, start - 1) in ("$", "€", "-", "+"):
        return True
    if any(token.text in _MEASURED for token in tokens[max(0, start - 5) : start]):
        return True
    long = (tokens[at].text for at in (start, joint - 1, joint + 1, end - 1))
    return tokens[joint].text == "-" and any(t.isdecimal() and len(t) > 2 for t in long)


def _is_link(tokens: Tokens, i: int) -> bool:
    return word_at(tokens, i) in (
        *(
            "on",
            "in",
            "at",
            "of",
            "today",
            "tomorrow",
            "tonight",
            "yesterday",
            "this",
            "next",
            "last",
        ),
        *("and", "or", "for", "every", "each", "please", "with", "if", "monday", "tuesday"),
        *("wednesday", "thursday", "friday", "saturday", "sunday", "when", "to", "is", "the"),
    )


def _before_connector(tokens: Tokens, i: int, opener: str) -> ClockHit | None:
    """The time that ends right before the connector, where the longest one takes it in:
    "from 7 to 8" is no seven minutes to eight."""
    connectors = (*TO, "and") if opener == "between" else TO
    for at in range(i + 1, min(i + 7, len(tokens))):
        if tokens[at].text in connectors:
            hit = match_clock(tokens[:at], i)
            if hit is not None and hit.end == at:
                return hit
    return None


def match_part(tokens: Tokens, i: int) -> Hours | None:
    """Reads "morning", "late-evenings", "early in the afternoon", "lunchtime"; it is sure
    after "in", "at", "early" and the like."""
    at, edge = i, ""
    word = word_at(tokens, at)
    if word in _EDGES:
        if word == "mid" and "night" in (word_at(tokens, at + 1), word_at(tokens, at + 2)):
            return None  # midnight
        edge = _EDGES[word]
        at = skip(tokens, at + 1, "-")
        while word_at(tokens, at) in ("in", "at", "the"):
            at += 1
    elif word == "the":
        at += 1
    word = word_at(tokens, at)
    found = _part_at(tokens, at)
    if found is None:
        return None
    (low, high), name, end = found
    before = word_at(tokens, i - 1)
    if before in ("good", "one", "a", "every", "each", "per"):
        return None
    if before == "the":
        before = word_at(tokens, i - 2)
    if edge == "early":
        high = low + 2
    elif edge == "late":
        low = high - 2
    elif edge:
        low, high = low + 1, high - 1
    sure = bool(edge) or before in _PART_LINKS or word.endswith("time") or end > at + 1
    return Hours(Clock(low), Clock(high), end, sure=sure, part=name)


def _part_at(tokens: Tokens, i: int) -> tuple[tuple[int, int], str, int] | None:
    """The hours of a part of the day or a meal, its name and the index after it."""
    word, follow = word_at(tokens, i), word_at(tokens, i + 1)
    name = word.removesuffix("s")
    if name in _MEALS:
        if follow in ("time", "hour", "break"):
            return _MEALS[name], name, i + 2
        before = word_at(tokens, i - 1)
        return (_MEALS[name], name, i + 1) if before in (*_BEFORE_MEAL, "the") else None
    if word in ("business", "office", "working") and follow == "hours":
        return (8, 18), "daytime", i + 2
    return (_PARTS[name], name, i + 1) if name in _PARTS else None


def half_day(tokens: Tokens, i: int) -> Hours | None:
    """The "am" of "tuesday am"."""
    hours = _HALF_DAYS.get(word_at(tokens, i))
    if word_at(tokens, i + 1) in ("i", "not", "going"):
        return None  # "today am i free"
    return Hours(Clock(hours[0]), Clock(hours[1]), i + 1, part="am") if hours else None


def _match_lasting(tokens: Tokens, i: int, now: datetime) -> Hours | None:
    """Reads "from 10 am for 3 hours", "for two hours from 2 pm"."""
    word = word_at(tokens, i)
    if word not in ("from", "for", "starting", "beginning", "a", "an", "half") and not (
        word in UNITS or word in TEENS or word in TENS or word[:1].isdecimal()
    ):
        return None
    if word in ("from", "starting", "beginning"):
        first = _clock_and_part(tokens, skip(tokens, i + 1, "at", "from"), now)
        if first is None or word_at(tokens, first[0].end) != "for":
            return None
        length = match_length(tokens, first[0].end + 1)
        if length is None or not length.length.seconds or length.length.days:
            return None
        clock, end = first[0].clock, length.end
    else:
        length = match_length(tokens, skip(tokens, i, "for"))
        if length is None or not length.length.seconds or length.length.days:
            return None
        opener = word_at(tokens, length.end)
        if opener not in ("from", "starting", "beginning"):
            return None
        first = _clock_and_part(tokens, skip(tokens, length.end + 1, "at", "from"), now)
        if first is None:
            return None
        clock, end = first[0].clock, first[0].end
    total = clock.hour * 3600 + clock.minute * 60 + clock.second + int(length.length.seconds)
    stop = Clock(total // 3600, total // 60 % 60, total % 60, exact=clock.exact)
    if not clock.exact:
        stop = replace(stop, hour=(stop.hour - 1) % 12 + 1)
    return Hours(clock, replace(stop, hour=stop.hour % 24 if stop.exact else stop.hour), end)
