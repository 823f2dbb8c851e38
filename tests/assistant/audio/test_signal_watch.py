from __future__ import annotations

import numpy as np
import pytest

from assistant.audio.signal_watch import SignalWatch, has_signal

QUIET_ROOM = np.random.default_rng(1).normal(0, 3, 16_000).round().astype(np.int16)


def seconds(value: int, n: float) -> np.ndarray:
    return np.full(round(16_000 * n), value, np.int16)


@pytest.mark.parametrize("value", [0, 1, -1, 517, -32_768, 32_767])
@pytest.mark.parametrize("size", [7, 160, 4_801])
def test_zeros_and_constants_are_found_once(value: int, size: int) -> None:
    watch = SignalWatch(seconds=3)
    stuck = seconds(value, 6)
    changes = [watch.feed(stuck[i : i + size]) for i in range(0, len(stuck), size)]
    assert [c for c in changes if c] == ["lost"]
    assert changes.index("lost") * size / 16_000 == pytest.approx(3, abs=0.31)
    assert not watch.ever


def test_by_default_it_is_found_within_a_minute() -> None:
    watch = SignalWatch()
    assert any(watch.feed(seconds(0, 1)) == "lost" for _ in range(60))


def test_a_toggling_lowest_bit_is_no_signal() -> None:
    watch = SignalWatch(seconds=1)
    toggling = (np.arange(32_000) // 7 % 2 + 200).astype(np.int16)
    assert watch.feed(toggling) == "lost"


def test_a_slow_drift_is_a_signal() -> None:
    watch = SignalWatch(seconds=1)
    assert watch.feed((np.arange(64_000) // 4_000).astype(np.int16)) is None


def test_a_quiet_room_is_a_signal_and_brings_it_back() -> None:
    watch = SignalWatch(seconds=2)
    assert watch.feed(QUIET_ROOM) is None
    assert watch.feed(seconds(0, 3)) == "lost"
    assert watch.feed(QUIET_ROOM[:4_800]) is None, "a short crackle is not yet a signal"
    assert watch.feed(QUIET_ROOM) == "back"
    assert watch.feed(seconds(0, 3)) == "lost"


def test_a_pause_of_a_gated_speakerphone_is_tolerated() -> None:
    watch = SignalWatch()
    for _ in range(5):
        assert watch.feed(seconds(0, 20)) is None
        assert watch.feed(QUIET_ROOM) is None


def test_has_signal() -> None:
    assert has_signal(QUIET_ROOM)
    assert not has_signal(seconds(12, 1))
    assert not has_signal(np.zeros(0, np.int16))
    assert has_signal(np.array([-32_768, 32_767], np.int16))
