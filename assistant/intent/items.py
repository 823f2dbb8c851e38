"""Several things said in one breath: "milk, eggs and bread" are three.

Commas always part. An "and" parts what is surely two: both sides are common things to buy, or
begin with a number or an article. It stays in the name of one thing ("mac and cheese", "salt and
vinegar crisps", "chicken and mushroom pie"), and in what is not known.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from assistant.intent.goods import DISHES, FLAVOURS, PAIRS, STAPLES, is_goods, singular
from assistant.intent.values.number import find_numbers

MAX_ITEMS = 50
MAX_ITEM_WORDS = 20

_COMMA = re.compile(r"\s*(?:,(?!\d{3}\b)|;|\n)\s*|\s+(?:plus|as well as|and also|and then)\s+")
_AND = re.compile(r"\s+(?:and|&)\s+", re.IGNORECASE)
_EDGE = " \t\"'.,!?;:“”„‘’"
_LEAD = re.compile(r"^(?:(?:and|also|then|please|plus|um|uh)\s+)+", re.IGNORECASE)
_ARTICLE = re.compile(
    r"^(?:(?:the|my|our|some|any|more|an?(?!\s+(?:couple|few|bit|little|lot|half|third|quarter"
    r"|hundred|thousand|dozen)\b)(?!$))\s+)+",
    re.IGNORECASE,
)
_MARKED = re.compile(
    r"^(?:an?|the|my|our|some|more|half an?|another|one|two|three|four|five|six|seven|eight|nine"
    r"|ten|eleven|twelve|\d+\S*)\s",
    re.IGNORECASE,
)
_VERBS = frozenset(
    """answer arrange ask bake bring buy book call cancel change charge check clean collect cook
    cut deliver do download drop dust email empty exchange feed fetch file fill find finish fix fold
    get go hang help hoover install invite iron learn light make mail meet message mop mow order
    organise organize pack paint pay phone pick plan plant post practise prepare print put read
    remind renew repair replace reply research return ring schedule sell send sew sign sort study
    submit sweep take talk tell text throw tidy train update vacuum visit wash water weed wrap
    write""".split()
)


class _Part(NamedTuple):
    text: str
    low: str


def is_task(text: str) -> bool:
    """True for what is done and not bought: "call the plumber"."""
    words = text.casefold().split()
    return len(words) > 1 and words[0] in _VERBS


def split_items(text: str) -> list[str]:
    """The things that ``text`` names, each without its article, in the letters as said.

    Empty when there is none. "buy milk and call mum" are two tasks.
    """
    pieces = [piece for piece in _COMMA.split(text.strip(_EDGE)) if piece.strip(_EDGE)]
    found: list[str] = []
    for piece in pieces:
        found += _parted(_LEAD.sub("", piece), enumerated=len(pieces) > 1)
    items = [bare(item) for item in found]
    return [item for item in items if item][:MAX_ITEMS]


def bare(item: str) -> str:
    """Without article and punctuation; a dangling quote goes, that of "the '90s" stays."""
    return " ".join(_ARTICLE.sub("", _LEAD.sub("", item.strip(_EDGE))).split())


def _parted(text: str, *, enumerated: bool) -> list[str]:
    """The things between the "and"s of one piece."""
    words = _AND.split(text)
    if len(words) == 1:
        return [text]
    parts = [_Part(word, bare(word).casefold()) for word in words if word.strip(_EDGE)]
    joined: list[list[_Part]] = [[parts[0]]]
    for part in parts[1:]:
        if _is_one(joined[-1][-1].low, part.low, alone=len(parts) == 2):
            joined[-1].append(part)
        else:
            joined.append([part])
    if len(joined) == 1 or not (
        enumerated or len(joined) > 2 or all(_surely(group) for group in joined)
    ):
        return [text]
    tasks = [is_task(group[0].text.strip()) for group in joined]
    if any(tasks) and not all(tasks):
        return [text]
    return [
        thing
        for group in joined
        for thing in _run_together(" and ".join(part.text for part in group))
    ]


def _run_together(text: str) -> list[str]:
    """The things that a recogniser wrote without a comma: "milk eggs"."""
    things: list[list[str]] = [[]]
    for word in text.split():
        last = things[-1][-1].casefold() if things[-1] else ""
        parts = last in _ALONE or (is_goods(last) and singular(last) != last)
        if parts and word.casefold() in _NEXT:
            things.append([])
        things[-1].append(word)
    return [" ".join(words) for words in things]


_ALONE = frozenset(("milk", "bread", "butter", "cheese"))
_NEXT = frozenset("milk eggs bread butter cheese sugar flour rice pasta bananas apples".split())
"""What is a thing of its own behind a plural or a word of ``_ALONE``."""


def _is_one(left: str, right: str, *, alone: bool) -> bool:
    """Whether "and" between the two is part of a name."""
    before, after = left.split(), right.split()
    if not before or not after:
        return True
    for size in (1, 2):
        pair = f"{'-'.join(before[-size:])}|{after[0]}"
        if pair in PAIRS and (alone or len(after) == 1 or size == len(before)):
            return True
        if pair in FLAVOURS and len(after) > 1:
            return True
    # "apple and blackberry crumble": two flavours of one dish
    return (
        len(before) == 1
        and len(after) in (2, 3)
        and (singular(after[-1]) in DISHES or "-".join(map(singular, after[-2:])) in DISHES)
        and is_goods(left)
        and singular(left) == left
        and left not in STAPLES
        and is_goods(after[0])
        and singular(after[0]) == after[0]
    )


def _surely(group: list[_Part]) -> bool:
    """Whether the group is a thing of its own, whatever stands beside it."""
    text = " and ".join(part.low for part in group)
    said = group[0].text.strip()
    return (
        len(group) > 1
        or is_goods(text)
        or is_task(said)
        or bool(_MARKED.match(said))
        or bool(find_numbers(said))
    )
