"""Which of the things just offered is meant: "the second one", "either", "both of them"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.values.ordinal import parse_ordinal

_LEAD = re.compile(
    r"^(?:(?:i (?:mean|meant|want|think|guess|choose|take|would like|prefer)|let us take|take|use"
    r"|just|maybe|make it|it is|that is|yes|yeah|number|option|go (?:with|for))\s)+"
)
_ARTICLE = re.compile(r"^(?:the|my|our|that|this)\s")
_NOUN = re.compile(r"\s(?:one|option|choice|thing)$")
_EITHER = re.compile(
    r"^(?:either|any|whichever|whatever|(?:it )?does not matter|i do not (?:care|mind)"
    r"|you (?:choose|decide|pick)|surprise me|up to you|no preference|any will do"
    r"|all the same(?: to me)?)(?: (?:of (?:them|the two|those)|one(?: of them)?|you like|is fine"
    r"|will do|works|way))*$"
)
_ALL = re.compile(r"^(?:all|both|every|everything|each)(?: (?:of (?:them|those)|one|two|three))*$")
_NONE = re.compile(r"^(?:none|neither)(?: (?:of (?:them|those|the two)|one))*$")
_LAST = frozenset(("last", "latter", "final"))


def choose(text: str, options: Sequence[str]) -> list[int] | None:
    """The places (from 0) of the options that an answer names; None when it names none of them.

    "the second one" -> [1]; "either" -> [0]; "both" -> [0, 1]; "neither" -> []. Else by the words
    of the option: those that have all words of the answer, where that is not every one of them.
    """
    words = _LEAD.sub("", strip_courtesy(normalize(text)))
    if _NONE.match(words):
        return []
    if _EITHER.match(words):
        return [0] if options else []
    if _ALL.match(words):
        return list(range(len(options)))
    core = _NOUN.sub("", _ARTICLE.sub("", words))
    if core in _LAST and options:
        return [len(options) - 1]
    place = 1 if core == "former" else parse_ordinal(core)
    if place is None and words != core and core.isdecimal():
        place = int(core)
    if place is not None:
        return [place - 1] if 1 <= place <= len(options) else None
    wanted = _words(core)
    exact = [i for i, option in enumerate(options) if _words(option) == wanted]
    if exact:
        return exact
    within = [i for i, option in enumerate(options) if wanted and wanted <= _words(option)]
    return within if within and len(within) < max(len(options), 2) else None


def _words(name: str) -> frozenset[str]:
    words = _NOUN.sub("", _ARTICLE.sub("", normalize(name))).split()
    return frozenset(word.removesuffix("s") if len(word) > 3 else word for word in words)
