"""Contract of a voice activity detector."""

from __future__ import annotations

from abc import ABC, abstractmethod

from assistant.audio.base import Pcm


class Vad(ABC):
    @abstractmethod
    def load(self) -> None:
        """Loads the model. Raises ModelError, PackageError."""

    @abstractmethod
    def process(self, samples: Pcm) -> float:
        """Takes the next 10 ms (160 samples, 16 kHz); the latest probability of speech, 0 to 1.

        A detector with a longer chunk keeps the rest for the next call and returns
        its last value meanwhile.
        """

    @abstractmethod
    def reset(self) -> None:
        """Forgets the past; call between utterances."""
