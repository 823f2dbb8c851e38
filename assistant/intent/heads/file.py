"""The file of a head: a header in JSON and arrays, checked as a whole.

Layout, little-endian: magic (8 bytes), version, length of the header, its JSON, padding to 64
bytes, the arrays one after the other (each padded to 64 bytes), CRC-32 of everything before.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assistant.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

MAGIC = b"PVAHEAD\n"
VERSION = 1
MAX_BYTES = 64 << 20
"""More is no head that this program has written."""

_DTYPES = {name: np.dtype(name) for name in ("<f4", "<f2", "|i1", "|u1", "<u2", "<u4")}
_ALIGN = 64
_START = struct.Struct("<8sII")
_HINT = "Train it again with: python -m assistant.intent.train"


def check_place(path: Path) -> None:
    """Raises ModelError where no head can be written: better before a training than after it."""
    if path.exists() and not path.is_file():
        raise ModelError("head.write", f"The head cannot be written to {path}: it is no file.")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        reason = "the folder is not there, or nothing may be written in it"
        raise ModelError("head.write", f"The head cannot be written to {path}: {reason}.")


def write(path: Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> int:
    """Writes the file whole or not at all; returns its bytes.

    header: JSON-ready, without a key "arrays". Raises ModelError when it cannot be written.
    """
    check_place(path)
    table: dict[str, Any] = {}
    body = bytearray()
    for name, array in arrays.items():
        kind = array.dtype.newbyteorder("<").str
        if kind not in _DTYPES:
            raise ValueError(f"{name} has the type {array.dtype}, which a head cannot hold")
        table[name] = {"type": kind, "shape": list(array.shape), "at": len(body)}
        body += np.ascontiguousarray(array, kind).tobytes()
        body += bytes(-len(body) % _ALIGN)
    text = json.dumps({**header, "arrays": table}, ensure_ascii=False, sort_keys=True).encode()
    data = bytearray(_START.pack(MAGIC, VERSION, len(text)) + text)
    data += bytes(-len(data) % _ALIGN)
    data += body
    data += struct.pack("<I", zlib.crc32(data))
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        try:
            part.write_bytes(data)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as e:
        raise ModelError(
            "head.write", f"The head cannot be written to {path}: {e.strerror or e}."
        ) from e
    return len(data)


def read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays. Raises ModelError for a file that is absent or no whole head."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise _refused(path, "is no file")  # some of them never end
        if path.stat().st_size > MAX_BYTES:
            raise _refused(path, "is too large to be a head")
        data = path.read_bytes()
    except OSError as e:
        raise ModelError(
            "head.absent", f"The head {path} cannot be read: {e.strerror or e}.", _HINT
        ) from e
    if len(data) < _START.size or data[: len(MAGIC)] != MAGIC:
        raise _refused(path, "is not a head of this program")
    _, version, length = _START.unpack_from(data)
    if version != VERSION:
        raise _refused(path, f"has version {version} of the format; this program reads {VERSION}")
    if zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        raise _refused(path, "is damaged or was cut off")
    try:
        header = json.loads(data[_START.size : _START.size + length])
        table = header.pop("arrays")
        start = _START.size + length
        start += -start % _ALIGN
        arrays = {name: _array(data, start, entry) for name, entry in table.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise _refused(path, "has a header that cannot be read") from e
    return header, arrays


def _array(data: bytes, start: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    shape = tuple(int(n) for n in entry["shape"])
    count = int(np.prod(shape, dtype=np.int64))
    at = start + int(entry["at"])
    if min(shape, default=0) < 0 or at < start:
        raise ValueError("a negative size")
    return np.frombuffer(data[:-4], _DTYPES[entry["type"]], count, at).reshape(shape)


def _refused(path: Path, why: str) -> ModelError:
    return ModelError("head.refused", f"{path} {why}.", _HINT)
