"""A WAV file as the speaker."""

from __future__ import annotations

import contextlib
import os
import tempfile
import wave
from pathlib import Path

import numpy as np

from assistant.audio.base import Pcm
from assistant.audio.clocked_sink import ClockedSink
from assistant.errors import InputFileError

DEFAULT_RATE = 22_050
"""Hz; that of most voices, so that their speech is written as it is."""


class WavSink(ClockedSink):
    """Writes what is played into a 16-bit mono WAV; pauses between sounds are left out.

    The file appears, whole and with a right header, when the sink is stopped; one of the
    same name is replaced then and not before.

    Args:
        path: file to write.
        rate: Hz; 0 is 22,050.
        realtime, latency_s, wake_up_silence_ms: as in ClockedSink.
    """

    def __init__(
        self,
        path: Path,
        rate: int = 0,
        *,
        realtime: bool = True,
        latency_s: float = 0.0,
        wake_up_silence_ms: int = 0,
    ) -> None:
        super().__init__(
            rate or DEFAULT_RATE,
            realtime=realtime,
            latency_s=latency_s,
            wake_up_silence_ms=wake_up_silence_ms,
        )
        self.path = path
        self._file: wave.Wave_write | None = None
        self._unfinished: Path | None = None
        self._failure: OSError | None = None

    def start(self) -> None:
        if self.path.is_dir():
            raise InputFileError(
                "audio.bad_file", f"{self.path} is a folder; a WAV file cannot be written there."
            )
        if self.path.exists() and not self.path.is_file():
            # a device would be replaced by a file, for all programs
            raise InputFileError(
                "audio.bad_file", f"{self.path} is no file; a WAV file cannot be written there."
            )
        try:
            handle, name = tempfile.mkstemp(suffix=".wav.part", dir=self.path.parent)
        except OSError as e:
            raise InputFileError(
                "audio.bad_file",
                f"{self.path} cannot be written: {e.strerror or e}.",
                "Name a file in a folder that exists and may be written to.",
            ) from e
        self._unfinished = Path(name)
        self._raw = os.fdopen(handle, "wb")
        file = wave.open(self._raw, "wb")  # noqa: SIM115 - closed by stop
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(self.rate)
        self._file = file
        super().start()

    def consume(self, samples: Pcm, t: float) -> None:
        """What cannot be written any more is dropped; ``stop`` then tells why."""
        if self._file is None or self._failure is not None:
            return
        try:
            self._file.writeframesraw(np.ascontiguousarray(samples, "<i2").tobytes())
        except OSError as e:
            self._failure = e

    def stop(self) -> None:
        """Raises InputFileError when the file could not be written."""
        super().stop()
        file, self._file = self._file, None
        unfinished, self._unfinished = self._unfinished, None
        if file is None or unfinished is None:
            return
        try:
            with self._raw, file:
                pass
            if self._failure is not None:
                raise self._failure
            unfinished.chmod(0o644)
            unfinished.replace(self.path)
        except OSError as e:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise InputFileError(
                "audio.bad_file", f"{self.path} cannot be written: {e.strerror or e}."
            ) from e


def write_wav(path: Path, samples: Pcm, rate: int) -> None:
    """Writes int16 mono samples of ``rate`` Hz. Raises InputFileError."""
    sink = WavSink(path, rate, realtime=False)
    sink.start()
    try:
        sink.write(samples, rate)
        sink.drain()
    finally:
        sink.stop()
