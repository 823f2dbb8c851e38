"""What was heard beyond the words that the assistant itself is saying.

The microphone hears its voice too: of "your tea timer is done stop" only the last word was said to
it, and of "the bus stop timer" none.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[\w']+")


def beyond(heard: str, saying: str) -> str:
    """The words of ``heard`` without those in front that are a piece of ``saying``; "" where all
    of them are."""
    words, own = _WORD.findall(heard.lower()), _WORD.findall(saying.lower())
    size = len(words)
    while size and not _holds(own, words[:size]):
        size -= 1
    return " ".join(words[size:])


def _holds(own: list[str], piece: list[str]) -> bool:
    return any(own[start : start + len(piece)] == piece for start in range(len(own)))
