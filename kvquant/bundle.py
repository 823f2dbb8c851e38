"""Named arrays with a JSON header in one file: what controllers and token features come in.

    magic 4 | version u32 | header length u32 | header, UTF-8 JSON | zeros up to a multiple of 64
    | payload, each array at a multiple of 64 | CRC-32 of all before, u32        (little-endian)

The header holds ``model`` (an object with the model's ``fingerprint``) and ``arrays`` (name to
dtype, shape and offset in the payload); everything else in it is the caller's. Files are read
without numpy, and nothing in them is trusted: every length, type and offset is checked first.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvquant.errors import ControllerFileError, ModelFileError
from kvquant.json_file import parse_object

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONTROLLER = b"KVQC"
FEATURES = b"KVQF"
VERSION = 1
ALIGNMENT = 64
MAX_BYTES = 256 * 2**20
"""More than the file of any model has: a damaged length must not eat the memory."""
MAX_HEADER = 2**20
MAX_ARRAYS = 256
MAX_DIMS = 4

_KINDS = {CONTROLLER: "controller", FEATURES: "token feature"}
_HEAD = struct.Struct("<4sII")
_CRC_BYTES = 4
_SIZES = {"f32": 4, "f16": 2, "i32": 4, "i8": 1, "u8": 1}
_FROM_FORMAT = {"f": "f32", "e": "f16", "i": "i32", "b": "i8", "B": "u8"}
_NUMPY = {"f32": "<f4", "f16": "<f2", "i32": "<i4", "i8": "<i1", "u8": "<u1"}


@dataclass(frozen=True, slots=True)
class Array:
    """One array. dtype: f32, f16, i32, i8 or u8; data: its bytes in C order, little-endian."""

    dtype: str
    shape: tuple[int, ...]
    data: memoryview

    def numpy(self) -> NDArray[Any]:
        """The numbers, read-only, in their shape."""
        import numpy as np

        flat: NDArray[np.generic] = np.frombuffer(self.data, _NUMPY[self.dtype])
        return flat.reshape(self.shape)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A file's contents. header: without ``arrays``; fingerprint: of the model it is for."""

    name: str
    header: dict[str, Any]
    arrays: dict[str, Array]
    fingerprint: int


def fingerprint_of(output_norm: bytes | memoryview) -> int:
    """Tells models apart. output_norm: the float32 bytes of ``output_norm.weight``, little-endian;
    they are the same in every quantization of a model."""
    return zlib.crc32(output_norm)


