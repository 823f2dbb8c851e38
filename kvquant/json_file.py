"""Reads JSON objects that come from outside, and trusts nothing in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kvquant.errors import ModelFileError

MAX_BYTES = 128 * 2**20
"""More than any tokenizer or index has; a damaged length must not eat the memory."""


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises ModelFileError when there is none."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise _wrong(path.name, f"has {size} bytes, more than {MAX_BYTES}")
        raw = path.read_bytes()
    except OSError as e:
        raise cannot_read(path, e) from e
    return parse_object(raw, path.name)


def parse_object(raw: bytes, name: str) -> dict[str, Any]:
    """The object in UTF-8 text; name: of the file, for messages.

    Raises ModelFileError for text that is no JSON or no object, for keys that come twice and
    for characters that cannot be written as UTF-8.
    """
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_once, parse_constant=_constant)
        if b"\\u" in raw:
            # Escapes can spell half of a surrogate pair, which is no character.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except _RepeatedKey as e:
        raise _wrong(name, f"has the key {e.key[:60]!r} twice in one object") from None
    except RecursionError:
        raise _wrong(name, "is nested too deeply") from None
    except (ValueError, MemoryError) as e:
        raise _wrong(name, "is truncated or damaged: it is no JSON text in UTF-8") from e
    if not isinstance(value, dict):
        raise _wrong(name, "holds no JSON object")
    return value


def cannot_read(path: Path, error: OSError) -> ModelFileError:
    """The error for a file of a model folder that cannot be opened or read."""
    if isinstance(error, FileNotFoundError):
        return ModelFileError("model.absent", f"There is no {path.name} in {path.parent}.")
    return ModelFileError(
        "model.unreadable", f"{path} cannot be read: {error.strerror or error}."
    )  # fmt: skip


class _RepeatedKey(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RepeatedKey(key)
            seen.add(key)
    return found


def _constant(name: str) -> float:
    """NaN and the infinities are no JSON."""
    raise ValueError(name)


def _wrong(name: str, message: str) -> ModelFileError:
    return ModelFileError("model.json", f"{name} {message}.")
