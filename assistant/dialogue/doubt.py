"""Whether the language model knows what it says: asked twice in different words around the
question, it says the same of what it knows and another thing each time of what it makes up.
"""

from __future__ import annotations

import re

from assistant.intent.normalize import normalize, strip_courtesy

NOT_SURE = "I'm not sure, sorry."

SAME = 0.5
"""Share of the shorter answer's words that must be in the other."""

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
    r"|what (?:do|does|did)\b"
    r"|name (?:a|an|the|one|two|three|some)\b"
    r"|what is (?:[\w.-]+ ){0,3}(?:plus|minus|times|divided by|percent|squared|\+|-|\*|x) [\w.-]+"
    r")"
)
# Asked about the assistant or the one who asks: opinions and small talk.
_NO_FACT = re.compile(
    r"^(?:who|what|how|where|when|which) (?:old |many |much |long |do |does |is |are |did |kind )*"
    r"(?:are you|do you|you|your|should i|can i|could i|shall i)\b|\b(?:you think|your)\b"
    r"|\b(?:my|our)\b|meaning of life|\bcan i (?:cook|make|do|eat)\b"
)
_STOP = frozenset(
    """the a an of is was were are in on at by to and it that this has have had been be he she his
    her its for with as from which who not about also or known called often approximately around
    name named located there their they i you we""".split()
)
_SENTENCE = re.compile(r"(?<=[.!?])\s")
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


def agree(question: str, one: str, other: str) -> bool:
    """Whether the first sentences of two answers say the same.

    What the question said does not count; numbers must be the same in both.
    """
    asked = set(_words(question))
    first, second = (
        {word for word in _words(_SENTENCE.split(answer.strip())[0]) if word not in _STOP} - asked
        for answer in (one, other)
    )
    if not first or not second:
        return False
    numbers = {word for word in first if word[0].isdecimal()}
    if numbers and numbers.isdisjoint(second):
        return False
    return len(first & second) / min(len(first), len(second)) >= SAME


def _words(text: str) -> list[str]:
    plain = (match.group().lower().replace(",", "") for match in _WORD.finditer(text))
    return [_NUMBER_WORDS.get(word, word) for word in plain]
