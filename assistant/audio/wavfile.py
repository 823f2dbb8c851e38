"""Sound files as the microphone; the only importer of the soundfile package.

libsndfile reads WAV (PCM of any width, float, A-law, extensible), FLAC, OGG and more, in
blocks and whatever length the header claims.
"""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.audio.base import FRAME_SAMPLES, SAMPLE_RATE, AudioSource, Frame, Pcm
from assistant.audio.channels import ChannelMixer
from assistant.audio.framer import Framer
from assistant.audio.resample import to_pcm
from assistant.audio.signal_watch import NO_SIGNAL, has_signal
from assistant.errors import InputFileError, PackageError

log = logging.getLogger(__name__)

LOWEST_RATE = 4_000
HIGHEST_RATE = 384_000
MOST_CHANNELS = 64
BLOCK_S = 0.05
"""Sound read at once; memory does not grow with the file."""

UNKNOWN_LENGTHS = (0, 0xFFFFFFFF)
"""What programs that write to a pipe leave as the length of a WAV's data."""

BUFFER_S = 10.0
"""As long as the microphone's buffer: a reader further behind real time loses frames."""

TAIL_S = 2.0
"""Silence after the end of the file, so that the end of the last turn can be found."""

FRAME_S = FRAME_SAMPLES / SAMPLE_RATE


def _soundfile() -> Any:
    try:
        import soundfile
    except ImportError as e:
        raise PackageError(
            "audio.no_soundfile",
            "The Python package soundfile is not installed.",
            "Install it: pip install soundfile.",
        ) from e
    except OSError as e:
        raise PackageError(
            "audio.no_libsndfile",
            "The libsndfile library is not installed.",
            "Install it: sudo apt install libsndfile1.",
        ) from e
    return soundfile


class SoundReader:
    """An open sound file, read in blocks.

    Raises:
        InputFileError: it is not there, not a sound file, empty or of an unusable format.
        PackageError: soundfile is not installed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._module = _soundfile()
        if path.is_dir():
            raise InputFileError("audio.bad_file", f"{path} is a folder, not a sound file.")
        if path.exists() and not path.is_file():
            raise InputFileError("audio.bad_file", f"{path} is a device or pipe, not a file.")
        try:
            self._raw = io.FileIO(path)
        except OSError as e:
            raise InputFileError(
                "audio.bad_file", f"{path} cannot be read: {e.strerror or e}."
            ) from e
        try:
            self._file = self._open()
            self._check()
        except BaseException:
            self.close()
            raise
        self.rate: int = self._file.samplerate
        self.channels: int = self._file.channels

    def _open(self) -> Any:
        size = self._raw.seek(0, 2)
        self._raw.seek(0)
        if size == 0:
            raise InputFileError("audio.bad_file", f"{self.path} is empty.")
        length = _data_length(self._raw, size)
        source: Any = self._raw.fileno()
        if length is not None and length.stated == 0 < length.present:
            self._raw.close()
            self._raw = source = _Endless(self.path, length.offset)
        elif length is not None and length.present < length.stated not in UNKNOWN_LENGTHS:
            log.warning(
                "%s is cut short: %d of %d bytes of sound are there",
                self.path,
                length.present,
                length.stated,
            )
        self._raw.seek(0)
        try:
            return self._module.SoundFile(source, closefd=False)
        except (self._module.SoundFileError, TypeError) as e:
            # TypeError: the name ends in .raw, which says nothing about the format.
            reason = str(getattr(e, "error_string", e)).strip().rstrip(".")
            raise InputFileError(
                "audio.bad_file",
                f"{self.path} is not a sound file that can be read ({reason}).",
                "WAV and FLAC files are.",
            ) from e

    def _check(self) -> None:
        rate, channels = self._file.samplerate, self._file.channels
        if not LOWEST_RATE <= rate <= HIGHEST_RATE:
            raise InputFileError(
                "audio.bad_file",
                f"{self.path} has a sample rate of {rate} Hz; "
                f"{LOWEST_RATE} to {HIGHEST_RATE} Hz can be used.",
            )
        if channels > MOST_CHANNELS:
            raise InputFileError(
                "audio.bad_file",
                f"{self.path} has {channels} channels; up to {MOST_CHANNELS} can be used.",
            )
        if self._file.frames == 0:
            raise InputFileError("audio.bad_file", f"{self.path} holds no sound.")

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """The sound from the beginning, shape (n, channels), in 16-bit units."""
        n = round(self.rate * BLOCK_S)
        while True:
            try:
                block = self._file.read(n, dtype="float32", always_2d=True)
            except self._module.SoundFileError as e:
                log.warning("%s is damaged; what came before is used (%s)", self.path, e)
                return
            if len(block) == 0:
                return
            yield np.nan_to_num(block, nan=0.0, posinf=1.0, neginf=-1.0) * np.float32(32768)

    def close(self) -> None:
        file = getattr(self, "_file", None)
        if file is not None:
            file.close()
        self._raw.close()


class _Endless(io.FileIO):
    """A WAV whose data length reads as unknown, since libsndfile believes a 0."""

    def __init__(self, path: Path, offset: int) -> None:
        super().__init__(path)
        self._offset = offset

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        at = self.tell()
        n = super().readinto(view) or 0
        for i in range(max(0, self._offset - at), min(n, self._offset + 4 - at)):
            view[i] = 0xFF
        return n


@dataclass(frozen=True, slots=True)
class _DataLength:
    """The data chunk of a WAV. offset: where its length stands; stated, present: bytes."""

    offset: int
    stated: int
    present: int


def _data_length(file: io.FileIO, size: int) -> _DataLength | None:
    """What a RIFF WAVE file says about its length; None for any other file."""
    file.seek(0)
    head = file.read(12)
    if head[:4] != b"RIFF" or head[8:] != b"WAVE":
        return None
    at = 12
    while at + 8 <= size:
        file.seek(at)
        chunk = file.read(8)
        stated = int.from_bytes(chunk[4:], "little")
        if chunk[:4] == b"data":
            return _DataLength(at + 4, stated, size - at - 8)
        at += 8 + stated + stated % 2
    return None


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
            log.warning("%s", message)
            if self.on_trouble is not None:
                self.on_trouble(NO_SIGNAL, message, "")

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
        blocks = [block.mean(axis=1) for block in reader.blocks()]
    finally:
        reader.close()
    return to_pcm(np.concatenate(blocks)), reader.rate
