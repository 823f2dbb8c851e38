"""Reads GGUF model files, and trusts nothing in them.

Every length, count, offset, type, alignment and shape is checked against the size of the file
before it is used. The file is read, not mapped: one that shrinks meanwhile gives an error
instead of a bus fault.
"""

from __future__ import annotations

import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kvquant.errors import ModelFileError
from kvquant.weight_formats import FORMATS, WeightFormat

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_KEY = 65_535
MAX_STRINGS = 4_194_304
"""More strings than any vocabulary or merge list has; each costs more in memory than on disk."""
MAX_DIMS = 4
MAX_ALIGNMENT = 1 << 20

_SCALARS: dict[int, str] = {
    0: "<u1",
    1: "<i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}
_BOOL, _STRING, _ARRAY = 7, 8, 9


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where a tensor lies. shape: as in numpy, the last axis contiguous; offset: in the file."""

    name: str
    shape: tuple[int, ...]
    format: WeightFormat
    offset: int
    nbytes: int


class ModelFile:
    """The metadata and the table of tensors of one GGUF file; weights are read when asked for.

    metadata: key to int, float, bool, str, list of str, or a numpy array of numbers.
    """

    def __init__(
        self, path: Path, metadata: dict[str, Any], tensors: dict[str, TensorInfo]
    ) -> None:
        self.path = path
        self.metadata = metadata
        self.tensors = tensors

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> ModelFile:
        """Reads and checks everything but the weights.

        Raises ModelFileError when there is no such file or anything in it is wrong.
        """
        path = Path(path)
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                metadata, tensors = _Parser(file, size, path.name).parse()
        except OSError as e:
            raise _cannot_open(path, e) from e
        return cls(path, metadata, tensors)

    def read(self, name: str) -> NDArray[np.float32]:
        """The weights of a tensor as float32, in its shape. Raises ModelFileError."""
        info = self.tensors[name]
        try:
            with self.path.open("rb") as file:
                file.seek(info.offset)
                raw = np.fromfile(file, np.uint8, info.nbytes)
        except OSError as e:
            raise _cannot_open(self.path, e) from e
        if len(raw) != info.nbytes:
            raise ModelFileError(
                "model.truncated", f"{self.path.name} has become shorter while it was read."
            )
        blocks = raw.reshape(-1, info.format.nbytes)
        return info.format.dequantize(blocks).reshape(info.shape)


def _cannot_open(path: Path, error: OSError) -> ModelFileError:
    if isinstance(error, FileNotFoundError):
        return ModelFileError("model.absent", f"There is no model file {path}.")
    return ModelFileError(
        "model.unreadable", f"The model file {path} cannot be read: {error.strerror or error}."
    )


class _Parser:
    """Walks the header once, from front to back."""

    def __init__(self, file: BinaryIO, size: int, name: str) -> None:
        self._file = file
        self._size = size
        self._pos = 0
        self._name = name

    def parse(self) -> tuple[dict[str, Any], dict[str, TensorInfo]]:
        if self._size < 4 or self._take(4, "magic") != MAGIC:
            raise self._error("foreign", "is not a GGUF model file")
        version = self._u32("version")
        if version not in VERSIONS:
            swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
            if swapped in VERSIONS:
                raise self._error("endian", "is written for big-endian machines")
            raise self._error("version", f"has GGUF version {version}, only 2 and 3 are known")
        n_tensors = self._count("tensors", 8 + 1 + 4 + 8 + 4 + 8)
        n_keys = self._count("metadata keys", 8 + 1 + 4 + 1)
        metadata: dict[str, Any] = {}
        for _ in range(n_keys):
            key = self._string("a metadata key", MAX_KEY)
            if not key or key in metadata:
                raise self._error("metadata", f"has the metadata key {key!r} empty or twice")
            metadata[key] = self._value(key)
        return metadata, self._tensors(n_tensors, self._alignment(metadata))

    def _alignment(self, metadata: dict[str, Any]) -> int:
        value = metadata.get("general.alignment", 32)
        if type(value) is not int or not 8 <= value <= MAX_ALIGNMENT or value & (value - 1):
            raise self._error("alignment", f"has the alignment {value!r}, not a power of two")
        return value

    def _tensors(self, count: int, alignment: int) -> dict[str, TensorInfo]:
        found: list[tuple[str, tuple[int, ...], WeightFormat, int, int]] = []
        for _ in range(count):
            name = self._string("a tensor name", MAX_KEY)
            n_dims = self._u32(name)
            if not 1 <= n_dims <= MAX_DIMS:
                raise self._error("shape", f"has tensor {name!r} with {n_dims} dimensions")
            dims = struct.unpack(f"<{n_dims}Q", self._take(8 * n_dims, name))
            type_id = self._u32(name)
            offset = self._u64(name)
            format_ = FORMATS.get(type_id)
            if format_ is None:
                known = ", ".join(f.name for f in FORMATS.values())
                raise self._error(
                    "type", f"has tensor {name!r} of type {type_id}; known are {known}"
                )
            nbytes = self._tensor_bytes(name, dims, format_)
            if offset % alignment:
                raise self._error("alignment", f"has tensor {name!r} at unaligned offset {offset}")
            found.append((name, tuple(reversed(dims)), format_, offset, nbytes))
        start = -(-self._pos // alignment) * alignment
        tensors: dict[str, TensorInfo] = {}
        end_of_last = 0
        for name, shape, format_, offset, nbytes in sorted(found, key=lambda t: t[3]):
            if not name or name in tensors:
                raise self._error("tensors", f"has a tensor name {name!r} empty or twice")
            if offset < end_of_last:
                raise self._error("overlap", f"has tensor {name!r} inside another one")
            end_of_last = offset + nbytes
            if start + end_of_last > self._size:
                raise self._error("truncated", f"is truncated: tensor {name!r} is not all there")
            tensors[name] = TensorInfo(name, shape, format_, start + offset, nbytes)
        return tensors

    def _tensor_bytes(self, name: str, dims: tuple[int, ...], format_: WeightFormat) -> int:
        """dims: contiguous axis first, as in the file. Python's integers cannot overflow."""
        n = math.prod(dims)
        if min(dims) < 1 or n >= 2**63:
            raise self._error("shape", f"has tensor {name!r} of the shape {list(dims)}")
        if dims[0] % format_.block:
            raise self._error(
                "shape",
                f"has tensor {name!r} in {format_.name} with rows of {dims[0]}, "
                f"not a multiple of {format_.block}",
            )
        return n // format_.block * format_.nbytes

    def _value(self, key: str) -> Any:
        kind = self._u32(key)
        if kind == _STRING:
            return self._string(key)
        if kind == _BOOL:
            return self._bools(key, 1)[0].item()
        if kind == _ARRAY:
            return self._array(key)
        if kind not in _SCALARS:
            raise self._error("metadata", f"has the key {key!r} with the unknown type {kind}")
        dtype = np.dtype(_SCALARS[kind])
        return np.frombuffer(self._take(dtype.itemsize, key), dtype)[0].item()

    def _array(self, key: str) -> Any:
        kind = self._u32(key)
        if kind == _STRING:
            count = self._count(key, 8)
            if count > MAX_STRINGS:
                raise self._error("metadata", f"has {count} strings in {key!r}")
            return [self._string(key) for _ in range(count)]
        if kind == _BOOL:
            return self._bools(key, self._count(key, 1))
        if kind not in _SCALARS:
            raise self._error("metadata", f"has the key {key!r} with an array of type {kind}")
        dtype = np.dtype(_SCALARS[kind])
        count = self._count(key, dtype.itemsize)
        return np.frombuffer(self._take(count * dtype.itemsize, key), dtype)

    def _bools(self, key: str, count: int) -> NDArray[np.bool_]:
        raw = np.frombuffer(self._take(count, key), np.uint8)
        if raw.size and raw.max() > 1:
            raise self._error("metadata", f"has a truth value in {key!r} that is neither 0 nor 1")
        return raw.astype(np.bool_)

    def _string(self, what: str, limit: int | None = None) -> str:
        length = self._u64(what)
        if limit is not None and length > limit:
            raise self._error("metadata", f"has {what} of {length} bytes")
        raw = self._take(length, what)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as e:
            raise self._error("metadata", f"has text in {what} that is not UTF-8") from e

    def _count(self, what: str, smallest: int) -> int:
        """A 64-bit count of things that take at least ``smallest`` bytes each."""
        count = self._u64(what)
        if count * smallest > self._size - self._pos:
            raise self._error("truncated", f"is truncated or damaged: it claims {count} {what}")
        return count

    def _u32(self, what: str) -> int:
        return int.from_bytes(self._take(4, what), "little")

    def _u64(self, what: str) -> int:
        return int.from_bytes(self._take(8, what), "little")

    def _take(self, n: int, what: str) -> bytes:
        if n > self._size - self._pos:
            raise self._error("truncated", f"is truncated or damaged: it ends inside {what}")
        raw = self._file.read(n)
        if len(raw) != n:
            raise self._error("truncated", f"has become shorter while {what} was read")
        self._pos += n
        return raw

    def _error(self, code: str, message: str) -> ModelFileError:
        return ModelFileError(
            f"model.{code}", f"{self._name} {message}.", "Fetch or copy the model again."
        )
