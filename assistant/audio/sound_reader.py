"""Sound files in blocks; the only importer of the soundfile package.

libsndfile reads WAV (PCM of any width, float, A-law, extensible), FLAC, OGG and more,
whatever length the header claims.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.errors import InputFileError, PackageError

log = logging.getLogger(__name__)

LOWEST_RATE = 4_000
HIGHEST_RATE = 384_000
MOST_CHANNELS = 64
BLOCK_S = 0.05
"""Sound read at once; memory does not grow with the file."""

UNKNOWN_LENGTHS = (0, 0xFFFFFFFF)
"""What programs that write to a pipe leave as the length of a WAV's data."""


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
