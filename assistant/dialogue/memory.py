"""What the user said about himself, given back word for word.

A small model asked "how old is my dog" makes up a dog; the user's own words are the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.dialogue.history import Exchange
from assistant.intent.normalize import normalize, strip_courtesy

_ADVICE = (
    r"(?!.*\b(?:should|can|could|best|better|wrong|options?|chances?|problem|supposed|going to)\b)"
)
_ABOUT_ONESELF = re.compile(
    r"(?:do you (?:know|remember) |tell me )?(?:"
    r"(?:what|who|where|when|which|whose|how [a-z]+)"
    r"(?: [a-z]+)? (?:is|are|was|were|do|does|did|have|has|am) (?:my|our|i|we)\b"
    + _ADVICE
    + r"(?! (?:need|get|make|cook|use|fix|find|start|know|say|spell|do|become|learn|stop|tell)\b)"
    r"|(?:what|when|who|which) (?:is|are|was|were) the (?:names?|codes?|numbers?|colou?rs?|size|age"
    r"|address|birthday|date|brand|make|model|breed|password|pin|owner|title|price|weight|height)"
    r" (?:of|for|to) (?:my|our)\b"
    + _ADVICE
    + r"|who [a-z]+ (?:me|my|our|us)\b"
    + _ADVICE
    + r"|(?:who|what) (?:[a-z]+ )*while (?:i|we) (?:was|were)\b"
    r"|what (?:[a-z]+ )+(?:am i|are we) (?:wearing|holding|doing|eating|drinking|reading)\b"
    r"|who is (?:at|by|behind|outside|in front of) (?:the|my|our) [a-z ]*(?:door|gate|window)$"
    r")"
)
_TOLD = re.compile(r"^(?:i|i'm|i've|my|we|our)\b", re.IGNORECASE)
_YOURS = {
    "i": "you",
    "i'm": "you are",
    "i've": "you have",
    "am": "are",
    "me": "you",
    "mine": "yours",
    "my": "your",
    "myself": "yourself",
    "our": "your",
    "us": "you",
    "we": "you",
}
_NO_TOPIC = frozenset(
    """what who whose where when which how is are was were do does did have has am my our i we me
    the a an of in on at to and that this old many much called name names you know remember
    tell""".split()
)


def asks_about_oneself(text: str) -> bool:
    """Whether a sentence asks for what only the user can have told: "how old is my dog"."""
    return _ABOUT_ONESELF.match(strip_courtesy(normalize(text))) is not None


def recall(question: str, exchanges: Sequence[Exchange]) -> str:
    """The last thing that the user said about the matter, or "".

    "I have a dog called Rex." -> "You have a dog called Rex."
    """
    wanted = _topic(question)
    for exchange in reversed(exchanges):
        text = exchange.user.strip().replace("\u2019", "'")
        if _TOLD.match(text) and not text.endswith("?") and wanted & _topic(text):
            fact = " ".join(_YOURS.get(word.lower(), word) for word in text.split())
            return fact[0].upper() + fact[1:] + ("" if fact[-1] in ".!" else ".")
    return ""


def _topic(text: str) -> set[str]:
    words = (word.removesuffix("'s") for word in normalize(text).split())
    return {w.removesuffix("s") if len(w) > 3 else w for w in words if w not in _NO_TOPIC}
