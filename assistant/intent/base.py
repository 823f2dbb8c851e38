"""What was understood, and the contract of what understands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Intent:
    """One understood utterance.

    name: "skill.action", such as "timer.set".
    slots: JSON-ready values by slot name (durations in seconds as int or float, times as
        ISO 8601 text, names as text).
    score: 0 to 1; 1.0 from the grammar.
    source: "grammar", "heads" or "dialogue".
    asks: True when a value is missing, so that the skill will ask for it; the user may
        still be about to say it.
    """

    name: str
    slots: dict[str, Any] = field(default_factory=dict)
    score: float = 1.0
    source: str = "grammar"
    asks: bool = False


class Understander(ABC):
    @abstractmethod
    def load(self) -> None:
        """Compiles and warms up: the first sentence is as fast as any. Raises IntentError."""

    @abstractmethod
    def understand(self, text: str) -> Intent | None:
        """The intent of ``text`` as the recogniser wrote it, or None."""

    def exactly(self, text: str) -> Intent | None:
        """As ``understand``, but nothing is guessed: for judging whether words are a command."""
        return self.understand(text)
