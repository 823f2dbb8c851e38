"""Speakers without a device: a clock, or nothing at all, plays what is written."""

from __future__ import annotations

import threading
import time

from assistant.audio.base import AudioSink, Pcm
from assistant.audio.play_queue import OnStart, PlayQueue, loudness_gain

BLOCK_S = 0.01


class ClockedSink(AudioSink):
    """Plays by the clock as a device would, or consumes at once.

    Subclasses get what is played through ``consume``.

    Args:
        rate: Hz of what ``consume`` gets.
        realtime: False consumes within ``write``, so nothing ever waits.
        latency_s: seconds between ``consume`` and the moment at which a sample counts as
            heard, as in a Bluetooth speaker.
        wake_up_silence_ms: as in the configuration.
    """

    def __init__(
        self,
        rate: int,
        *,
        realtime: bool = True,
        latency_s: float = 0.0,
        wake_up_silence_ms: int = 0,
    ) -> None:
        self.volume = 100
        self.muted = False
        self.rate = rate
        self._realtime = realtime
        self._latency_s = latency_s
        self._queue = PlayQueue(rate, wake_up_silence_ms=wake_up_silence_ms)
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def consume(self, samples: Pcm, t: float) -> None:
        """Takes what is played now, at monotonic time ``t``; only sound, no idle silence."""

    def start(self) -> None:
        self._queue.open()
        if self._realtime:
            self._stopping.clear()
            self._thread = threading.Thread(target=self._run, name="audio-clock", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if not self._realtime:
            self._consume_all(rest=True)
        self._queue.close()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5.0)

    def write(self, samples: Pcm, rate: int, on_start: OnStart | None = None) -> None:
        gain = 0.0 if self.muted else loudness_gain(self.volume)
        if self._realtime:
            self._queue.write(samples, rate, gain, on_start)
            return
        step = max(1, rate // 2)
        for at in range(0, len(samples), step):
            first = on_start if at == 0 else None
            self._queue.write(samples[at : at + step], rate, gain, first)
            self._consume_all(rest=False)

    def drain(self, timeout: float | None = None, cancel: threading.Event | None = None) -> bool:
        if self._realtime:
            return self._queue.drain(timeout, cancel)
        self._consume_all(rest=True)
        return True

    def flush(self) -> None:
        self._queue.flush()

    @property
    def playing(self) -> bool:
        return self._realtime and self._queue.playing

    def _consume_all(self, *, rest: bool) -> None:
        if rest:
            self._queue.finish()
        n = self._queue.available
        if n:
            now = time.monotonic()
            samples, _, begun = self._queue.pull(n, now)
            self.consume(samples, now)
            for on_start in begun:
                on_start(now)

    def _run(self) -> None:
        block = round(self.rate * BLOCK_S)
        while not self._stopping.is_set():
            if not self._queue.wait_for_sound(timeout=1.0):
                continue
            due = time.monotonic()
            while not self._stopping.is_set():
                samples, n, begun = self._queue.pull(block, due, self._latency_s)
                if n == 0:
                    break
                self.consume(samples[:n], due)
                for on_start in begun:
                    on_start(due)
                due += block / self.rate
                self._stopping.wait(max(0.0, due - time.monotonic()))


class NullSink(ClockedSink):
    """A speaker that nobody hears."""

    def __init__(self, *, realtime: bool = True, latency_s: float = 0.0) -> None:
        super().__init__(16_000, realtime=realtime, latency_s=latency_s)
