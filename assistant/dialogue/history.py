"""The conversation so far: the last exchanges, for as long as people would still mean them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assistant.config import DialogueConfig
from assistant.intent.normalize import normalize

_BACK = frozenset(
    """it that this those these he she him her his hers they them their there then one ones again
    more else another too either instead earlier before other others same said meant remember
    first second third last""".split()
)
_OPENINGS = (
    "and",
    "but",
    "or",
    "so",
    "why",
    "what about",
    "how about",
    "because",
    "really",
    "yes",
    "no",
    "yeah",
    "nope",
    "sure",
    "okay",
    "go on",
    "continue",
    "in what",
    "which",
)
_OWN = frozenset("i my me mine am we our us".split())
_ASKS = ("what", "who", "whose", "where", "when", "how", "do", "did", "am", "have", "can")
_SHORT_WORDS = 2
"""A sentence of so few words hangs on what came before."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the user said and what was answered."""

    user: str
    assistant: str


class History:
    """Remembers the last exchanges; after a pause it starts anew."""

    def __init__(self, cfg: DialogueConfig, clock: Callable[[], float] = time.monotonic) -> None:
        """clock: seconds that never jump; the time of day may, when a clock is set."""
        self._exchanges: deque[Exchange] = deque(maxlen=cfg.history_turns)
        self.forget_after_s = float(cfg.forget_after_s)
        self.clock = clock
        self._last = clock()

    def add(self, user: str, assistant: str) -> None:
        """Remembers an exchange, be it with a skill or with the language model."""
        self._forget()
        self._exchanges.append(Exchange(user, assistant))
        self._last = self.clock()

    def exchanges(self) -> tuple[Exchange, ...]:
        """Oldest first; none when the last one is longer ago than the pause allows."""
        self._forget()
        return tuple(self._exchanges)

    def _forget(self) -> None:
        if self.clock() - self._last > self.forget_after_s:
            self._exchanges.clear()


_ADVICE = ("how do i ", "how can i ", "how should i ", "how do we ", "how can we ", "what can i ")
"""How to do something: what was said before does not tell that."""


def refers_back(text: str) -> bool:
    """Whether a sentence may mean something said before: "who wrote it", "what is my name"."""
    plain = normalize(text)
    words = plain.replace("'", " ").split()
    if len(words) <= _SHORT_WORDS or not _BACK.isdisjoint(words):
        return True
    if any(plain.startswith(f"{opening} ") for opening in _OPENINGS):
        return True
    if plain.startswith(_ADVICE):
        return False
    return words[0] in _ASKS and not _OWN.isdisjoint(words[1:])


def fitting(
    exchanges: Sequence[Exchange], room: int, size: Callable[[Exchange], int]
) -> tuple[Exchange, ...]:
    """The newest exchanges that fit, without gaps; oldest first.

    room: tokens there are; size: tokens that an exchange takes.
    """
    kept: list[Exchange] = []
    for exchange in reversed(exchanges):
        room -= size(exchange)
        if room < 0:
            break
        kept.append(exchange)
    return tuple(reversed(kept))
