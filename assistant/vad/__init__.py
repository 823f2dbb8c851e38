"""Voice activity: is somebody speaking, and is the turn over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assistant import models
from assistant.config import VadConfig
from assistant.vad.base import Vad

__all__ = ["create"]


def create(cfg: VadConfig, models_dir: str | Path | None = None) -> Vad:
    """The detector that the configuration names, not loaded yet. Raises ModelError."""
    return _BACKENDS[cfg.backend](models_dir)


def _silero(models_dir: str | Path | None) -> Vad:
    from assistant.vad.silero import SileroVad

    return SileroVad(models.path_of("silero-vad", models_dir))


def _energy(models_dir: str | Path | None) -> Vad:
    from assistant.vad.energy import EnergyVad

    return EnergyVad()


_BACKENDS: dict[str, Callable[[str | Path | None], Vad]] = {"silero": _silero, "energy": _energy}
