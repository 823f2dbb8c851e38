"""What the language model is told before the conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from assistant.dialogue.history import Exchange
from assistant.intent.normalize import normalize

EXAMPLES = (
    Exchange("Who won the game last night?", "I'm not sure. I can't look that up."),
    Exchange("What is two plus two?", "Two plus two is four."),
    Exchange("Where is my umbrella?", "I don't know, sorry."),
)
"""How a question of fact is answered. For talk they would make the answers too short."""

MAX_TIMERS = 5
"""More would crowd a small model's prompt without being used."""


_TIME_WORDS = frozenset(
    """time clock date days weekday tonight tomorrow yesterday week weekend weeks month months
    year years season winter spring summer autumn fall christmas easter birthday late early ago
    monday tuesday wednesday thursday friday saturday sunday january february march april june
    july august september october november december""".split()
)
_TIMER_WORDS = frozenset(
    "timer timers alarm alarms left ready done finished until ring rings wait".split()
)
_ASKING = frozenset(
    """what who whom whose where when why how which is are am was were do does did can could will
    would should shall may have has""".split()
)


_ROOM = re.compile(r"\b(?:which|what|this|the) room\b|\bwhere (?:are we|are you)\b|\bin here\b")
_DONE = re.compile(
    r"\byou (?:just |really |ever )?(?:do|did|done|doing|set|say|said|change|changed|add|added)\b"
    r"|\b(?:did|does|has) (?:it|that|this) (?:work|worked|happen|go)\b|\bjust now\b"
)


def concerns(text: str, timers: Sequence[str] = ()) -> frozenset[str]:
    """What a sentence has to do with: "time", "timers" (of these names), "room", "done".

    done: what was just done. Facts that nobody asked for turn up in a small model's answers all
    the same.
    """
    plain = normalize(text)
    words = set(plain.split())
    named = {word for name in timers for word in normalize(name).split()}
    asks = bool(words & _ASKING) or "tell" in words or text.rstrip().endswith("?")
    found = {
        "time": asks and not _TIME_WORDS.isdisjoint(words),
        "timers": not (_TIMER_WORDS | named).isdisjoint(words),
        "room": _ROOM.search(plain) is not None,
        "done": _DONE.search(plain) is not None,
    }
    return frozenset(matter for matter, is_meant in found.items() if is_meant)


def as_written(text: str) -> str:
    """A sentence in lower case as it would be written: to others a small model answers less well.

    "i am tired" -> "I am tired."
    """
    text = text.strip()
    if text != text.lower() or not text:
        return text
    text = re.sub(r"\bi\b", "I", text[0].upper() + text[1:])
    if not text[-1].isalnum():
        return text
    return text + ("?" if text.split()[0].partition("'")[0].lower() in _ASKING else ".")


def facts(
    now: datetime | None = None, *, timers: Sequence[str] = (), room: str = "", done: str = ""
) -> tuple[str, ...]:
    """What is true right now, in sentences; what is not given is not mentioned.

    timers: spoken forms, such as "pasta, 4 minutes left".
    room: as people call it, such as "kitchen".
    done: what was said of the last command, such as "Timer set for 5 minutes."
    """
    lines = []
    if now is not None:
        lines.append(f"It is {now:%A}, {now.day} {now:%B %Y, %H:%M}.")
    if room:
        lines.append(f"You are in the {room}.")
    if timers:
        lines.append(f"Running timers: {'; '.join(timers[:MAX_TIMERS])}.")
    if done:
        lines.append(f"Just now: {done}")
    return tuple(lines)


def system_text(instructions: str, facts: Sequence[str] = ()) -> str:
    """The system message: the instructions, then the facts as a short list.

    The instructions come first and never change, so that their part of the KV cache is used
    again in every turn.
    """
    if not facts:
        return instructions
    return instructions + "\n\nFacts:\n" + "\n".join(f"- {fact}" for fact in facts)
