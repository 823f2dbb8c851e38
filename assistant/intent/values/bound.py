"""Words that make a range of one point: "before", "since", "no later than", "or later"."""

from __future__ import annotations

from typing import Literal

from assistant.intent.values.cardinal import Tokens, word_at

Side = Literal["before", "until", "after", "since"]
"""until and since take the point in, before and after leave it out."""


def _table(phrases: dict[str, str]) -> dict[tuple[str, ...], Side]:
    return {
        tuple(phrase.split()): side  # type: ignore[misc]
        for side, listed in phrases.items()
        for phrase in listed.split("|")
    }


_BEFORE = _table(
    {
        "before": "before|earlier than|sooner than|prior to|no later than|not later than|by|until"
        "|till|til|up to|up until|ending with|ending on|<|in advance of"
        "|any time before|anytime before",
        "until": "before or in|before or on|before or at|on or before|at or before|in or before"
        "|on or earlier than|at or earlier than|earlier than or in|earlier than or on"
        "|earlier than or at|as late as|< =|<="
        "|in or earlier than|by or before|not after|up to and including",
        "after": "after|later than|>|greater than|not before|any time after"
        "|anytime after|newer than|more recent than",
        "since": "since|ever since|starting|starting from|starting on|starting with|starting in"
        "|starting at|beginning|beginning on|beginning from|beginning in|beginning at|as early as"
        "|on or after|at or after|in or after|after or in|after or on|after or at|> =|>="
        "|no earlier than|not earlier than|no sooner than|on or later than|at or later than"
        "|effective|effective from|as of|dating from|from and after|any time from|anytime from"
        "|on or since|at or since|later than or at|later than or on|later than or in"
        "|in or later than|any time since|anytime since",
    }
)
_AFTER = _table(
    {
        "until": "or before|or earlier|and before|and earlier|or sooner|at the latest"
        "|and no later|or any time before|or anytime before|and prior",
        "since": "or after|or later|and after|and later|and onwards|and onward|onwards|onward"
        "|or any time after|or anytime after|or newer|at the earliest|or greater"
        "|and greater|or more recent|and on",
    }
)
_LONGEST = 4
_FIRST = frozenset(phrase[0] for phrase in _BEFORE)
_FIRST_AFTER = frozenset(phrase[0] for phrase in _AFTER)
BOUND_BEGINS = _FIRST | _FIRST_AFTER | {"more"}


def before_point(tokens: Tokens, i: int) -> tuple[Side, int] | None:
    """What stands before the point, and the index after it."""
    return _match(tokens, i, _BEFORE) if word_at(tokens, i) in _FIRST else None


def after_point(tokens: Tokens, i: int) -> tuple[Side, int] | None:
    """What stands after the point, and the index after it."""
    hit = _match(tokens, i, _AFTER) if word_at(tokens, i) in _FIRST_AFTER else None
    if hit is None or word_at(tokens, i) != "and":
        return hit
    # "on friday and after my holidays": that is said of what follows
    follow = word_at(tokens, hit[1])
    own = word_at(tokens, hit[1] - 1) in ("after", "before")
    return None if own and follow[:1].isalnum() and follow != "on" else hit


def _match(tokens: Tokens, i: int, table: dict[tuple[str, ...], Side]) -> tuple[Side, int] | None:
    words = tuple(token.text for token in tokens[i : i + _LONGEST])
    for length in range(len(words), 0, -1):
        if words[:length] in table:
            return table[words[:length]], i + length
    return None
