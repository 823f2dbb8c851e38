"""The microphone: any PortAudio device, delivered as 16 kHz mono frames."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.audio.base import FRAME_SAMPLES, SAMPLE_RATE, AudioSource, Frame, Pcm
from assistant.audio.channels import ChannelMixer
from assistant.audio.devices import DeviceInfo, input_formats
from assistant.audio.framer import Framer
from assistant.audio.keeper import StreamKeeper
from assistant.audio.ring_buffer import RingBuffer
from assistant.audio.signal_watch import NO_SIGNAL, NO_SIGNAL_HINT, SignalWatch
from assistant.audio.sounddevice import PortAudio, shared
from assistant.config import InputConfig

log = logging.getLogger(__name__)

BUFFER_S = 10.0
"""Sound kept while nobody reads; a Pi that stands still longer than this loses the oldest."""

LARGEST_DELAY_S = 1.0
"""A device that claims more delay between air and callback than this is not believed."""


class _Capture:
    """What one opened stream delivers: its buffer and the way to 16 kHz mono."""

    def __init__(self, rate: int, channels: int, channel: int, gain_db: float) -> None:
        self.rate = rate
        self.ring = RingBuffer(round(rate * BUFFER_S), channels)
        self.mixer = ChannelMixer(channels, rate, min(channel, channels))
        self.framer = Framer(rate, gain_db)
        self.overflows = 0
        self.expected = 0
        """Ring position that follows what was read."""
        self.frames_out = 0
        self.skipped = 0
        """Device frames that were dropped before they were read."""
        self._mark = (0, 0.0)
        """A ring position and the monotonic time at which it was captured."""

    def callback(self, data: NDArray[np.int16], frames: int, moments: Any, status: Any) -> None:
        """Runs in PortAudio's thread: copies, notes the time, and is gone."""
        now = time.monotonic()
        delay = moments.currentTime - moments.inputBufferAdcTime
        length = frames / self.rate
        if not length <= delay <= LARGEST_DELAY_S:
            delay = length
        self.ring.write(data)
        self._mark = (self.ring.written, now - delay + length)
        if status.input_overflow:
            self.overflows += 1

    def time_of(self, position: float) -> float:
        """Monotonic time at which the frame before ``position`` was captured."""
        at, t = self._mark
        return t - (at - position) / self.rate


class SoundDeviceSource(AudioSource):
    """A microphone by (part of its) name, at any rate and channel count.

    PortAudio's thread fills a ring buffer; mixing, resampling and the watch for a dead
    microphone run in the reader's thread. A lost device is opened again by itself.

    Args:
        config: device, rate, channel, gain.
        portaudio: the edge to PortAudio; tests bring their own.
        wait: ``start`` accepts a missing microphone, reports it as trouble and waits for it.
        no_signal_s: seconds of zeros or a constant that count as a dead microphone.
        threaded: False leaves looking after the device to calls of ``keeper.step``.
    """

    paced = True

    def __init__(
        self,
        config: InputConfig,
        portaudio: PortAudio = shared,
        *,
        wait: bool = False,
        no_signal_s: float = 30.0,
        threaded: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.overruns = 0
        self.keeper = StreamKeeper(portaudio, "input", config.device, self, clock)
        self._config = config
        self.wait = wait
        self._threaded = threaded
        self._watch = SignalWatch(
            seconds=no_signal_s, tolerance=math.ceil(10 ** (config.gain_db / 20))
        )
        self._prepared: _Capture | None = None
        self._capture: _Capture | None = None
        self._reading: _Capture | None = None
        self._position = 0
        self._last_t = 0.0
        self._running = False
        self._changed = threading.Event()

    @property
    def format(self) -> tuple[int, int] | None:
        """(rate in Hz, channels) the device was opened with; None while it is away."""
        capture = self._capture
        return None if capture is None else (capture.rate, capture.ring.channels)

    def start(self) -> None:
        self._running = True
        self._reading = None
        self._position = 0
        self._last_t = 0.0
        self.keeper.start(wait=self.wait, threaded=self._threaded)

    def stop(self) -> None:
        self._running = False
        self.keeper.stop()
        self._changed.set()

    def read(self, timeout: float = 0.5) -> Frame | None:
        deadline = time.monotonic() + timeout
        while self._running:
            capture = self._capture
            if capture is not self._reading:
                self._take_over(capture)
            if capture is not None:
                samples = capture.framer.next()
                if samples is not None:
                    return self._frame(capture, samples)
            left = deadline - time.monotonic()
            if capture is None:
                if left <= 0 or not self._changed.wait(left):
                    return None
                self._changed.clear()
                continue
            chunk = capture.ring.read(capture.rate // 20, max(0.0, left))
            if chunk is not None:
                self._digest(capture, *chunk)
            elif left <= 0:
                return None
        return None

    def _digest(self, capture: _Capture, start: int, block: NDArray[np.int16]) -> None:
        mono = capture.mixer.process(block)
        if start > capture.expected:
            gap = start - capture.expected
            capture.skipped += gap
            self._skip(gap / capture.rate)
            self.overruns += max(1, round(gap * 100 / capture.rate))
        capture.expected = start + len(block)
        if capture.overflows:
            self.overruns += capture.overflows
            capture.overflows = 0
        capture.framer.feed(mono)

    def _look(self, samples: Pcm) -> None:
        change = self._watch.feed(samples)
        device = self.keeper.device
        name = device.name if device else self._config.device
        if change == "lost":
            message = f'The microphone "{name}" delivers no signal, only silence without any noise.'
            log.warning("%s", message)
            self.trouble(NO_SIGNAL, message, NO_SIGNAL_HINT)
        elif change == "back":
            self.recovered(NO_SIGNAL, f'The microphone "{name}" delivers a signal again.')

    def _frame(self, capture: _Capture, samples: NDArray[np.int16]) -> Frame:
        capture.frames_out += 1
        end = capture.frames_out * FRAME_SAMPLES * capture.rate / SAMPLE_RATE + capture.skipped
        t = capture.time_of(end)
        self._look(samples)
        frame = Frame(samples=samples, position=self._position, t=t)
        self._position += FRAME_SAMPLES
        self._last_t = t
        return frame

    def _take_over(self, capture: _Capture | None) -> None:
        """Begins to read from another stream, after the device was away."""
        self._reading = capture
        if capture is None:
            return
        if self._last_t:
            self._skip(time.monotonic() - self._last_t)

    def _skip(self, seconds: float) -> None:
        """Moves the position over sound that nobody will ever read."""
        self._position += max(0, round(seconds * SAMPLE_RATE))

    # What the keeper of the stream calls.

    def formats(self, device: DeviceInfo) -> list[tuple[int, int]]:
        return input_formats(device, self._config.rate, self._config.channel)

    def prepare(self, rate: int, channels: int) -> Callable[..., None]:
        self._prepared = _Capture(rate, channels, self._config.channel, self._config.gain_db)
        return self._prepared.callback

    def opened(self) -> None:
        before, self._capture = self._capture, self._prepared
        if before is not None:
            before.ring.wake()
        self._changed.set()

    def closed(self) -> None:
        capture, self._capture = self._capture, None
        if capture is not None:
            capture.ring.wake()

    def trouble(self, code: str, message: str, hint: str) -> None:
        if self.on_trouble is not None:
            self.on_trouble(code, message, hint)

    def recovered(self, code: str, message: str) -> None:
        if self.on_recovered is not None:
            self.on_recovered(code, message)
