"""Contract of a wake-word detector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from assistant.audio.base import Pcm


@dataclass(frozen=True, slots=True)
class Wake:
    """word: which wake word (its name in config.yaml); score: 0 to 1."""

    word: str
    score: float


class WakeDetector(ABC):
    @abstractmethod
    def load(self) -> None:
        """Loads the models. Raises ModelError, PackageError."""

    @abstractmethod
    def process(self, samples: Pcm) -> Wake | None:
        """Takes the next 10 ms (160 samples, 16 kHz); a Wake at most once per utterance."""

    @abstractmethod
    def reset(self) -> None:
        """Forgets what it heard; only needed after a hit or a gap in the sound."""
