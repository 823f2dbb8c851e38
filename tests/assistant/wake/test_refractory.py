from __future__ import annotations

import pytest

from assistant.wake.refractory import Refractory


def wakes(track: list[tuple[bool, int]], milliseconds: int = 2000) -> list[int]:
    """Frames at which it wakes; the track is (above, frames) runs."""
    gate = Refractory(milliseconds)
    found, frame = [], 0
    for above, count in track:
        for _ in range(count):
            if gate.step(above):
                found.append(frame)
            frame += 1
    return found


@pytest.mark.parametrize(
    ("track", "expected"),
    [
        ([(False, 1000)], []),
        ([(False, 10), (True, 30), (False, 100)], [10]),
        # The score of one utterance dips below the threshold and comes back.
        ([(True, 5), (False, 4), (True, 9), (False, 30), (True, 3)], [0]),
        # Twice, three seconds apart.
        ([(True, 20), (False, 280), (True, 20)], [0, 300]),
        # A detector that is stuck high wakes once.
        ([(True, 5000)], [0]),
        # It rose within the refractory time and stayed: still the same utterance.
        ([(True, 10), (False, 150), (True, 400), (False, 1), (True, 5)], [0, 561]),
        ([(True, 1), (False, 198), (True, 1)], [0]),
        ([(True, 1), (False, 199), (True, 1)], [0, 200]),
    ],
)
def test_one_wake_per_utterance(track: list[tuple[bool, int]], expected: list[int]) -> None:
    assert wakes(track) == expected


def test_without_a_refractory_time_each_rise_wakes() -> None:
    assert wakes([(True, 3), (False, 1), (True, 3)], 0) == [0, 4]


def test_reset_allows_the_next_wake_at_once() -> None:
    gate = Refractory(2000)
    assert gate.step(True)
    assert not gate.step(True)
    gate.reset()
    assert gate.step(True)
