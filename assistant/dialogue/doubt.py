"""Whether the language model knows what it says: how sure it was of the words that answer.

What it has read often comes with a high probability; what it makes up, a name, a year, a number,
is one of many that would do as well.
"""

from __future__ import annotations

import math
import re

from assistant.intent.normalize import normalize, strip_courtesy

NOT_SURE = "I'm not sure, sorry."

SURE = math.log(0.4)
"""Least log probability of each word of an answer. Chosen on one half of tests/data/facts.yaml;
from 0.37 to 0.45 all give the same there."""

_FACT = re.compile(
    r"^(?:(?:do you know|tell me|i would like to know|i want to know|guess) )?(?:"
    r"(?:who|whom|whose|when|which)\b"
    r"|where (?:is|are|was|were|does|do|did|can)\b"
    r"|in (?:what|which)\b"
    r"|how (?:many|much|long|old|tall|far|big|high|deep|heavy|fast|large|wide|hot|cold|often)\b"
    r"|what (?:is|are|was|were) (?:the |my |our |your )?[\w' -]*"
    r"\b(?:of|in|for|with|by|from|than|on|number|name|birthday|capital|price|address|symbol)\b"
    r"|what (?:is|was) the (?:[\w-]+est|most|first|last|only)\b"
    r"|what (?:year|day|date|month|country|city|language|color|colour|animal|number|kind|type)\b"
    r"|what (?:do|does|did)\b|how do you (?:say|spell|write|pronounce)\b"
    r"|how (?:do (?:i|we|people)|does (?:one|it)|to)\b"
    r"|what (?:rhymes|happens|causes|means|weighs|costs|lasts|is (?:heavier|bigger|faster"
    r"|taller|older|better|larger))\b"
    r"|(?:tell|give) me (?:a|an|another|some|one) (?:[\w-]+ )?facts?\b"
    r"|(?:is|are|was|were|do|did|does|has|have|can|will) (?!(?:you|we|my|our|it ok|there any)\b)"
    r"(?:[\w'-]+ )+[\w'-]+$"
    r"|name (?:a|an|the|one|two|three|some)\b"
    r"|if .*\bhow (?:many|much)\b"
    r"|what is (?:[\w.-]+ ){0,3}(?:plus|minus|times|divided by|percent|squared|\+|-|\*|x) [\w.-]+"
    r")"
)
# Asked about the assistant or the one who asks: opinions and small talk.
_NO_FACT = re.compile(
    r"^(?:who|what|how|where|when|which) (?:old |many |much |long |do |does |is |are |did |kind )*"
    r"(?:are you|do you(?! (?:call|say|spell|write|pronounce)\b)"
    r"|you(?! (?:call|say|spell|write|pronounce)\b)|your|should i|can i|could i|shall i)\b"
    r"|\b(?:you think|your)\b|\b(?:my|our)\b|meaning of life|\bcan i (?:cook|make|do|eat)\b"
)
_STOP = frozenset(
    """the a an of is was were are in on at by to and it that this has have had been be he she his
    her its for with as from which who not about also or known called often approximately around
    name named located there their they i you we""".split()
)
_WORD = re.compile(r"\d(?:[\d.,]*\d)?|[^\W\d_]+")
_NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve""".split()
    )
}


def asks_fact(text: str) -> bool:
    """Whether a sentence asks for something that is right or wrong."""
    plain = strip_courtesy(normalize(text))
    return _FACT.search(plain) is not None and _NO_FACT.search(plain) is None


class Surety:
    """How sure the model was of each word of a text, taken note of while it is generated."""

    def __init__(self, question: str) -> None:
        """question: its words do not count, an answer only repeats them."""
        self._asked = frozenset(_words(question))
        self._text = ""
        self._tokens: list[tuple[int, int, float]] = []
        self._waiting = 0.0
        self._at = 0

    def add(self, text: str, log_probability: float) -> None:
        """The next token; text may be "" while a character is incomplete."""
        self._waiting += log_probability
        if text:
            start = len(self._text)
            self._text += text
            self._tokens.append((start, len(self._text), self._waiting))
            self._waiting = 0.0

    def holds(self, sentence: str) -> bool:
        """Whether it was sure of all that the next sentence says; False when that says nothing."""
        words = sentence.strip()
        start = self._text.find(words, self._at)
        if start < 0:
            return False
        self._at = start + len(words)
        said = [
            self._log_probability(start + match.start(), start + match.end())
            for match in _WORD.finditer(words)
            if self._carries(match.group())
        ]
        return bool(said) and min(said) >= SURE

    def _carries(self, word: str) -> bool:
        (plain,) = _words(word)
        return plain not in _STOP and plain not in self._asked

    def _log_probability(self, start: int, end: int) -> float:
        return sum(p for begin, stop, p in self._tokens if begin < end and stop > start)


def _words(text: str) -> list[str]:
    plain = (match.group().lower().replace(",", "") for match in _WORD.finditer(text))
    return [_NUMBER_WORDS.get(word, word) for word in plain]