def read(path: Path, kind: bytes, fingerprint: int | None = None) -> Bundle:
    """Reads and checks a file.

    kind: CONTROLLER or FEATURES; fingerprint: of the model in use, None takes any.

    Raises ControllerFileError when the file is absent, of another kind or version, truncated,
    damaged, or for another model.
    """
    try:
        if path.exists() and not path.is_file():
            raise wrong(path.name or str(path), "unreadable", "is no file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError as e:
        raise ControllerFileError(
            "controller.absent", f"There is no {_KINDS[kind]} file {path}."
        ) from e
    except OSError as e:
        raise ControllerFileError(
            "controller.unreadable", f"{path} cannot be read: {e.strerror or e}."
        ) from e
    if len(data) > MAX_BYTES:
        raise wrong(path.name, "size", f"has more than {MAX_BYTES} bytes")
    return parse(data, kind, path.name, fingerprint)


def parse(data: bytes, kind: bytes, name: str, fingerprint: int | None = None) -> Bundle:
    """As ``read``, of a file's bytes; name: of the file, for messages."""
    if data[:4] != kind:
        other = _KINDS.get(data[:4])
        also = f" but a {other} file" if other else ""
        raise wrong(name, "foreign", f"is no {_KINDS[kind]} file{also}")
    if len(data) < _HEAD.size + _CRC_BYTES:
        raise wrong(name, "truncated", "is truncated: it ends inside its first bytes")
    _, version, length = _HEAD.unpack_from(data)
    if version != VERSION:
        raise wrong(name, "version", f"has version {version}, only {VERSION} is known")
    if length > MAX_HEADER:
        raise wrong(name, "header", f"claims a header of {length} bytes, more than {MAX_HEADER}")
    start = _aligned(_HEAD.size + length)
    end = len(data) - _CRC_BYTES
    if _HEAD.size + length > end:
        raise wrong(name, "truncated", "is truncated: it ends inside its header")
    body = memoryview(data).toreadonly()
    if zlib.crc32(body[:end]) != int.from_bytes(data[end:], "little"):
        raise wrong(name, "damaged", "is damaged or truncated: its checksum is another")
    try:
        header = parse_object(data[_HEAD.size : _HEAD.size + length], "The header")
    except ModelFileError as e:
        text = e.message.removeprefix("The header ").removesuffix(".")
        raise wrong(name, "header", f"has a header that {text}") from e
    found = _fingerprint(header, name)
    if fingerprint is not None and found != fingerprint:
        raise ControllerFileError(
            "controller.model",
            f"{name} belongs to another model than the one in use.",
            "Take the file that was made for this model.",
        )
    table = header.pop("arrays", None)
    arrays = _Table(name, body[start:end]).arrays(table)
    return Bundle(name, header, arrays, found)


def write(
    path: Path, kind: bytes, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Writes a file whole or not at all.

    header: must hold ``model`` with its ``fingerprint``; arrays: float32, float16, int32, int8
    or uint8 in C order (numpy arrays, or anything else that gives its buffer).

    Raises ValueError for what ``read`` would refuse, OSError.
    """
    data = pack(kind, header, arrays)
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def pack(kind: bytes, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of a file; as ``write``."""
    table: dict[str, dict[str, Any]] = {}
    payload = bytearray()
    for name, values in arrays.items():
        view = _buffer(values)
        payload += bytes(-len(payload) % ALIGNMENT)
        if view.format not in _FROM_FORMAT or not view.c_contiguous:
            raise ValueError(f"the array {name} has the format {view.format} or is not in C order")
        table[name] = {
            "dtype": _FROM_FORMAT[view.format],
            "shape": list(view.shape or ()),
            "offset": len(payload),
        }
        payload += view.tobytes()
    text = json.dumps({**header, "arrays": table}, allow_nan=False, ensure_ascii=False).encode()
    head = _HEAD.pack(kind, VERSION, len(text)) + text
    data = head + bytes(-len(head) % ALIGNMENT) + bytes(payload)
    data += zlib.crc32(data).to_bytes(_CRC_BYTES, "little")
    try:
        parse(data, kind, "the file")
    except ControllerFileError as e:
        raise ValueError(e.message) from e
    return data


def _buffer(values: Any) -> memoryview:
    return memoryview(values)


def wrong(name: str, code: str, message: str) -> ControllerFileError:
    """The error of a file that says what is wrong with it."""
    return ControllerFileError(
        f"controller.{code}", f"{name} {message}.", "Take the shipped file, or make it again."
    )


def _aligned(n: int) -> int:
    return -(-n // ALIGNMENT) * ALIGNMENT


def _fingerprint(header: dict[str, Any], name: str) -> int:
    model = header.get("model")
    value = model.get("fingerprint") if isinstance(model, dict) else None
    if type(value) is not int or not 0 <= value < 2**32:
        raise wrong(name, "header", "has a header that does not name its model's fingerprint")
    return value


class _Table:
    """Finds the arrays in the payload."""

    def __init__(self, name: str, payload: memoryview) -> None:
        self._name = name
        self._payload = payload

    def arrays(self, table: Any) -> dict[str, Array]:
        if not isinstance(table, dict):
            raise wrong(self._name, "header", "has a header without a table of arrays")
        if len(table) > MAX_ARRAYS:
            raise wrong(self._name, "arrays", f"claims {len(table)} arrays, more than {MAX_ARRAYS}")
        places = {name: self._place(name, entry) for name, entry in table.items()}
        end_of_last = 0
        for name, (offset, nbytes) in sorted(places.items(), key=lambda p: p[1]):
            if offset < end_of_last:
                raise wrong(self._name, "overlap", f"has the array {name[:60]!r} inside another")
            end_of_last = offset + nbytes
        return {
            name: Array(
                table[name]["dtype"],
                tuple(table[name]["shape"]),
                self._payload[offset : offset + nbytes],
            )
            for name, (offset, nbytes) in places.items()
        }

    def _place(self, name: str, entry: Any) -> tuple[int, int]:
        """Offset and bytes."""
        shown = f"the array {name[:60]!r}"
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "offset"}:
            raise wrong(
                self._name, "arrays", f"describes {shown} by other than dtype, shape and offset"
            )
        dtype, shape, offset = entry["dtype"], entry["shape"], entry["offset"]
        if not isinstance(dtype, str) or dtype not in _SIZES:
            raise wrong(self._name, "arrays", f"has {shown} of the unknown dtype {dtype!r:.40}")
        whole = isinstance(shape, list) and all(type(n) is int and n > 0 for n in shape)
        if not whole or not 1 <= len(shape) <= MAX_DIMS:
            raise wrong(self._name, "arrays", f"has {shown} of the shape {shape!r:.60}")
        if type(offset) is not int or offset < 0 or offset % ALIGNMENT:
            raise wrong(self._name, "arrays", f"has {shown} at the offset {offset!r:.40}")
        nbytes = math.prod(shape) * _SIZES[dtype]
        if offset + nbytes > len(self._payload):
            raise wrong(self._name, "truncated", f"is truncated: {shown} is not all there")
        return offset, nbytes
