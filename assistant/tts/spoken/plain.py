"""Figures that no other rule has taken: ordinals, ranges, fractions, numbers, "MP3"."""

from __future__ import annotations

import re

from assistant.tts.spoken.numbers import (
    FRACTION,
    NUMBER,
    cardinal,
    fraction,
    number,
    ordinal,
    share,
)

_ORDINAL = re.compile(r"(?<![\w.])(?P<n>\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th)\b", re.IGNORECASE)
_SHARED = "cup|teaspoon|tablespoon|mile|hour|inch|pound|pint|liter|gallon|ounce|kilometer|meter"
_SPECIAL = {"24/7": "twenty-four seven", "9/11": "nine eleven", "50/50": "fifty fifty"}
_FRACTION = re.compile(
    rf"(?<![\w.,/])(?P<minus>-)?(?P<n>{FRACTION})(?![\w/]|[.,]\d)(?P<of> (?:an?|the)\b)?"
    rf"(?: (?P<noun>{_SHARED})\b)?"
)
_SPECIALS = re.compile(r"(?<![\w.,/])(?:24/7|9/11|50/50)(?![\w/]|[.,]\d)")
_RANGE = re.compile(rf"(?<![\w.,-])(?P<a>{NUMBER})\s?[-–]\s?(?P<b>{NUMBER})(?![\w-]|[.,]\d)")
_CHAIN = re.compile(r"(?<![\w.,-])\d+(?:[-–]\d+){2,}(?![\w-])")
_LIST = re.compile(r"(?<=\d),(?=\d)")
_SCIENTIFIC = re.compile(r"(?<![\w.,])(?P<a>\d+(?:\.\d+)?)[eE](?P<sign>[+-]?)(?P<b>\d{1,3})\b")
_NUMBER = re.compile(rf"(?<![\w.,])(?P<minus>(?<![\w-])[-](?=[\d.]))?(?P<n>{NUMBER})(?![A-Za-z])")
_SPELLED = re.compile(r"\b(?P<letters>[A-Z]{1,3})-?(?P<n>\d+)(?=[A-Z]?\b)")
_MIXED = re.compile(r"(?<=[^\W\d_])-?(?=\d)|(?<=\d)(?=[^\W\d_])")
_VERSION = re.compile(r"\bv(?=\d)", re.IGNORECASE)


def ordinals(text: str) -> str:
    """1st, 22nd, 1,000th as words."""
    return _ORDINAL.sub(lambda m: ordinal(int(m["n"].replace(",", ""))), text)


def numbers(text: str) -> str:
    """All figures that are left as words."""
    text = _VERSION.sub("version ", text)
    text = _SPECIALS.sub(lambda m: _SPECIAL[m[0]], text)
    text = _FRACTION.sub(_fraction, text)
    text = _SCIENTIFIC.sub(_scientific, text)
    text = _CHAIN.sub(lambda m: re.sub("[-–]", ", ", m[0]), text)
    text = _RANGE.sub(lambda m: f"{number(m['a'])} to {number(m['b'])}", text)
    text = _SPELLED.sub(lambda m: f"{' '.join(m['letters'])} {m['n']} ", text)
    text = _MIXED.sub(" ", text)
    text = _NUMBER.sub(_number, text)
    text = _LIST.sub(", ", text)
    # What is still there stands in a heap of signs: figure by figure, dots as points.
    text = re.sub(r"(?<=\d)\.(?=\d)", " point ", text)
    return re.sub(r"\d+", lambda m: f" {number(m[0])} ", text)


def _fraction(match: re.Match[str]) -> str:
    sign = "minus " if match["minus"] else ""
    if match["noun"] and not match["of"] and " " not in match["n"]:
        return sign + share(match["n"], match["noun"])
    if match["of"]:
        if match["n"] == "1/2":
            said = f"{sign}half{match['of']}"
        else:
            said = f"{sign}{fraction(match['n'])} of{match['of']}"
        return said + (f" {match['noun']}" if match["noun"] else "")
    return sign + fraction(match["n"]) + (f" {match['noun']}" if match["noun"] else "")


def _scientific(match: re.Match[str]) -> str:
    sign = "minus " if match["sign"] == "-" else ""
    return f"{number(match['a'])} times ten to the power of {sign}{cardinal(int(match['b']))}"


def _number(match: re.Match[str]) -> str:
    return number(("-" if match["minus"] else "") + match["n"])
