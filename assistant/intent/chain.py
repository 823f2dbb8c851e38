"""Several ways to understand, asked one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.intent.base import Intent, Understander


class Chain(Understander):
    """The first understander that knows what is meant is right; so the surest comes first."""

    def __init__(self, links: Sequence[Understander]) -> None:
        self.links = list(links)

    def load(self) -> None:
        """Loads every link. Raises the first one's error."""
        for link in self.links:
            link.load()

    def understand(self, text: str) -> Intent | None:
        for link in self.links:
            intent = link.understand(text)
            if intent is not None:
                return intent
        return None

    def exactly(self, text: str) -> Intent | None:
        for link in self.links:
            intent = link.exactly(text)
            if intent is not None:
                return intent
        return None
