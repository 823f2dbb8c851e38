"""The kinds of values that a sentence template may ask for, such as {duration}.

The grammar takes any words in such a place; the parser here decides whether they are a
value. When they are not, the sentence does not match: nothing is done with a value that
nobody said.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from assistant.intent.values.duration import UNITS_BY_WORD, find_duration, parse_duration
from assistant.intent.values.number import find_numbers, parse_number
from assistant.intent.values.percent import parse_percent
from assistant.intent.values.when import parse_time

Parser = Callable[[str, datetime], Any]
"""Takes the words and the present time; gives a JSON-ready value or None.

A dictionary fills several slots at once.
"""

MAX_NAME_WORDS = 10
MAX_LABEL_WORDS = 4

_ARTICLES = re.compile(r"^(?:the|a|an|my|our|that|this|some)\s+")

# Words that are no part of a name standing before "timer": they mean that the
# template has bitten into another sentence.
_NO_LABEL = frozenset(
    word
    for line in (
        "timer timers countdown alarm alarms reminder for in to at until till by from with",
        "without called named and or but if when what which who how why where that this it is are",
        "was be do does set start stop cancel make create delete remove add take turn play tell",
        "give get put want need i i'm you me my your we us he she they them one ones all any some",
        "no every each both other another about up down on off of time left long much many few",
        "several while bit new brand last first second next running current now please half",
        "quarter",
        "pause resume restart reset unpause continue repeat snooze check show list change rename",
    )
    for word in line.split()
)


def parse_slot(slot: str, kind: str, text: str, now: datetime) -> dict[str, Any] | None:
    """The slots that the words ``text`` fill in place of {kind:slot}, or None."""
    value = PARSERS[kind](text, now)
    if value is None:
        return None
    return value if isinstance(value, dict) else {slot: value}


def name(text: str, now: datetime) -> str | None:
    """Any words, in lower case and without the article."""
    words = _ARTICLES.sub("", text.strip(" \t\"'.,!?").casefold()).split()
    return " ".join(words) if 0 < len(words) <= MAX_NAME_WORDS else None


def label(text: str, now: datetime) -> str | None:
    """A short name that stands before its noun: "pasta" in "pasta timer"."""
    words = (name(text, now) or "").split()
    if not 0 < len(words) <= MAX_LABEL_WORDS:
        return None
    if any(word in _NO_LABEL or word in UNITS_BY_WORD for word in words):
        return None
    return None if find_numbers(text) else " ".join(words)


def timed(text: str, now: datetime) -> dict[str, Any] | None:
    """A length before its noun, with or without a name: "ten minute", "5-minute pasta"."""
    text = _ARTICLES.sub("", text.casefold().strip())
    seconds = parse_duration(text)
    if seconds is not None:
        return {"duration": seconds}
    span = find_duration(text)
    if span is None or text[: span.start].strip():
        return None
    named = label(text[span.end :], now)
    return {"duration": span.value, "name": named} if named else None


def which(text: str, now: datetime) -> dict[str, Any] | None:
    """What tells one timer from the others: its name, its length, or its place."""
    words = _ARTICLES.sub("", text.casefold().strip())
    if words in _PLACES:
        place = _PLACES[words]
        return {"which": place} if place else {}
    named = label(text, now)
    return {"name": named} if named else timed(text, now)


def time(text: str, now: datetime) -> str | None:
    """A moment as ISO 8601 text. A bare number is none: "ten" may be minutes."""
    if parse_number(text) is not None or _starts_with_preposition(text):
        return None
    found = parse_time(text, now)
    return found.at.isoformat(timespec="seconds") if found and found.has_time else None


def end(text: str, now: datetime) -> dict[str, Any] | None:
    """When something ends: its length ("ten minutes") or a moment ("seven pm").

    A bare number is kept as such, for the skill to ask what it counts.
    """
    if _starts_with_preposition(text):
        return None
    seconds = parse_duration(text)
    if seconds is not None:
        return {"duration": seconds}
    number = parse_number(text)
    if number is not None:
        return {"number": number}
    moment = time(text, now)
    return {"until": moment} if moment else None


def _starts_with_preposition(text: str) -> bool:
    """The templates hold these words; read as a part of the value, "for ten" is ten o'clock."""
    return text.partition(" ")[0] in _PREPOSITIONS


def level(text: str, now: datetime) -> dict[str, Any] | None:
    """A place on the scale from 0 to 100; ``said`` is kept when it was off the scale."""
    found = parse_percent(text)
    if found is None:
        return None
    return {"level": found.value, "said": found.said} if found.clamped else {"level": found.value}


def percent(text: str, now: datetime) -> int | float | None:
    """A part of the scale, such as a step of "20 percent"."""
    found = parse_percent(text)
    return found.said if found is not None else None


_PREPOSITIONS = frozenset(["for", "at", "until", "till", "to", "in", "of", "from", "after", "by"])

_PLACES = {
    **dict.fromkeys(("last", "latest", "newest", "most recent"), "last"),
    **dict.fromkeys(("first", "oldest"), "first"),
    **dict.fromkeys(("current", "running", "active", "only"), ""),
}

PARSERS: dict[str, Parser] = {
    "duration": lambda text, now: parse_duration(text),
    "end": end,
    "level": level,
    "name": name,
    "label": label,
    "number": lambda text, now: parse_number(text),
    "percent": percent,
    "time": time,
    "timed": timed,
    "which": which,
}
