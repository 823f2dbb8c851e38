"""Grammars that tests share: compiling one takes longer than most tests do."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import assistant
from assistant.config import UnderstandConfig
from assistant.intent.grammar import Grammar

_BUILT_IN = Path(assistant.__file__).parent
_LOADED: dict[tuple[tuple[Path, ...], str], Grammar] = {}


def loaded(
    sources: Iterable[Path],
    cfg: UnderstandConfig | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC).astimezone(),
) -> Grammar:
    """A grammar that is ready; only what the product brings along is compiled once for all."""
    folders, cfg = tuple(sources), cfg or UnderstandConfig()
    grammar = Grammar(folders, cfg, now)
    if cfg.sentences or not all(folder.is_relative_to(_BUILT_IN) for folder in folders):
        grammar.load()
        return grammar
    key = (folders, cfg.model_dump_json())
    if key not in _LOADED:
        grammar.load()
        _LOADED[key] = grammar
    mine = copy.copy(_LOADED[key])
    mine._now = now
    return mine
