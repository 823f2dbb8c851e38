"""Puts words that were misheard right, by the sound of the words that can be said now.

Only for a sentence that is not understood as it is; numbers are never changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from assistant.intent.base import Intent
from assistant.intent.normalize import normalize
from assistant.intent.sound_alike import LEAST, similarity
from assistant.intent.values.number import find_numbers

MOST_MORE = 1
"""A phrase may have been heard as so many words more or fewer than it has."""

MOST_PHRASES = 2000

_SHARED = 0.5
"""Share of letters below which two phrases do not sound alike; looked at first, as it is fast."""

_SMALL = frozenset(
    """a an the my our this that these those some any and or but if then than as of to in on at
    by for from with without into over under up down off out is are was be it he she we you i
    me please turn switch set make put add get give can could will would do what when where
    how who why all not no yes""".split()
)
"""Words that hardly ever are a name: a name is not heard in place of them."""


def repaired(
    text: str, vocabulary: Sequence[str], understand: Callable[[str], Intent | None]
) -> str:
    """The text as it is when it is understood; else repaired, when that is understood.

    text: as heard; vocabulary: phrases that can be said now.
    """
    if not text or understand(text) is not None:
        return text
    other = repair(text, vocabulary)
    return other if other != text and understand(other) is not None else text


def repair(text: str, vocabulary: Iterable[str], *, least: float = LEAST) -> str:
    """The text with what sounds like a phrase of the vocabulary replaced by it.

    The most alike first; a phrase that is there already is kept, and so is every number.
    Without a change the text comes back as it was, else its words without punctuation.
    """
    words = normalize(text).split()
    phrases = [_Phrase.of(p) for p in dict.fromkeys(vocabulary)][:MOST_PHRASES]
    phrases = [p for p in phrases if p.words]
    taken = [False] * len(words)
    for phrase in sorted(phrases, key=lambda p: -len(p.words)):
        for at in _places(words, phrase.words):
            if not any(taken[at : at + len(phrase.words)]):
                taken[at : at + len(phrase.words)] = [True] * len(phrase.words)
    found = sorted(_heard(words, phrases, taken, least), key=lambda f: (-f.score, f.begin - f.end))
    changes: dict[int, _Found] = {}
    for change in found:
        if not any(taken[change.begin : change.end]):
            taken[change.begin : change.end] = [True] * (change.end - change.begin)
            changes[change.begin] = change
    if not changes:
        return text
    new: list[str] = []
    at = 0
    while at < len(words):
        if at in changes:
            new.append(changes[at].phrase)
            at = changes[at].end
        else:
            new.append(words[at])
            at += 1
    return " ".join(new)


class _Phrase(NamedTuple):
    text: str
    words: tuple[str, ...]
    letters: Counter[str]

    @classmethod
    def of(cls, text: str) -> _Phrase:
        words = tuple(normalize(text).split())
        return cls(" ".join(words), words, Counter("".join(words)))


class _Found(NamedTuple):
    """Words from ``begin`` to before ``end`` that sound like a phrase."""

    score: float
    begin: int
    end: int
    phrase: str


def _places(words: Sequence[str], phrase: tuple[str, ...]) -> list[int]:
    last = len(words) - len(phrase)
    return [i for i in range(last + 1) if tuple(words[i : i + len(phrase)]) == phrase]


def _heard(
    words: Sequence[str], phrases: Sequence[_Phrase], taken: Sequence[bool], least: float
) -> list[_Found]:
    found = []
    for begin in range(len(words)):
        longest = next((i for i in range(begin, len(words)) if taken[i]), len(words))
        for end in range(begin + 1, longest + 1):
            said = words[begin:end]
            if said[0] in _SMALL or said[-1] in _SMALL:
                continue
            letters = Counter("".join(said))
            for phrase in phrases:
                if abs(len(said) - len(phrase.words)) > MOST_MORE or not _near(letters, phrase):
                    continue
                heard = " ".join(said)
                score = similarity(heard, phrase.text)
                if score >= least and _numbers(heard) == _numbers(phrase.text):
                    found.append(_Found(score, begin, end, phrase.text))
    return found


def _near(letters: Counter[str], phrase: _Phrase) -> bool:
    shared = (letters & phrase.letters).total()
    return shared >= _SHARED * max(letters.total(), phrase.letters.total())


def _numbers(text: str) -> list[str]:
    return [str(span.value) for span in find_numbers(text)]
