"""What stands around a number decides how the word after it is said."""

from __future__ import annotations

import re

_ARTICLE = re.compile(r"(?:^|[\s(\"'])(?:a|an|another|every|each)\s+$", re.IGNORECASE)
_NOUN = re.compile(r"[ -](?P<word>[a-z]{2,})")

_NO_NOUN = frozenset(
    "a about after again ago all an and apart are as at away back be because before behind below "
    "but by can cheaper each every extra for from had has have heavier high higher if in into is "
    "it its later left less long longer lower may more most near not now of off old on only or "
    "out over per plus shorter since so tall taller than that the then they this through to today "
    "tomorrow under until up was we were when which while who wide will with within would yet "
    "you".split()
)
"""Words after which "a 5 km ..." is no adjective."""


def is_attributive(text: str, start: int, end: int) -> bool:
    """Whether the quantity at text[start:end] stands before its noun: "a 5 km run".

    A measure in front of its noun is in the singular: "a five kilometer run".
    """
    if not _ARTICLE.search(text, max(0, start - 12), start):
        return False
    noun = _NOUN.match(text, end)
    return noun is not None and noun["word"] not in _NO_NOUN
