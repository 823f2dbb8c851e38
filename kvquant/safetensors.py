"""Reads safetensors files, and trusts nothing in them.

A file is a 64-bit length, a JSON header of that length, and raw numbers. Names, types, shapes and
offsets are checked against the size of the file before use; the numbers lie without gaps or
overlaps. Files are read, not mapped: one that shrinks meanwhile gives an error.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.errors import ModelFileError
from kvquant.json_file import cannot_read, parse_object

MAX_HEADER = 100_000_000
"""Bytes of the header that the format allows."""
MAX_DIMS = 8

_BITS = {
    "F32": 32, "F16": 16, "BF16": 16, "F64": 64,
    "I8": 8, "I16": 16, "I32": 32, "I64": 64, "U8": 8, "U16": 16, "U32": 32, "U64": 64,
    "BOOL": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
    "C64": 64,
}  # fmt: skip
FLOATS = ("F32", "F16", "BF16")
"""Types whose numbers are read; a file may hold others."""


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where a tensor lies. offset: in the file."""

    path: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int

    def read(self) -> NDArray[np.generic]:
        """The numbers as stored, in their shape: float32, float16, or uint16 for BF16.

        dtype is one of FLOATS. Raises ModelFileError when the file has changed or cannot be read.
        """
        kind = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}[self.dtype]
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                raw = np.fromfile(file, np.uint8, self.nbytes)
        except OSError as e:
            raise cannot_read(self.path, e) from e
        if len(raw) != self.nbytes:
            raise _wrong(self.path, "truncated", "has become shorter while it was read")
        return raw.view(kind).reshape(self.shape)


def as_float32(stored: NDArray[np.generic]) -> NDArray[np.float32]:
    """Numbers that ``StoredTensor.read`` gave, as float32; exact."""
    if stored.dtype == np.uint16:
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(np.float32, copy=False)


def read_table(path: Path) -> dict[str, StoredTensor]:
    """Every tensor of a file by name. Raises ModelFileError when anything is wrong."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            if size < 8:
                raise _wrong(path, "truncated", "is truncated: it ends inside its header's length")
            if length > MAX_HEADER:
                raise _wrong(path, "foreign", f"is no safetensors file: its header of {length} "
                             f"bytes is longer than {MAX_HEADER}")  # fmt: skip
            if length > size - 8:
                raise _wrong(path, "truncated", "is truncated: it ends inside its header")
            raw = file.read(length)
    except OSError as e:
        raise cannot_read(path, e) from e
    if len(raw) != length:
        raise _wrong(path, "truncated", "has become shorter while it was read")
    if not raw.startswith(b"{"):
        raise _wrong(path, "foreign", "is no safetensors file")
    header = parse_object(raw, f"The header of {path.name}")
    header.pop("__metadata__", None)
    tensors = [_entry(path, name, entry, 8 + length) for name, entry in header.items()]
    _check_cover(path, tensors, 8 + length, size)
    return {tensor.name: tensor for tensor in tensors}


def _entry(path: Path, name: str, entry: Any, start: int) -> StoredTensor:
    shown = repr(name[:80])
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise _wrong(
            path, "header", f"describes the tensor {shown} by other than dtype, shape, data_offsets"
        )
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _BITS:
        raise _wrong(path, "dtype", f"has the tensor {shown} of the unknown dtype {dtype!r:.40}")
    if not _wholes(shape) or len(shape) > MAX_DIMS:
        raise _wrong(path, "shape", f"has the tensor {shown} of the shape {shape!r:.60}")
    if not _wholes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _wrong(
            path, "offsets", f"has the tensor {shown} with the data_offsets {offsets!r:.60}"
        )
    bits = math.prod(shape) * _BITS[dtype]
    begin, end = offsets
    if bits % 8 or end - begin != bits // 8:
        raise _wrong(
            path, "offsets", f"has the tensor {shown} in {end - begin} bytes, which its shape "
            f"{shape!r:.60} in {dtype} does not need"
        )  # fmt: skip
    return StoredTensor(path, name, dtype, tuple(shape), start + begin, end - begin)


def _check_cover(path: Path, tensors: list[StoredTensor], start: int, size: int) -> None:
    end = start
    for tensor in sorted(tensors, key=lambda t: (t.offset, t.nbytes)):
        if tensor.offset < end:
            raise _wrong(path, "overlap", f"has the tensor {tensor.name[:80]!r} inside another one")
        if tensor.offset > end:
            raise _wrong(path, "overlap", f"has a gap before the tensor {tensor.name[:80]!r}")
        end = tensor.offset + tensor.nbytes
        if end > size:
            raise _wrong(
                path, "truncated", f"is truncated: the tensor {tensor.name[:80]!r} is not all there"
            )
    if end != size:
        raise _wrong(path, "trailing", f"has {size - end} bytes after its last tensor")


def _wholes(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n < 2**63 for n in value)


def _wrong(path: Path, code: str, message: str) -> ModelFileError:
    return ModelFileError(
        f"model.{code}", f"{path.name} {message}.", "Fetch or copy the model again."
    )
