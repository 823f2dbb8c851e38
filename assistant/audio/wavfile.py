"""A sound file as the microphone."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistant.audio.base import FRAME_SAMPLES, SAMPLE_RATE, AudioSource, Frame, Pcm
from assistant.audio.channels import ChannelMixer
from assistant.audio.framer import Framer
from assistant.audio.resample import to_pcm
from assistant.audio.signal_watch import NO_SIGNAL, has_signal
from assistant.audio.sound_reader import SoundReader
from assistant.errors import InputFileError

log = logging.getLogger(__name__)

BUFFER_S = 10.0
"""As long as the microphone's buffer: a reader further behind real time loses frames."""

TAIL_S = 2.0
"""Silence after the end of the file, so that the end of the last turn can be found."""

FRAME_S = FRAME_SAMPLES / SAMPLE_RATE


class WavSource(AudioSource):
    """A sound file in place of the microphone, followed by a tail of silence.

    Args:
        path: a WAV or FLAC file of any rate, width and channel count.
        channel: 0 mixes all channels, else the number of one, from 1.
        gain_db: dB.
        realtime: frames come as a microphone would give them, else as fast as they are read.
        tail_s: seconds of silence after the file's end, before EOFError.
        clock, sleep: time; tests bring their own.
    """

    def __init__(
        self,
        path: Path,
        *,
        channel: int = 0,
        gain_db: float = 0.0,
        realtime: bool = True,
        tail_s: float = TAIL_S,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.path = path
        self.paced = realtime
        self.overruns = 0
        self._channel = channel
        self._gain_db = gain_db
        self._tail_s = tail_s
        self._clock = clock
        self._sleep = sleep
        self._reader: SoundReader | None = None
        self._blocks: Iterator[NDArray[np.float32]] = iter(())
        self._ended = False
        self._running = False
        self._index = 0
        self._began = 0.0

    def start(self) -> None:
        reader = SoundReader(self.path)
        if self._channel > reader.channels:
            reader.close()
            raise InputFileError(
                "audio.no_channel",
                f"{self.path} has {reader.channels} channel{'s' * (reader.channels > 1)}, "
                f"so there is no channel {self._channel}.",
                "Set audio.input.channel to one that exists, or to 0.",
            )
        self._reader = reader
        self._blocks = reader.blocks()
        self._mixer = ChannelMixer(reader.channels, reader.rate, self._channel)
        self._framer = Framer(reader.rate, self._gain_db)
        self._signal = False
        self._ended = False
        self._index = 0
        self._running = True
        self._began = self._clock()

    def stop(self) -> None:
        self._running = False

    def read(self, timeout: float = 0.5) -> Frame | None:
        if not self._running:
            self._close()
            raise EOFError(f"{self.path} is closed")
        due = self._began + (self._index + 1) * FRAME_S
        if self.paced:
            wait = due - self._clock()
            if wait > timeout:
                self._sleep(timeout)
                return None
            if wait > 0:
                self._sleep(wait)
            while self._clock() - due > BUFFER_S:
                self._next()
                self._index += 1
                self.overruns += 1
                due += FRAME_S
        samples = self._next()
        position = self._index * FRAME_SAMPLES
        self._index += 1
        return Frame(samples=samples, position=position, t=due if self.paced else self._clock())

    def _next(self) -> Pcm:
        while (samples := self._framer.next()) is None:
            if self._ended:
                self._close()
                raise EOFError(f"end of {self.path}")
            block = next(self._blocks, None)
            if block is None:
                self._end()
            else:
                mono = self._mixer.process(block)
                self._signal = self._signal or has_signal(to_pcm(mono))
                self._framer.feed(mono)
        return samples

    def _end(self) -> None:
        self._ended = True
        self._framer.finish(round(self._tail_s * SAMPLE_RATE))
        if not self._signal:
            message = f"{self.path} holds no signal, only silence without any noise."
            if self.on_trouble is not None:
                self.on_trouble(NO_SIGNAL, message, "")
            else:
                log.warning("%s", message)

    def _close(self) -> None:
        """Closes the file, in the thread that reads it."""
        self._running = False
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def read_sound(path: Path) -> tuple[Pcm, int]:
    """A whole sound file mixed to mono, int16 (n,), and its rate in Hz. Raises InputFileError."""
    reader = SoundReader(path)
    try:
        blocks = [np.zeros(0, np.float32), *(block.mean(axis=1) for block in reader.blocks())]
    finally:
        reader.close()
    return to_pcm(np.concatenate(blocks)), reader.rate
