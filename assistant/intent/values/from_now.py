"""What is left of a day, and what is over: "the rest of the day", "later today", "year to date"."""

from __future__ import annotations

from datetime import time

from assistant.intent.values.calendar_day import skip
from assistant.intent.values.cardinal import word_at
from assistant.intent.values.moment import instant
from assistant.intent.values.period import stretch
from assistant.intent.values.points import Points
from assistant.intent.values.range_value import Range, moments

Found = tuple[Range, int]


def rest_of_day(points: Points, i: int) -> Found | None:
    """Reads "the rest of the day", "rest of today", "later today"."""
    at = skip(points.tokens, i, "the")
    word = word_at(points.tokens, at)
    if word in ("rest", "remainder"):
        at = skip(points.tokens, at + 1, "of")
        at = skip(points.tokens, at, "the", "my", "our", "this", "current")
        if word_at(points.tokens, at) not in ("day", "today"):
            return None
        last = instant(points.today, time(23, 59, 59), points.now)
        return moments(points.now, last), at + 1
    if word in ("later", "earlier", "late", "early"):
        whole = [token.text for token in points.tokens[at + 1 : at + 4]] == ["in", "the", "day"]
        at = skip(points.tokens, at + 3 * whole + 1, "in", "on")
        day = points.day_at(at)
        if day is None or day.unit != "day" or day.loose:
            return None
        begin = instant(day.first, time(0), points.now)
        noon = instant(day.first, time(12), points.now)
        end = instant(day.stop, time(0), points.now)
        later = word in ("later", "late")
        return moments(noon if later else begin, end if later else noon), day.end
    return None


def to_date(points: Points, i: int) -> Found | None:
    """Reads "to date", "year to date", "ytd"."""
    tokens, word = points.tokens, word_at(points.tokens, i)
    end = instant(points.today, time(0), points.now)
    if word == "the" and word_at(tokens, i + 1) in ("year", "month", "quarter", "week"):
        i += 1
        word = word_at(tokens, i)
    unit = {"ytd": "year", "mtd": "month"}.get(word, "")
    if not unit and word in ("year", "month", "quarter", "week"):
        joint = [
            token.text for token in tokens[skip(tokens, i + 1, "-") :][:3] if token.text != "-"
        ]
        unit = word if joint[:2] == ["to", "date"] else ""
    if unit:
        stretched = stretch(unit, points.today, 0)
        assert stretched is not None
        at = i + 1
        while at < len(tokens) and len(word) > 3 and tokens[at - 1].text != "date":
            at += 1
        return Range(instant(stretched[0], time(0), points.now), end, end, True, False), at
    glued = word_at(tokens, i - 1) in ("up", "-", "out", "a")
    if word in ("to", "till") and word_at(tokens, i + 1) == "date" and not glued:
        return Range(None, end, end, True, False), i + 2
    return None
