"""An amount with its unit: "five miles", "5 feet 11 inches", "half a cup", "70 degrees F"."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from assistant.intent.units import LONGEST, Unit, find_unit
from assistant.intent.values.number import match_number
from assistant.intent.values.tokens import Token, tokenize

_ONE = ("a", "an", "one", "the")
_SMALLER = {"foot": "inch", "stone": "pound"}
_SIGNS = ("$", "€", "£", "¥")


@dataclass(frozen=True, slots=True)
class Measure:
    """amount of ``unit``; of several units ("5 feet 11 inches") in the smallest of them."""

    amount: Fraction
    unit: Unit


def parse_measure(text: str) -> Measure | None:
    """The measure that the whole text is, or None. Without a number it is one: "a litre"."""
    tokens = [token for token in tokenize(text) if token.text not in (",", "?", "!")]
    if tokens and tokens[0].text in _SIGNS:  # $20
        tokens = [*tokens[1:], tokens[0]]
    found: list[Measure] = []
    at = 0
    while at < len(tokens):
        if found and tokens[at].text == "and":
            at += 1
        hit = _match(tokens, at) or (_next_smaller(found[-1], tokens, at) if found else None)
        if hit is None:
            return None
        measure, at = hit
        if found and not _follows(found[-1], measure):
            return None
        found.append(measure)
    if not found:
        return None
    last = found[-1]
    total = sum((part.amount * part.unit.factor for part in found), Fraction(0))
    return last if len(found) == 1 else Measure(total / last.unit.factor, last.unit)


def _match(tokens: list[Token], at: int) -> tuple[Measure, int] | None:
    amount, end, numbered = Fraction(1), at, False
    signed = match_number(tokens, at)
    if signed is not None:
        amount, end, numbered = signed.value, signed.end, True
        if end < len(tokens) and tokens[end].text in ("a", "an", "of") and amount < 1:
            end += 1  # half a cup, a quarter of
            end += end < len(tokens) and tokens[end].text in ("a", "an")
    elif tokens[at].text in _ONE:
        end = at + 1
    if end < len(tokens) and tokens[end].text == "°":
        end += 1
        if end == len(tokens):
            return None
    for size in range(min(LONGEST + 2, len(tokens) - end), 0, -1):
        words = [token.text for token in tokens[end : end + size]]
        unit = find_unit(_joined(tokens[end : end + size]), after_number=numbered)
        if unit is not None:
            stop = end + size
            # "two and a half miles" is one number; "two miles and a half" is said too
            if tokens[stop : stop + 3] and [t.text for t in tokens[stop:]] == ["and", "a", "half"]:
                return Measure(amount + Fraction(1, 2), unit), len(tokens)
            if unit.dimension == "temperature" and not numbered and len(words) == 1:
                return None  # "fahrenheit" alone is no amount
            return Measure(amount, unit), stop
    return None


def _next_smaller(before: Measure, tokens: list[Token], at: int) -> tuple[Measure, int] | None:
    """The inches of "six foot two"."""
    number = match_number(tokens, at)
    unit = find_unit(_SMALLER.get(before.unit.name, ""))
    if number is None or unit is None or number.end < len(tokens):
        return None
    return Measure(number.value, unit), number.end


def _joined(tokens: list[Token]) -> str:
    """The tokens as they were written, "km/h" in one."""
    text = ""
    for token in tokens:
        text += token.text if token.glued and text else f" {token.text}"
    return text.strip()


def _follows(before: Measure, after: Measure) -> bool:
    """5 feet may be followed by 11 inches, not by 11 pounds or by 20 feet."""
    return (
        before.unit.dimension == after.unit.dimension != "temperature"
        and after.unit.factor < before.unit.factor
    )
