"""Contract of a voice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from assistant.audio.base import Pcm


@dataclass(frozen=True, slots=True)
class Speech:
    """samples: int16 mono, shape (n,); rate: Hz."""

    samples: Pcm
    rate: int


class Voice(ABC):
    @abstractmethod
    def load(self) -> None:
        """Loads the model. Raises ModelError, PackageError."""

    @abstractmethod
    def synthesize(self, text: str, *, speed: float = 1.0) -> Iterator[Speech]:
        """Speaks one chunk of already spoken-form text, piece by piece.

        speed: 1.0 is normal, 0.5 half as fast, 2.0 twice. Text without a letter or
        digit gives nothing. Raises TtsError.
        """

    def interrupt(self) -> None:  # noqa: B027 (a backend may have nothing to end)
        """Ends a running ``synthesize`` from another thread: it yields nothing more."""

    def close(self) -> None:  # noqa: B027 (a backend may have nothing to free)
        """Frees the model."""
