"""Two or three commands in one sentence: "turn off the light and set a timer for an hour"."""

from __future__ import annotations

import re
from collections.abc import Callable

from assistant.intent.base import Intent

MAX_COMMANDS = 3
MAX_WORDS = 40

_SEAM = re.compile(
    r"(?:[,;.!?]\s*|\s+)(?:(?:and|then|after that|plus|but)\b[\s,]*(?:(?:then|also|after that"
    r"|please|next)\b[\s,]*)*)|[.;!?,]\s+",
    re.IGNORECASE,
)


def several(
    text: str, understand: Callable[[str], Intent | None], most: int = MAX_COMMANDS
) -> tuple[Intent, ...]:
    """The commands that a sentence is made of, in order; () when it is not wholly commands.

    understand: what reads one command, exactly; to be called only for a text that is none
        as a whole. The first cut of which both sides are understood counts.
    """
    if len(text.split()) > MAX_WORDS:
        return ()
    for seam in _SEAM.finditer(text):
        left, right = text[: seam.start()], text[seam.end() :]
        if not left.strip() or not right.strip():
            continue
        first = understand(left)
        if first is None:
            continue
        second = understand(right)
        if second is not None:
            return first, second
        rest = several(right, understand, most - 1) if most > 2 else ()
        if rest:
            return first, *rest
    return ()
