"""What every recogniser that decodes whole utterances has in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from assistant.asr.base import Hypothesis, Recognizer
from assistant.audio.base import SAMPLE_RATE, Pcm
from assistant.errors import AsrError

SHORTEST_SECONDS = 0.1
"""Sound below this holds no word; the networks invent one, or fail."""

LONGEST_SECONDS = 600
"""An utterance beyond this is a mistake of the caller."""

SILENCE_PEAK = 16
"""Largest deviation from the mean, in int16 steps, of a dead microphone."""

EMPTY = Hypothesis("")


class WholeUtteranceRecognizer(Recognizer):
    """Collects the sound and decodes it when asked."""

    def __init__(self) -> None:
        self._parts: list[Pcm] | None = None
        self._samples = 0
        self._decoded: Hypothesis | None = None
        self._vocabulary: tuple[str, ...] = ()

    def start(self, vocabulary: Sequence[str] = ()) -> None:
        self._parts = []
        self._samples = 0
        self._decoded = None
        self._vocabulary = tuple(vocabulary)

    def feed(self, samples: Pcm) -> None:
        parts = self._open()
        if len(samples) == 0:
            return
        if self._samples + len(samples) > LONGEST_SECONDS * SAMPLE_RATE:
            raise AsrError(
                "asr.too_long",
                f"An utterance is longer than {LONGEST_SECONDS} seconds.",
                "Cut the sound into utterances first.",
            )
        # A copy: the caller may use its buffer again.
        parts.append(np.array(samples, dtype=np.int16))
        self._samples += len(samples)
        self._decoded = None

    def peek(self) -> Hypothesis:
        parts = self._open()
        if self._decoded is None:
            sound = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int16)
            self._parts = [sound]
            self._decoded = EMPTY if is_silent(sound) else self._decode(sound, self._vocabulary)
        return self._decoded

    def finish(self) -> Hypothesis:
        try:
            return self.peek()
        finally:
            self.cancel()

    def cancel(self) -> None:
        self._parts = None
        self._samples = 0
        self._decoded = None

    def _open(self) -> list[Pcm]:
        if self._parts is None:
            raise not_started()
        return self._parts

    @abstractmethod
    def _decode(self, samples: Pcm, vocabulary: tuple[str, ...]) -> Hypothesis:
        """The text of sound that is neither very short nor silent. Raises AsrError."""


def is_silent(samples: Pcm) -> bool:
    """True when there is too little sound for a word, or none but a constant."""
    if len(samples) < SHORTEST_SECONDS * SAMPLE_RATE:
        return True
    middle = float(samples.mean())
    return float(samples.max()) - middle <= SILENCE_PEAK >= middle - float(samples.min())


def not_started() -> AsrError:
    return AsrError(
        "asr.not_started",
        "No utterance is open in the speech recogniser.",
        "Call start() before feed(), peek() or finish().",
    )
