"""How loud a recording is and what is wrong with it. Pure logic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assistant.audio.base import SAMPLE_RATE, Pcm
from assistant.audio.signal_watch import NO_SIGNAL_HINT, has_signal
from assistant.doctor.check import Check

FLOOR_DB = -120.0
"""Decibel that stand for no sound at all."""

FULL_SCALE = 32768.0
CLIPPED = 32700
"""A sample at or above this was cut off by the microphone or its gain."""

TOO_MANY_CLIPPED = 0.001
NOISY_DB = -35.0
QUIET_DB = -72.0

_WINDOW = SAMPLE_RATE // 50


@dataclass(frozen=True, slots=True)
class Levels:
    """Of a recording at 16 kHz; decibel are against full scale, so never above 0.

    peak_db: the loudest sample. rms_db: the mean power without the constant part.
    noise_db: power of the quietest tenth of the 20 ms windows. clipped: share of samples at
    full scale, 0 to 1. offset: mean of the samples. signal: not only zeros or a constant.
    """

    seconds: float
    peak_db: float
    rms_db: float
    noise_db: float
    clipped: float
    offset: float
    signal: bool


def measure(samples: Pcm) -> Levels:
    """The levels of int16 samples, shape (n,), n > 0."""
    sound = samples.astype(np.float64)
    offset = float(sound.mean())
    varying = sound - offset
    count = max(1, len(sound) // _WINDOW)
    windows = (
        varying[: count * _WINDOW].reshape(count, -1) if len(sound) >= _WINDOW else varying[None]
    )
    power = np.sqrt((windows**2).mean(axis=1))
    return Levels(
        seconds=round(len(samples) / SAMPLE_RATE, 2),
        peak_db=decibel(float(np.abs(sound).max())),
        rms_db=decibel(float(np.sqrt((varying**2).mean()))),
        noise_db=decibel(float(np.percentile(power, 10))),
        clipped=round(float((np.abs(sound) >= CLIPPED).mean()), 5),
        offset=round(offset, 1),
        signal=has_signal(samples),
    )


def decibel(amplitude: float) -> float:
    """Decibel against full scale of an amplitude in sample units."""
    if amplitude <= 0:
        return FLOOR_DB
    return round(max(FLOOR_DB, 20 * float(np.log10(amplitude / FULL_SCALE))), 1)


def judge(name: str, levels: Levels) -> Check:
    """Is this a working microphone?"""
    if not levels.signal:
        what = "zeros" if abs(levels.offset) < 1 else f"the constant {levels.offset:.0f}"
        return Check(name, False, f"The microphone delivers only {what}.", NO_SIGNAL_HINT)
    detail = (
        f"peak {levels.peak_db:.0f} dB, mean {levels.rms_db:.0f} dB, "
        f"noise floor {levels.noise_db:.0f} dB"
    )
    if levels.clipped > TOO_MANY_CLIPPED:
        return Check(
            name,
            False,
            f"{detail}; {levels.clipped:.1%} of the samples are clipped.",
            "Lower the microphone's gain (alsamixer, F4), or audio.input.gain_db.",
        )
    if levels.noise_db > NOISY_DB:
        return Check(
            name, True, detail, "It is noisy; wake word and recognition work worse in noise."
        )
    if levels.rms_db < QUIET_DB:
        return Check(
            name,
            True,
            detail,
            "It is very quiet. If you spoke during the test, raise the microphone's gain "
            "(alsamixer, F4) or audio.input.gain_db.",
        )
    return Check(name, True, detail)
