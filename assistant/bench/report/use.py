"""What the log of real use tells, in numbers alone: no word of what was said."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from assistant.config import PrivacyConfig
from assistant.dialogue.manager import NONE, TALK
from assistant.dialogue.use_log import Entry, read
from assistant.errors import InputFileError

MOST = 20
"""Intents that are listed."""


def log_of(cfg: PrivacyConfig) -> Path | None:
    """The log that the settings name."""
    return Path(cfg.keep_log).expanduser() if cfg.keep_log else None


def labels_of(log: Path | None) -> Path | None:
    """Where ``assistant log label`` puts the labels of a log, if they are there."""
    if log is None:
        return None
    path = log.with_name(log.name + ".labels.jsonl")
    return path if path.is_file() else None


def statistics(log: Path | None) -> dict[str, Any]:
    """turns, first, last (dates), commands, talk, by_source, by_outcome, by_intent; or a reason
    why there are none."""
    if log is None:
        return {"reason": "privacy.keep_log names no log of use, so none is kept"}
    older = log.with_name(log.name + ".1")
    files = [path for path in (older, log) if path.exists()]
    if not files:
        return {"reason": f"{log} is not there yet"}
    try:
        entries = [entry for path in files for entry in read(path)]
    except InputFileError as error:
        return {"reason": str(error)}
    if not entries:
        return {"reason": f"{log} is empty"}
    return counted(entries)


def counted(entries: list[Entry]) -> dict[str, Any]:
    """As ``statistics``; there is at least one entry."""
    days = sorted(entry.time[:10] for entry in entries)
    commands = [entry for entry in entries if entry.intent not in (NONE, TALK, "")]
    return {
        "turns": len(entries),
        "first": days[0],
        "last": days[-1],
        "commands": len(commands),
        "talk": sum(entry.intent == TALK for entry in entries),
        "by_source": _ranked(entry.source or "none" for entry in entries),
        "by_outcome": _ranked(entry.outcome or "none" for entry in entries),
        "by_intent": dict(list(_ranked(entry.intent for entry in commands).items())[:MOST]),
    }


def _ranked(names: Any) -> dict[str, int]:
    count = Counter(names)
    return dict(sorted(count.items(), key=lambda item: (-item[1], item[0])))
