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

from assistant.intent import chance_slots, maths_slots, time_slots
from assistant.intent.list_slots import goods, items, list_name
from assistant.intent.values.colour import parse_colour
from assistant.intent.values.duration import UNITS_BY_WORD, find_duration, parse_duration
from assistant.intent.values.money import parse_money
from assistant.intent.values.number import find_numbers, parse_number
from assistant.intent.values.ordinal import parse_ordinal
from assistant.intent.values.percent import parse_percent
from assistant.intent.values.temperature import parse_temperature
from assistant.intent.values.when import parse_time

Parser = Callable[[str, datetime], Any]
"""Takes the words and the present time; gives a JSON-ready value or None.

A dictionary fills several slots at once.
"""

MAX_NAME_WORDS = 10
MAX_LABEL_WORDS = 4
MAX_PLACE = 100
MAX_PERSON_WORDS = 3

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
        "the a an sound schedule setting starting making putting giving stopping",
        "minus negative plus point daily weekday weekdays weekend weekends weekly everyday",
        "recurring repeating regular adjust reschedule shift push update move bring",
    )
    for word in line.split()
)


def parse_slot(slot: str, kind: str, text: str, now: datetime) -> dict[str, Any] | None:
    """The slots that the words ``text`` fill in place of {kind:slot}, or None."""
    try:
        value = PARSERS[kind](text, now)
    except (OverflowError, ValueError):
        # a day that no calendar has, as with a clock at the end of the year 9999
        return None
    if value is None:
        return None
    return value if isinstance(value, dict) else {slot: value}


_TWO = re.compile(
    r"\b(?:and|then)\b(?:.* (?:timer|alarm|reminder)s?\b"
    r"| (?:another|a second|one|one more)(?: one)? (?:for|of|at)\b)"
)


def name(text: str, now: datetime) -> str | None:
    """Any words, in lower case and without the article."""
    words = _ARTICLES.sub("", text.strip(" \t\"'.,!?").casefold()).split()
    named = " ".join(words)
    # "the rice and a five minute timer for the eggs" are two commands
    return named if 0 < len(words) <= MAX_NAME_WORDS and not _TWO.search(named) else None


def label(text: str, now: datetime) -> str | None:
    """A short name that stands before its noun: "pasta" in "pasta timer"."""
    words = (name(text, now) or "").split()
    if not 0 < len(words) <= MAX_LABEL_WORDS:
        return None
    if any(word in _NO_LABEL or word in UNITS_BY_WORD for word in words):
        return None
    # "timer for friday at noon": a day or a time is no name
    named = " ".join(words)
    return None if find_numbers(text) or parse_time(named, now) else named


def person(text: str, now: datetime) -> str | None:
    """What somebody is called: one to three words, none of them an article or a verb."""
    words = text.strip(" .,!?").split()
    if not 0 < len(words) <= MAX_PERSON_WORDS or find_numbers(text):
        return None
    return None if any(w in _NO_LABEL or w in _NO_PERSON for w in words) else " ".join(words)


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


def labelled(text: str, now: datetime) -> dict[str, Any] | None:
    """A name with a length after it: "pizza 14 minutes"."""
    words = text.casefold().split()
    for cut in range(1, min(MAX_LABEL_WORDS + 1, len(words))):
        named, seconds = label(" ".join(words[:cut]), now), duration(" ".join(words[cut:]), now)
        if named and seconds is not None:
            return {"name": named, "duration": seconds}
    return None


def which(text: str, now: datetime) -> dict[str, Any] | None:
    """What tells one timer from the others: its name, length, place, or time of day."""
    words = _ARTICLES.sub("", text.casefold().strip())
    if words in _PLACES:
        place = _PLACES[words]
        return {"which": place} if place else {}
    nth = parse_ordinal(words)
    # nobody has so many timers that the "sixty second" one would be a place
    length = parse_duration(words) if nth else None
    if nth is not None and 0 < nth <= MAX_PLACE and length is None:
        return {"which": nth}
    named = label(text, now)
    found = {"name": named} if named else timed(text, now)
    moment = None if found else time(words, now)
    return {"until": moment} if moment else found


def place(text: str, now: datetime) -> int | None:
    """A number that counts timers, as in "timer number two"."""
    number = parse_number(text)
    return number if isinstance(number, int) and 0 < number <= MAX_PLACE else None


def more(text: str, now: datetime) -> int | float | None:
    """Seconds of a length that is said to be one more: "five more minutes"."""
    return duration(text, now) if _MORE.search(text) else None


def time(text: str, now: datetime) -> str | None:
    """A moment as ISO 8601 text. A bare number is none: "ten" may be minutes."""
    if parse_number(text) is not None or _starts_with_preposition(text):
        return None
    return _moment(text, now)


def _moment(text: str, now: datetime) -> str | None:
    found = parse_time(_exactly(text), now)
    return found.at.isoformat(timespec="seconds") if found and found.has_time else None


def _exactly(text: str) -> str:
    """The value without "about", "exactly", "or so": it is set as it was said."""
    return _HEDGE_AFTER.sub("", _HEDGE_BEFORE.sub("", text.casefold()))


def duration(text: str, now: datetime) -> int | float | None:
    """Seconds."""
    return parse_duration(_exactly(text))


