"""The voice: text of any origin to speech, sentence by sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assistant import models
from assistant.config import TtsConfig
from assistant.tts.base import Voice

__all__ = ["create"]


def create(
    cfg: TtsConfig, models_dir: str | Path | None = None, *, voice_path: Path | None = None
) -> Voice:
    """The voice that the configuration names, not loaded yet.

    voice_path: a .onnx file to use instead of the one that ``cfg.voice`` names.
    Raises ModelError when the voice is not there.
    """
    return _BACKENDS[cfg.backend](cfg, models_dir, voice_path)


def _piper(cfg: TtsConfig, models_dir: str | Path | None, voice_path: Path | None) -> Voice:
    from assistant.tts.piper import PiperVoice

    path = voice_path or models.path_of(cfg.voice, models_dir)
    return PiperVoice(path, threads=cfg.threads, sentence_pause_ms=cfg.sentence_pause_ms)


def _none(cfg: TtsConfig, models_dir: str | Path | None, voice_path: Path | None) -> Voice:
    from assistant.tts.none import SilentVoice

    return SilentVoice()


_BACKENDS: dict[str, Callable[[TtsConfig, str | Path | None, Path | None], Voice]] = {
    "piper": _piper,
    "none": _none,
}
