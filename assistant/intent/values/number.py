"""Numbers as people say and recognisers write them: words and digits are the same.

Understood: whole numbers ("one hundred and five", "a hundred", "1,000", "3 million"),
decimals ("twenty point five", "20 point 5", "point five"), fractions ("a half",
"three quarters", "1/2", "½"), mixed numbers ("20 and a half", "1 1/2", "1½"),
"a dozen", "a couple", "minus five". What is not surely one number is None.
"""

from __future__ import annotations

import unicodedata
from fractions import Fraction

from assistant.intent.values.cardinal import (
    FUSED,
    SCALES,
    TEENS,
    TENS,
    UNITS,
    ZEROS,
    Hit,
    Tokens,
    digits_at,
    match_below_hundred,
    match_integer,
    word_at,
)
from assistant.intent.values.ordinal import ORDINALS, match_ordinal, parse_ordinal
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import tokenize

__all__ = [
    "find_numbers",
    "match_number",
    "parse_number",
    "parse_ordinal",
    "plain",
]

_MOST_POWER = 30
_MEASURES = frozenset(
    "m mm cm km ml cl l g mg kg lb oz w kw kwh v mv hz khz mhz ghz kb mb gb tb kmh mph".split()
)
_DOZENS = ("dozen", "dozens", "dz", "dzs")
_DIGIT_WORDS = UNITS | dict.fromkeys(ZEROS, 0) | {"oh": 0, "o": 0}
_FIRST_WORDS = {"a", "an", "half", "quarter", "hundred", "point"} | {
    *(UNITS | TEENS | TENS | FUSED | SCALES),
    *ZEROS,
    *_DOZENS,
}
"""The words that a number may begin with."""
_ONE_IS_NO_NUMBER_AFTER = frozenset(
    (
        "this",
        "that",
        "the",
        "which",
        "another",
        "other",
        "each",
        "every",
        "any",
        "no",
        "some",
        "last",
        "next",
    )
)


def parse_number(text: str) -> int | float | None:
    """The number that the whole text is, or None.

    "oh" alone is 0. Ordinals are not numbers here, see ``parse_ordinal``.
    """
    tokens = tokenize(text)
    if len(tokens) == 1 and tokens[0].text == "oh":
        return 0
    hit = match_number(tokens, 0)
    return plain(hit.value) if hit and hit.end == len(tokens) else None


def find_numbers(text: str) -> list[Span[int | float]]:
    """All numbers in a sentence, from left to right; without ordinals and measures (29km)."""
    tokens = tokenize(text)
    spans: list[Span[int | float]] = []
    i = 0
    while i < len(tokens):
        hit = match_number(tokens, i)
        ordinal = match_ordinal(tokens, i)
        if ordinal and (hit is None or ordinal.end >= hit.end):
            i = ordinal.end
        elif hit is None:
            i += 1
        else:
            lone_one = hit.end == i + 1 and tokens[i].text == "one"
            before = word_at(tokens, i - 1)
            other = lone_one and (before in _ONE_IS_NO_NUMBER_AFTER or before in ORDINALS)
            if _is_capital_m(tokens, hit.end, text):
                hit = Hit(hit.value * SCALES["million"], hit.end + 1)
            if not (other or _is_measure(tokens, hit.end)):
                span = Span(tokens[i].start, tokens[hit.end - 1].end, plain(hit.value))
                spans.append(span)
            i = hit.end
    return spans


def _is_capital_m(tokens: Tokens, i: int, text: str) -> bool:
    """True at the M of "1.5M", a million; "5m" are metres."""
    ended = i + 1 >= len(tokens) or not tokens[i + 1].glued or not tokens[i + 1].is_word
    written = word_at(tokens, i) == "m" and text[tokens[i].start] == "M"
    return written and ended and tokens[i - 1].is_number


def _is_measure(tokens: Tokens, i: int) -> bool:
    """True at the unit of "29km": the number alone says nothing."""
    return word_at(tokens, i) in _MEASURES and tokens[i].glued and tokens[i - 1].is_number


def plain(value: Fraction) -> int | float:
    """An int when it is whole, else a float."""
    return int(value) if value.denominator == 1 else float(value)


def match_number(tokens: Tokens, i: int, *, signed: bool = True) -> Hit | None:
    """The longest number that begins at token i; a sign only when ``signed``."""
    if signed and i < len(tokens) and _is_minus(tokens, i):
        hit = _match_unsigned(tokens, i + 1)
        return Hit(-hit.value, hit.end) if hit else None
    return _match_unsigned(tokens, i)


def _is_minus(tokens: Tokens, i: int) -> bool:
    if tokens[i].text in ("minus", "negative"):
        return True
    first = i + 2 if word_at(tokens, i + 1) == "." else i + 1  # "-.75"
    after = first < len(tokens) and tokens[first].is_number and tokens[first].glued
    after = after and tokens[i + 1].glued
    if tokens[i].text == "-" and i == 0 and len(tokens) > 1 and tokens[1].is_number:
        return True  # "- 10"
    return tokens[i].text == "-" and after and not (i and tokens[i].glued)


