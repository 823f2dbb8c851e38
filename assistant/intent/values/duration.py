"""Lengths of time: "an hour and a half", "90 seconds", "1h30m", "three quarters of an hour".

A month counts 30 days and a year 365 days when seconds are asked for. Vague lengths
("a few minutes"), choices ("five or ten minutes"), ranges ("5-10 minutes") and negative
lengths are None: nothing is set that nobody said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from assistant.intent.values.cardinal import Tokens, digits_at, word_at
from assistant.intent.values.number import match_number, plain
from assistant.intent.values.ordinal import match_ordinal
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import tokenize

Unit = Literal["second", "minute", "hour", "day", "week", "month", "year"]

SECONDS: dict[str, Fraction] = {
    "millisecond": Fraction(1, 1000),
    "second": Fraction(1),
    "minute": Fraction(60),
    "hour": Fraction(3600),
    "day": Fraction(86_400),
    "week": Fraction(7 * 86_400),
    "weekend": Fraction(2 * 86_400),
    "night": Fraction(86_400),
    "fortnight": Fraction(14 * 86_400),
    "month": Fraction(30 * 86_400),
    "year": Fraction(365 * 86_400),
    "decade": Fraction(3650 * 86_400),
}
"""Seconds in a unit."""

MAX_SECONDS = 1000 * SECONDS["year"]
"""Longer lengths are not taken: they are noise, and no calendar reaches them."""

_WORDS = {
    "second": "second seconds sec secs",
    "millisecond": "millisecond milliseconds",
    "minute": "minute minutes min mins minuet minuets",
    "hour": "hour hours hr hrs",
    "day": "day days",
    "week": "week weeks wk wks",
    "weekend": "weekend weekends",
    "night": "nights",
    "fortnight": "fortnight fortnights",
    "month": "month months",
    "year": "year years yr yrs ys",
    "decade": "decade decades",
}
UNITS_BY_WORD = {word: unit for unit, words in _WORDS.items() for word in words.split()}
_OWNED = {f"{word}'s": unit for word, unit in UNITS_BY_WORD.items()}
"""As in "in an hour's time"."""
_LETTERS = {"h": "hour", "m": "minute", "s": "second", "d": "day", "w": "week", "y": "year"}
_NEXT_LOWER = {"hour": "minute", "minute": "second"}
_WHOLE = ("full", "whole", "entire", "solid")
_MORE = ("more", "extra", "additional", "further")
_HALVES = ("have", "halve")
_BEFORE_BARE_UNIT = ("", "for", "in", "timer", "about", "within", "of")
_CHOICE = ("or", "to", "-", "till", "until", "/")
_ENDS = {"", ".", ",", "!", "?", "please", "thanks", "thank", "now", "later", "ago", "from"} | {
    *("for", "on", "in", "timer", "timers", "alarm", "countdown"),
    *("called", "named", "labelled", "labeled"),
}
"""What may follow "one hour thirty" for the thirty to be minutes."""
_ENDS_AFTER_AND = {"", ".", ",", "!", "?", "please", "thanks", "thank"}
"""What may follow "one hour and thirty"."""
_HYPHENED = re.compile(r"(?<=[a-z\d])-(?=(?:an?|and)-[a-z])|(?<=-an)-|(?<=-and)-|(?<=-a)-", re.I)
"""The hyphens of "half-an-hour" and "two-and-a-half-hour"; each is as long as the space."""


@dataclass(frozen=True, slots=True)
class Length:
    """A length in the units in which it was said, so that calendars can honour them.

    months and days are calendar units (a year is twelve months, a week seven days);
    seconds holds hours, minutes and seconds; total is all of it in nominal seconds.
    """

    months: Fraction = Fraction(0)
    days: Fraction = Fraction(0)
    seconds: Fraction = Fraction(0)
    total: Fraction = Fraction(0)

    def plus(self, count: Fraction, unit: str) -> Length:
        """This length and ``count`` more of a unit."""
        total = self.total + count * SECONDS[unit]
        if unit in ("month", "year", "decade"):
            months = count * {"month": 1, "year": 12, "decade": 120}[unit]
            return replace(self, months=self.months + months, total=total)
        if SECONDS[unit] >= SECONDS["day"]:
            return replace(self, days=self.days + count * SECONDS[unit] / 86_400, total=total)
        return replace(self, seconds=self.seconds + count * SECONDS[unit], total=total)


@dataclass(frozen=True, slots=True)
class LengthHit:
    """A length that takes the tokens up to (not including) index ``end``."""

    length: Length
    end: int


def parse_duration(
    text: str,
    *,
    default_unit: Unit | None = None,
    colon: Literal["m:s", "h:m"] | None = None,
) -> int | float | None:
    """The seconds of a text that is nothing but a duration, or None.

    default_unit: what a bare number counts ("ninety" is None without it).
    colon: how "1:30" is read; None refuses it. "1:30:00" is always hours, minutes, seconds.
    0 is a duration; what to do with it is the caller's business.
    """
    tokens = tokenize(_HYPHENED.sub(" ", text))
    while tokens and tokens[-1].text in (".", "!", "?", ","):
        tokens.pop()
    start = 1 if word_at(tokens, 0) == "for" else 0
    hit = match_length(tokens, start)
    if hit is not None and hit.end == len(tokens):
        return _checked(hit.length.total)
    clock = _match_colon(tokens, start)
    if clock is not None and clock[2] == len(tokens):
        high, low, _ = clock
        parts = len(tokens) - start
        if parts == 3 and colon is None:
            return None
        return _checked((high * 60 + low) * (60 if colon == "h:m" and parts == 3 else 1))
    if default_unit is not None:
        number = match_number(tokens, start)
        if number is not None and number.end == len(tokens):
            return _checked(number.value * SECONDS[default_unit])
    return None


def find_duration(text: str) -> Span[int | float] | None:
    """The longest duration inside a sentence, or None when there is none that is sure."""
    return max(find_durations(text), key=lambda span: span.end - span.start, default=None)


def find_durations(text: str) -> list[Span[int | float]]:
    """All durations in a sentence that are sure, from left to right."""
    tokens = tokenize(_HYPHENED.sub(" ", text))
    spans: list[Span[int | float]] = []
    i = 0
    while i < len(tokens):
        hit = match_length(tokens, i)
        seconds = _checked(hit.length.total) if hit else None
        if hit and seconds is not None and not _is_unsure(tokens, i, hit.end):
            spans.append(Span(tokens[i].start, tokens[hit.end - 1].end, seconds))
        i = hit.end if hit else i + 1
    return spans


def _checked(seconds: Fraction) -> int | float | None:
    return plain(seconds) if 0 <= seconds <= MAX_SECONDS else None


def _is_unsure(tokens: Tokens, start: int, end: int) -> bool:
    """True for one half of a choice or range, and for what continues another number."""
    before, after = word_at(tokens, start - 1), word_at(tokens, end)
    if before in _CHOICE and start >= 2 and _ends_number(tokens, start - 1):
        return True
    between = "between" in {word_at(tokens, i) for i in range(start - 7, start - 2)}
    joined = before in ("and", "&", ",") and (between or not _ends_length(tokens, start - 1))
    if joined and (_ends_number(tokens, start - 1) or _unit_at(tokens, start - 2)):
        return True  # "aching minutes and ten seconds"
    decade = tokens[start].text.endswith("0") and word_at(tokens, start + 1) == "s"
    if decade and end == start + 2 and tokens[start + 1].glued:
        # "songs of the 80s" and "60s pop"
        return before in ("the", "from", "of") or after not in _ENDS
    counts = after in ("timer", "alarm") or after not in (*_ENDS, "and", "to", "or")
    if word_at(tokens, start) == "a" and word_at(tokens, end - 1) == "second" and counts:
        return True  # "a second alarm"
    if before in ("times", "twice", "once", "thrice", "per"):
        return True  # "three times a week"
    halved = before in _HALVES and word_at(tokens, start) in ("a", "an")
    if halved or after == "old" or (after == "-" and word_at(tokens, end + 1) == "old"):
        return True
    if _unit_follows(tokens, end):
        return True  # "an hour and aching minutes"
    if before == "-" and not tokens[start - 1].glued and tokens[start].glued:
        return True
    if _ends_number(tokens, start) or before in ("point", "minus", "negative", "few", "several"):
        return True
    if match_number(tokens, end, signed=False) is not None and tokens[end - 1].is_word:
        return True
    return after == "or" and (
        match_number(tokens, end + 1) is not None or match_length(tokens, end + 1) is not None
    )


def _ends_number(tokens: Tokens, end: int) -> bool:
    """True when a number (or a length) ends right before token ``end``."""
    numbers = (match_number(tokens, i) for i in range(max(0, end - 6), end))
    return any(hit and hit.end == end for hit in numbers) or _ends_length(tokens, end)


def _ends_length(tokens: Tokens, end: int) -> bool:
    lengths = (match_length(tokens, i) for i in range(max(0, end - 8), end))
    return any(hit and hit.end == end for hit in lengths)


def _unit_follows(tokens: Tokens, end: int) -> bool:
    """True when a unit comes after "and", its number lost in what was heard."""
    if word_at(tokens, end) not in ("and", "&"):
        return False
    return bool(_unit_at(tokens, end + 2)) and not any(
        (hit := match_length(tokens, i)) and hit.end > end + 2 for i in (end + 1, end + 2)
    )


def match_length(tokens: Tokens, i: int) -> LengthHit | None:
    """The longest length that begins at token i, its units from large to small."""
    first = _match_part(tokens, i)
    if first is None:
        return None
    count, unit, end = first
    length = Length().plus(count, unit)
    smallest = largest = SECONDS[unit]
    while True:
        at = end
        if word_at(tokens, at) == ",":
            at += 1
        # "an hour in ten minutes" is how recognisers mishear "an hour and ten minutes"
        if word_at(tokens, at) in ("and", "&", "in"):
            at += 1
        part = _match_part(tokens, at)
        # days and longer may come in any order: "2 days 1 month"
        in_order = part is not None and (
            SECONDS[part[1]] < smallest
            or (SECONDS[part[1]] > largest and smallest >= SECONDS["day"])
        )
        if part is not None and (in_order or (part[1] == unit and 0 < part[0] < 1 and at > end)):
            count, unit, end = part
            length = length.plus(count, unit)
            smallest, largest = min(smallest, SECONDS[unit]), max(largest, SECONDS[unit])
            continue
        tail = _match_fraction_tail(tokens, end)
        if tail is not None and count.denominator == 1:
            count, end = tail  # now a fraction: it is not followed by another
            length = length.plus(count, unit)
            continue
        bare = _match_bare_tail(tokens, end, unit)
        return LengthHit(length.plus(*bare[:2]), bare[2]) if bare else LengthHit(length, end)


Part = tuple[Fraction, str, int]
"""How many, of which unit, and the index of the token after."""


def _match_part(tokens: Tokens, i: int) -> Part | None:
    """A number with its unit."""
    if i >= len(tokens):
        return None
    clock = _match_colon(tokens, i)
    if clock is not None:
        high, low, end = clock
        unit = UNITS_BY_WORD.get(word_at(tokens, end), "")
        return (high + low / 60, unit, end + 1) if unit in ("hour", "minute") else None
    count = _match_count(tokens, i)
    if count is None:
        return None
    value, at = count
    if word_at(tokens, at) == "-":
        at += 1
    while word_at(tokens, at) in _MORE + _WHOLE:
        at += 1
    unit = _unit_at(tokens, at)
    if not unit or _is_ordinal_second(tokens, i, at):
        return None
    return value, unit, at + 1


def _match_count(tokens: Tokens, i: int) -> tuple[Fraction, int] | None:
    """How many of the unit that follows: "two", "half an", "a quarter of an", "an", "another"."""
    word = word_at(tokens, i)
    if word == "another":
        rest = _match_count(tokens, i + 1)
        return rest if rest is not None else (Fraction(1), i + 1)
    number = match_number(tokens, i, signed=False)
    if number is not None:
        value, at = number.value, number.end
        if value < 1 or word_at(tokens, at - 1) == "couple":
            if word_at(tokens, at) == "of":
                at += 1
            # "half in hour" and "half and hour" are how recognisers mishear "half an hour"
            articles = ("a", "an", "in", "and") if word == "half" else ("a", "an", "one")
            if value < 1 and word_at(tokens, at) in articles and _unit_at(tokens, at + 1):
                at += 1
        elif word_at(tokens, at - 1) in ("half", "quarter") and word_at(tokens, at) in ("a", "an"):
            at += 1  # "one and half an hour"
        return value, at
    if word == "couple":
        return Fraction(2), i + 1 + (word_at(tokens, i + 1) == "of")
    if word in ("a", "an"):
        plural = word_at(tokens, i + 1).endswith("s") and word_at(tokens, i + 1) not in _OWNED
        return None if plural else (Fraction(1), i + 1)
    if word in _WHOLE or word == "all":
        return Fraction(1), i + 1
    ends = ("", ".", ",", "!", "?", "and", "or", "please")
    named = word == "the" and word_at(tokens, i - 1) == "for" and word_at(tokens, i + 1) != "day"
    if named and word_at(tokens, i + 2) in ends:
        return Fraction(1), i + 1  # "away for the week"
    # "timer for have an hour": the recogniser's way to write "half"
    if word in _HALVES and word_at(tokens, i - 1) in ("", "for", "in"):
        return (Fraction(1, 2), i + 2) if word_at(tokens, i + 1) in ("a", "an") else None
    # "hour and a half", the article lost; after another word its number may be lost
    lost = word_at(tokens, i - 1) in _BEFORE_BARE_UNIT and word in ("hour", "minute", "day")
    return (Fraction(1), i) if lost and _match_fraction_tail(tokens, i + 1) else None


def _unit_at(tokens: Tokens, i: int) -> str:
    word = word_at(tokens, i)
    unit = UNITS_BY_WORD.get(word, "") or _OWNED.get(word, "")
    if not unit and word in _LETTERS and digits_at(tokens, i - 1) is not None:
        # "3 h", "5m" and "1 h 30 m"; "5 m" alone may be metres
        after_hours = word_at(tokens, i - 2) == "h"
        unit = _LETTERS[word] if tokens[i].glued or word in "hs" or after_hours else ""
    if not unit and word == "our" and word_at(tokens, i - 1) in ("an", "half"):
        unit = "hour"
    return unit


def _is_ordinal_second(tokens: Tokens, i: int, at: int) -> bool:
    """True at "the twenty second" and "twenty second of may", which are days."""
    if word_at(tokens, at) != "second":
        return False
    place = match_ordinal(tokens, i)
    if place is None or place.end != at + 1:
        return False
    return word_at(tokens, i - 1) == "the" or word_at(tokens, at + 1) == "of"


def _match_fraction_tail(tokens: Tokens, i: int) -> tuple[Fraction, int] | None:
    """Reads "and a half" after a unit, and "in a half", which is how it is misheard."""
    word = word_at(tokens, i)
    if word not in ("and", "&", "in") or (word == "in" and word_at(tokens, i + 1) != "a"):
        return None
    part = match_number(tokens, i + 1, signed=False)
    if part is None or not 0 < part.value < 1:
        return None
    # not the beginning of "and half past seven" or "and a quarter of an hour"
    other = word_at(tokens, part.end) in ("past", "to", "of", "after")
    return None if other else (part.value, part.end)


def _match_bare_tail(tokens: Tokens, i: int, unit: str) -> Part | None:
    """Reads minutes or seconds without their name: the thirty of "one hour thirty"."""
    lower = _NEXT_LOWER.get(unit)
    joined = word_at(tokens, i) == "and"
    bare = match_number(tokens, i + 1 if joined else i, signed=False)
    # after "and" a small number may count something else: "5 minutes and one for the eggs"
    least, ends = (10, _ENDS_AFTER_AND) if joined else (1, _ENDS)
    if lower and bare and least <= bare.value < 60 and word_at(tokens, bare.end) in ends:
        return bare.value, lower, bare.end
    return None


def _match_colon(tokens: Tokens, i: int) -> tuple[Fraction, Fraction, int] | None:
    """1:30 or 1:30:00 as (minutes or hours, the rest below it, end); the parts in sixtieths.

    Of three parts, hours and minutes come together as the first value, in minutes.
    """
    parts: list[Fraction] = []
    at = i
    while at < len(tokens) and tokens[at].text.isdecimal() and len(parts) < 3:
        if parts and not (tokens[at].glued and len(tokens[at].text) == 2):
            return None
        parts.append(Fraction(tokens[at].text))
        at += 1
        if word_at(tokens, at) != ":" or not tokens[at].glued:
            break
        at += 1
    if len(parts) < 2 or any(part >= 60 for part in parts[1:]) or parts[0] > 999:
        return None
    if len(parts) == 3:
        return parts[0] * 60 + parts[1], parts[2], at
    return parts[0], parts[1], at
