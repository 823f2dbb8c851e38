"""What comes back: "every weekday at seven", "mondays and fridays", "every two hours".

A bare hour of something that comes back is one of the day: five to eleven are in the
morning, twelve is noon, one to four in the afternoon, unless a part of the day is named.
How often alone ("twice a week") names no days and is None.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.clock import Clock, match_clock
from assistant.intent.values.day_part import match_day_part, settle
from assistant.intent.values.number import match_number
from assistant.intent.values.recurrence_value import Recurrence
from assistant.intent.values.recurring_day import EVERY, Hit, is_mark, match_days
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import tokenize

__all__ = ["Recurrence", "find_recurrences", "parse_recurrence"]

_LINKS = ("at", "on", "in", "for", "from", "@", ",", "the", "around", "about", "starting")


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
    if not any(is_mark(tokens, i) for i in range(len(tokens))):
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


def match_recurrence(tokens: Tokens, i: int, now: datetime, *, whole: bool = False) -> Hit | None:
    """The longest wording that begins at token i, with a time of day before or after.

    whole: the text is nothing else, so that "monday to friday" and a bare hour count.
    """
    before = _match_time(tokens, i, now, bare=whole or word_at(tokens, i - 1) == "at")
    start = _after_links(tokens, before[2]) if before else i
    if _is_counted(tokens, i, start):
        return None
    hit = match_days(tokens, start, whole=whole)
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
        more = match_days(tokens, _after_links(tokens, end), whole=whole)
        if more and found.unit in ("day", "week", "month") and not (found.days or found.day):
            # "every week at nine on mondays"
            joined = _joined(found, more[0])
            found, end = (joined, more[1]) if joined else (found, end)
    return _timed(found, clock, part, end)


def _is_counted(tokens: Tokens, i: int, start: int) -> bool:
    """True for "two nights" and "three weekends"; "07:30 mondays" has a time before it."""
    if start == 0 or word_at(tokens, start) in EVERY or match_number(tokens, start - 1) is None:
        return False
    clock = match_clock(tokens, i)
    return clock is None or clock.end != start or clock.bare


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


def _joined(found: Recurrence, days: Recurrence) -> Recurrence | None:
    if days.every != 1 or found.unit != "week" or not days.days:
        return None
    return replace(found, days=days.days)


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
