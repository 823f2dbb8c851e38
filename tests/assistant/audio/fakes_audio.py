"""Microphones, speakers and a PortAudio that exist only in tests.

Import as ``from tests.assistant.audio.fakes_audio import ...`` from any test.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from assistant.audio.base import FRAME_SAMPLES, SAMPLE_RATE, AudioSource, Frame, Pcm
from assistant.audio.clocked_sink import ClockedSink
from assistant.audio.resample import Resampler, to_pcm
from assistant.audio.sounddevice import PortAudio


class FakeClock:
    """Seconds that pass only when told."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class PortAudioError(Exception):
    """Stands for sounddevice.PortAudioError."""


@dataclass
class FakeDevice:
    """rates: those it accepts; exact: channel counts it accepts, all up to the most if empty."""

    name: str
    inputs: int = 0
    outputs: int = 0
    rates: tuple[int, ...] = (48_000,)
    exact: tuple[int, ...] = ()
    broken: bool = False


@dataclass
class FakeStream:
    """One open stream; the test is the device and calls ``deliver`` or ``play``."""

    module: FakeSoundDevice
    device: FakeDevice
    rate: int
    channels: int
    callback: Callable[..., None]
    finished: Callable[[], None]
    active: bool = False
    closed: bool = False
    clock: float = 0.0

    def start(self) -> None:
        if self.device.broken:
            raise PortAudioError("Unanticipated host error [PaErrorCode -9999]")
        self.active = True

    def deliver(self, block: np.ndarray, *, overflow: bool = False) -> None:
        """A microphone's callback with ``block`` of shape (n, channels)."""
        length = len(block) / self.rate
        self.clock += length
        moments = SimpleNamespace(currentTime=self.clock, inputBufferAdcTime=self.clock - length)
        self.callback(block, len(block), moments, SimpleNamespace(input_overflow=overflow))

    def play(self, n: int, *, latency: float = 0.0) -> np.ndarray:
        """A speaker's callback for ``n`` frames; what is to be played, shape (n, channels)."""
        out = np.full((n, self.channels), 77, np.int16)
        moments = SimpleNamespace(currentTime=self.clock, outputBufferDacTime=self.clock + latency)
        self.callback(out, n, moments, SimpleNamespace(output_underflow=False))
        self.clock += n / self.rate
        return out

    def end(self) -> None:
        self.active = False
        self.finished()

    def abort(self, ignore_errors: bool = True) -> None:
        self.active = False

    def close(self, ignore_errors: bool = True) -> None:
        self.active = False
        self.closed = True


class FakeSoundDevice:
    """Stands for the sounddevice module: lists devices as they were at the last start."""

    PortAudioError = PortAudioError

    def __init__(self, *plugged: FakeDevice) -> None:
        self.plugged = list(plugged)
        self.streams: list[FakeStream] = []
        self.starts = 0
        self._listed = list(plugged)

    # For the test.

    def portaudio(self) -> PortAudio:
        return PortAudio(lambda: self, lambda: tuple(id(d) for d in self.plugged))

    def unplug(self, device: FakeDevice) -> None:
        self.plugged.remove(device)
        for stream in self.streams:
            if stream.device is device and stream.active:
                stream.end()

    @property
    def stream(self) -> FakeStream:
        """The stream opened last."""
        return self.streams[-1]

    # As the module has it.

    def query_devices(self, kind: str | None = None) -> Any:
        found = [
            {
                "name": d.name,
                "index": i,
                "max_input_channels": d.inputs,
                "max_output_channels": d.outputs,
                "default_samplerate": float(d.rates[0]),
            }
            for i, d in enumerate(self._listed)
        ]
        if kind is None:
            return found
        for entry in found:
            if entry[f"max_{kind}_channels"]:
                return entry
        raise PortAudioError("Error querying device -1")

    def InputStream(self, **how: Any) -> FakeStream:  # noqa: N802 - its name there
        return self._open(how, "inputs")

    def OutputStream(self, **how: Any) -> FakeStream:  # noqa: N802 - its name there
        return self._open(how, "outputs")

    def _open(self, how: dict[str, Any], side: str) -> FakeStream:
        device = self._listed[how["device"]]
        most = getattr(device, side)
        if device not in self.plugged:
            raise PortAudioError("Device unavailable [PaErrorCode -9985]")
        if how["samplerate"] not in device.rates:
            raise PortAudioError("Invalid sample rate [PaErrorCode -9997]")
        if how["channels"] > most or (device.exact and how["channels"] not in device.exact):
            raise PortAudioError("Invalid number of channels [PaErrorCode -9998]")
        assert how["dtype"] == "int16"
        stream = FakeStream(
            self,
            device,
            how["samplerate"],
            how["channels"],
            how["callback"],
            how["finished_callback"],
        )
        self.streams.append(stream)
        return stream

    def _terminate(self) -> None:
        assert not [s for s in self.streams if s.active], "a stream was open"

    def _initialize(self) -> None:
        self.starts += 1
        self._listed = list(self.plugged)


