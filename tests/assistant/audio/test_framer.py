from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.audio.framer import Framer
from tests.assistant.audio.fakes_audio import resampled, sine


def frames(framer: Framer) -> np.ndarray:
    parts = [np.zeros(0, np.int16)]
    while (frame := framer.next()) is not None:
        assert frame.shape == (160,)
        parts.append(frame)
    return np.concatenate(parts)


@given(st.lists(st.integers(0, 500), max_size=20), st.integers(0, 1_000))
def test_nothing_is_lost_and_the_end_is_a_whole_frame(cuts: list[int], silence: int) -> None:
    framer, at = Framer(16_000), 0
    samples = np.arange(1, sum(cuts) + 1, dtype=np.float32)
    for n in cuts:
        framer.feed(samples[at : at + n])
        at += n
    framer.finish(silence)
    got = frames(framer)
    np.testing.assert_array_equal(got[:at], samples)
    assert not got[at:].any()
    assert 0 <= len(got) - at - silence < 160


def test_the_end_of_a_resampled_stream_comes_out() -> None:
    tone = sine(500, 0.3, 44_100)
    framer = Framer(44_100)
    framer.feed(tone.astype(np.float32))
    early = frames(framer)
    framer.finish()
    got = np.concatenate([early, frames(framer)])
    assert len(early) < len(got)
    np.testing.assert_array_equal(got, resampled(tone, 44_100, 16_000))


def test_gain_is_in_db_and_saturates() -> None:
    framer = Framer(16_000, gain_db=20)
    framer.feed(np.array([100, -3_000, 5_000] + [0] * 157, np.float32))
    assert list(frames(framer)[:3]) == pytest.approx([1_000, -30_000, 32_767], abs=1)
