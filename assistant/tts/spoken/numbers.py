"""Numbers as words: cardinals, ordinals, years, fractions, digits one by one."""

from __future__ import annotations

import re
from functools import lru_cache

from unicode_rbnf import FormatPurpose, RbnfEngine

NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
"""A number without a sign: 7, 1,234, 3.14, .5."""

FRACTION = r"(?:(?:\d{1,3} )?\d{1,2}/\d{1,3})"
"""A fraction or a mixed number: 1/2, 1 3/4."""

AMOUNT = rf"(?:{FRACTION}(?![\d/])|{NUMBER})"

LARGEST = 10**15
"""Numbers from here on are read digit by digit."""

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

_DENOMINATORS = {2: ("half", "halves"), 4: ("quarter", "quarters")}


@lru_cache(maxsize=1)
def _engine() -> RbnfEngine:
    return RbnfEngine.for_language("en")


@lru_cache(maxsize=4096)
def _format(value: int, purpose: FormatPurpose) -> str:
    return str(_engine().format_number(value, purpose=purpose).text)


def digits(text: str) -> str:
    """Every digit of ``text`` as a word; everything else is left out."""
    return " ".join(_DIGITS[int(c)] for c in text if c.isdecimal())


def cardinal(value: int) -> str:
    """5 -> "five"; digit by digit from 10**15 on."""
    if abs(value) >= LARGEST:
        return ("minus " if value < 0 else "") + digits(str(value))
    return _format(value, FormatPurpose.CARDINAL)


def ordinal(value: int) -> str:
    """22 -> "twenty-second"."""
    if value >= LARGEST:
        return digits(str(value))
    return _format(value, FormatPurpose.ORDINAL)


def year(value: int) -> str:
    """1905 -> "nineteen oh five", 2024 -> "twenty twenty-four"."""
    if not 1000 <= value <= 9999:
        return cardinal(value)
    return _format(value, FormatPurpose.YEAR).replace("oh-", "oh ")


def plural(words: str) -> str:
    """The plural of a number word: "nineteen ninety" -> "nineteen nineties"."""
    if words.endswith("y"):
        return words[:-1] + "ies"
    return words + ("es" if words.endswith(("x", "s")) else "s")


def number(text: str) -> str:
    """A number as ``NUMBER`` matches it, with or without a minus in front.

    A leading zero marks a code ("007"), which is read digit by digit.
    """
    if text.startswith("-"):
        return "minus " + number(text[1:])
    whole, _, rest = text.replace(",", "").partition(".")
    if not whole:
        words = "zero"
    elif len(whole) > 1 and whole.startswith("0"):
        words = digits(whole)
    else:
        words = cardinal(int(whole))
    return f"{words} point {digits(rest)}" if rest else words


def fraction(text: str) -> str:
    """1/2 -> "one half", 2 3/4 -> "two and three quarters", 9/200 -> "nine over ..."."""
    whole, _, part = text.rpartition(" ")
    above, below = (int(n) for n in part.split("/"))
    words = _part(above, below)
    if not whole:
        return words
    if above == 1 and below in _DENOMINATORS:
        words = f"a {_DENOMINATORS[below][0]}"
    return f"{number(whole)} and {words}"


def _part(above: int, below: int) -> str:
    if below < 2 or below > 100 or (below > 20 and below % 10):
        return f"{cardinal(above)} over {cardinal(below)}"
    one, many = _DENOMINATORS.get(below) or (ordinal(below), ordinal(below) + "s")
    return f"{cardinal(above)} {one if above == 1 else many}"


def share(text: str, noun: str) -> str:
    """1/2 of a noun -> "half an hour", 3/4 -> "three quarters of a mile"."""
    article = "an" if noun[0] in "aeiou" or noun.startswith("hour") else "a"
    return f"half {article} {noun}" if text == "1/2" else f"{fraction(text)} of {article} {noun}"


def amount(text: str) -> str:
    """What ``AMOUNT`` matches, as words."""
    return fraction(text) if "/" in text else number(text)


def is_one(text: str) -> bool:
    """Whether a unit after this amount is in the singular."""
    return re.fullmatch(r"-?1(?:\.0+)?", text) is not None
