"""Writes GGUF files: metadata, the table of tensors, then the tensors as they come.

Sizes follow from shapes and formats, so the head is complete before the first weight is computed
and no more than a part of one tensor is in memory.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from kvquant.weight_formats import FORMATS

ALIGNMENT = 32

Value = bool | int | float | str | list[str] | NDArray[np.int32]
"""int is written as uint32, float as float32."""

_TYPE_IDS = {format_.name: number for number, format_ in FORMATS.items()}


@dataclass(frozen=True, slots=True)
class TensorPlan:
    """shape: as in numpy, the last axis contiguous and whole blocks long; format: a name in
    FORMATS."""

    name: str
    shape: tuple[int, ...]
    format: str

    @property
    def nbytes(self) -> int:
        format_ = FORMATS[_TYPE_IDS[self.format]]
        assert self.shape[-1] % format_.block == 0, (self.name, self.shape, self.format)
        return math.prod(self.shape) // format_.block * format_.nbytes


def write_head(
    file: BinaryIO, metadata: Mapping[str, Value], tensors: Sequence[TensorPlan]
) -> None:
    """Everything before the first tensor's bytes, padded. Raises OSError."""
    head = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)))
    for key, value in metadata.items():
        head += _text(key) + _typed(value)
    offset = 0
    for tensor in tensors:
        head += _text(tensor.name) + struct.pack("<I", len(tensor.shape))
        head += struct.pack(f"<{len(tensor.shape)}Q", *reversed(tensor.shape))
        head += struct.pack("<IQ", _TYPE_IDS[tensor.format], offset)
        offset += tensor.nbytes + _padding(tensor.nbytes)
    file.write(head + bytes(_padding(len(head))))


def write_tensor(file: BinaryIO, tensor: TensorPlan, parts: Iterable[NDArray[np.uint8]]) -> None:
    """The bytes of the next tensor of the table, padded. Raises OSError."""
    written = 0
    for part in parts:
        file.write(part.tobytes())
        written += part.nbytes
    assert written == tensor.nbytes, (tensor.name, written, tensor.nbytes)
    file.write(bytes(_padding(written)))


def _padding(n: int) -> int:
    return -n % ALIGNMENT


def _text(value: str) -> bytes:
    raw = value.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def _typed(value: Value) -> bytes:
    """A metadata value with its type in front."""
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if isinstance(value, list):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    return struct.pack("<IIQ", 9, 5, len(value)) + value.astype("<i4").tobytes()
