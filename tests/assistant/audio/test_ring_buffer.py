from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.audio.ring_buffer import RingBuffer
from tests.patience import PATIENCE_S


def block(start: int, n: int, channels: int = 1) -> np.ndarray:
    return np.repeat(np.arange(start, start + n, dtype=np.int16)[:, None], channels, axis=1)


def test_the_oldest_go_and_are_counted() -> None:
    ring = RingBuffer(10, 2)
    ring.write(block(0, 6, 2))
    ring.write(block(6, 8, 2))
    assert (ring.dropped, ring.written, len(ring)) == (4, 14, 10)
    start, data = ring.read(100)  # type: ignore[misc]
    assert start == 4
    np.testing.assert_array_equal(data, block(4, 10, 2))
    assert ring.read(100) is None


def test_a_block_larger_than_the_buffer_leaves_its_end() -> None:
    ring = RingBuffer(4)
    ring.write(block(0, 9))
    start, data = ring.read(9)  # type: ignore[misc]
    assert (start, ring.dropped) == (5, 5)
    np.testing.assert_array_equal(data, block(5, 4))


@given(
    st.integers(1, 20),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=30),
)
def test_every_frame_is_read_once_in_order_or_dropped(
    capacity: int, steps: list[tuple[int, int]]
) -> None:
    ring, written, seen = RingBuffer(capacity), 0, []
    for n_write, n_read in steps:
        ring.write(block(written, n_write))
        written += n_write
        got = ring.read(n_read)
        if got is not None:
            start, data = got
            np.testing.assert_array_equal(data, block(start, len(data)))
            seen.extend(range(start, start + len(data)))
    assert seen == sorted(set(seen))
    assert len(seen) + ring.dropped + len(ring) == written


def test_read_waits_for_a_writer_and_can_be_woken() -> None:
    ring = RingBuffer(8)
    got: list[object] = []
    reader = threading.Thread(target=lambda: got.append(ring.read(8, timeout=60)))
    reader.start()
    ring.write(block(3, 2))
    reader.join(PATIENCE_S)
    assert got[0][0] == 0  # type: ignore[index]
    reader = threading.Thread(target=lambda: got.append(ring.read(8, timeout=60)))
    reader.start()
    while reader.is_alive():
        ring.wake()
        reader.join(0.01)
    assert got[1] is None


def test_memory_is_fixed_under_overload() -> None:
    ring = RingBuffer(1_600)
    data = ring._data
    for _ in range(1_000):
        ring.write(np.zeros((160, 1), np.int16))
    assert ring._data is data
    assert ring.dropped == 160_000 - 1_600


@pytest.mark.parametrize("bad", [(0, 1), (5, 0)])
def test_sizes_must_be_positive(bad: tuple[int, int]) -> None:
    with pytest.raises(ValueError):
        RingBuffer(*bad)
