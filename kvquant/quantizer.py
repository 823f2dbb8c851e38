"""Quantizes tensors in groups along their last axis, one width for all or one for each token.

    q = quantize(x, 4)            # QuantizedTensor: packed codes, scales
    y = dequantize(q)             # float32, the shape of x
    m = adaptive_quantize(x, widths)   # widths: one for each vector along the last axis

``kvquant.vector_format`` says what a code means and how far it may be off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kvquant.errors import SettingError
from kvquant.vector_format import (
    Bytes,
    Floats,
    Vectors,
    check_width,
    decode,
    encode,
    exponent_for,
    pack,
    scale_wanted,
    tame,
    unpack,
)

MAX_GROUP = 65_536


@dataclass(frozen=True, slots=True)
class QuantizedTensor:
    """A tensor in one width. Rows are its vectors along the last axis, in C order.

    codes: (rows, bytes of a row), packed one after the other from the lowest bit; scales, zeros:
    (rows, groups of a row) bytes, the latter at 8 bits only and the former not at 16 (then
    (rows, 0)); exponent: of all scales.
    """

    bits: int
    group: int
    exponent: int
    shape: tuple[int, ...]
    codes: Bytes
    scales: Bytes
    zeros: Bytes

    @property
    def nbytes(self) -> int:
        """Bytes of codes, scales and zero points as they are held."""
        return self.codes.nbytes + self.scales.nbytes + self.zeros.nbytes

    @property
    def bits_per_number(self) -> float:
        """nbytes in bits per number; 0 without numbers."""
        return 8.0 * self.nbytes / max(int(np.prod(self.shape, dtype=np.int64)), 1)


@dataclass(frozen=True, slots=True)
class MixedTensor:
    """A tensor whose vectors along the last axis have widths of their own.

    widths: (rows,) uint8; parts: by width, the rows of that width in their order.
    """

    shape: tuple[int, ...]
    widths: Bytes
    parts: dict[int, QuantizedTensor]

    @property
    def nbytes(self) -> int:
        """Bytes of all parts and of the widths as they are held."""
        return self.widths.nbytes + sum(part.nbytes for part in self.parts.values())

    @property
    def bits_per_number(self) -> float:
        """nbytes in bits per number; 0 without numbers."""
        return 8.0 * self.nbytes / max(int(np.prod(self.shape, dtype=np.int64)), 1)


def quantize(x: ArrayLike, bits: int, group: int = 64) -> QuantizedTensor:
    """Quantizes numbers of any shape; a short last group of a row is fine, and so is nothing.

    bits: 2, 3, 4, 8 or 16; group: numbers that share a scale, along the last axis.

    Raises SettingError for other widths or groups, and for what are no real numbers.
    """
    bits = check_width(bits)
    if isinstance(group, bool) or not isinstance(group, int) or not 1 <= group <= MAX_GROUP:
        raise SettingError(
            "quantizer.group", f"A group has 1 to {MAX_GROUP} numbers, not {group!r:.40}."
        )
    numbers = _real(x)
    rows = numbers.reshape(_rows_of(numbers.shape))
    n_rows = len(rows)
    empty = np.zeros((n_rows, 0), np.uint8)
    if rows.size == 0 or bits == 16:
        codes = pack(encode(rows, 16, 0).codes, 16) if rows.size else empty
        return QuantizedTensor(bits, group, 0, numbers.shape, codes, empty, empty)
    spans = _groups(rows, group)
    wanted = max(float(scale_wanted(span, bits).max()) for span in spans)
    exponent = exponent_for(wanted, bits)
    found = [encode(span, bits, exponent) for span in spans]
    codes = np.concatenate([v.codes.reshape(n_rows, -1) for v in found], axis=1)
    scales = np.concatenate([v.scales for v in found], axis=1)
    zeros = np.concatenate([v.zeros for v in found], axis=1) if bits == 8 else empty
    return QuantizedTensor(bits, group, exponent, numbers.shape, pack(codes, bits), scales, zeros)


def dequantize(q: QuantizedTensor | MixedTensor) -> Floats:
    """The numbers back, in the tensor's shape."""
    if isinstance(q, MixedTensor):
        return _dequantize_mixed(q)
    n_rows, n = _rows_of(q.shape)
    if n_rows * n == 0:
        return np.zeros(q.shape, np.float32)
    if q.bits == 16:
        numbers = q.codes.view(np.float16).astype(np.float32)
        return numbers.reshape(q.shape)
    codes = unpack(q.codes, q.bits, n)
    parts = []
    first = 0
    for span in _groups(codes, q.group):
        last = first + span.shape[1]
        zeros = q.zeros[:, first:last] if q.bits == 8 else q.scales[:, first:last]
        vectors = Vectors(q.bits, span, q.scales[:, first:last], zeros)
        parts.append(decode(vectors, q.exponent).reshape(n_rows, -1))
        first = last
    return np.concatenate(parts, axis=1).reshape(q.shape)


def adaptive_quantize(
    tensor: ArrayLike, bit_width: int | NDArray[np.integer], group: int = 64
) -> QuantizedTensor | MixedTensor:
    """Quantizes with one width for all, or with one for each token.

    tensor: (…, channels), a vector per token; bit_width: a width, or widths that broadcast to
    the shape without its last axis.

    Raises SettingError as ``quantize`` does, and for widths of another shape.
    """
    if np.ndim(bit_width) == 0:
        return quantize(tensor, np.asarray(bit_width).item(), group)
    numbers = _real(tensor)
    if numbers.ndim == 0:
        raise SettingError("quantizer.width", "A single number has no tokens with widths.")
    try:
        widths = np.broadcast_to(np.asarray(bit_width), numbers.shape[:-1]).ravel()
    except ValueError as e:
        raise SettingError(
            "quantizer.width",
            f"Widths of the shape {np.shape(bit_width)} do not fit tokens {numbers.shape[:-1]}.",
        ) from e
    known = [check_width(width) for width in np.unique(widths).tolist()]
    rows = numbers.reshape(_rows_of(numbers.shape))
    parts = {width: quantize(rows[widths == width], width, group) for width in known}
    return MixedTensor(numbers.shape, widths.astype(np.uint8), parts)


def _dequantize_mixed(q: MixedTensor) -> Floats:
    rows = np.zeros(_rows_of(q.shape), np.float32)
    for width, part in q.parts.items():
        rows[q.widths == width] = dequantize(part)
    return rows.reshape(q.shape)


def _real(x: ArrayLike) -> Floats:
    numbers = np.asarray(x)
    if numbers.dtype.kind not in "biuf":
        raise SettingError(
            "quantizer.numbers", f"Only real numbers can be quantized, not {numbers.dtype}."
        )
    return tame(numbers)


def _rows_of(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and numbers of a row; a single number is a row of one."""
    n = shape[-1] if shape else 1
    return int(np.prod(shape[:-1], dtype=np.int64)), n


def _groups(rows: NDArray[Any], group: int) -> list[NDArray[Any]]:
    """(rows, groups, group) of the whole groups, then (rows, 1, rest) of a short last one."""
    n_rows, n = rows.shape
    whole = n // group * group
    parts = [rows[:, :whole].reshape(n_rows, -1, group)] if whole else []
    return parts + ([rows[:, None, whole:]] if whole < n else [])
