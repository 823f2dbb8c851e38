"""Sentences of the language model that help nobody are left out.

A small model that has nothing to say repeats what was said to it, is sorry for a loss, offers an
address or a telephone number, or talks about its instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.dialogue.sentences import SentenceStream, is_closed
from assistant.intent.normalize import normalize

NOT_UNDERSTOOD = "Sorry, I didn't understand that."

_EMPTY = re.compile(
    r"\bsorry (?:for|about) (?:any|the|my|your) (?:\w+ )?(?:misunderstandings?|confusion"
    r"|inconvenience|mistakes?|interruption|offen[cs]e|delay)\b"
    r"|\bsorry to interrupt\b"
    r"|\b(?:happy|glad|here|ready|sure) to (?:help|assist)\b(?! yourself)"
    r"|\bI can help with (?:that|anything|whatever)\b|\bI can do it in\b"
    r"|\bjust what you (?:need|want)\b"
    r"|\bas (?:friendly|accurate|helpful|accommodating) (?:and|as)\b"
    r"|\bmore (?:accommodating|precise|careful)\b"
    r"|\b(?:as|only|just|I['’]m|I am) an? (?:friendly |helpful )?(?:voice|language|AI|virtual)\b"
    r"|\b(?:single|one-word|short|spoken) (?:spoken )?sentences?\b"
    r"|\b(?:reach|find|visit|contact|call|follow) me (?:on|at|by|via|anytime)\b"
    r"|\byou(?:['’]re| are) welcome to visit\b|\bin this context\b|\bavailable in all languages\b"
    r"|\b\d{3,4}[ -]\d{3}\b|\be-?mail (?:at|address)\b|\bhttps?:|\bwww\.",
    re.IGNORECASE,
)
_UNLESS_SAID = re.compile(
    r"\b(?:facebook|instagram|twitter|tiktok|amazon|alexa|siri|google|cortana|homework|grammar"
    r"|spell check|brand)\b",
    re.IGNORECASE,
)
_LOSS = re.compile(r"\bsorry for your (?:\w+ )?loss\b|\bcondolences\b", re.IGNORECASE)
_GRIEF = re.compile(
    r"\b(?:die[ds]?|dead|death|dying|lost|loss|funeral|passed|buried|killed|gone|grie\w+)\b"
)
_SAME_PERSON = {
    **dict.fromkeys(("i", "me", "you", "we", "us"), "you"),
    **dict.fromkeys(("my", "your", "our", "mine", "yours"), "your"),
}
_NO_NEWS = frozenset(
    """a an the is are am was were be been do does did will would shall can could to of on in at
    it this that and so you your going have has had""".split()
)


class _Filter:
    """Judges the sentences of one answer."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._said = frozenset(_folded(text))
        self._grief = _GRIEF.search(normalize(text)) is not None

    def keeps(self, sentence: str) -> bool:
        if _EMPTY.search(sentence) or (_LOSS.search(sentence) and not self._grief):
            return False
        for brand in _UNLESS_SAID.finditer(sentence):
            if brand.group().lower() not in self._text.lower():
                return False
        return not self._repeats(sentence)

    def _repeats(self, sentence: str) -> bool:
        """Whether it has no word that was not said to it."""
        words = _folded(sentence)
        return bool(words) and all(word in self._said or word in _NO_NEWS for word in words)


def sensible(pieces: Iterable[str], text: str) -> Iterator[str]:
    """The answer to the text without its empty sentences; where nothing is left, that it failed.

    A piece that ends a sentence goes on at once.
    """
    stream, keeps = SentenceStream(), _Filter(text).keeps
    said = empty = False
    for piece in _ended(pieces):
        sentences = [stream.rest()] if piece is None else stream.push(piece)
        if piece is not None and is_closed(piece) and not piece[-1].isspace():
            sentences.append(stream.rest())
        for sentence in filter(str.strip, sentences):
            if keeps(sentence):
                yield sentence if said else sentence.lstrip()
                said = True
            else:
                empty = True
    if empty and not said:
        yield NOT_UNDERSTOOD


def _ended(pieces: Iterable[str]) -> Iterator[str | None]:
    yield from pieces
    yield None


def _folded(text: str) -> list[str]:
    """Words, the same whoever speaks."""
    return [_SAME_PERSON.get(word, word) for word in normalize(text).split()]
