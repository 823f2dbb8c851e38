from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.audio.play_queue import PlayQueue, loudness_gain
from tests.assistant.audio.fakes_audio import FakeClock, resampled, sine
from tests.patience import PATIENCE_S

RATE = 16_000
RAMP = np.arange(1, 16_001, dtype=np.int16)


def drained(queue: PlayQueue, block: int = 160) -> np.ndarray:
    """All that waits."""
    parts = [np.zeros(0, np.int16)]
    while True:
        samples, n, _ = queue.pull(block, 0.0)
        parts.append(samples[:n])
        assert not samples[n:].any()
        if n == 0:
            return np.concatenate(parts)


def in_thread(work: object) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)  # type: ignore[arg-type]
    thread.start()
    return thread


def test_samples_come_out_once_and_in_order() -> None:
    queue = PlayQueue(RATE)
    for part in np.array_split(RAMP, [10, 1_000, 1_001, 9_000]):
        queue.write(part, RATE)
    np.testing.assert_array_equal(drained(queue, 333), RAMP)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=12), st.integers(1, 700))
def test_pieces_of_another_rate_join_without_a_seam(cuts: list[int], block: int) -> None:
    whole = sine(700, sum(cuts) / 22_050, 22_050)[: sum(cuts)]
    queue = PlayQueue(48_000)
    at = 0
    for n in cuts:
        queue.write(whole[at : at + n], 22_050)
        at += n
    np.testing.assert_array_equal(drained(queue, block), resampled(whole, 22_050, 48_000))


def test_a_change_of_rate_keeps_everything() -> None:
    queue = PlayQueue(48_000)
    a, b = sine(300, 0.1, 22_050), sine(300, 0.1, 16_000)
    queue.write(a, 22_050)
    queue.write(b, 16_000)
    expected = np.concatenate([resampled(a, 22_050, 48_000), resampled(b, 16_000, 48_000)])
    np.testing.assert_array_equal(drained(queue), expected)


def test_the_loudness_curve() -> None:
    assert loudness_gain(0) == 0.0
    assert loudness_gain(100) == 1.0
    assert 20 * np.log10(loudness_gain(50)) == pytest.approx(-10, abs=0.1)
    gains = [loudness_gain(v) for v in range(101)]
    assert gains == sorted(set(gains))
    assert loudness_gain(500) == 1.0
    assert loudness_gain(-3) == 0.0


def test_gain_applies_to_what_is_written_from_now_on_and_never_clips() -> None:
    queue = PlayQueue(RATE)
    loud = np.full(100, -32_768, np.int16)
    queue.write(loud, RATE, gain=1.0)
    queue.write(loud, RATE, gain=0.5)
    queue.write(loud, RATE, gain=0.0)
    np.testing.assert_array_equal(drained(queue), [-32_768] * 100 + [-16_384] * 100 + [0] * 100)


