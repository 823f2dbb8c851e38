"""Cuts mono samples of any rate into the 10 ms frames of the recogniser."""

from __future__ import annotations

import numpy as np

from assistant.audio.base import FRAME_SAMPLES, SAMPLE_RATE, Pcm
from assistant.audio.resample import Resampler, Samples, to_pcm


class Framer:
    """Resamples to 16 kHz, applies the gain and hands out frames of 160 samples.

    Args:
        rate: Hz of what is fed.
        gain_db: dB; what gets too loud saturates.
    """

    def __init__(self, rate: int, gain_db: float = 0.0) -> None:
        self._resampler = Resampler(rate, SAMPLE_RATE)
        self._gain = 10 ** (gain_db / 20)
        self._pcm: Pcm = np.zeros(0, np.int16)

    def feed(self, samples: Samples) -> None:
        """Takes mono samples, any number, in 16-bit units."""
        self._add(self._resampler.process(samples))

    def finish(self, silence: int = 0) -> None:
        """Ends the stream: adds the resampler's rest, ``silence`` zeros (at 16 kHz), and more
        zeros up to a whole frame."""
        self._add(self._resampler.flush())
        zeros = silence + -(len(self._pcm) + silence) % FRAME_SAMPLES
        self._pcm = np.concatenate([self._pcm, np.zeros(zeros, np.int16)])

    def next(self) -> Pcm | None:
        """The next frame, int16 of shape (160,), or None when more must be fed."""
        if len(self._pcm) < FRAME_SAMPLES:
            return None
        frame, self._pcm = self._pcm[:FRAME_SAMPLES], self._pcm[FRAME_SAMPLES:]
        return frame

    def _add(self, samples: Samples) -> None:
        if len(samples):
            self._pcm = np.concatenate([self._pcm, to_pcm(samples * np.float32(self._gain))])
