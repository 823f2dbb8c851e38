"""What is called by its name alone, or "the second one", with the noun that sentences have.

"Cancel the pasta" is "cancel the pasta timer" while there is one of that name, and after the
alarms were told "the first one" is the first alarm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from assistant.intent.normalize import normalize, strip_courtesy

MAX_WORDS = 12
_LEAST_WORDS = 2

_ONE = re.compile(r"\b(?P<which>(?:the|that|this|my) (?:[\w'-]+ ){0,4}?)one\b")
_PLACE = re.compile(r"\b(?:the|my) (?:first|second|third|fourth|fifth|last|next|other)$")


def with_nouns(text: str, nouns: Mapping[str, str]) -> Iterator[str]:
    """The text with the noun put behind a name, for each name in it that stands without.

    nouns: by name, such as {"pasta": "timer"}.
    """
    plain = strip_courtesy(normalize(text))
    if not _LEAST_WORDS <= len(plain.split()) <= MAX_WORDS:
        return
    for name, noun in sorted(nouns.items(), key=lambda pair: -len(pair[0])):
        words = normalize(name)
        stem = re.escape(words.removesuffix("s") if len(words) > 3 else words)
        named = re.compile(rf"\b(?:(?:the|my|our) )?{stem}s?\b(?! (?:timer|alarm|reminder|list))")
        if named.search(plain) and named.fullmatch(plain) is None:
            yield named.sub(f"the {words} {noun}", plain, count=1)


def with_noun(text: str, noun: str) -> str:
    """ "the second one" as "the second alarm"; "" when nothing is put so."""
    plain = strip_courtesy(normalize(text))
    if not noun or len(plain.split()) > MAX_WORDS:
        return ""
    if _ONE.search(plain):
        return _ONE.sub(rf"\g<which>{noun}", plain, count=1)
    return f"{plain} {noun}" if _PLACE.search(plain) else ""
