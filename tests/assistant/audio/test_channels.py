from __future__ import annotations

import numpy as np
import pytest

from assistant.audio.channels import ChannelMixer
from tests.assistant.audio.fakes_audio import sine

RATE = 16_000
RNG = np.random.default_rng(3)
SPEECH = sine(300, 2.0, RATE, 0.3)


def run(frames: np.ndarray, channel: int = 0, block: int = 320) -> np.ndarray:
    mixer = ChannelMixer(frames.shape[1], RATE, channel)
    parts = [mixer.process(frames[i : i + block]) for i in range(0, len(frames), block)]
    return np.concatenate(parts)


def level_db(samples: np.ndarray) -> float:
    return float(20 * np.log10(np.std(samples[RATE:].astype(np.float64)) / np.std(SPEECH[RATE:])))


def test_one_channel_passes_untouched() -> None:
    np.testing.assert_array_equal(run(SPEECH[:, None]), SPEECH)


@pytest.mark.parametrize("channel", range(1, 7))
def test_each_channel_of_six_can_be_chosen(channel: int) -> None:
    frames = np.stack([SPEECH // (i + 1) for i in range(6)], axis=1)
    np.testing.assert_array_equal(run(frames, channel), SPEECH // channel)


@pytest.mark.parametrize("live", range(6))
@pytest.mark.parametrize("dead", [0, 1_234])
def test_speech_on_one_of_six_keeps_its_level(live: int, dead: int) -> None:
    frames = np.full((len(SPEECH), 6), dead, np.int16)
    frames[:, live] = SPEECH
    assert level_db(run(frames)) == pytest.approx(0, abs=0.1)


def test_equal_channels_are_averaged() -> None:
    assert level_db(run(np.stack([SPEECH] * 4, axis=1))) == pytest.approx(0, abs=0.01)


def test_a_playback_reference_stays_out_after_it_was_silent() -> None:
    loud = RNG.normal(0, 8_000, len(SPEECH)).astype(np.int16)
    loud[: RATE * 3 // 5] = 0
    mixed = run(np.stack([SPEECH, SPEECH, loud], axis=1))
    np.testing.assert_allclose(mixed[RATE:], SPEECH[RATE:])


def test_a_channel_left_out_returns_when_the_others_die() -> None:
    silent = np.zeros_like(SPEECH)
    first = np.concatenate([SPEECH, silent])
    second = np.concatenate([silent, SPEECH])
    mixed = run(np.stack([first, second], axis=1))
    np.testing.assert_allclose(mixed[-RATE:], SPEECH[-RATE:])


def test_channels_of_opposite_sign_do_not_cancel() -> None:
    assert level_db(run(np.stack([SPEECH, -SPEECH], axis=1))) == pytest.approx(0, abs=0.1)


def test_unrelated_noise_is_mixed_not_taken_for_cancelling() -> None:
    frames = RNG.normal(0, 1_000, (2 * RATE, 16)).astype(np.int16)
    assert np.std(run(frames)) == pytest.approx(250, rel=0.05)


def test_a_channel_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError):
        ChannelMixer(2, RATE, 3)


def test_all_flat_gives_the_constant() -> None:
    np.testing.assert_array_equal(run(np.full((3_200, 2), 9, np.int16)), 9)
