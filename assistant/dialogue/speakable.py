"""What of a generated text is spoken: whole sentences, each once, and no program code."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from typing import Protocol

from assistant.dialogue.history import Exchange
from assistant.dialogue.sentences import SentenceStream, is_closed

_LOOP_WORDS = 4
"""A sentence of so many words is said once; small models go round in circles."""

_CODE = "```"
_ROLE = re.compile(r"^\s*(?:(?:assistant|ai|bot|system)\s*:|assistant\s*$)\s*", re.IGNORECASE)


class Run(Protocol):
    """The run of the model that the pieces come from.

    cancel: set to end it. cut: it has reached its greatest length; valid after the last piece.
    """

    cancel: threading.Event
    cut: bool


def speakable(pieces: Iterator[str], run: Run, max_sentences: int) -> Iterator[str]:
    """Whole sentences without role markers; no white space around the reply.

    Generation ends with the last sentence that is allowed, and before program code; a sentence
    that was said is left out.
    """
    stream = SentenceStream()
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
        begun = begun or bool(sentence.strip())
        return sentence

    for piece in pieces:
        for sentence in stream.push(piece):
            sentence, code, _ = sentence.partition(_CODE)
            if text := out(sentence.rstrip() if code else sentence):
                yield text
                count += _is_sentence(text)
            if count >= max_sentences or code:
                run.cancel.set()
                return
    rest, code, _ = stream.rest().rstrip().partition(_CODE)
    rest = rest.rstrip()
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
