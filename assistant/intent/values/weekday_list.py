"""Days of the week in lists: "monday, wednesday and friday", "mondays", "weekends"."""

from __future__ import annotations

from assistant.intent.values.calendar_day import skip
from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.weekday import weekday_at

WEEK = tuple(range(7))
WORKDAYS, WEEKEND = WEEK[:5], WEEK[5:]
THROUGH = ("to", "till", "until", "through", "thru", "-")
_GROUPS = {
    "weekday": WORKDAYS,
    "workday": WORKDAYS,
    "workweek": WORKDAYS,
    "week day": WORKDAYS,
    "work day": WORKDAYS,
    "working day": WORKDAYS,
    "business day": WORKDAYS,
    "school day": WORKDAYS,
    "weekend": WEEKEND,
    "week end": WEEKEND,
    "weekend day": WEEKEND,
}


def day_list(tokens: Tokens, i: int) -> tuple[tuple[int, ...], int] | None:
    """Days of the week in a list, each a day, a range or a group."""
    days: set[int] = set()
    at, end = i, i
    while True:
        hit = days_at(tokens, skip(tokens, at, "on", "every", "each"))
        if hit is None:
            break
        days.update(hit[0])
        at = end = hit[1]
        while word_at(tokens, at) in (",", "and", "&", "or"):
            at += 1
    return (tuple(sorted(days)), end) if days else None


def days_at(tokens: Tokens, i: int) -> tuple[tuple[int, ...], int] | None:
    for length in (2, 1):
        words = " ".join(token.text for token in tokens[i : i + length])
        for name in (words, words.removesuffix("s")):
            if name in _GROUPS and len(tokens) >= i + length:
                return _GROUPS[name], i + length
    named = weekday_at(tokens, i, plural=True)
    if named is None:
        return None
    if word_at(tokens, named[1]) in THROUGH:
        last = weekday_at(tokens, named[1] + 1, plural=True)
        if last is not None:
            span = (last[0] - named[0]) % 7
            return tuple((named[0] + step) % 7 for step in range(span + 1)), last[1]
    return (named[0],), named[1]


def is_plural(tokens: Tokens, i: int) -> bool:
    word = word_at(tokens, i)
    if word.endswith("days") and weekday_at(tokens, i, plural=True):
        return True
    return word.endswith("s") and word[:-1] in ("day", *_GROUPS)
