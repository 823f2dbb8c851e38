"""Two or three commands in one sentence: "turn off the light and set a timer for an hour"."""

from __future__ import annotations

import re
from collections.abc import Callable

from assistant.intent.base import Intent
from assistant.intent.normalize import normalize, strip_courtesy

MAX_COMMANDS = 3
MAX_WORDS = 40

_SEAM = re.compile(
    r"(?:[,;.!?]\s*|\s+)(?:(?:and|then|after that|plus|but)\b[\s,]*(?:(?:then|also|after that"
    r"|please|next)\b[\s,]*)*)|[.;!?,]\s+",
    re.IGNORECASE,
)


_THE = r"(?:the|my|our|both|that|this|those|these)"
_VERB = re.compile(rf"^(?P<verb>(?:[\w']+ ){{1,3}}?)(?:{_THE}|an?|all)\b")
_NAMED = re.compile(rf"^{_THE} ")
_ANOTHER = re.compile(
    r"^(?:another|one more|a second|one)(?: one| timer| alarm| reminder)?(?= (?:for|at|in|to|of)\b)"
)
_SET = re.compile(
    r"^(?:set|start|make|create|add|i need|i want|give me|put)(?: [\w'-]+){0,6}? "
    r"(?P<what>timer|alarm|reminder)\b"
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
        second = understand(_in_full(left, right))
        if second is not None:
            return first, second
        rest = several(right, understand, most - 1) if most > 2 else ()
        if rest:
            return first, *rest
    return ()


def _in_full(left: str, right: str) -> str:
    """The second command with what it leaves out of the first.

    "cancel the egg timer", "the rice timer" -> "cancel the rice timer": alone it would set one;
    "set a timer for five minutes", "another for ten" -> "set a timer for ten".
    """
    first, second = strip_courtesy(normalize(left)), normalize(right)
    if another := _ANOTHER.match(second):
        made = _SET.match(first)
        return f"set a {made['what']}{second[another.end() :]}" if made else right
    verb = _VERB.match(first)
    return f"{verb['verb']}{second}" if verb and _NAMED.match(second) else right
