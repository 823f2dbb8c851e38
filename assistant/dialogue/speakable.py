"""What of a generated text is spoken: whole, honest sentences, each once."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from typing import Protocol

from assistant.dialogue.history import Exchange
from assistant.dialogue.honesty import HonestyFilter
from assistant.dialogue.sentences import SentenceStream, is_closed

_LOOP_WORDS = 4
"""A sentence of so many words is said once; small models go round in circles."""

_ROLE = re.compile(r"^\s*(?:(?:assistant|ai|bot|system)\s*:|assistant\s*$)\s*", re.IGNORECASE)


class Run(Protocol):
    """The run of the model that the pieces come from.

    cancel: set to end it. cut: it has reached its greatest length; valid after the last piece.
    """

    cancel: threading.Event
    cut: bool


def speakable(pieces: Iterator[str], run: Run, max_sentences: int) -> Iterator[str]:
    """Whole, honest sentences without role markers; no white space around the reply.

    Generation ends with the last sentence that is allowed; one that was said is left out.
    """
    stream = SentenceStream()
    honesty = HonestyFilter()
    begun = False
    count = 0
    seen: set[tuple[str, ...]] = set()

    def out(sentence: str) -> str:
        nonlocal begun
        if not begun:
            sentence = _ROLE.sub("", sentence).lstrip()
        words = tuple(_words(sentence))
        if len(words) >= _LOOP_WORDS and words in seen:
            return ""
        seen.add(words)
        checked = honesty.check(sentence)
        begun = begun or bool(checked.strip())
        return checked

    for piece in pieces:
        for sentence in stream.push(piece):
            if text := out(sentence):
                yield text
                count += _is_sentence(text)
            if count >= max_sentences:
                run.cancel.set()
                return
    rest = stream.rest().rstrip()
    if run.cut and not is_closed(rest):
        rest = "" if begun else _whole_words(rest)
    if text := out(rest):
        yield text


def repeats(sentence: str, exchanges: Sequence[Exchange]) -> bool:
    """Whether an earlier answer began with the same words."""
    begin = _words(sentence)
    return any(_words(e.assistant)[: len(begin)] == begin for e in exchanges)


def _is_sentence(text: str) -> bool:
    """False for the "1." of a list and the like."""
    return any(len(word) > 1 and not word.isdecimal() for word in _words(text))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _whole_words(text: str) -> str:
    """A cut text without its last, perhaps broken word, closed by a full stop."""
    kept = text.rsplit(maxsplit=1)[0] if len(text.split()) > 1 else text
    return kept.rstrip(" ,;:-–—") + "." if kept.strip() else ""
