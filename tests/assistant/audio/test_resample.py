from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.audio.resample import Resampler, to_pcm
from tests.assistant.audio.fakes_audio import resampled, sine

RATES = (8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000)


def snr_db(samples: np.ndarray, hz: float, rate: int) -> float:
    """Power of the best fitting sine of ``hz`` over the power of all else."""
    x = samples[rate // 10 : -rate // 10].astype(np.float64)
    t = np.arange(len(x)) / rate
    basis = np.stack([np.sin(2 * np.pi * hz * t), np.cos(2 * np.pi * hz * t)], axis=1)
    fit = basis @ np.linalg.lstsq(basis, x, rcond=None)[0]
    return float(10 * np.log10(np.sum(fit**2) / np.sum((x - fit) ** 2)))


@pytest.mark.parametrize("target", RATES)
@pytest.mark.parametrize("source", RATES)
def test_sines_stay_clean_between_all_rates(source: int, target: int) -> None:
    for hz in (110.0, 1_000.0, 0.4 * min(source, target)):
        out = resampled(sine(hz, 0.6, source), source, target)
        assert len(out) == pytest.approx(0.6 * target, abs=2)
        assert snr_db(out, hz, target) > 60


@pytest.mark.parametrize("source", [44_100, 48_000])
def test_what_16_khz_cannot_hold_is_removed(source: int) -> None:
    out = resampled(sine(9_500.0, 0.5, source), source, 16_000)
    assert np.abs(out[1600:-1600]).max() <= 3


@pytest.mark.parametrize(
    ("source", "target"), [(48_000, 16_000), (22_050, 48_000), (44_100, 16_000)]
)
def test_a_sweep_has_no_clicks(source: int, target: int) -> None:
    t = np.arange(source) / source
    top = 0.4 * min(source, target)
    sweep = np.rint(16_000 * np.sin(2 * np.pi * (50 * t + (top - 50) * t**2 / 2)))
    out = resampled(sweep.astype(np.int16), source, target).astype(np.float64)
    out = out[: -target // 20]  # the sweep breaks off there, which is a click of its own
    steepest = 16_000 * 2 * np.pi * top / target
    assert np.abs(np.diff(out)).max() <= steepest * 1.05
    assert np.abs(out).max() <= 16_000 * 1.05


@settings(deadline=None, max_examples=25)
@given(
    cuts=st.lists(st.integers(1, 3_000), min_size=1, max_size=30),
    rates=st.sampled_from([(48_000, 16_000), (22_050, 44_100), (11_025, 16_000), (16_000, 16_000)]),
)
def test_the_result_does_not_depend_on_the_cuts(cuts: list[int], rates: tuple[int, int]) -> None:
    noise = np.random.default_rng(7).normal(0, 3_000, sum(cuts)).astype(np.float32)
    whole = Resampler(*rates)
    expected = np.concatenate([whole.process(noise), whole.flush()])
    pieces, stream, at = [], Resampler(*rates), 0
    for n in cuts:
        pieces.append(stream.process(noise[at : at + n]))
        at += n
    pieces.append(stream.flush())
    np.testing.assert_array_equal(np.concatenate(pieces), expected)


def test_it_can_be_used_again_after_flush_and_reset() -> None:
    stream = Resampler(48_000, 16_000)
    block = sine(440, 0.1, 48_000).astype(np.float32)
    first = np.concatenate([stream.process(block), stream.flush()])
    assert not stream.pending
    stream.process(block[:700])
    assert stream.pending
    stream.reset()
    again = np.concatenate([stream.process(block), stream.flush()])
    np.testing.assert_array_equal(first, again)


def test_loud_samples_saturate_instead_of_wrapping() -> None:
    np.testing.assert_array_equal(
        to_pcm(np.array([40_000, -40_000, 32_767.4, 0.5, 1.5], np.float32)),
        [32_767, -32_768, 32_767, 0, 2],
    )