def test_full_scale_saturates_when_resampled() -> None:
    square = np.where(np.arange(4_410) // 50 % 2, 32_767, -32_768).astype(np.int16)
    queue = PlayQueue(48_000)
    queue.write(square, 44_100)
    twice = 2 * resampled(square // 2, 44_100, 48_000).astype(np.int32)
    assert np.abs(twice).max() > 33_000
    np.testing.assert_allclose(drained(queue), np.clip(twice, -32_768, 32_767), atol=8)


def test_on_start_is_due_with_its_first_sample() -> None:
    queue = PlayQueue(RATE)
    begun: list[str] = []
    queue.write(RAMP[:400], RATE, on_start=lambda t: begun.append("a"))
    queue.write(RAMP[:400], RATE, on_start=lambda t: begun.append("b"))
    seen = []
    for _ in range(6):
        for call in queue.pull(160, 1.0)[2]:
            call(1.0)
        seen.append("".join(begun))
    assert seen == ["a", "a", "ab", "ab", "ab", "ab"]


def test_on_start_follows_the_resampler() -> None:
    queue = PlayQueue(48_000)
    begun: list[str] = []
    queue.write(sine(300, 0.5, 16_000), 16_000, on_start=lambda t: begun.append("a"))
    queue.write(sine(300, 0.1, 16_000), 16_000, on_start=lambda t: begun.append("b"))
    assert len(queue.pull(24_000, 0.0)[2]) == 1
    assert len(queue.pull(1, 0.0)[2]) == 1


def test_silence_wakes_the_amplifier_only_after_a_pause() -> None:
    clock = FakeClock()
    queue = PlayQueue(RATE, wake_up_silence_ms=50, clock=clock)
    begun: list[float] = []

    def played() -> np.ndarray:
        return drained_at(queue, clock)

    queue.write(RAMP[:300], RATE, on_start=begun.append)
    np.testing.assert_array_equal(played(), np.concatenate([np.zeros(800), RAMP[:300]]))
    clock.advance(0.9)
    queue.write(RAMP[:300], RATE)
    np.testing.assert_array_equal(played(), RAMP[:300])
    clock.advance(1.1)
    queue.write(RAMP[:300], RATE)
    queue.write(RAMP[300:600], RATE)
    np.testing.assert_array_equal(played(), np.concatenate([np.zeros(800), RAMP[:600]]))


def drained_at(queue: PlayQueue, clock: FakeClock) -> np.ndarray:
    parts = []
    while queue.available:
        samples, n, _ = queue.pull(100, clock.now)
        parts.append(samples[:n])
        clock.advance(n / RATE)
    return np.concatenate(parts)


def test_on_start_comes_after_the_waking_silence() -> None:
    queue = PlayQueue(RATE, wake_up_silence_ms=100, clock=FakeClock())
    queue.write(RAMP[:300], RATE, on_start=lambda t: None)
    assert queue.pull(1_600, 0.0)[2] == []
    assert len(queue.pull(1, 0.0)[2]) == 1


def test_flush_leaves_a_short_fade_and_nothing_else() -> None:
    queue = PlayQueue(RATE)
    queue.write(np.full(8_000, 10_000, np.int16), RATE)
    queue.write(np.full(8_000, -10_000, np.int16), RATE, on_start=lambda t: None)
    queue.pull(160, 0.0)
    queue.flush()
    queue.write(RAMP[:50], RATE)
    out, n, due = queue.pull(1_000, 0.0)
    assert due == []
    fade = out[: n - 50].astype(np.int32)
    assert len(fade) <= 0.010 * RATE
    assert 0 < 10_000 - fade[0] < 400
    assert 0 <= fade[-1] < 400
    assert np.abs(np.diff(fade)).max() < 400, "no click"
    np.testing.assert_array_equal(out[n - 50 : n], RAMP[:50])


def test_flush_before_anything_sounded_leaves_nothing() -> None:
    queue = PlayQueue(48_000)
    queue.write(sine(300, 0.3, 22_050), 22_050)
    queue.flush()
    assert not queue.playing
    assert queue.pull(480, 0.0)[1] == 0
    queue.write(RAMP[:480], 48_000)
    np.testing.assert_array_equal(drained(queue), RAMP[:480])


def test_flush_forgets_what_is_in_the_resampler() -> None:
    queue = PlayQueue(48_000)
    queue.write(sine(300, 0.3, 22_050), 22_050)
    queue.pull(queue.available, 0.0)
    queue.flush()
    new = sine(900, 0.2, 22_050)
    queue.write(new, 22_050)
    np.testing.assert_array_equal(drained(queue), resampled(new, 22_050, 48_000))


def test_write_blocks_when_a_second_waits_and_flush_frees_it() -> None:
    queue = PlayQueue(RATE)
    writer = in_thread(lambda: queue.write(np.tile(RAMP, 10), RATE))
    while queue.available <= RATE:
        assert writer.is_alive()
    assert queue.available < 1.3 * RATE
    queue.flush()
    writer.join(PATIENCE_S)
    assert not writer.is_alive()
    assert queue.available == 0


def test_close_ends_a_blocked_write_and_a_drain() -> None:
    queue = PlayQueue(RATE)
    ends: list[bool] = []
    writer = in_thread(lambda: queue.write(np.tile(RAMP, 10), RATE))
    waiter = in_thread(lambda: ends.append(queue.drain()))
    while queue.available <= RATE:
        pass
    queue.close()
    writer.join(PATIENCE_S)
    waiter.join(PATIENCE_S)
    assert not writer.is_alive()
    assert ends == [False]
    queue.write(RAMP, RATE)
    assert queue.available == 0


def test_drain_counts_the_latency_of_the_device() -> None:
    clock = FakeClock()
    queue = PlayQueue(RATE, clock=clock)
    assert queue.drain(timeout=0), "nothing to wait for"
    queue.write(RAMP[:1_600], RATE)
    assert not queue.drain(timeout=0)
    queue.pull(1_600, clock.now, latency=2.0)
    for _ in range(20):
        assert queue.playing
        assert not queue.drain(timeout=0)
        clock.advance(0.1)
    clock.advance(0.101)
    assert not queue.playing
    assert queue.drain(timeout=0)


def test_drain_plays_out_the_resampler() -> None:
    queue = PlayQueue(48_000)
    tone = sine(300, 0.2, 22_050)
    queue.write(tone, 22_050)
    assert not queue.drain(timeout=0)
    assert queue.available == len(resampled(tone, 22_050, 48_000))


def test_drain_can_be_cancelled_and_is_false_after_a_flush() -> None:
    queue = PlayQueue(RATE)
    queue.write(RAMP, RATE)
    cancel = threading.Event()
    ends: list[bool] = []
    waiter = in_thread(lambda: ends.append(queue.drain(cancel=cancel)))
    cancel.set()
    waiter.join(PATIENCE_S)
    assert ends == [False]
    started = threading.Event()

    def wait_again() -> None:
        started.set()
        ends.append(queue.drain())

    waiter = in_thread(wait_again)
    started.wait(PATIENCE_S)
    while waiter.is_alive():
        queue.write(RAMP[:10], RATE)
        queue.flush()
        waiter.join(0.01)
    assert len(ends) == 2


def test_nothing_written_is_nothing() -> None:
    queue = PlayQueue(RATE, wake_up_silence_ms=100)
    queue.write(RAMP[:0], RATE, on_start=lambda t: None)
    assert not queue.playing
