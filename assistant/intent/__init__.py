"""From the words that were heard to what is meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from assistant.config import UnderstandConfig
from assistant.intent.base import Understander

_BACKENDS = {"grammar": ("assistant.intent.grammar", "Grammar")}


def create(
    cfg: UnderstandConfig,
    sources: Iterable[Path] = (),
    now: Callable[[], datetime] = lambda: datetime.now(UTC).astimezone(),
    backend: str = "grammar",
) -> Understander:
    """What understands; ``load()`` it before use.

    sources: the skills' folders with sentences; now: wall time with time zone, for "until
    seven" and its kind.
    """
    module, name = _BACKENDS[backend]
    understander: Understander = getattr(import_module(module), name)(sources, cfg, now)
    return understander
