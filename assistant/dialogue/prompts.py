"""What the language model is told before the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

MAX_TIMERS = 5
"""More would crowd a small model's prompt without being used."""


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
