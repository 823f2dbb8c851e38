"""How loud a piece of sound is."""

from __future__ import annotations

import math

import numpy as np

from assistant.audio.base import Pcm

SILENCE_DB = -96.0
"""Level of digital silence, in dBFS."""


def level_db(samples: Pcm) -> float:
    """RMS of the samples in dBFS without their constant part; -96 for silence."""
    if len(samples) == 0:
        return SILENCE_DB
    rms = float(np.std(samples.astype(np.float32)))
    if rms < 0.5:
        return SILENCE_DB
    return 20.0 * math.log10(rms / 32768.0)