class CapturingSink(ClockedSink):
    """Keeps what was played."""

    def __init__(self, rate: int = SAMPLE_RATE, **how: Any) -> None:
        super().__init__(rate, **how)
        self.pieces: list[tuple[float, Pcm]] = []

    def consume(self, samples: Pcm, t: float) -> None:
        self.pieces.append((t, samples.copy()))

    @property
    def played(self) -> Pcm:
        return np.concatenate([np.zeros(0, np.int16), *(p for _, p in self.pieces)])


class AmplifierSink(CapturingSink):
    """An amplifier that sleeps in pauses: the first ``swallow_ms`` after one are not heard."""

    def __init__(self, rate: int = SAMPLE_RATE, *, swallow_ms: int, **how: Any) -> None:
        super().__init__(rate, **how)
        self._swallow = round(rate * swallow_ms / 1000)
        self._left = self._swallow
        self._last = float("-inf")

    def consume(self, samples: Pcm, t: float) -> None:
        if t - self._last > 1.0:
            self._left = self._swallow
        self._last = t + len(samples) / self.rate
        n = min(self._left, len(samples))
        self._left -= n
        super().consume(samples[n:], t)


@dataclass
class Room:
    """Carries the speaker's sound to the microphone.

    gain_db: loudness at the microphone; delay_s: time of the way.
    """

    gain_db: float = -6.0
    delay_s: float = 0.02
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pieces: list[tuple[float, Pcm]] = field(default_factory=list)

    def carry(self, samples: Pcm, t: float) -> None:
        """16 kHz samples that leave the speaker from ``t`` on."""
        with self._lock:
            self._pieces.append((t + self.delay_s, samples.astype(np.float32)))

    def heard(self, end: float, n: int) -> np.ndarray:
        """What arrives in the ``n`` samples before ``end``; older sound is forgotten."""
        out = np.zeros(n, np.float32)
        begin = end - n / SAMPLE_RATE
        with self._lock:
            for t, samples in self._pieces:
                at = round((t - begin) * SAMPLE_RATE)
                a, b = max(0, at), min(n, at + len(samples))
                if a < b:
                    out[a:b] += samples[a - at : b - at]
            self._pieces = [
                (t, s) for t, s in self._pieces if t + len(s) / SAMPLE_RATE > begin - 1.0
            ]
        return out * np.float32(10 ** (self.gain_db / 20))


class LoopbackSink(CapturingSink):
    """A speaker in a room; plays in real time."""

    def __init__(self, room: Room, **how: Any) -> None:
        super().__init__(SAMPLE_RATE, **how)
        self.room = room

    def consume(self, samples: Pcm, t: float) -> None:
        super().consume(samples, t)
        self.room.carry(samples, t)


class LoopbackSource(AudioSource):
    """A microphone in a room: what another real-time source delivers, and the speaker's echo."""

    def __init__(self, inner: AudioSource, room: Room) -> None:
        assert inner.paced, "an echo needs real time"
        self.inner = inner
        self.room = room
        self.paced = True

    def start(self) -> None:
        self.inner.start()

    def stop(self) -> None:
        self.inner.stop()

    def read(self, timeout: float = 0.5) -> Frame | None:
        frame = self.inner.read(timeout)
        if frame is None:
            return None
        mixed = frame.samples + self.room.heard(frame.t, FRAME_SAMPLES)
        return Frame(samples=to_pcm(mixed), position=frame.position, t=frame.t)


def loopback(inner: AudioSource, gain_db: float, **how: Any) -> tuple[LoopbackSource, LoopbackSink]:
    """A microphone that hears ``inner`` and, at ``gain_db``, the speaker beside it."""
    room = Room(gain_db)
    return LoopbackSource(inner, room), LoopbackSink(room, **how)


def sine(hz: float, seconds: float, rate: int, peak: float = 0.5) -> Pcm:
    """A sine, int16."""
    t = np.arange(round(seconds * rate)) / rate
    return np.rint(np.sin(2 * np.pi * hz * t) * peak * 32767).astype(np.int16)


def resampled(samples: Pcm, source: int, target: int) -> Pcm:
    """The whole of ``samples`` at another rate."""
    stream = Resampler(source, target)
    first = stream.process(samples.astype(np.float32))
    return to_pcm(np.concatenate([first, stream.flush()]))
