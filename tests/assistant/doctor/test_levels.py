from __future__ import annotations

import numpy as np
import pytest

from assistant.audio.base import SAMPLE_RATE, Pcm
from assistant.doctor.levels import FLOOR_DB, judge, measure

RNG = np.random.default_rng(5)


def noise(seconds: float, rms: float) -> Pcm:
    return RNG.normal(0, rms, round(seconds * SAMPLE_RATE)).clip(-32768, 32767).astype(np.int16)


def tone(seconds: float, amplitude: float) -> Pcm:
    t = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    return (amplitude * np.sin(2 * np.pi * 440 * t)).clip(-32768, 32767).astype(np.int16)


def test_sine_of_half_scale() -> None:
    levels = measure(tone(1.0, 16384))
    assert levels.peak_db == pytest.approx(-6.0, abs=0.1)
    assert levels.rms_db == pytest.approx(-9.0, abs=0.1)
    assert levels.seconds == 1.0
    assert levels.clipped == 0


def test_noise_floor_is_that_of_the_pauses() -> None:
    levels = measure(np.concatenate([noise(0.5, 33), tone(0.5, 10_000)]))
    assert levels.noise_db == pytest.approx(-60, abs=2)
    assert levels.rms_db > -20


def test_offset_is_no_loudness() -> None:
    levels = measure((noise(1.0, 33) + 2000).astype(np.int16))
    assert levels.offset == pytest.approx(2000, abs=2)
    assert levels.rms_db == pytest.approx(-60, abs=1)


@pytest.mark.parametrize("count", [1, 100, 319, 321])
def test_short_recordings(count: int) -> None:
    levels = measure(np.full(count, 100, np.int16))
    assert (levels.signal, levels.rms_db) == (False, FLOOR_DB)


@pytest.mark.parametrize(
    ("samples", "ok", "detail", "hint"),
    [
        (np.zeros(16_000, np.int16), False, "delivers only zeros", "not muted"),
        (np.full(16_000, -77, np.int16), False, "only the constant -77", "not muted"),
        (noise(1, 30), True, "noise floor -6", ""),
        (noise(1, 2), True, "noise floor -8", "very quiet"),
        (noise(1, 2000), True, "noise floor -2", "noisy"),
        (tone(1, 60_000), False, "clipped", "gain"),
        (np.full(16_000, -32768, np.int16), False, "constant -32768", ""),
    ],
)
def test_judgement(samples: Pcm, ok: bool, detail: str, hint: str) -> None:
    check = judge("microphone level", measure(samples))
    assert check.ok is ok
    assert detail in check.detail
    assert hint in check.hint
    assert bool(check.hint) == bool(hint) or not ok
