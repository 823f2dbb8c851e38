"""What waits to be played: volume, resampling, order, fades and waiting, without a device."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

import numpy as np

from assistant.audio.base import Pcm
from assistant.audio.resample import Resampler, Samples, to_pcm

LIMIT_S = 1.0
"""``write`` blocks while more than this waits."""

SLICE_S = 0.1
"""A long block is converted in slices of this length, so that the device never waits long."""

FADE_S = 0.008
"""Length of the fade that ends sound which is cut, against a click."""

IDLE_S = 1.0
"""A pause after which an amplifier may have gone to sleep."""

POLL_S = 0.02

OnStart = Callable[[float], None]


def loudness_gain(volume: int) -> float:
    """The amplitude factor (0 to 1) of a volume of 0 to 100.

    Loudness grows with about the 0.6th power of the amplitude (Stevens), so this makes 50
    sound half as loud as 100: -10 dB; 10 is -33 dB and 0 is silent.
    """
    return float((min(max(volume, 0), 100) / 100) ** (1 / 0.6))


class PlayQueue:
    """Samples on their way to a speaker; one writer, one device that pulls, any controllers.

    Args:
        rate: Hz of the device.
        limit_s: seconds of sound that may wait before ``write`` blocks.
        wake_up_silence_ms: silence put before the first sample after a pause.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        rate: int,
        *,
        limit_s: float = LIMIT_S,
        wake_up_silence_ms: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rate = rate
        self._limit_s = limit_s
        self._wake_up_ms = wake_up_silence_ms
        self._clock = clock
        self._changed = threading.Condition()
        self._blocks: deque[Pcm] = deque()
        self._queued = 0
        """Samples ever queued."""
        self._pulled = 0
        """Samples ever given to the device, and those dropped."""
        self._marks: deque[tuple[int, OnStart]] = deque()
        """Positions among the queued samples at which a write begins."""
        self._resampler: Resampler | None = None
        self._base = 0
        """Position at which the resampler's output began."""
        self._left_at = float("-inf")
        """When the last sample leaves (or left) the speaker."""
        self._sounding = False
        self._generation = 0
        self._closed = False

    # For the writer.

    def write(
        self, samples: Pcm, rate: int, gain: float = 1.0, on_start: OnStart | None = None
    ) -> None:
        """Queues ``samples`` times ``gain``; returns early when it is flushed or closed."""
        with self._changed:
            generation = self._generation
            if self._closed or len(samples) == 0:
                return
            self._wake_up()
            self._convert_from(rate)
            if on_start is not None:
                self._marks.append((self._next_position(), on_start))
        step = max(1, round(rate * SLICE_S))
        for at in range(0, len(samples), step):
            part = samples[at : at + step].astype(np.float32) * np.float32(gain)
            with self._changed:
                while self._waiting_s() > self._limit_s and generation == self._generation:
                    self._changed.wait(POLL_S)
                if generation != self._generation:
                    return
                self._feed(part, rate)

    def finish(self) -> None:
        """Moves what is still in the resampler into the queue."""
        with self._changed:
            self._finish()

    def _wake_up(self) -> None:
        idle = not self._waiting() and self._clock() - self._left_at > IDLE_S
        if idle and self._wake_up_ms:
            self._append(np.zeros(round(self.rate * self._wake_up_ms / 1000), np.int16))

    def _convert_from(self, rate: int) -> None:
        if self._resampler is None or self._resampler.source_rate != rate:
            self._finish()
            self._resampler = Resampler(rate, self.rate)
        if self._resampler.taken == 0:
            self._base = self._queued

    def _next_position(self) -> int:
        """Where the next sample given to the resampler will come out."""
        assert self._resampler is not None
        return self._base + round(self._resampler.taken * self.rate / self._resampler.source_rate)

    def _feed(self, part: Samples, rate: int) -> None:
        # The device may have flushed the resampler meanwhile, since nothing else was left.
        self._convert_from(rate)
        assert self._resampler is not None
        self._append(to_pcm(self._resampler.process(part)))

    def _finish(self) -> None:
        if self._resampler is not None:
            self._append(to_pcm(self._resampler.flush()))

    def _append(self, block: Pcm) -> None:
        if len(block):
            self._blocks.append(block)
            self._queued += len(block)
            self._changed.notify_all()

    # For the device.

    def pull(self, n: int, t: float, latency: float = 0.0) -> tuple[Pcm, int, list[OnStart]]:
        """What the device plays next.

        Returns the next ``n`` samples filled up with silence, how many of them waited, and
        whom to tell that their sound begins.

        t: monotonic time of the call; latency: seconds until its first sample is heard.
        """
        with self._changed:
            if self._queued - self._pulled < n:
                self._finish()
            out = np.zeros(n, np.int16)
            filled = self._take(out)
            self._pulled += filled
            self._sounding = filled == n
            if filled:
                self._left_at = t + latency + filled / self.rate
                self._changed.notify_all()
            due: list[OnStart] = []
            while self._marks and (self._marks[0][0] < self._pulled or not self._waiting()):
                due.append(self._marks.popleft()[1])
            return out, filled, due

    def _take(self, out: Pcm) -> int:
        """Moves waiting samples into ``out``; how many there were."""
        filled = 0
        while filled < len(out) and self._blocks:
            block = self._blocks.popleft()
            part = block[: len(out) - filled]
            out[filled : filled + len(part)] = part
            filled += len(part)
            if len(part) < len(block):
                self._blocks.appendleft(block[len(part) :])
        return filled

    @property
    def available(self) -> int:
        """Samples that wait."""
        with self._changed:
            return self._queued - self._pulled

    def wait_for_sound(self, timeout: float) -> bool:
        """Waits until something is to be played, or the queue was closed."""
        with self._changed:
            return self._changed.wait_for(lambda: self._waiting() or self._closed, timeout)

    # For everybody.

    @property
    def playing(self) -> bool:
        with self._changed:
            return self._waiting() or self._clock() < self._left_at

    def drain(self, timeout: float | None = None, cancel: threading.Event | None = None) -> bool:
        """Waits until the last sample was heard; False when cut, cancelled, too late or closed."""
        deadline = None if timeout is None else self._clock() + timeout
        with self._changed:
            generation = self._generation
            self._finish()
            while True:
                if self._closed or generation != self._generation:
                    return False
                if cancel is not None and cancel.is_set():
                    return False
                now = self._clock()
                if not self._waiting() and now >= self._left_at:
                    return True
                if deadline is not None and now >= deadline:
                    return False
                wait = POLL_S if self._waiting() else min(POLL_S, self._left_at - now)
                self._changed.wait(max(0.001, wait))

    def flush(self) -> None:
        """Drops what waits, but for a fade of a few milliseconds of what is sounding."""
        with self._changed:
            fade = np.zeros(round(self.rate * FADE_S), np.int16)
            n = self._take(fade) if self._sounding else 0
            self._drop()
            if n:
                ramp = np.linspace(1, 0, n + 1, dtype=np.float32)[1:]
                self._append(to_pcm(fade[:n].astype(np.float32) * ramp))
                self._sounding = False

    def set_rate(self, rate: int) -> None:
        """The device now runs at ``rate`` Hz; if that is new, what waited is dropped."""
        with self._changed:
            if rate == self.rate:
                return
            self._drop()
            self.rate = rate
            self._resampler = None

    def close(self) -> None:
        """Ends every wait; nothing is taken any more."""
        with self._changed:
            self._drop()
            self._closed = True

    def open(self) -> None:
        """Takes samples again after ``close``."""
        with self._changed:
            self._closed = False

    def _drop(self) -> None:
        self._generation += 1
        self._blocks.clear()
        self._marks.clear()
        self._pulled = self._queued
        if self._resampler is not None:
            self._resampler.reset()
        self._changed.notify_all()

    def _waiting(self) -> bool:
        return self._queued > self._pulled or (
            self._resampler is not None and self._resampler.pending
        )

    def _waiting_s(self) -> float:
        return (self._queued - self._pulled) / self.rate
