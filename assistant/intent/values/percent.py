"""Levels on a scale from 0 to 100: "50 %", "fifty percent", "half", "max", "eleven".

The scale is always 0 to 100: "eleven" is 11 of 100 (the dial that goes to eleven is not
ours), and so are "point five percent" (0.5) and "1/2" without a percent sign (half, 50).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.number import match_number, plain
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import tokenize

_NAMED = {
    "max": 100,
    "maximum": 100,
    "maximal": 100,
    "full": 100,
    "full volume": 100,
    "full blast": 100,
    "fully": 100,
    "all the way up": 100,
    "min": 0,
    "minimum": 0,
    "minimal": 0,
    "all the way down": 0,
    "mute": 0,
    "silent": 0,
    "middle": 50,
    "medium": 50,
    "halfway": 50,
    "half way": 50,
}
_LONGEST_NAME = 4


@dataclass(frozen=True, slots=True)
class Level:
    """value: 0 to 100; clamped: True when less than 0 or more than 100 was said (``said``)."""

    value: int | float
    said: int | float
    clamped: bool


def parse_percent(text: str) -> Level | None:
    """The level that the whole text names, or None.

    Fractions in words or with a stroke are parts of the scale ("half", "three quarters",
    "a third" -> 33); all other numbers are percent, with or without the word.
    """
    tokens = tokenize(text)
    while tokens and tokens[-1].text in (".", "!", "?", ","):
        tokens.pop()
    start = 1 if word_at(tokens, 0) in ("to", "at") else 0
    start += word_at(tokens, start) == "the"
    hit = _match_level(tokens, start)
    return hit[0] if hit and hit[1] == len(tokens) else None


def find_percent(text: str) -> Span[Level] | None:
    """The first level in a sentence that is marked as one (%, percent, max, half ...) or,
    failing that, the only number in it; None otherwise."""
    tokens = tokenize(text)
    bare: list[Span[Level]] = []
    i = 0
    while i < len(tokens):
        hit = _match_level(tokens, i)
        if hit is None:
            i += 1
            continue
        level, end, marked = hit
        span = Span(tokens[i].start, tokens[end - 1].end, level)
        if marked:
            return span
        bare.append(span)
        i = end
    return bare[0] if len(bare) == 1 else None


def find_percents(text: str) -> list[Span[int | float]]:
    """All numbers in a sentence that are marked as percent, from left to right; of any size."""
    tokens = tokenize(text)
    spans: list[Span[int | float]] = []
    i = 0
    while i < len(tokens):
        number = match_number(tokens, i)
        if number is None:
            i += 1
            continue
        end = _percent_sign_end(tokens, number.end)
        if word_at(tokens, i - 1) in ("=", "%", "&") and tokens[i].glued:
            i = end  # the "q=30%25" of an address
            continue
        if end > number.end:
            spans.append(Span(tokens[i].start, tokens[end - 1].end, plain(number.value)))
        elif _is_share(tokens, i, number.end, number.value):
            spans.append(Span(tokens[i].start, tokens[number.end].end, plain(number.value * 100)))
        i = end
    return spans


def _is_share(tokens: Tokens, start: int, end: int, value: Fraction) -> bool:
    """True at "one half of" and "three quarters of": a part of something."""
    part = 0 < value < 1 and tokens[start].is_word and "." not in tokens[start].text
    return part and word_at(tokens, end) == "of" and _is_fraction_wording(tokens, start, end)


def _match_level(tokens: Tokens, i: int) -> tuple[Level, int, bool] | None:
    """The level, the index after it, and whether it is marked as a level."""
    for length in range(_LONGEST_NAME, 0, -1):
        words = tokens[i : i + length]
        name = " ".join(token.text for token in words)
        if len(words) == length and name in _NAMED:
            return _level(Fraction(_NAMED[name])), i + length, True
    number = match_number(tokens, i)
    if number is None:
        return None
    # "half a percent"
    article = number.value < 1 and word_at(tokens, number.end) in ("a", "of")
    end = _percent_sign_end(tokens, number.end + article)
    if end > number.end + article:
        return _level(number.value), end, True
    if number.value.denominator != 1 and _is_fraction_wording(tokens, i, number.end):
        return _level(Fraction(round(number.value * 100))), number.end, True
    return _level(number.value), number.end, False


def _percent_sign_end(tokens: Tokens, i: int) -> int:
    """The index after a percent sign or word at token i; i when there is none."""
    if word_at(tokens, i) in ("%", "percent", "percents", "percentage"):
        return i + 1
    if word_at(tokens, i) == "per" and word_at(tokens, i + 1) == "cent":
        return i + 2
    return i


def _is_fraction_wording(tokens: Tokens, start: int, end: int) -> bool:
    """True for "half" and "3/4", not for 20.5 or "twenty and a half"."""
    whole = match_number(tokens[start : start + 1], 0)
    words = {token.text for token in tokens[start:end]}
    if words & {"point", "dot", ".", "and", "&"}:
        return False
    return "/" in words or whole is None or whole.value.denominator == 1 or whole.value < 1


def _level(value: Fraction) -> Level:
    inside = min(max(value, Fraction(0)), Fraction(100))
    return Level(plain(inside), plain(value), inside != value)
