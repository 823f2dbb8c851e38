"""Contract of a speech recogniser: feed frames, get partial and final text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.asr.sentences import Sentences
from assistant.audio.base import Pcm


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """text: what was said, as the recogniser writes it, stripped; may be empty.

    confidence: 0 to 1, None when the backend has none.
    """

    text: str
    confidence: float | None = None


class Recognizer(ABC):
    """One utterance at a time: ``start``, ``feed`` ..., ``finish`` (or ``cancel``).

    Calls come from one thread at a time.
    """

    @abstractmethod
    def load(self) -> None:
        """Loads the model. Raises ModelError, PackageError."""

    def expect(self, sentences: Sentences | None) -> None:  # noqa: B027 (many cannot use them)
        """Whole sentences that are likely in all utterances from now on; None for none.

        What is none of them is still recognised. May take a second when they are new.
        Raises AsrError when a template cannot be read.
        """

    @abstractmethod
    def start(self, vocabulary: Sequence[str] = ()) -> None:
        """Begins an utterance.

        vocabulary: words and phrases that are likely now; a backend without a way
        to use them ignores them.
        """

    @abstractmethod
    def feed(self, samples: Pcm) -> None:
        """Takes the next samples (int16, 16 kHz mono, any number). Must not block long."""

    def partial(self) -> str:
        """The text so far; "" from a backend that does not stream. Cheap to call."""
        return ""

    @abstractmethod
    def peek(self) -> Hypothesis:
        """Decodes what was fed so far and leaves the utterance open.

        Costs as much as ``finish``. When no sound is fed in between, ``finish``
        returns the same text without decoding again.
        """

    @abstractmethod
    def finish(self) -> Hypothesis:
        """Ends the utterance and decodes the rest. Nothing fed: empty text. Raises AsrError."""

    def cancel(self) -> None:
        """Drops the utterance."""
        self.finish()

    def close(self) -> None:  # noqa: B027 (a backend may have nothing to free)
        """Frees the model."""
