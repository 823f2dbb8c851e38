"""Makes one channel of many: a chosen one, or a mix that dead channels cannot spoil."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assistant.audio.resample import Samples

JUDGE_S = 0.5
"""How long a channel must be flat beside a live one to be left out."""

CANCEL_RATIO = 0.2
"""A mix cancels itself below this share of the power that unrelated channels would leave."""


class ChannelMixer:
    """Turns blocks of shape (n, channels) into mono.

    ``channel`` 1 and up takes that channel. 0 takes the mean of all channels that live:

    - A channel that is flat (zeros or a constant) while another one moves is no working
      microphone: it is left out of the block, and after half a second for good. That
      removes dead channels and the playback reference of a microphone array, which is
      silent until something is played. It comes back only when all the others are flat.
    - When the mean nearly cancels (two channels of opposite sign), the first live channel
      is taken alone.

    Args:
        channels: samples in a frame.
        rate: Hz.
        channel: 0 or the number of the channel, from 1; at most ``channels``.
    """

    def __init__(self, channels: int, rate: int, channel: int = 0) -> None:
        if not 0 <= channel <= channels:
            raise ValueError(f"channel {channel} of {channels}")
        self._channels = channels
        self._channel = channel
        self._judge = round(rate * JUDGE_S)
        self._flat = np.zeros(channels, np.int64)
        self._barred = np.zeros(channels, bool)
        self._cancelled = 0

    @property
    def left_out(self) -> tuple[int, ...]:
        """Numbers (from 1) of the channels left out for good."""
        return tuple(int(i) + 1 for i in np.flatnonzero(self._barred))

    def process(self, block: NDArray[np.int16] | NDArray[np.float32]) -> Samples:
        """``block``: shape (n, channels), in 16-bit units."""
        if self._channels == 1 or self._channel:
            return block[:, max(0, self._channel - 1)].astype(np.float32)
        if len(block) == 0:
            return np.zeros(0, np.float32)
        frames: NDArray[np.float32] = block.astype(np.float32)
        moving = np.ptp(frames, axis=0) > 1.0
        used = self._choose(moving, len(frames))
        if len(used) == 1:
            return frames[:, used[0]]
        mixed: Samples = frames[:, used].mean(axis=1, dtype=np.float32)
        return frames[:, used[0]] if self._cancels(frames[:, used], mixed) else mixed

    def _choose(self, moving: NDArray[np.bool_], n: int) -> NDArray[np.intp]:
        """Indices of the channels to mix in a block of n frames."""
        if not moving.any():
            return np.flatnonzero(~self._barred)
        if not (moving & ~self._barred).any():
            self._barred[:] = False
        self._flat = np.where(moving, 0, self._flat + n)
        self._barred |= self._flat >= self._judge
        return np.flatnonzero(moving & ~self._barred)

    def _cancels(self, frames: NDArray[np.float32], mixed: Samples) -> bool:
        power = float(np.var(frames, axis=0).mean())
        cancels = float(np.var(mixed)) * frames.shape[1] < CANCEL_RATIO * power
        self._cancelled = self._cancelled + len(mixed) if cancels else 0
        return self._cancelled >= self._judge
