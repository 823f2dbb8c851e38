"""Contracts of the audio devices: 16 kHz mono frames in, blocks of any rate out."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 16_000
"""Samples per second of everything between the microphone and the recogniser."""

FRAME_SAMPLES = 160
"""Samples in one frame: 10 ms."""

Pcm = NDArray[np.int16]
"""Mono 16-bit samples, shape (n,)."""


@dataclass(frozen=True, slots=True)
class Frame:
    """10 ms of sound.

    samples: int16, shape (160,), 16 kHz mono.
    position: index of the first sample since the source was started.
    t: monotonic time at which the last sample was captured (a file that is read
        as fast as possible: at which it was read).
    """

    samples: Pcm
    position: int
    t: float


class AudioSource(ABC):
    """A microphone: a device or a WAV file."""

    paced: bool = True
    """True when frames come in real time; False when the reader sets the pace."""

    wait: bool = False
    """True: ``start`` takes a missing device as trouble and waits for it, instead of raising."""

    overruns: int = 0
    """Frames dropped because nobody read them in time (the oldest go first)."""

    @abstractmethod
    def start(self) -> None:
        """Opens the device. Raises DeviceError or InputFileError."""

    @abstractmethod
    def read(self, timeout: float = 0.5) -> Frame | None:
        """The next frame; None when none came within ``timeout`` seconds.

        Raises EOFError at the end of a file. A lost device is no error here: the
        source tries again by itself and tells ``on_trouble`` and ``on_recovered``.
        """

    @abstractmethod
    def stop(self) -> None:
        """Closes the device; safe to call twice and from another thread."""

    on_trouble: Callable[[str, str, str], None] | None = None
    """Called with (code, message, hint) when the device is lost or delivers no signal."""

    on_recovered: Callable[[str, str], None] | None = None
    """Called with (code, message) when it is back."""


class AudioSink(ABC):
    """A speaker: a device, a WAV file or nothing.

    One writer at a time. Resampling, volume and channel layout happen inside.
    """

    volume: int = 100
    """0 to 100, applied by the sink to what is written from now on."""

    muted: bool = False

    wait: bool = False
    """As for the source."""

    @abstractmethod
    def start(self) -> None:
        """Opens the device. Raises DeviceError or InputFileError."""

    @abstractmethod
    def write(
        self, samples: Pcm, rate: int, on_start: Callable[[float], None] | None = None
    ) -> None:
        """Queues samples of ``rate`` Hz; blocks while more than about a second waits.

        ``on_start`` is called with the monotonic time at which the first of these
        samples is handed to the device.
        """

    @abstractmethod
    def drain(self, timeout: float | None = None, cancel: threading.Event | None = None) -> bool:
        """Waits until the last queued sample has left the speaker; False if it did not."""

    @abstractmethod
    def flush(self) -> None:
        """Drops all that is queued, at once (a blocked ``write`` returns)."""

    @property
    @abstractmethod
    def playing(self) -> bool:
        """True while a queued sample has not left the speaker."""

    @abstractmethod
    def stop(self) -> None:
        """Closes the device; safe to call twice."""

    on_trouble: Callable[[str, str, str], None] | None = None
    on_recovered: Callable[[str, str], None] | None = None
