"""The kinds of values in games of chance: {dice}, {span}, {choices}."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import pairwise
from typing import Any

from assistant.intent.goods import DISHES, is_goods, singular
from assistant.intent.values.number import parse_number

MAX_DICE = 100
MAX_SIDES = 1000
MAX_CHOICES = 20
MAX_CHOICE_WORDS = 6
MAX_GOODS_WORDS = 3

_SHORT = re.compile(r"^(?P<count>\d{0,3}) ?d ?(?P<sides>\d{1,4})s?$")
_LONG = re.compile(r"^(?:(?P<count>.+?) )?(?:(?P<sides>[\w -]+?)[ -]sided )?(?:die|dice|dices)$")
_SPAN = re.compile(
    r"^(?:between |from )?(?P<low>.+?)(?: ?- ?| and | to | through | till | or )(?P<high>.+)$"
)
_OR = re.compile(r"\s*(?:,\s*or|\bor|,|;|\bversus|\bvs)\s+")
_AND = re.compile(r"\s*(?:,\s*and|\band|,|;)\s+")
_LEAD = re.compile(
    r"^(?:(?:between|from|among|of|either|randomly|one|at random|for me|out of)\s+)+"
)
_NO_CHOICE = frozenset(
    """up on off out in at to for with about not what which who when where why how if then else be
    is are was were do does did you i we they he she it""".split()
)
"""No choice begins with these: the sentence is about something else."""

_ALIKE = tuple(
    frozenset(words.split())
    for words in (
        "red blue green yellow black white orange purple pink brown grey gray",
        "tea coffee water juice beer wine milk cola lemonade",
        "pizza pasta rice soup salad burgers curry sushi noodles",
        "monday tuesday wednesday thursday friday saturday sunday",
        "rock paper scissors",
    )
)
"""Single words that are choices of their own also where no comma stands between them."""

_WORDS = {"a": 1, "the": 1, "my": 1, "an": 1, "another": 1, "some": 2, "a pair of": 2, "a few": 3}


def dice(text: str, now: datetime) -> dict[str, Any] | None:
    """The slots count and sides: "two dice", "a d20", "3d6", "a twenty sided die"."""
    words = text.casefold().strip()
    for article in ("a ", "the ", "my "):
        if _SHORT.match(words.removeprefix(article)):
            words = words.removeprefix(article)
    found = _SHORT.match(words)
    if found is None:
        first, _, rest = words.partition(" ")
        number = parse_number(first)
        if number is not None and (found := _SHORT.match(rest)):
            return _checked(number, int(found["sides"]))
        found = _LONG.match(words)
        if found is None:
            return None
        return _checked(_count(found["count"]), _number(found["sides"], 6))
    return _checked(int(found["count"] or 1), int(found["sides"]))


def span(text: str, now: datetime) -> dict[str, Any] | None:
    """The slots low and high of "1 and 10", "one to a hundred" or "1-10"."""
    found = _SPAN.match(text.casefold().strip())
    if found is None:
        return None
    low, high = parse_number(found["low"].strip()), parse_number(found["high"].strip())
    if not isinstance(low, int) or not isinstance(high, int):
        return None
    return {"low": min(low, high), "high": max(low, high)}


def choices(text: str, now: datetime) -> list[str] | None:
    """Two or more things with "or" between: "pizza or pasta", "red, green or blue"."""
    return _parts(text, _OR)


def both(text: str, now: datetime) -> list[str] | None:
    """Two or more things with "and" between, as behind "between"."""
    return _parts(text, _OR) or _parts(text, _AND)


def of_a_kind(text: str, now: datetime) -> list[str] | None:
    """As ``choices``, of things that are surely such, so that nothing need be said around them."""
    parts = _parts(text, _OR)
    if parts is None or " or " not in text.casefold():
        return None
    named = [part.casefold().removeprefix("a ") for part in parts]
    alike = any(all(name in kind for name in named) for kind in _ALIKE)
    return parts if alike or all(map(_sold, named)) else None


def _sold(name: str) -> bool:
    return is_goods(name) and len(name.split()) <= MAX_GOODS_WORDS


def _parts(text: str, between: re.Pattern[str]) -> list[str] | None:
    parts = [part.strip(" .?!,") for part in between.split(_LEAD.sub("", text.strip()))]
    parts = [one for part in parts if part for one in _apart(part, parts[-1])]
    if not 2 <= len(parts) <= MAX_CHOICES:
        return None
    words = [part.casefold().split() for part in parts]
    named = all(len(w) <= MAX_CHOICE_WORDS and w[0] not in _NO_CHOICE for w in words)
    return parts if named else None


def _apart(part: str, last: str) -> list[str]:
    """The choices of "tea coffee" before "or water", which is one of their kind."""
    words = part.split()
    kind = next((kind for kind in _ALIKE if last.casefold() in kind), frozenset())
    if all(word.casefold() in kind for word in words):
        return words
    return words if _goods_in_a_row([*words, *last.split()]) else [part]


def _goods_in_a_row(words: list[str]) -> bool:
    """Whether each word is a thing to buy of its own: not "apple juice", not "pasta salad"."""
    low = [word.casefold() for word in words]
    pairs = pairwise(low[:-1])
    return all(map(is_goods, low)) and not any(
        singular(second) in DISHES and singular(first) == first for first, second in pairs
    )


def _count(words: str | None) -> int | float | None:
    if not words:
        return 1
    return _WORDS.get(words) or parse_number(words)


def _number(words: str | None, default: int) -> int | float | None:
    return parse_number(words) if words else default


def _checked(count: int | float | None, sides: int | float | None) -> dict[str, Any] | None:
    if not isinstance(count, int) or not isinstance(sides, int):
        return None
    if not 1 <= count <= MAX_DICE or not 2 <= sides <= MAX_SIDES:
        return None
    return {"count": count, "sides": sides}
