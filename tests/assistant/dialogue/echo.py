"""Stands in the place of the language model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assistant.dialogue.history import History


class Echo:
    """A language model that shows what it was given, and says what the test wants.

    says: the pieces of its answers.
    """

    def __init__(self, *says: str) -> None:
        self.says = says or ("Well.",)
        self.given: list[tuple[str, tuple[str, ...], int]] = []

    def reply(self, text: str, facts: Any, history: History | None, cancel: Any) -> Iterator[str]:
        self.given.append((text, tuple(facts), len(history.exchanges()) if history else 0))
        yield from self.says