def end(text: str, now: datetime) -> dict[str, Any] | None:
    """When something ends: its length ("ten minutes") or a moment ("seven pm").

    A bare number is kept as such, for the skill to ask what it counts.
    """
    if _starts_with_preposition(text):
        return None
    seconds = duration(text, now)
    if seconds is not None:
        return {"duration": seconds}
    number = parse_number(text)
    if number is not None:
        return {"number": number}
    moment = time(text, now)
    return {"until": moment} if moment else None


def until(text: str, now: datetime) -> dict[str, Any] | None:
    """What stands after "until" or "at": a bare number is an hour, "1500 hours" a time."""
    moment = None if _starts_with_preposition(text) else _moment(text, now)
    return {"until": moment} if moment else end(text, now)


def _only(value: Any, slot: str = "until") -> dict[str, Any] | None:
    """A value as the only slot that it fills."""
    return {slot: value} if value is not None else None


def _starts_with_preposition(text: str) -> bool:
    """The templates hold these words; read as a part of the value, "for ten" is ten o'clock."""
    return text.partition(" ")[0] in _PREPOSITIONS


def level(text: str, now: datetime) -> dict[str, Any] | None:
    """A place on the scale from 0 to 100; ``said`` is kept when it was off the scale.

    "Seven out of ten" is 70.
    """
    tenth = _OF_TEN.sub("", text)
    if tenth != text:
        number = parse_number(tenth)
        return {"level": number * 10} if number is not None and 0 <= number <= 10 else None
    found = parse_percent(text)
    if found is None:
        return None
    return {"level": found.value, "said": found.said} if found.clamped else {"level": found.value}


def percent(text: str, now: datetime) -> int | float | None:
    """A part of the scale, such as a step of "20 percent"; "to 20" is none."""
    if _starts_with_preposition(text):
        return None
    found = parse_percent(text)
    return found.said if found is not None else None


_PREPOSITIONS = frozenset(["for", "at", "until", "till", "to", "in", "of", "from", "after", "by"])

_HEDGE_BEFORE = re.compile(
    r"^(?:(?:about|around|roughly|approximately|exactly|precisely|only|just|like|the next"
    r"|say) )+"
)
_HEDGE_AFTER = re.compile(
    r"(?: (?:exactly|precisely|sharp|or so|on the dot|please|starting now|beginning now))+$"
)

_NO_PERSON = frozenset(
    """not maybe later back crazy old it's spelled hard easy too very so the than was were has had
    names same like tomorrow tonight today again""".split()
)
_MORE = re.compile(r"\b(?:more|extra|another|additional)\b")
_OF_TEN = re.compile(r" out of (?:ten|10)$")

_PLACES = {
    **dict.fromkeys(("last", "latest", "newest", "most recent"), "last"),
    "oldest": "first",
    **dict.fromkeys(("current", "running", "active", "only"), ""),
}


def money(text: str, now: datetime) -> dict[str, Any] | None:
    """A sum of money: its ``amount`` and its ``currency`` (ISO 4217)."""
    found = parse_money(text)
    return {"amount": found.amount, "currency": found.currency} if found else None


def temperature(text: str, now: datetime) -> int | float | None:
    """Degrees; a bare number counts ("set it to 21")."""
    found = parse_temperature(text)
    return found.degrees if found else parse_number(text)


PARSERS: dict[str, Parser] = {
    "colour": lambda text, now: parse_colour(text),
    "money": money,
    "ordinal": lambda text, now: parse_ordinal(text),
    "temperature": temperature,
    "day": time_slots.day,
    "lengths": time_slots.lengths,
    "month": time_slots.month,
    "named_day": time_slots.named_day,
    "moment": time_slots.moment,
    "recurring": time_slots.recurring,
    "reminder": time_slots.reminder,
    "rule": time_slots.rule,
    "somewhere": time_slots.somewhere,
    "time_there": time_slots.time_there,
    "zone": time_slots.zone,
    "task": time_slots.task,
    "task_at": time_slots.task_at,
    "alarm_time": lambda text, now: (
        time_slots.recurring(text, now)
        or time_slots.alarm_times(text, now)
        or _only(time(text, now))
        or time_slots.alarm_time(text, now)
    ),
    "alarm_times": time_slots.alarm_times,
    "schedule": lambda text, now: (
        time_slots.recurring(text, now) or time_slots.alarm_times(text, now) or until(text, now)
    ),
    "target": lambda text, now: _only(time_slots.target(text, now) or until(text, now), "to"),
    "both": chance_slots.both,
    "choices": chance_slots.choices,
    "of_a_kind": chance_slots.of_a_kind,
    "dice": chance_slots.dice,
    "duration": duration,
    "end": end,
    "figure": maths_slots.figure,
    "goods": goods,
    "items": items,
    "level": level,
    "list_name": list_name,
    "measure": maths_slots.measure,
    "name": name,
    "label": label,
    "labelled": labelled,
    "more": more,
    "number": lambda text, now: parse_number(text),
    "percent": percent,
    "person": person,
    "span": chance_slots.span,
    "sum": maths_slots.sum_,
    "unit": maths_slots.unit,
    "place": place,
    "time": time,
    "timed": timed,
    "until": until,
    "which": which,
}
