"""The built-in sounds, made when they are needed: short bells, at most -12 dBFS."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assistant.audio.base import Pcm

Sound = Literal["wake", "end", "error", "ring"]

RATE = 24_000
"""Hz of the sounds."""

PEAK = 10 ** (-12 / 20)
"""Loudest sample relative to full scale."""

ATTACK_S = 0.006
RELEASE_S = 0.02

# Start (s), pitch (Hz), length (s), loudness of each note. "wake" rises and "error" falls,
# so that they are told apart without looking; "ring" lasts exactly a second to be repeated.
_NOTES: dict[Sound, tuple[tuple[float, float, float, float], ...]] = {
    "wake": ((0.0, 659.3, 0.14, 0.8), (0.09, 987.8, 0.22, 1.0)),
    "end": ((0.0, 784.0, 0.13, 0.7),),
    "error": ((0.0, 392.0, 0.18, 1.0), (0.16, 293.7, 0.30, 1.0)),
    "ring": (
        (0.0, 880.0, 0.20, 1.0),
        (0.16, 1174.7, 0.20, 1.0),
        (0.32, 880.0, 0.20, 1.0),
        (0.48, 1174.7, 0.28, 1.0),
    ),
}
_LENGTH_S: dict[Sound, float] = {"wake": 0.33, "end": 0.15, "error": 0.48, "ring": 1.0}


@lru_cache(maxsize=8)
def chime(sound: Sound) -> Pcm:
    """The samples of a built-in sound, int16 mono at ``RATE`` Hz; read only.

    "wake": it listens; "end": it has heard; "error": it did not work; "ring": a second of
    a timer's ringing.
    """
    out = np.zeros(round(_LENGTH_S[sound] * RATE), np.float64)
    for start, pitch, length, loudness in _NOTES[sound]:
        note = _note(pitch, length) * loudness
        at = round(start * RATE)
        out[at : at + len(note)] += note
    pcm: Pcm = np.rint(out / np.abs(out).max() * PEAK * 32767).astype(np.int16)
    pcm.setflags(write=False)
    return pcm


def _note(pitch: float, length: float) -> NDArray[np.float64]:
    """A struck bell: three partials that die away, begun and ended without a click."""
    t = np.arange(round(length * RATE)) / RATE
    tone = np.zeros_like(t)
    for partial, share, decay in ((1.0, 1.0, 9.0), (2.0, 0.35, 14.0), (3.01, 0.12, 22.0)):
        tone += share * np.sin(2 * np.pi * pitch * partial * t) * np.exp(-decay * t)
    rise = np.clip(t / ATTACK_S, 0, 1)
    fall = np.clip((length - t) / RELEASE_S, 0, 1)
    shaped: NDArray[np.float64] = (
        tone * np.sin(rise * np.pi / 2) ** 2 * np.sin(fall * np.pi / 2) ** 2
    )
    return shaped
