"""What is said right after a sentence about a list: "and butter", "no, on the to-do list"."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from assistant.intent.base import Intent
from assistant.intent.followup import followup
from assistant.intent.items import is_task, split_items
from assistant.intent.list_slots import list_name
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.values.number import find_numbers

MAX_ITEM_WORDS = 5
"""What is longer is a sentence of its own."""

_ABOUT_ITEMS = ("lists.add", "lists.remove", "lists.tick", "lists.check")
_ABOUT_LISTS = ("lists.read", "lists.count", "lists.clear")
_ON_LIST = re.compile(
    r"^(?:(?:put|add|move) (?:it|that|them|those) )?(?:(?:to|on|onto|in|into|of|for|about|from) )?"
    r"(?P<name>(?:(?:the|my|our) )?[\w' -]{1,40}) list$"
)
_AGAIN = r"(?: (?:again|please|instead|then))*"
_OF_IT = (
    ("lists.remove", re.compile(
        rf"(?:remove|delete|take|scratch) (?:it|that|them|those)(?: (?:off|from|away|out))?"
        rf"(?: the list)?{_AGAIN}"
    )),
    ("lists.tick", re.compile(
        rf"(?:tick|check|cross|strike|mark) (?:it|that|them|those) (?:off|as done)"
        rf"(?: the list)?{_AGAIN}"
    )),
    ("lists.add", re.compile(
        rf"(?:put|add) (?:it|that|them|those|some|one)(?: back)?"
        rf"(?: (?:on|to) (?:it|the list))?{_AGAIN}"
    )),
)  # fmt: skip
_IT = r"(?:it|that|there|that list|the list|this list)"
_WITH_IT = (
    ("lists.clear", re.compile(rf"(?:clear|empty|wipe|erase) {_IT}")),
    ("lists.add", re.compile(rf"(?:add|put|write) (?P<items>.+?)(?: (?:to|on|onto|in) {_IT})?")),
    (
        "lists.remove",
        re.compile(rf"(?:remove|delete|take) (?P<items>.+?) (?:from|off|off of) {_IT}"),
    ),
    ("lists.tick", re.compile(rf"(?:tick|check|cross) off (?P<items>.+?)(?: (?:on|from) {_IT})?")),
    ("lists.tick", re.compile(rf"(?:tick|check|cross) (?P<items>.+?) off(?: {_IT})?")),
    ("lists.check", re.compile(rf"(?:is|are|is there) (?P<items>.+?) (?:on|in) {_IT}")),
    (
        "lists.read",
        re.compile(
            rf"(?:what is|read|what do i have|read out what is) (?:on|in) {_IT}"
            r"|(?:read|tell|say|list) (?:it|that|them)(?: out| back| aloud| all)*"
            r"(?: to (?:me|us))?(?: (?:again|now|once more|out loud|please))*"
        ),
    ),
)
"""What is said of the list that was just spoken of."""

_ADD = re.compile(r"^\W*(?:(?:and|also|then|please|can you|could you)\s+)*add\s+", re.IGNORECASE)
_PHRASE = frozenset("to into on in up down out off away together".split())
"""In "add insult to injury" and "put the kettle on" the words are no items."""

_NO_ITEM = frozenset(
    """i you he she it we they me him her us them this that these those what who where when why how
    is are was were am do does did can could will would should your there here not no yes then
    one ones""".split()
)


def revised(last: Intent, text: str, now: datetime) -> Intent | None:
    """The intent that ``text`` makes of the last one about lists; None when it is none."""
    if (of_list := _of_list(last, text)) is not None:
        return of_list
    said = followup(text)
    kept: dict[str, Any] = {key: last.slots[key] for key in ("items", "list") if key in last.slots}
    on_list = _ON_LIST.match(said.rest)
    name = list_name(on_list["name"], now) if on_list else None
    if last.name in _ABOUT_LISTS:
        asks = said.kind in ("also", "correct") or (name and said.rest.startswith(("on ", "of ")))
        return Intent(last.name, {"list": name}) if name and asks else None
    if last.name not in _ABOUT_ITEMS or "items" not in kept:
        return None
    if name:
        return Intent(last.name, {**kept, "list": name})
    words = strip_courtesy(normalize(text))
    for intent, pattern in _OF_IT:
        if pattern.fullmatch(words) and last.name != intent:
            return Intent(intent, kept)
    if said.kind not in ("also", "correct"):
        return None
    items = _items(said.rest, text)
    if said.kind == "correct" and last.name == "lists.add" and len(kept["items"]) == 1:
        amount = find_numbers(said.rest)
        if len(amount) == 1 and len(said.rest.split()) <= 2 and amount[0].start == 0:
            # "make it two", "make it two pints"
            counted = said.rest[amount[0].end :].strip()
            link = f" {counted} of " if counted else " "
            return Intent(
                last.name, {**kept, "items": [f"{amount[0].value}{link}{kept['items'][0]}"]}
            )
    return Intent(last.name, {**kept, "items": items}) if items else None


def _of_list(last: Intent, text: str) -> Intent | None:
    """The intent of "add butter to it" or, of a list, "what's on it"."""
    words = strip_courtesy(normalize(text))
    slots = {"list": last.slots["list"]} if last.slots.get("list") else {}
    for name, pattern in _WITH_IT:
        found = pattern.fullmatch(words)
        if found is None:
            continue
        if "items" not in found.groupdict():
            return Intent(name, slots)
        if found["items"] in ("some", "one", "more"):
            return None
        bare = name == "lists.add" and found.end("items") == len(words)
        if bare and (not words.startswith("add ") or _PHRASE & set(found["items"].split())):
            return None
        items = _items(found["items"], text) or (_several(text) if bare else [])
        return Intent(name, {"items": items, **slots}) if items else None
    return None


def _several(text: str) -> list[str]:
    """Many things with commas between, behind "add"; [] for other sentences."""
    listed = _ADD.match(text)
    items = split_items(text[listed.end() :]) if listed and "," in text else []
    short = all(len(item.split()) <= MAX_ITEM_WORDS for item in items)
    return items if short and not any(_NO_ITEM & set(item.split()) for item in items) else []


def _items(rest: str, text: str) -> list[str]:
    """The things in what is left of a sentence; [] when it is none."""
    words = rest.split()
    if not 0 < len(words) <= MAX_ITEM_WORDS or (_NO_ITEM & set(words) and not is_task(rest)):
        return []
    return split_items(_as_said(rest, text))


def _as_said(rest: str, text: str) -> str:
    """The part of ``text`` that is ``rest``, in the letters as said; else ``rest`` itself."""
    words = text.split()
    size = len(rest.split())
    pieces = (" ".join(words[start : start + size]) for start in range(len(words) - size + 1))
    return next((piece.strip(" .,!?") for piece in pieces if normalize(piece) == rest), rest)
