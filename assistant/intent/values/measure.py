"""Measures and ages: "3 inches", "5 ft 2 in", "half a turn", "twenty kg", "five years old"."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from assistant.intent.values.calendar_day import MONTHS, skip
from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.number import match_number, plain
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import tokenize


@dataclass(frozen=True, slots=True)
class Measure:
    """number of a unit, by its full name in the singular ("square meter", "year")."""

    number: int | float
    unit: str


_METRIC = {
    "meter": "m metre metres meter meters",
    "gram": "g gram grams gramme grammes",
    "liter": "l litre litres liter liters",
    "watt": "w watt watts",
    "hertz": "hz hertz",
    "volt": "v volt volts",
    "joule": "j joule joules",
    "pascal": "pa pascal pascals",
}
_PREFIXES = {
    "kilo": "k",
    "centi": "c",
    "milli": "m",
    "deci": "d",
    "micro": "µ",
    "nano": "n",
    "mega": "mega-",
    "giga": "g",
    "hecto": "h",
}
_OTHERS = {
    "inch": 'in inch inches "',
    "foot": "ft foot feet",
    "yard": "yd yard yards",
    "mile": "mi mile miles",
    "light year": "light-year light-years",
    "pound": "lb lbs pound pounds",
    "ounce": "oz ounce ounces",
    "fluid ounce": "floz",
    "stone": "stone stones",
    "ton": "ton tons tonne tonnes",
    "metric ton": "metric-ton metric-tons",
    "microgram": "mcg",
    "gallon": "gal gallon gallons",
    "pint": "pint pints",
    "quart": "quart quarts",
    "cup": "cup cups",
    "barrel": "bbl barrel barrels",
    "tablespoon": "tbsp tablespoon tablespoons",
    "teaspoon": "tsp teaspoon teaspoons",
    "acre": "acre acres",
    "hectare": "ha hectare hectares",
    "knot": "knot knots",
    "horsepower": "hp horsepower",
    "calorie": "cal calorie calories",
    "kilocalorie": "kcal",
    "bit": "bit bits",
    "byte": "byte bytes",
    "kilobyte": "kb kilobyte kilobytes",
    "megabyte": "mb megabyte megabytes",
    "gigabyte": "gb gigabyte gigabytes",
    "terabyte": "tb terabyte terabytes",
    "megahertz": "mhz",
    "kilowatt hour": "kwh",
    "mile per hour": "mph",
    "kilometer per hour": "kmh kph kmph",
    "degree": "degree degrees",
    "radian": "rad radian radians",
    "turn": "turn turns",
    "bar": "bar bars",
    "psi": "psi",
}
_PER = {"hour": "hour h hr", "second": "second s sec", "minute": "minute min"}
_FEET = Fraction(1, 12)
_SHORT = frozenset("m g l w v j c h d in ha k bit stone bar cal".split())
"""These words are units only right after digits, or after a number that they belong to."""


def _units() -> dict[str, str]:
    units = {word: name for name, words in _OTHERS.items() for word in words.split()}
    for name, words in _METRIC.items():
        short, *longs = words.split()
        units.update(dict.fromkeys(words.split(), name))
        for prefix, letter in _PREFIXES.items():
            units.setdefault(letter + short, prefix + name)
            units.update(dict.fromkeys((prefix + long for long in longs), prefix + name))
    return units


_AFTER_IN = ("the", "a", "an", "my", "our", "this", "that", "all", "total")
_UNITS = _units()
_AGES = {
    "year": "year years yr yrs",
    "month": "month months",
    "week": "week weeks",
    "day": "day days",
}
_AGE_UNITS = {word: name for name, words in _AGES.items() for word in words.split()}


def find_measures(text: str) -> list[Span[Measure]]:
    """All numbers with a unit of length, weight, volume, speed and the like."""
    tokens = tokenize(text)
    spans: list[Span[Measure]] = []
    i = 0
    while i < len(tokens):
        number = match_number(tokens, i)
        if number is None:
            i += 1
            continue
        at = number.end + (word_at(tokens, number.end) in ("-", "<", "a", "an"))
        if number.value == Fraction(1, 2) and word_at(tokens, i) == "a":
            at = number.end  # "a half turn"
        bracketed = word_at(tokens, at) in ("(", "[") and word_at(tokens, at + 2) in (")", "]")
        unit = _unit_at(tokens, at + bracketed)
        unit = None if unit and _is_code(tokens, i, unit[1]) else unit
        if unit is None:
            i = number.end
            continue
        value, (name, end) = number.value, (unit[0], unit[1] + bracketed)
        inches = match_number(tokens, skip(tokens, end, "and")) if name == "foot" else None
        rest = _unit_at(tokens, inches.end) if inches else None
        if inches is not None and rest is not None and rest[0] == "inch":
            value, end = value + inches.value * _FEET, rest[1]
        spans.append(Span(tokens[i].start, tokens[end - 1].end, _of(value, name)))
        i = end
    return spans


def _is_code(tokens: Tokens, i: int, end: int) -> bool:
    """True for "24703L202" and "scp-173m", which are names of things."""
    if end < len(tokens) and tokens[end].glued and tokens[end].is_number:
        return True
    dashed = i > 1 and tokens[i].glued and tokens[i - 1].text == "-" and tokens[i - 1].glued
    return dashed and tokens[end - 1].glued and tokens[i - 2].text not in "/-"


def _of(value: Fraction, unit: str) -> Measure:
    return Measure(plain(value), unit)


def _unit_at(tokens: Tokens, i: int) -> tuple[str, int] | None:
    """The unit that begins at token i and the index after it: "square meters", "km/h"."""
    word, follow = word_at(tokens, i), word_at(tokens, i + 1)
    if word in ("square", "cubic", "sq", "cu"):
        base = _unit_at(tokens, i + 1)
        return (f"{'square' if word[0] == 's' else 'cubic'} {base[0]}", base[1]) if base else None
    if word in ("metric", "light") and follow:
        base_word = f"{word}-{follow}"
        return (_UNITS[base_word], i + 2) if base_word in _UNITS else None
    name = _UNITS.get(word)
    number = tokens[i - 1].is_number if 0 < i < len(tokens) else False
    if word == "in" and not tokens[i].glued and (follow in MONTHS or follow in _AFTER_IN):
        return None  # "for 2 in april"
    if name is None or (word in _SHORT and not number):
        return None
    end = i + 1
    if follow in ("2", "3", "²", "³") and tokens[i + 1].glued and len(word) <= 2:
        return f"{'square' if follow in '2²' else 'cubic'} {name}", end + 1
    if follow in ("per", "/", "an") or (follow == "a" and name != "barrel"):
        for per, words in _PER.items():
            if word_at(tokens, i + 2) in words.split() and name in ("meter", "kilometer", "mile"):
                return f"{name} per {per}", i + 3
    return name, end


def find_ages(text: str) -> list[Span[Measure]]:
    """All ages in a sentence: "five years old", "8-month-old", "eighteen months of age"."""
    tokens = tokenize(text)
    spans: list[Span[Measure]] = []
    i = 0
    while i < len(tokens):
        number = match_number(tokens, i)
        if number is None:
            i += 1
            continue
        at = number.end + (word_at(tokens, number.end) == "-")
        unit = _AGE_UNITS.get(word_at(tokens, at), "")
        end = at + 1 + (word_at(tokens, at + 1) == "-")
        if word_at(tokens, at) == "yo":
            unit, end = "year", at + 1
        elif word_at(tokens, end) == "old":
            end += 1
        elif word_at(tokens, end) == "of" and word_at(tokens, end + 1) == "age":
            end += 2
        else:
            unit = ""
        if unit:
            spans.append(Span(tokens[i].start, tokens[end - 1].end, _of(number.value, unit)))
        i = max(number.end, end) if unit else number.end
    return spans
