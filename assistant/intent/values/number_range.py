"""Ranges of numbers: "between 3 and 5", "more than ten", "20 or less", "at least 4"."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from assistant.intent.values.cardinal import Hit, Tokens, word_at
from assistant.intent.values.number import match_number, plain
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import tokenize


@dataclass(frozen=True, slots=True)
class NumberRange:
    """low, high: None where it is open.

    with_low, with_high: whether the end itself belongs to it.
    spanned: both ends were named together ("between 3 and 5").
    """

    low: int | float | None = None
    high: int | float | None = None
    with_low: bool = False
    with_high: bool = False
    spanned: bool = False


Side = tuple[str, bool]
"""Which end the number is ("low", "high" or "both"), and whether it belongs to the range."""

_MORE = ("more", "greater", "bigger", "larger", "higher", "taller", "longer", "older", "heavier")
_LESS = ("less", "fewer", "smaller", "lower", "shorter", "younger", "lighter", "cheaper")


def _phrases() -> dict[tuple[str, ...], Side]:
    before: dict[str, Side] = {
        **dict.fromkeys(("above", "over", "exceed", "exceeds", "exceeded"), ("low", False)),
        **dict.fromkeys(("exceeding", "surpassing", "beyond", ">", "in excess of"), ("low", False)),
        **dict.fromkeys(("at least", "a minimum of", "minimum of", "> =", ">="), ("low", True)),
        **dict.fromkeys(("not below", "not under", "starting at", "starting from"), ("low", True)),
        **dict.fromkeys(("below", "under", "beneath", "<", "short of"), ("high", False)),
        **dict.fromkeys(("at most", "up to", "a maximum of", "maximum of"), ("high", True)),
        **dict.fromkeys(("< =", "<=", "not over", "not above", "no over"), ("high", True)),
        **dict.fromkeys(("not exceed", "not exceeding", "not to exceed"), ("high", True)),
        **dict.fromkeys(("equal to", "equals to", "equals", "equal", "exactly"), ("both", True)),
        **dict.fromkeys(("=", "is equal to", "equaling", "equaling to"), ("both", True)),
        **dict.fromkeys(("at least or equal to", "equal to or at least"), ("low", True)),
        **dict.fromkeys(("at most or equal to", "equal to or at most"), ("high", True)),
    }
    for words, end, other in ((_MORE, "low", "high"), (_LESS, "high", "low")):
        for word in words:
            before[f"{word} than"] = (end, False)
            for no in ("no", "not", "never"):
                before[f"{no} {word} than"] = (other, True)
            for equal in ("or equal to", "or equal than", "or equals to", "than or equal to"):
                before[f"{word} {equal}"] = (end, True)
                before[f"{word} {equal.replace('or', 'and')}"] = (end, True)
            before[f"{word} than or equal"] = (end, True)
            before[f"equal to or {word} than"] = (end, True)
            before[f"equal or {word} than"] = (end, True)
    return {tuple(phrase.split()): side for phrase, side in before.items()}


def _endings() -> dict[tuple[str, ...], Side]:
    after: dict[tuple[str, ...], Side] = {}
    for joint in ("or", "and"):
        for word in (*_MORE, "above", "over", "up", "upwards", "upward"):
            after[joint, word] = ("low", True)
        for word in (*_LESS, "below", "under", "down"):
            after[joint, word] = ("high", True)
    return after


_BEFORE = _phrases()
_AFTER = _endings()
_FIRST = frozenset(phrase[0] for phrase in _BEFORE) | {"between", "from"}
_LONGEST = max(map(len, _BEFORE))
_JOINTS = ("and", "but", ",", "&")


def find_number_ranges(text: str) -> list[Span[NumberRange]]:
    """All ranges of numbers in a sentence, from left to right."""
    tokens = tokenize(text)
    spans: list[Span[NumberRange]] = []
    i = 0
    while i < len(tokens):
        hit = _match_range(tokens, i)
        if hit is None:
            number = match_number(tokens, i)
            i = number.end if number else i + 1
            continue
        spans.append(Span(tokens[i].start, tokens[hit[1] - 1].end, hit[0]))
        i = hit[1]
    return spans


Found = tuple[NumberRange, int]


def _match_range(tokens: Tokens, i: int) -> Found | None:
    """One range, and what bounds it on the other side: "above 10 and below 20"."""
    first = _match_one(tokens, i)
    if first is None or first[0].spanned:
        return first
    at = first[1]
    while word_at(tokens, at) in _JOINTS and at < first[1] + 2:
        at += 1
    other = _match_one(tokens, at) if at > first[1] else None
    if other is None or other[0].spanned:
        return first
    for one, two in ((first[0], other[0]), (other[0], first[0])):
        if one.high is None and two.low is None and one.low is not None and two.high is not None:
            both = replace(one, high=two.high, with_high=two.with_high)
            return (both, other[1]) if one.low < two.high else first
    return first


def _match_one(tokens: Tokens, i: int) -> Found | None:
    word = word_at(tokens, i)
    if word in ("between", "from"):
        return _match_span(tokens, i)
    if word not in _FIRST:
        return _match_ended(tokens, i)
    words = tuple(token.text for token in tokens[i : i + _LONGEST])
    for length in range(len(words), 0, -1):
        side = _BEFORE.get(words[:length])
        if side is None:
            continue
        number = _match_bound(tokens, i + length)
        if number is None or _continues(tokens, i, number.end):
            return None
        ending = _AFTER.get(tuple(token.text for token in tokens[number.end : number.end + 2]))
        if side[0] == "both" and ending is not None:  # "equal to 20 or less (than)"
            end = number.end + 2 + (word_at(tokens, number.end + 2) == "than")
            if match_number(tokens, end) is None:
                return _one_sided(number.value, ending), end
        return _one_sided(number.value, side), number.end
    return _match_ended(tokens, i)


def _match_bound(tokens: Tokens, i: int) -> Hit | None:
    """A number, whose sign may touch the one before it: "<-30"."""
    number = match_number(tokens, i)
    signed = word_at(tokens, i) == "-" and word_at(tokens, i - 1) in ("<", ">", "=")
    if number is not None or not signed:
        return number
    number = match_number(tokens, i + 1)
    return Hit(-number.value, number.end) if number else None


def _continues(tokens: Tokens, i: int, end: int) -> bool:
    """True for "=>30", and "3 = 2 + 1", which compare no number."""
    return word_at(tokens, i) in ("<", ">", "=") and word_at(tokens, i - 1) in ("<", ">", "=")


def _one_sided(value: Fraction, side: Side) -> NumberRange:
    number = plain(value)
    if side[0] == "both":
        return NumberRange(number, number, True, True)
    if side[0] == "low":
        return NumberRange(low=number, with_low=side[1])
    return NumberRange(high=number, with_high=side[1])


def _match_ended(tokens: Tokens, i: int) -> Found | None:
    """Reads "twenty or more", "30 and below"."""
    number = match_number(tokens, i)
    if number is None:
        return None
    dashed = _match_dashed(tokens, i)
    if dashed is not None:
        return dashed
    words = tuple(token.text for token in tokens[number.end : number.end + 2])
    side = _AFTER.get(words)
    if side is None or word_at(tokens, number.end + 2) == "than":
        return None
    return _one_sided(number.value, side), number.end + 2


def _match_dashed(tokens: Tokens, i: int) -> Found | None:
    """Reads "10 - 20", two plain numbers with nothing else in the chain of dashes."""
    ends = [word_at(tokens, at) for at in (i, i + 2)]
    around = (word_at(tokens, i - 1), word_at(tokens, i + 3))
    if word_at(tokens, i + 1) != "-" or any(sign in ("-", "+", "=", "/", "*") for sign in around):
        return None
    if not all(text.isdecimal() and text[0] != "0" for text in ends):
        return None
    worded = i + 3 < len(tokens) and tokens[i + 3].glued and tokens[i + 3].is_word
    low, high = map(int, ends)
    if low >= high or worded:
        return None
    return NumberRange(low, high, True, True, spanned=True), i + 3


def _match_span(tokens: Tokens, i: int) -> Found | None:
    """Reads "between 3 and 5", "from 10 to 20"; of "from", only where a number ends it."""
    between = tokens[i].text == "between"
    joints = ("to", "-", "~", "and" if between else "till", "" if between else "until")
    low = None
    for joint in range(i + 2, min(i + 12, len(tokens))):
        if tokens[joint].text in joints:
            low = match_number(tokens[:joint], i + 1)
            if low is not None and low.end == joint:
                break
            low = None
    high = match_number(tokens, low.end + 1) if low else None
    if low is None or high is None or low.value >= high.value:
        return None
    return (
        NumberRange(plain(low.value), plain(high.value), True, True, spanned=True),
        high.end,
    )
