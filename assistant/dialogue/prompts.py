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


def concerns(text: str, timers: Sequence[str] = ()) -> tuple[bool, bool]:
    """Whether a sentence has to do with the time, and whether with the timers of these names.

    Facts that nobody asked for turn up in a small model's answers all the same.
    """
    words = set(normalize(text).split())
    named = {word for name in timers for word in normalize(name).split()}
    return not _TIME_WORDS.isdisjoint(words), not (_TIMER_WORDS | named).isdisjoint(words)


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
    now: datetime | None = None, *, timers: Sequence[str] = (), room: str = ""
) -> tuple[str, ...]:
    """What is true right now, in sentences; what is not given is not mentioned.

    timers: spoken forms, such as "pasta, 4 minutes left".
    room: as people call it, such as "kitchen".
    """
    lines = []
    if now is not None:
        lines.append(f"It is {now:%A}, {now.day} {now:%B %Y, %H:%M}.")
    if room:
        lines.append(f"You are in the {room}.")
    if timers:
        lines.append(f"Running timers: {'; '.join(timers[:MAX_TIMERS])}.")
    return tuple(lines)


def system_text(instructions: str, facts: Sequence[str] = ()) -> str:
    """The system message: the instructions, then the facts as a short list.

    The instructions come first and never change, so that their part of the KV cache is used
    again in every turn.
    """
    if not facts:
        return instructions
    return instructions + "\n\nFacts:\n" + "\n".join(f"- {fact}" for fact in facts)
