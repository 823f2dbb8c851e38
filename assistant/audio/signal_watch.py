"""Finds a dead microphone: one that delivers nothing but zeros or a constant. Pure logic."""

from __future__ import annotations

from typing import Literal

import numpy as np

from assistant.audio.base import SAMPLE_RATE, Pcm

NO_SIGNAL = "audio.no_signal"
"""Code of the trouble that a dead microphone makes."""

NO_SIGNAL_HINT = "Check that it is switched on, not muted, and that the right channel is chosen."

WINDOW_S = 0.1
BACK_WINDOWS = 5


class SignalWatch:
    """Reports "lost" after ``seconds`` without any change of the samples, and "back" later.

    Even a quiet room moves a working microphone by more than ``tolerance``; muted ones,
    unplugged ones and wrong channels don't. Some speakerphones send zeros between words,
    hence the long wait. Works on windows of 0.1 s, so block sizes don't matter.

    Args:
        rate: Hz of the samples.
        seconds: how long nothing may happen.
        tolerance: largest difference of samples (16-bit units) that still is no signal.
    """

    def __init__(self, rate: int = SAMPLE_RATE, seconds: float = 30.0, tolerance: int = 1) -> None:
        self.lost = False
        self.ever = False
        """True once any signal was seen."""
        self._window = max(1, round(rate * WINDOW_S))
        self._needed = max(1, round(seconds / WINDOW_S))
        self._tolerance = tolerance
        self._filled = 0
        self._flat = 0
        self._live = 0
        self._low = self._high = 0
        self._window_low = self._window_high = 0

    def feed(self, samples: Pcm) -> Literal["lost", "back"] | None:
        """Takes the next samples; says what changed by them, if anything."""
        change: Literal["lost", "back"] | None = None
        at = 0
        while at < len(samples):
            part = samples[at : at + self._window - self._filled]
            low, high = int(part.min()), int(part.max())
            if self._filled:
                low, high = min(low, self._window_low), max(high, self._window_high)
            self._window_low, self._window_high = low, high
            self._filled += len(part)
            at += len(part)
            if self._filled == self._window:
                self._filled = 0
                change = self._judge(low, high) or change
        return change

    def _judge(self, low: int, high: int) -> Literal["lost", "back"] | None:
        if self._flat:
            low, high = min(low, self._low), max(high, self._high)
        if high - low <= self._tolerance:
            self._low, self._high = low, high
            self._flat += 1
            self._live = 0
            if self._flat >= self._needed and not self.lost:
                self.lost = True
                return "lost"
            return None
        self._flat = 0
        self._live += 1
        self.ever = True
        if self.lost and self._live >= BACK_WINDOWS:
            self.lost = False
            return "back"
        return None


def has_signal(samples: Pcm, tolerance: int = 1) -> bool:
    """True when a recording holds more than zeros or a constant."""
    if len(samples) == 0:
        return False
    return bool(np.ptp(samples.astype(np.int32)) > tolerance)
