"""Speech recognition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assistant import models
from assistant.asr.base import Recognizer
from assistant.config import AsrConfig
from assistant.errors import ConfigError

__all__ = ["create"]


def create(cfg: AsrConfig, models_dir: str | Path | None = None) -> Recognizer:
    """The recogniser that the configuration names, not loaded yet.

    Raises ConfigError when the backend needs a model named, ModelError for one not there.
    """
    default, make = _BACKENDS[cfg.backend]
    name = cfg.model or default
    if not name:
        raise ConfigError(
            "asr.no_model",
            f"The backend {cfg.backend} needs asr.model.",
            "Give the folder of an unpacked model, or the name of a fetched one.",
        )
    return make(models.path_of(name, models_dir), cfg.threads)


def _moonshine(folder: Path, threads: int) -> Recognizer:
    from assistant.asr.moonshine import Moonshine

    return Moonshine(folder, threads)


def _whisper(folder: Path, threads: int) -> Recognizer:
    from assistant.asr.whisper import Whisper

    return Whisper(folder, threads)


def _vosk(folder: Path, threads: int) -> Recognizer:
    """Vosk decodes in one thread, whatever is set."""
    from assistant.asr.vosk import Vosk

    return Vosk(folder)


_BACKENDS: dict[str, tuple[str, Callable[[Path, int], Recognizer]]] = {
    "moonshine": ("moonshine-tiny-en", _moonshine),
    "whisper": ("whisper-tiny-en", _whisper),
    "vosk": ("", _vosk),
}
