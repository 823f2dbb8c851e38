from __future__ import annotations

import itertools

import numpy as np
import pytest

from assistant.audio.chime import RATE, Sound, chime

SOUNDS: tuple[Sound, ...] = ("wake", "end", "error", "ring")


@pytest.mark.parametrize("sound", SOUNDS)
def test_level_length_and_soft_edges(sound: Sound) -> None:
    samples = chime(sound).astype(np.int32)
    assert 20 * np.log10(np.abs(samples).max() / 32_767) == pytest.approx(-12, abs=0.01)
    assert 0.1 <= len(samples) / RATE <= 1.0
    assert np.abs(samples[:24]).max() < 1_000
    assert np.abs(samples[-24:]).max() < 200
    assert abs(samples.mean()) < 20
    assert np.abs(np.diff(samples)).max() < 4_500, "no click inside"


def test_a_ring_is_a_second_and_can_be_repeated() -> None:
    assert len(chime("ring")) == RATE
    assert not chime("ring")[-RATE // 10 :].any()


def test_they_differ_and_cannot_be_spoilt() -> None:
    for a, b in itertools.combinations(SOUNDS, 2):
        assert not np.array_equal(chime(a), chime(b))
    with pytest.raises(ValueError):
        chime("wake")[0] = 1
