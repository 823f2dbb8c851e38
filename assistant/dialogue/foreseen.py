"""An answer to talk that is begun before it is asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

from assistant.dialogue.history import Exchange


@dataclass(frozen=True, slots=True)
class Topic:
    """What the language model is asked.

    facts: sentences about the present; exchanges: what was said before, where it is meant.
    """

    text: str
    facts: tuple[str, ...]
    exchanges: tuple[Exchange, ...]


class Foreseen:
    """Gives the pieces of an answer, of which the first may be there already.

    ``begin`` and ``close`` come from one thread, the iteration from one other after it.
    """

    def __init__(self, topic: Topic, pieces: Iterator[str], cancel: threading.Event) -> None:
        """pieces: nothing is computed before the first one is taken; cancel: ends them."""
        self.topic = topic
        self._pieces = pieces
        self._cancel = cancel
        self._first: str | None = None
        self._failure: Exception | None = None
        self._begun = threading.Event()

    def is_about(self, topic: Topic) -> bool:
        """Whether it is the answer to this, and still wanted."""
        return self.topic == topic and not self._cancel.is_set()

    def begin(self) -> str:
        """Waits for the first piece; "" where there is none. What fails fails who asks for it."""
        try:
            self._first = next(self._pieces, None)
        except Exception as error:
            self._failure = error
        finally:
            self._begun.set()
        return self._first or ""

    def close(self) -> None:
        """Nobody will ask for it: ends what is being generated."""
        close = getattr(self._pieces, "close", None)
        if close is not None:
            close()

    def __iter__(self) -> Iterator[str]:
        self._begun.wait()
        if self._failure is not None:
            raise self._failure
        if self._first is not None:
            yield self._first
            yield from self._pieces
