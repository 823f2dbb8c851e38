"""What was said and what came of it, for the user's own review; written only when switched on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from assistant.errors import InputFileError
from assistant.events import Event, Recovered, Trouble

MAX_BYTES = 4 * 1024 * 1024
"""Some 20,000 turns. The file before is kept under the same name with .1 behind it."""

CODE = "use_log.write"


@dataclass(frozen=True, slots=True)
class Entry:
    """One turn. time: ISO 8601 with time zone; source, outcome: as in Intent and Answer."""

    time: str
    text: str
    intent: str
    slots: dict[str, Any] = field(default_factory=dict)
    score: float = 0.0
    source: str = ""
    reply: str = ""
    outcome: str = ""


_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("time", "text", "intent", "source", "reply", "outcome"), str),
    "slots": dict,
    "score": (int, float),
}


class UseLog:
    """Appends entries as lines of JSON. A file that cannot be written never ends a turn."""

    def __init__(
        self, path: Path, emit: Callable[[Event], None], *, max_bytes: int = MAX_BYTES
    ) -> None:
        self.path = path
        self._emit = emit
        self._max_bytes = max_bytes
        self._failed = False

    def add(self, entry: Entry, turn: int = 0) -> None:
        """Writes the entry; a first failure in a row is told as a Trouble of the turn."""
        line = json.dumps(asdict(entry), ensure_ascii=False).encode() + b"\n"
        try:
            self._append(line)
        except OSError as error:
            if not self._failed:
                message = f"The log of use {self.path} cannot be written: {error.strerror}."
                hint = "Make room, or change or empty privacy.keep_log in config.yaml."
                self._emit(Trouble(turn=turn, code=CODE, message=message, hint=hint))
            self._failed = True
        else:
            if self._failed:
                self._emit(Recovered(turn=turn, code=CODE))
            self._failed = False

    def _append(self, line: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists() and self.path.stat().st_size + len(line) > self._max_bytes:
            self.path.replace(self.path.with_name(self.path.name + ".1"))
        # never waits for the reader of a pipe
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
        # for the user alone, and whole lines also where several processes write
        file = os.open(self.path, flags, 0o600)
        try:
            size = os.fstat(file).st_size
            written = os.write(file, line)
            if written < len(line):
                os.ftruncate(file, size)
                raise OSError(None, "the disk is full")
        finally:
            os.close(file)


def read(path: Path) -> list[Entry]:
    """The entries of a log. Raises InputFileError that names the line."""
    entries = []
    try:
        if path.is_char_device():
            raise OSError(None, "it is no file")  # some of them never end
        lines = path.read_text(encoding="utf-8-sig").split(
            "\n"
        )  # a sentence may hold other line ends
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputFileError("use_log.read", f"{path} cannot be read: {reason}.") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entries.append(_entry(json.loads(line)))
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise InputFileError(
                "use_log.line",
                f"Line {number} of {path} is no entry of a log of use.",
                "Such a log is written when privacy.keep_log names a file.",
            ) from error
    return entries


def _entry(row: dict[str, Any]) -> Entry:
    """Raises TypeError or AttributeError for what is none."""
    entry = Entry(**{key: row[key] for key in _KINDS.keys() & row.keys()})
    for name, kind in _KINDS.items():
        if not isinstance(getattr(entry, name), kind):
            raise TypeError(name)
    return entry
