"""The public texts that the controller is trained on and judged by, and which part is for what.

The two parts never meet: a figure of quality is taken on text that training has not seen.
Each data set is a folder with its own name in the data folder, or the data folder itself.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kvquant.errors import DataFileError

Part = Literal["train", "held_out"]

Dialogue = tuple[tuple[str, str], ...]
"""(role, text) of each turn in order; role: user or assistant."""

_TRAIN = {"wikitext2": 0.6, "gutenberg": 0.7, "sgd-dialogues": 0.6}
"""The share of each data set that training may see: its first part, of the dialogues a part by
their names."""

_FILES = {
    "wikitext2": "valid.txt.gz",
    "gutenberg": "ainsworth-*.txt.gz",
    "sgd-dialogues": "sgd_*.jsonl.gz",
    "hellaswag": "hellaswag_*.jsonl.gz",
}

_MOST = 256 * 2**20
"""Bytes of a data set's text; a damaged or foreign file must not eat the memory."""

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Choice:
    """One question of HellaSwag: which of the endings goes on from ctx; label is the right one."""

    id: int
    source: str
    ctx: str
    endings: tuple[str, ...]
    label: int


def wikitext(data: Path, part: Part) -> str:
    """WikiText-2's validation split as the file has it. Raises DataFileError."""
    return _share(_text(_find(data, "wikitext2")), "wikitext2", part)


def novel(data: Path, part: Part) -> str:
    """A novel of the nineteenth century, paragraphs parted by a blank line. Raises DataFileError"""
    return _share(_text(_find(data, "gutenberg")), "gutenberg", part)


def dialogues(data: Path, part: Part) -> list[Dialogue]:
    """Conversations about music, weather, alarms and films, in the file's order.

    Raises DataFileError.
    """
    path = _find(data, "sgd-dialogues")
    limit = round(_TRAIN["sgd-dialogues"] * 1000)
    found = []
    for number, row in _rows(path):
        try:
            trained = zlib.crc32(str(row["id"]).encode()) % 1000 < limit
            turns = tuple((_role(turn["who"]), _string(turn["text"])) for turn in row["turns"])
        except (KeyError, TypeError, ValueError) as e:
            raise _wrong(path, f"line {number} is no dialogue") from e
        if trained == (part == "train"):
            found.append(turns)
    return found


def hellaswag(data: Path) -> list[Choice]:
    """The questions in the file's order. They are only ever judged by. Raises DataFileError."""
    path = _find(data, "hellaswag")
    found = []
    for number, row in _rows(path):
        try:
            endings = tuple(_string(e) for e in row["endings"])
            item = Choice(
                int(row["id"]), str(row["source"]), _string(row["ctx"]), endings, int(row["label"])
            )
        except (KeyError, TypeError, ValueError) as e:
            raise _wrong(path, f"line {number} is no question with endings and a label") from e
        if len(endings) < 2 or not 0 <= item.label < len(endings):
            raise _wrong(path, f"line {number} has no ending number {item.label}")
        found.append(item)
    return found


def plain(wikitext: str) -> str:
    """WikiText's marks undone: as someone would have typed the text."""
    text = re.sub(r" @(.)@ ", r"\1", wikitext)
    text = re.sub(r" ([.,;:!?)\]%]|'s\b|'t\b|'re\b|'ll\b|'ve\b|'d\b|'m\b)", r"\1", text)
    text = re.sub(r"([(\[$£]) ", r"\1", text)
    text = re.sub(r'" ([^"\n]*?) "', r'"\1"', text)
    text = re.sub(r"^ = (.*) = *$", lambda m: m[1].strip(" ="), text, flags=re.MULTILINE)
    return re.sub(r"^ +", "", text, flags=re.MULTILINE)


def has(data: Path, name: str) -> bool:
    """Whether the folder has the data set of this name, by its folder or its files."""
    return bool(_files(data, name))


def _find(data: Path, name: str) -> Path:
    """The one file of a data set."""
    if found := _files(data, name):
        return found[0]
    raise DataFileError(
        "data.absent",
        f"There is no {name}/{_FILES[name]} in {data}.",
        "Name the folder that holds the data sets with --data.",
    )


def _files(data: Path, name: str) -> list[Path]:
    folder = data / name if (data / name).is_dir() else data
    return sorted(folder.glob(_FILES[name]))


def _text(path: Path) -> str:
    parts = []
    size = 0
    try:
        with gzip.open(path) as file:
            while block := file.read(_BLOCK):
                size += len(block)
                if size > _MOST:
                    raise _wrong(path, f"holds more than {_MOST} bytes")
                parts.append(block)
        text = b"".join(parts).decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as e:
        raise _wrong(path, f"cannot be read as compressed UTF-8 text ({e})") from e
    if not text.strip():
        raise _wrong(path, "is empty")
    return text


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number from 1, object) of each line that is not empty."""
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as e:
            raise _wrong(path, f"line {number} is no JSON") from e
        if not isinstance(row, dict):
            raise _wrong(path, f"line {number} is no JSON object")
        yield number, row


def _share(text: str, name: str, part: Part) -> str:
    """The first part or the rest, cut at the end of a line."""
    cut = text.find("\n", round(len(text) * _TRAIN[name])) + 1
    if cut == 0:
        cut = len(text)
    return text[:cut] if part == "train" else text[cut:]


def _role(who: Any) -> str:
    return {"USER": "user", "SYSTEM": "assistant"}[who]


def _string(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(value)
    return value


def _wrong(path: Path, message: str) -> DataFileError:
    return DataFileError("data.damaged", f"{path.name} {message}.")
