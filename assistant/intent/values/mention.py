"""Everything about time that a sentence mentions: moments, ranges, lengths, recurrences.

The longest wording counts: "tomorrow" within "tomorrow from 3 to 5" is no mention of its own.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from assistant.intent.values.duration import find_durations
from assistant.intent.values.moment import When
from assistant.intent.values.range_value import Range
from assistant.intent.values.ranges import find_ranges
from assistant.intent.values.recurrence import find_recurrences
from assistant.intent.values.recurrence_value import Recurrence
from assistant.intent.values.span import Span
from assistant.intent.values.when import find_times

Mention = Recurrence | Range | When | int | float
"""A number is a length in seconds."""


def find_mentions(text: str, now: datetime) -> list[Span[Mention]]:
    """All mentions, from left to right, without overlap; of equally long ones a recurrence
    wins over a range, that over a moment, and that over a length."""
    found: list[Span[Any]] = [
        *find_recurrences(text, now),
        *find_ranges(text, now),
        *find_times(text, now),
        *find_durations(text),
    ]
    chosen: list[Span[Mention]] = []
    for span in sorted(found, key=lambda span: span.start - span.end):  # keeps the order of kinds
        if all(span.end <= other.start or span.start >= other.end for other in chosen):
            chosen.append(span)
    return sorted(chosen, key=lambda span: span.start)
