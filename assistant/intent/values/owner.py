"""Days that own something: "tomorrow's weather", "todays news"."""

from __future__ import annotations

from dataclasses import replace

from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.tokens import Token

_OWNERS = frozenset(
    """today tomorrow yesterday tonight morning afternoon evening night monday tuesday wednesday
    thursday friday saturday sunday weekend""".split()
)


def unowned(tokens: Tokens, i: int) -> Token:
    """The token as the day that owns something: "tomorrow's weather", "todays news"."""
    text = tokens[i].text
    if text in ("todays", "tomorrows", "tonights", "yesterdays"):
        return replace(tokens[i], text=text[:-1])
    owner = text.removesuffix("'s")
    relative = word_at(tokens, i - 1) in ("this", "next", "last")
    if owner != text and (owner in _OWNERS or (owner in ("week", "month", "year") and relative)):
        return replace(tokens[i], text=owner)
    return tokens[i]
