"""Wake words."""

from __future__ import annotations

import difflib
from pathlib import Path

from assistant import models
from assistant.config import WakeConfig
from assistant.errors import ConfigError
from assistant.models import manifest
from assistant.wake.base import WakeDetector

__all__ = ["create", "known_words"]

_PREFIX = "wake-"


def create(cfg: WakeConfig, models_dir: str | Path | None = None) -> WakeDetector | None:
    """The detector that the configuration names, not loaded yet; None for the backend none.

    Raises ConfigError for a word that nobody knows, ModelError for one not fetched.
    """
    if cfg.backend == "none":
        return None
    from assistant.wake.microwakeword import MicroWakeWord

    words = {_name(word): _path(word, models_dir) for word in cfg.words}
    if not words:
        raise ConfigError(
            "wake.no_word",
            "wake.words is empty.",
            "Name a wake word, or set wake.backend to none.",
        )
    thresholds = {_name(word): value for word, value in cfg.thresholds.items()}
    for word in thresholds:
        if word not in words and word not in known_words():
            raise _unknown("wake.thresholds", word, [*words, *known_words()])
    return MicroWakeWord(words, thresholds, cfg.refractory_ms)


def known_words() -> list[str]:
    """Names of the wake words that can be fetched."""
    return [name.removeprefix(_PREFIX) for name in manifest.load() if name.startswith(_PREFIX)]


def _is_path(word: str) -> bool:
    return "/" in word or word.endswith((".json", ".tflite"))


def _name(word: str) -> str:
    if _is_path(word):
        return Path(word).stem
    return "_".join(word.lower().split())


def _path(word: str, models_dir: str | Path | None) -> Path:
    if _is_path(word):
        return models.path_of(word)
    name = _name(word)
    if name not in known_words():
        raise _unknown("wake.words", word, known_words())
    return models.path_of(_PREFIX + name, models_dir)


def _unknown(key: str, word: str, known: list[str]) -> ConfigError:
    close = difflib.get_close_matches(_name(word), known, n=1, cutoff=0.5)
    guess = f'Did you mean "{close[0]}"? ' if close else ""
    return ConfigError(
        "wake.unknown_word",
        f'{key} has "{word}", which is no known wake word.',
        f"{guess}Known are {', '.join(known)}; or give the path of a .tflite file.",
    )
