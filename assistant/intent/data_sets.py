"""Labelled sentences from files: public sets in their own forms, and a plain one.

All are JSON lines (.jsonl, .jsonl.gz) with "text" and "intent". Values are either in "slots" (a
list of {"slot", "value", "start"}, or an object of slot and value) or marked in "annotation" as
[slot : value].
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assistant.errors import InputFileError
from assistant.intent.heads.example import Example, Mark

SETS = ("clinc150", "hwu64", "snips", "banking77", "plain")
"""Names of the forms; they differ in what they are, the reader takes any."""

_MARK = re.compile(r"\[\s*(?P<slot>[^\[\]:]+?)\s*:\s*(?P<value>[^\[\]]*?)\s*\]")


def read(path: Path) -> list[Example]:
    """Every row of a file or of all files of a folder.

    Raises InputFileError for what cannot be read, naming file and line.
    """
    files = sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]
    examples = [example for file in files for example in _rows(file)]
    if not examples:
        raise InputFileError(
            "data.none",
            f"There are no labelled sentences in {path}.",
            "It should be a .jsonl or .jsonl.gz file, or a folder of them.",
        )
    return examples


def _rows(file: Path) -> Iterator[Example]:
    return (_row(file, number, line) for number, line in numbered_lines(file))


def numbered_lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, counted from 1; of a .gz file those inside.

    Raises InputFileError.
    """
    opener = gzip.open if file.suffix == ".gz" else open
    try:
        with opener(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line
    except (OSError, EOFError, UnicodeDecodeError) as e:
        raise InputFileError("data.file", f"{file} cannot be read: {e}.") from e


def _row(file: Path, number: int, line: str) -> Example:
    try:
        return _example(json.loads(line))
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise InputFileError(
            "data.row",
            f"Line {number} of {file} is no labelled sentence.",
            'Each line is an object such as {"text": "play jazz", "intent": "music.play"}.',
        ) from e


def _example(row: Mapping[str, Any]) -> Example:
    text, intent = row["text"], row["intent"]
    if not isinstance(text, str) or not isinstance(intent, str) or not intent:
        raise ValueError("text and intent must be text")
    if "annotation" in row:
        marks = _annotated(text, row["annotation"])
    else:
        marks = _listed(text, row.get("slots") or [])
    return Example(text, intent, tuple(sorted(marks)), row.get("split") or "")


def _listed(text: str, slots: Any) -> Iterator[Mark]:
    """Values by name; where no place is given, it is where the value first occurs."""
    if isinstance(slots, Mapping):
        slots = [{"slot": slot, "value": value} for slot, value in slots.items()]
    for entry in slots:
        value = str(entry["value"])
        start = int(entry.get("start", -1))
        if start < 0:
            start = text.lower().find(value.lower())
        if start >= 0 and value:
            yield Mark(start, start + len(value), str(entry["slot"]))


def _annotated(text: str, annotation: str) -> Iterator[Mark]:
    """Values marked in a copy of the text, which may differ from it in its spaces."""
    at = 0
    for found in _MARK.finditer(annotation):
        value = " ".join(found["value"].split())
        # A value said twice is most likely where the annotation has it.
        prefix = " ".join(_MARK.sub(r"\g<value>", annotation[: found.start()]).split())
        start = text.find(value, max(at, len(prefix)))
        if start < 0:
            start = text.find(value, at)
        if start >= 0 and value:
            at = start + len(value)
            yield Mark(start, at, found["slot"])
