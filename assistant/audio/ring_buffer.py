"""The queue between the device's callback and the reader: bounded, never blocks the writer."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray


class RingBuffer:
    """A first-in first-out buffer of int16 frames; when it is full the oldest go.

    Positions count the frames ever written, so a gap left by dropped frames shows.

    Args:
        capacity: frames kept at most (a frame is one sample of every channel).
        channels: samples in a frame.
    """

    def __init__(self, capacity: int, channels: int = 1) -> None:
        if capacity < 1 or channels < 1:
            raise ValueError(f"capacity {capacity} and channels {channels} must be positive")
        self.capacity = capacity
        self.channels = channels
        self.dropped = 0
        """Frames that were overwritten before they were read."""
        self.written = 0
        """Frames ever written."""
        self._data: NDArray[np.int16] = np.zeros((capacity, channels), np.int16)
        self._read = 0
        self._ready = threading.Condition()

    def __len__(self) -> int:
        return self.written - self._read

    def write(self, block: NDArray[np.int16]) -> None:
        """Adds ``block``, shape (n, channels); drops the oldest frames when there is no room."""
        with self._ready:
            end = self.written + len(block)
            kept = block[-self.capacity :]
            at = (end - len(kept)) % self.capacity
            first = min(len(kept), self.capacity - at)
            self._data[at : at + first] = kept[:first]
            self._data[: len(kept) - first] = kept[first:]
            self.written = end
            oldest = end - self.capacity
            if oldest > self._read:
                self.dropped += oldest - self._read
                self._read = oldest
            self._ready.notify_all()

    def read(self, limit: int, timeout: float = 0.0) -> tuple[int, NDArray[np.int16]] | None:
        """The oldest frames, up to ``limit``: their position and a copy, shape (n, channels).

        None when nothing came within ``timeout`` seconds, or after ``wake``.
        """
        with self._ready:
            if self.written == self._read and timeout > 0:
                self._ready.wait(timeout)
            n = min(limit, self.written - self._read)
            if n <= 0:
                return None
            start = self._read
            index = np.arange(start, start + n) % self.capacity
            self._read += n
            return start, self._data[index]

    def wake(self) -> None:
        """Ends a waiting ``read`` at once."""
        with self._ready:
            self._ready.notify_all()