def _match_unsigned(tokens: Tokens, i: int) -> Hit | None:
    if i >= len(tokens) or (tokens[i].is_word and tokens[i].text not in _FIRST_WORDS):
        return None
    whole = match_integer(tokens, i)
    found = (
        _match_mixed(tokens, i, whole),
        _match_fraction(tokens, i, whole),
        _match_group(tokens, i, whole),
        _match_power(tokens, i),
    )
    hit = max(filter(None, found), key=lambda hit: hit.end, default=None)
    if hit and hit.value.denominator != 1 and word_at(tokens, hit.end) in _DOZENS:
        hit = Hit(hit.value * 12, hit.end + 1)  # "two and a half dozen"
    return _match_quotient(tokens, hit) or hit if hit else None


def _match_quotient(tokens: Tokens, top: Hit) -> Hit | None:
    """Reads "one over three", where nothing is counted after it ("2000 over 3 years")."""
    bottom = match_integer(tokens, top.end + 1) if word_at(tokens, top.end) == "over" else None
    if bottom is None or not bottom.value or word_at(tokens, bottom.end) not in ("", ".", "?", "!"):
        return None
    return Hit(top.value / bottom.value, bottom.end)


def _match_power(tokens: Tokens, i: int) -> Hit | None:
    """1e10, 6.2x10^-4, 2.5^-1, written without spaces."""
    base, at = digits_at(tokens, i), i + 1
    if base is None:
        return None
    factor = Fraction(1)
    if word_at(tokens, at) == "e":
        factor, base = base, Fraction(10)
    elif word_at(tokens, at) in ("x", "*") and word_at(tokens, at + 1) == "10":
        factor, base, at = base, Fraction(10), at + 2
    if word_at(tokens, at) not in ("e", "^"):
        return None
    at += 1
    sign = -1 if word_at(tokens, at) == "-" else 1
    at += word_at(tokens, at) in ("-", "+")
    exponent = digits_at(tokens, at)
    if exponent is None or exponent.denominator != 1 or exponent > _MOST_POWER or not base:
        return None
    if not all(token.glued for token in tokens[i + 1 : at + 1]):
        return None
    return Hit(factor * base ** (sign * int(exponent)), at + 1)


def _match_group(tokens: Tokens, i: int, count: Hit | None) -> Hit | None:
    """Reads "a couple", "a dozen", "two dozen", "half a dozen"."""
    start = i + 1 if word_at(tokens, i) == "a" else i
    if start > i and word_at(tokens, start) == "couple":
        return Hit(Fraction(2), start + 1)
    if start > i and word_at(tokens, start) == "half" and word_at(tokens, start + 1) in _DOZENS:
        count = Hit(Fraction(1, 2), start + 1)
    if count is None and word_at(tokens, i) == "half":
        count = Hit(Fraction(1, 2), i + 2 if word_at(tokens, i + 1) == "a" else i + 1)
    if count is None and (start > i or word_at(tokens, i) == "dozen"):
        count = Hit(Fraction(1), start)
    if count is not None and word_at(tokens, count.end) in _DOZENS:
        for at in range(count.end - 1, i, -1):
            head, tail = match_integer(tokens[:at], i), match_integer(tokens, at + 1)
            if tokens[at].text == "and" and head and tail and tail.end == count.end:
                # "three hundred and two dozen"
                return Hit(head.value + tail.value * 12, count.end + 1)
        return Hit(count.value * 12, count.end + 1)
    return None


def _match_mixed(tokens: Tokens, i: int, whole: Hit | None) -> Hit | None:
    """A whole number with what may follow: decimals, or a fraction."""
    if whole is None:
        dot = word_at(tokens, i) == "." and i + 1 < len(tokens) and tokens[i + 1].glued
        if word_at(tokens, i) == "point" or (
            dot and (not tokens[i].glued or word_at(tokens, i - 1) == "-")
        ):
            decimals = _match_decimals(tokens, i + 1)
            return _scaled(tokens, decimals) if decimals else None
        return None
    if word_at(tokens, whole.end) in ("point", "dot") and whole.value.denominator == 1:
        decimals = _match_decimals(tokens, whole.end + 1)
        return (
            _scaled(tokens, Hit(whole.value + decimals.value, decimals.end)) if decimals else whole
        )
    whole = _without_fraction(tokens, i, whole)
    joined = word_at(tokens, whole.end) in ("and", "&")
    after = whole.end + 1 if joined else whole.end
    part = _match_fraction(tokens, after, match_integer(tokens, after))
    if part is not None and joined and tokens[part.end - 1].text in SCALES:
        scale = SCALES[tokens[part.end - 1].text]
        if part.value < whole.value:  # "a billion and three quarters of a million"
            return Hit(whole.value + part.value, part.end)
        return Hit(whole.value * scale + part.value, part.end)  # "two and a half million"
    if part is None or part.value >= 1 or whole.value.denominator != 1:
        return whole
    if not joined and not _in_signs(tokens, whole.end):
        return whole
    scale = SCALES.get(tokens[whole.end - 1].text, 1)
    return Hit(whole.value + part.value * scale, part.end)


