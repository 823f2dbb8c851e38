"""The speaker: any PortAudio device."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.audio.base import AudioSink, Pcm
from assistant.audio.devices import DeviceInfo, output_formats
from assistant.audio.keeper import StreamKeeper
from assistant.audio.play_queue import OnStart, PlayQueue, loudness_gain
from assistant.audio.sounddevice import PortAudio, shared
from assistant.config import OutputConfig

log = logging.getLogger(__name__)

AWAY_WAIT_S = 1.0
"""Longest wait of a write while the device is away."""

LARGEST_DELAY_S = 5.0
"""A device that claims more delay between callback and air than this is not believed."""


class SoundDeviceSink(AudioSink):
    """A speaker by (part of its) name, at its own rate, all channels alike.

    The stream runs all the time and plays silence in between, so a sentence begins at once.
    While the device is away a write waits as long as its sound would last (at most a
    second) and is dropped without a call of its ``on_start``; ``drain`` then returns False.

    Args:
        config: device, rate, wake_up_silence_ms.
        portaudio: the edge to PortAudio; tests bring their own.
        wait: ``start`` accepts a missing speaker, reports it as trouble and waits for it.
        threaded: False leaves looking after the device to calls of ``keeper.step``.
    """

    def __init__(
        self,
        config: OutputConfig,
        portaudio: PortAudio = shared,
        *,
        wait: bool = False,
        threaded: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.volume = 100
        self.muted = False
        self.keeper = StreamKeeper(portaudio, "output", config.device, self, clock)
        self._config = config
        self._clock = clock
        self.wait = wait
        self._threaded = threaded
        self._rate = 48_000
        self._queue = PlayQueue(
            self._rate, wake_up_silence_ms=config.wake_up_silence_ms, clock=clock
        )
        self._away = True
        self._cut = False
        """What was written last was dropped because the device is away."""
        self._back = threading.Event()
        self._begun: queue.SimpleQueue[tuple[OnStart, float] | None] = queue.SimpleQueue()
        self._teller: threading.Thread | None = None
        self._running = False

    def start(self) -> None:
        self._running = True
        self._back.clear()
        self.keeper.start(wait=self.wait, threaded=self._threaded)
        # on_start belongs to others and may take its time: not in PortAudio's thread.
        self._teller = threading.Thread(target=self._tell, name="audio-on-start", daemon=True)
        self._teller.start()

    def stop(self) -> None:
        self._running = False
        self.keeper.stop()
        self._queue.close()
        self._back.set()
        teller, self._teller = self._teller, None
        if teller is not None:
            self._begun.put(None)
            if teller is not threading.current_thread():
                teller.join(timeout=5.0)

    def write(self, samples: Pcm, rate: int, on_start: OnStart | None = None) -> None:
        if self._away and len(samples):
            self._back.wait(min(len(samples) / rate, AWAY_WAIT_S))
        self._cut = self._away
        gain = 0.0 if self.muted else loudness_gain(self.volume)
        self._queue.write(samples, rate, gain, on_start)

    def drain(self, timeout: float | None = None, cancel: threading.Event | None = None) -> bool:
        return self._queue.drain(timeout, cancel) and not self._cut

    def flush(self) -> None:
        self._queue.flush()
        if self._away:
            # Ends the wait of a write that is under way, and of no later one.
            self._back.set()
            self._back.clear()

    @property
    def playing(self) -> bool:
        return self._queue.playing

    def _tell(self) -> None:
        while (begun := self._begun.get()) is not None:
            on_start, t = begun
            try:
                on_start(t)
            except Exception:
                # A listener that fails must not silence those of the next sentences.
                log.exception("a listener for the start of a sound failed")

    def _play(self, out: NDArray[np.int16], frames: int, moments: Any, status: Any) -> None:
        """Runs in PortAudio's thread; ``out`` has the shape (frames, channels)."""
        now = self._clock()
        latency = moments.outputBufferDacTime - moments.currentTime
        if not 0 < latency <= LARGEST_DELAY_S:
            latency = frames / self._rate
        samples, _, begun = self._queue.pull(frames, now, latency)
        out[:] = samples[:, np.newaxis]
        for on_start in begun:
            self._begun.put((on_start, now))

    # What the keeper of the stream calls.

    def formats(self, device: DeviceInfo) -> list[tuple[int, int]]:
        return output_formats(device, self._config.rate)

    def prepare(self, rate: int, channels: int) -> Callable[..., None]:
        self._rate = rate
        self._queue.set_rate(rate)
        return self._play

    def opened(self) -> None:
        self._queue.open()
        self._away = False
        self._back.set()

    def closed(self) -> None:
        self._back.clear()
        self._away = True
        self._cut = self._cut or self._queue.playing
        self._queue.close()

    def trouble(self, code: str, message: str, hint: str) -> None:
        if self.on_trouble is not None:
            self.on_trouble(code, message, hint)

    def recovered(self, code: str, message: str) -> None:
        if self.on_recovered is not None:
            self.on_recovered(code, message)
