"""Everything about time that a sentence mentions: moments, ranges, lengths, recurrences.

The longest wording counts: "tomorrow" within "tomorrow from 3 to 5" is no mention of its own.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from assistant.intent.values.choice import share
from assistant.intent.values.clock import match_clock
from assistant.intent.values.duration import find_durations
from assistant.intent.values.moment import When, resolve
from assistant.intent.values.range_value import Range
from assistant.intent.values.ranges import find_ranges
from assistant.intent.values.recurrence import find_recurrences
from assistant.intent.values.recurrence_value import Recurrence
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import tokenize
from assistant.intent.values.when import find_times

Mention = Recurrence | Range | When | int | float
"""A number is a length in seconds."""


def find_mentions(text: str, now: datetime) -> list[Span[Mention]]:
    """All mentions, from left to right, without overlap.

    A recurrence wins over all others and a length over none; of a range and a moment the
    longer one wins, and the range when they are equally long.
    """
    recurrences = find_recurrences(text, now)
    moments: list[Span[Any]] = [*find_ranges(text, now), *find_times(text, now)]
    moments.sort(key=lambda span: span.start - span.end)  # keeps the order of kinds
    chosen: list[Span[Mention]] = []
    for span in (*recurrences, *moments, *find_durations(text)):
        if all(span.end <= other.start or span.start >= other.end for other in chosen):
            chosen.append(span)
    chosen += _moved(text, now, chosen)
    return share(text, sorted(chosen, key=lambda span: span.start))


_MOVES = frozenset("change move shift push reschedule switch postpone bring".split())


def _moved(text: str, now: datetime, chosen: list[Span[Mention]]) -> list[Span[Mention]]:
    """The hour at the end of "move the 3 pm meeting to 4", which is bare."""
    timed = [span for span in chosen if isinstance(span.value, When) and span.value.has_time]
    tokens = tokenize(text)
    while tokens and not (tokens[-1].is_word or tokens[-1].is_number):
        tokens.pop()
    if not timed or not any(token.text in _MOVES for token in tokens):
        return []
    for i, token in enumerate(tokens):
        if token.text != "to" or token.start < timed[-1].end:
            continue
        hit = match_clock(tokens, i + 1)
        if hit is not None and hit.bare and hit.end == len(tokens):
            found = resolve(now, hit.clock, None, "")
            return [Span(tokens[i + 1].start, tokens[-1].end, found)] if found else []
    return []
