"""Temperatures: "22 degrees", "22°", "twenty point five celsius", "-5 °F", "22 C"."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.intent.values.cardinal import Hit, Tokens, word_at
from assistant.intent.values.number import match_number, plain
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import tokenize

_DEGREES = ("degree", "degrees", "deg", "°")
_SCALES = {
    "℃": "C",
    "℉": "F",
    "celsius": "C",
    "celcius": "C",
    "centigrade": "C",
    "fahrenheit": "F",
    "farenheit": "F",
    "kelvin": "K",
}
_LETTERS = {"c": "C", "f": "F", "k": "K"}
_HEAT = frozenset(
    """temperature temperatures thermostat heat heating heater oven boils boiling freezes freezing
    weather outside warm warmer cold colder hot hotter cool cooler ac celsius fahrenheit""".split()
)
_NOT_HEAT = ("angle", "angles", "north", "south", "east", "west", "clockwise", "turn", "rotation")


@dataclass(frozen=True, slots=True)
class Temperature:
    """degrees on the scale "C", "F" or "K"; "" when none was named."""

    degrees: int | float
    scale: str


def parse_temperature(text: str) -> Temperature | None:
    """The temperature that the whole text is, or None; a bare number is none."""
    tokens = tokenize(text)
    hit = _match_temperature(tokens, 0, whole=True)
    return hit[0] if hit and hit[1] == len(tokens) else None


def find_temperatures(text: str) -> list[Span[Temperature]]:
    """All temperatures in a sentence, from left to right.

    "20C" counts where it is all there is, or where other words speak of heat.
    """
    tokens = tokenize(text)
    heat = any(token.text in _HEAT for token in tokens)
    spans: list[Span[Temperature]] = []
    i = 0
    while i < len(tokens):
        hit = _match_temperature(tokens, i, whole=i == 0, heat=heat)
        if hit is None:
            number = match_number(tokens, i)
            i = number.end if number else i + 1
            continue
        spans.append(Span(tokens[i].start, tokens[hit[1] - 1].end, hit[0]))
        i = hit[1]
    return spans


def _match_temperature(
    tokens: Tokens, i: int, *, whole: bool, heat: bool = False
) -> tuple[Temperature, int] | None:
    number = match_number(tokens, i)
    if number is None and word_at(tokens, i) == "-" and not (i and tokens[i - 1].is_number):
        below = match_number(tokens, i + 1, signed=False)  # "to - 20 degrees"
        number = below and Hit(-below.value, below.end)
        marks = (*_DEGREES, *_SCALES)
        if number is None or word_at(tokens, number.end) not in marks or tokens[i].glued:
            return None
    if number is None:
        return None
    end = number.end
    marked = word_at(tokens, end) in _DEGREES
    while word_at(tokens, end) in (*_DEGREES, "-", ".") and end - number.end < 2:
        end += 1
    word = word_at(tokens, end)
    if word in _SCALES:
        return Temperature(plain(number.value), _SCALES[word]), end + 1
    # a letter alone is a scale only after "degrees", beside words of heat, or when it is all
    lone = (whole and end + 1 == len(tokens)) or (heat and word and tokens[end].glued)
    if word in _LETTERS and (marked or lone):
        return Temperature(plain(number.value), _LETTERS[word]), end + 1
    if not marked or word in _NOT_HEAT:
        return None
    return Temperature(plain(number.value), ""), end
