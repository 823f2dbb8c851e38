"""Whole numbers, in words ("one hundred and five") and in digits with words ("3 million")."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from assistant.intent.values.tokens import Token

Tokens = Sequence[Token]


class Hit(NamedTuple):
    """value of the tokens up to (not including) index ``end``."""

    value: Fraction
    end: int


def _count_up(words: str, start: int, step: int = 1) -> dict[str, int]:
    return {word: start + n * step for n, word in enumerate(words.split())}


UNITS = _count_up("one two three four five six seven eight nine", 1)
TEENS = _count_up(
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 10
)
TENS = _count_up("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10) | {"fourty": 40}
FUSED = {ten + unit: n + m for ten, n in TENS.items() for unit, m in UNITS.items()}
"""Written without the hyphen, as some recognisers do: "twentyfive"."""

ZEROS = ("zero", "nought", "naught", "nil")
SCALES = {
    "thousand": 10**3,
    "lakh": 10**5,
    "million": 10**6,
    "crore": 10**7,
    "billion": 10**9,
    "trillion": 10**12,
}
SHORT_SCALES = {"k": 10**3, "mil": 10**6, "mln": 10**6, "bn": 10**9, "bln": 10**9, "tln": 10**12}
"""Only after digits."""

MAX_DIGITS = 18
"""Longer strings of digits (telephone numbers, noise) are not taken as numbers."""


def word_at(tokens: Tokens, i: int) -> str:
    """The text of token i; "" before the beginning and past the end."""
    return tokens[i].text if 0 <= i < len(tokens) else ""


def digits_at(tokens: Tokens, i: int) -> Fraction | None:
    """The value of a token in digits: 7, 1,000 or 0.5."""
    if not 0 <= i < len(tokens) or not tokens[i].is_number:
        return None
    text = tokens[i].text
    decimal = len(text) > 3 and text[-3] == "," and text.count(",") == 1 and "." not in text
    text = text.replace(",", "." if decimal else "")
    return Fraction(text) if len(text) <= MAX_DIGITS else None


def match_below_hundred(tokens: Tokens, i: int) -> Hit | None:
    """1 to 99 in words: "seven", "twenty-one", "twenty one"."""
    word = word_at(tokens, i)
    for table in (UNITS, TEENS, FUSED):
        if word in table:
            return Hit(Fraction(table[word]), i + 1)
    if word not in TENS:
        return None
    after = i + 2 if word_at(tokens, i + 1) == "-" else i + 1
    unit = UNITS.get(word_at(tokens, after), 0)
    return Hit(Fraction(TENS[word] + unit), after + 1 if unit else i + 1)


def match_integer(tokens: Tokens, i: int) -> Hit | None:
    """The longest number of whole parts that begins at token i.

    "a" counts as one before hundred and the scale words only. A number in digits may
    have decimals ("1.5 million", "7.2").
    """
    if word_at(tokens, i) in ZEROS:
        return Hit(Fraction(0), i + 1)
    total, result, limit, at = Fraction(0), None, 10**18, i
    while True:
        start = at + 1 if result and word_at(tokens, at) == "and" else at
        part = _match_hundreds(tokens, start)
        if part is None or (result and part.value.denominator != 1):
            return result
        value, scale, end = part.value, 1, part.end
        in_digits = tokens[end - 1].is_number
        while factor := _scale_at(tokens, end, in_digits):
            scale, end, in_digits = scale * factor, end + 1, False
        if value * scale >= limit:
            return result
        total += value * scale
        result, limit, at = Hit(total, end), scale, end
        if scale == 1:
            return result


def _match_hundreds(tokens: Tokens, i: int) -> Hit | None:
    """Up to 9,999 in words ("nineteen hundred and five"), or digits, or the one of "a million"."""
    word = word_at(tokens, i)
    if word == "a":
        i, word = i + 1, word_at(tokens, i + 1)
        if word not in SCALES and word != "hundred":
            return None
    if word in SCALES:
        return Hit(Fraction(1), i)
    if word == "hundred":
        head: Hit | None = Hit(Fraction(1), i)
    else:
        head = _match_small(tokens, i)
    if head and word_at(tokens, head.end) == "-" and word_at(tokens, head.end + 1) == "hundred":
        head = Hit(head.value, head.end + 1)  # "two-hundred"
    if head is None or word_at(tokens, head.end) != "hundred":
        return head
    value, end = head.value * 100, head.end + 1
    rest = _match_small(tokens, end + 1 if word_at(tokens, end) == "and" else end)
    if (
        rest is not None
        and rest.value < 100
        and rest.value.denominator == 1
        and word_at(tokens, rest.end) != "hundred"
    ):
        value, end = value + rest.value, rest.end
    return Hit(value, end)


def _match_small(tokens: Tokens, i: int) -> Hit | None:
    digits = digits_at(tokens, i)
    if digits is None:
        return match_below_hundred(tokens, i)
    return _match_spaced(tokens, i) or Hit(digits, i + 1)


def _match_spaced(tokens: Tokens, i: int) -> Hit | None:
    """Reads "40 000" and "1 234 567": groups of three with spaces between."""
    groups, end = tokens[i].text, i + 1
    if len(groups) > 3 or groups[0] == "0" or not groups.isdecimal():
        return None
    while len(word_at(tokens, end)) == 3 and tokens[end].text.isdecimal():
        groups, end = groups + tokens[end].text, end + 1
    # one group alone is a thousand only when it is round: "lamp 2 100" is not
    sure = end > i + 2 or (end == i + 2 and tokens[i + 1].text == "000")
    return Hit(Fraction(groups), end) if sure and len(groups) <= MAX_DIGITS else None


def _scale_at(tokens: Tokens, i: int, in_digits: bool) -> int:
    word = word_at(tokens, i)
    if word == "b" and in_digits and tokens[i].glued:
        return 10**9
    return SCALES.get(word, 0) or (SHORT_SCALES.get(word, 0) if in_digits else 0)
