"""Ordinal numbers: "first", "twenty-first", "21st", "one hundred and third"."""

from __future__ import annotations

from fractions import Fraction

from assistant.intent.values.cardinal import (
    SCALES,
    TEENS,
    TENS,
    UNITS,
    Hit,
    Tokens,
    digits_at,
    match_integer,
    word_at,
)
from assistant.intent.values.tokens import tokenize

_IRREGULAR = {
    1: "first",
    2: "second",
    3: "third",
    5: "fifth",
    8: "eighth",
    9: "ninth",
    12: "twelfth",
}


def _ordinal_words() -> dict[str, int]:
    words = {word: value for value, word in _IRREGULAR.items()}
    for word, value in (UNITS | TEENS | TENS | {"hundred": 100} | SCALES).items():
        if value not in _IRREGULAR:
            words[word[:-1] + "ieth" if word.endswith("y") else word + "th"] = value
    return words


ORDINALS = _ordinal_words() | {"nineth": 9, "twelveth": 12, "eigth": 8}
SUFFIXES = ("st", "nd", "rd", "th")


def parse_ordinal(text: str) -> int | None:
    """The place that the whole text names: "the 21st" -> 21, "third" -> 3; else None."""
    tokens = tokenize(text)
    start = 1 if word_at(tokens, 0) == "the" else 0
    hit = match_ordinal(tokens, start)
    return int(hit.value) if hit and hit.end == len(tokens) else None


def match_ordinal(tokens: Tokens, i: int, *, plural: bool = False) -> Hit | None:
    """An ordinal that begins at token i; with ``plural``, one that ends in "s" ("fifths")."""
    if not 0 <= i < len(tokens):
        return None
    if tokens[i].is_number:
        suffix = word_at(tokens, i + 1)
        if plural and suffix.endswith("ths"):
            suffix = suffix[:-1]
        elif plural:
            return None
        digits = digits_at(tokens, i)  # also 2,000th
        whole = digits is not None and digits.denominator == 1 and "." not in tokens[i].text
        if digits is not None and whole and suffix in SUFFIXES and tokens[i + 1].glued:
            return Hit(digits, i + 2)
        return None
    # a whole number whose last word has the ending: try each place where it may end
    for last in range(i, min(i + 12, len(tokens))):
        word = tokens[last].text
        if plural:
            word = word[:-1] if word.endswith("s") else ""
        value = ORDINALS.get(word)
        if value is not None:
            return _with_head(tokens, i, last, value)
        if not tokens[last].is_word and word_at(tokens, last) != "-":
            return None
    return None


def _with_head(tokens: Tokens, i: int, last: int, value: int) -> Hit | None:
    """Adds what stands before the last word: "one hundred and" to "first"."""
    if last == i:
        return Hit(Fraction(value), last + 1)
    head_end = last
    if word_at(tokens, last - 1) in ("and", "-"):
        head_end -= 1
    head = match_integer(tokens, i)
    if head is None or head.end != head_end or head.value == 0:
        return None
    joined = word_at(tokens, last - 1)
    if value >= 100:
        fits = joined not in ("and", "-")
        return Hit(head.value * value, last + 1) if fits else None
    if value < 10 and head.value % 100 in range(20, 100, 10) and joined != "and":
        return Hit(head.value + value, last + 1)
    if head.value % 100 == 0 and joined != "-":
        return Hit(head.value + value, last + 1)
    return None