def _without_fraction(tokens: Tokens, i: int, whole: Hit) -> Hit:
    """Leaves the three of "one hundred and three quarters" to the quarters."""
    for at in range(whole.end - 1, i, -1):
        if tokens[at].text == "and":
            part = _match_fraction(tokens, at + 1, match_integer(tokens, at + 1))
            shorter = match_integer(tokens[:at], i)
            if part is None or part.end <= whole.end or not shorter or shorter.end != at:
                continue
            if part.value < 1 or tokens[part.end - 1].text in SCALES:
                return shorter
    return whole


def _in_signs(tokens: Tokens, i: int) -> bool:
    """True at 1/2 and ½, which may follow a whole number without "and"."""
    return not tokens[i].is_word


def _scaled(tokens: Tokens, hit: Hit) -> Hit:
    scale = SCALES.get(word_at(tokens, hit.end))
    return Hit(hit.value * scale, hit.end + 1) if scale else hit


def _match_decimals(tokens: Tokens, i: int) -> Hit | None:
    """What follows "point", as a value below one: "five", "oh two", "seventy-one", "25"."""
    digits, at = "", i
    while at < len(tokens):
        word = tokens[at].text
        if word in _DIGIT_WORDS:
            digits += str(_DIGIT_WORDS[word])
        elif word.isdecimal():
            digits += word
        else:
            break
        at += 1
    pair = match_below_hundred(tokens, at)
    if pair is not None and not digits.strip("0"):
        digits, at = digits + str(pair.value), pair.end
    return Hit(Fraction(int(digits), 10 ** len(digits)), at) if 0 < len(digits) <= 15 else None


def _match_fraction(tokens: Tokens, i: int, count: Hit | None) -> Hit | None:
    """Reads "half", "a quarter", "three quarters", "two thirds", "1/2", "½", "half a million"."""
    if not 0 <= i < len(tokens):
        return None
    if len(tokens[i].text) == 1 and not tokens[i].is_word and not tokens[i].is_number:
        value = unicodedata.numeric(tokens[i].text, None)
        return Hit(Fraction(value).limit_denominator(100), i + 1) if value is not None else None
    top, bottom = digits_at(tokens, i), digits_at(tokens, i + 2)
    if word_at(tokens, i + 1) == "/" and top is not None:
        # 5/17/2030 is a date
        single = word_at(tokens, i + 3) != "/" and word_at(tokens, i - 1) != "/"
        if bottom and single and tokens[i + 1].glued and tokens[i + 2].glued:
            return Hit(top / bottom, i + 3)
        return None
    return _match_fraction_words(tokens, i, count)


def _match_fraction_words(tokens: Tokens, i: int, count: Hit | None) -> Hit | None:
    word = word_at(tokens, i)
    if word in ("half", "quarter"):
        hit: Hit | None = Hit(Fraction(1, 2 if word == "half" else 4), i + 1)
    elif word in ("a", "an", "one"):
        hit = _match_denominator(tokens, i + 1, Fraction(1))
    else:
        hit = None
    if hit is None:
        hit = _match_round_over(tokens, i, count) if count else None
    if hit is None:
        hit = _match_denominator(tokens, count.end, count.value) if count else None
    if hit is None:
        return None
    after = hit.end + 1 if word_at(tokens, hit.end) == "of" else hit.end
    after = after + 1 if word_at(tokens, after) == "a" else after
    return _scaled(tokens, Hit(hit.value, after)) if word_at(tokens, after) in SCALES else hit


def _match_round_over(tokens: Tokens, i: int, count: Hit) -> Hit | None:
    """Reads "one hundred thirty fifths" as a hundred of them: a round count comes first."""
    for at in range(i + 1, count.end):
        if tokens[at - 1].text in (*SCALES, "hundred") and tokens[at].text != "and":
            top, part = match_integer(tokens[:at], i), match_ordinal(tokens, at, plural=True)
            if top and top.end == at and part and part.end > count.end and part.value > 20:
                return Hit(top.value / part.value, part.end)
    return None


def _match_denominator(tokens: Tokens, i: int, count: Fraction) -> Hit | None:
    """The part of a fraction after its count; "seconds" are never a fraction."""
    i = i + 1 if word_at(tokens, i) == "-" else i
    word = word_at(tokens, i)
    if word in ("half", "halves") and (word == "half") == (count == 1):
        return Hit(count / 2, i + 1)
    if word == "quarters" or (word == "quarter" and count in (1, 3)):
        return Hit(count / 4, i + 1)
    place = match_ordinal(tokens, i, plural=count != 1)
    if place is None or place.value < 3 or not tokens[i].is_word:
        return None
    if tokens[place.end - 1].text.rstrip("s") == "second":
        return None
    return Hit(count / place.value, place.end)
